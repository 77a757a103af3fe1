// SPDX-License-Identifier: GPL-2.0
/*
 * The pool. A bridge wants one range of bus addresses. Where the memory allows it, the range is
 * made of pages of ours: with a translating IOMMU of any pages, without one of a single block,
 * which the kernel has up to 4 MiB. Such memory is ordinary memory for the rest of the kernel
 * (process_vm_readv(), O_DIRECT, core dumps), and outlives the device. Where the device cannot map
 * pages, or is not coherent with caches, it is what the device's driver has to offer, and mapped as
 * bare page frames.
 */
#include <linux/dma-map-ops.h>
#include <linux/dma-mapping.h>
#include <linux/highmem.h>
#include <linux/iommu.h>
#include <linux/vmalloc.h>

#include "compat.h"
#include "port.h"

#define CONTROL_PAGES (RSM_NTB_CONTROL_SIZE >> PAGE_SHIFT)

bool rsm_translated(struct device *dev)
{
	struct iommu_domain *domain = iommu_get_domain_for_dev(dev);

	return domain && domain->type != IOMMU_DOMAIN_IDENTITY;
}

static void free_pages_of(struct rsm_pool *pool, unsigned long count)
{
	unsigned long i;

	for (i = 0; i < count; i++)
		put_page(pool->pages[i]);
	kvfree(pool->pages);
	pool->pages = NULL;
}

static int get_pages_of(struct rsm_pool *pool, bool single)
{
	unsigned long count = pool->size >> PAGE_SHIFT, i;
	unsigned int order = get_order(pool->size);

	pool->pages = kvcalloc(count, sizeof(*pool->pages), GFP_KERNEL);
	if (!pool->pages)
		return -ENOMEM;
	if (single) {
		struct page *block = NULL;

		if (pool->size == PAGE_SIZE << order)
			block = alloc_pages(GFP_KERNEL | __GFP_ZERO | __GFP_NOWARN, order);
		if (block)
			split_page(block, order);
		for (i = 0; i < count && block; i++)
			pool->pages[i] = block + i;
		if (block)
			return 0;
		free_pages_of(pool, 0);
		return -ENOMEM;
	}
	for (i = 0; i < count; i++) {
		pool->pages[i] = alloc_page(GFP_KERNEL | __GFP_ZERO);
		if (!pool->pages[i]) {
			free_pages_of(pool, i);
			return -ENOMEM;
		}
		cond_resched();
	}
	return 0;
}

/* What the other host's window shows: the pool, and the range for pinned memory. */
size_t rsm_pool_span(const struct rsm_pool *pool)
{
	return pool->size + pool->pin_size;
}

/* The pages, and for each page of the range behind them the first one. */
static int list_pages(struct rsm_pool *pool, struct sg_table *sgt)
{
	unsigned long count = pool->size >> PAGE_SHIFT, i;
	unsigned long all = rsm_pool_span(pool) >> PAGE_SHIFT;
	struct page **list;
	int err;

	if (all == count)
		return sg_alloc_table_from_pages(sgt, pool->pages, count, 0, pool->size,
						 GFP_KERNEL);
	list = kvmalloc_array(all, sizeof(*list), GFP_KERNEL);
	if (!list)
		return -ENOMEM;
	for (i = 0; i < all; i++)
		list[i] = pool->pages[i < count ? i : 0];
	err = sg_alloc_table_from_pages(sgt, list, all, 0, rsm_pool_span(pool), GFP_KERNEL);
	kvfree(list);
	return err;
}

/* Map the pages to one range of bus addresses: 0, or why there is none. */
static int map_pages(struct rsm_pool *pool, struct device *dev)
{
	int err;

	/* A limit of the length of a segment would cut the range. */
	if (dev->dma_parms)
		dma_set_max_seg_size(dev, UINT_MAX);
	err = list_pages(pool, &pool->sgt);
	if (err)
		return err;
	err = dma_map_sgtable(dev, &pool->sgt, DMA_BIDIRECTIONAL, DMA_ATTR_SKIP_CPU_SYNC);
	if (!err && pool->sgt.nents != 1) {
		dma_unmap_sgtable(dev, &pool->sgt, DMA_BIDIRECTIONAL, DMA_ATTR_SKIP_CPU_SYNC);
		err = -ENOSPC;
	}
	if (err) {
		sg_free_table(&pool->sgt);
		return err;
	}
	pool->dma = sg_dma_address(pool->sgt.sgl);
	return 0;
}

static int make_of_pages(struct rsm_pool *pool, struct device *dev)
{
	bool single = !rsm_translated(dev);
	int err;

	if (!dev_is_dma_coherent(dev))
		return -EOPNOTSUPP;
	err = get_pages_of(pool, single);
	if (err)
		return err;
	err = map_pages(pool, dev);
	/* A bounce buffer is no memory that the other host could share. */
	if (!err && single && pool->dma != page_to_phys(pool->pages[0]))
		err = -EOPNOTSUPP;
	else if (!err)
		pool->memory = vmap(pool->pages, CONTROL_PAGES, VM_MAP, PAGE_KERNEL);
	if (!err && pool->memory)
		return 0;
	if (pool->dma) {
		dma_unmap_sgtable(dev, &pool->sgt, DMA_BIDIRECTIONAL, DMA_ATTR_SKIP_CPU_SYNC);
		sg_free_table(&pool->sgt);
	}
	free_pages_of(pool, pool->size >> PAGE_SHIFT);
	return err ? err : -ENOMEM;
}

/* Of pages, with the range for pinned memory if it can be had. */
static int make_with_range(struct rsm_port *port, struct device *dev, size_t pin_size)
{
	struct rsm_pool *pool = &port->pool;
	int err;

	pool->pin_size = rsm_pin_room(port, pin_size);
	err = make_of_pages(pool, dev);
	if (err && pool->pin_size) {
		rsm_pin_refuse(port, err == -EOPNOTSUPP ?
					     "the device maps only memory of its own" :
					     "there is no room for it behind the pool: try less");
		pool->pin_size = 0;
		pool->dma = 0;
		err = make_of_pages(pool, dev);
	}
	if (!err)
		rsm_pin_begin(port);
	return err;
}

/* Make port->pool. Says in the log what is wrong and what helps. */
int rsm_pool_make(struct rsm_port *port, size_t size, size_t pin_size)
{
	struct device *dev = ntb_get_dma_dev(port->ntb);
	struct rsm_pool *pool = &port->pool;

	pool->size = size;
	if (!make_with_range(port, dev, pin_size))
		return 0;
	pool->dma = 0;
	pool->memory = dma_alloc_coherent(dev, size, &pool->dma, GFP_KERNEL | __GFP_NOWARN);
	if (pool->memory)
		return 0;
	if (rsm_translated(dev))
		rsm_refuse(port->ntb, "no memory for a pool of %zu MiB: make it smaller (pool_mib)",
			   size >> 20);
	else
		rsm_refuse(port->ntb,
			   "no IOMMU translates for this device, and there is no block of %zu MiB: boot with intel_iommu=on or amd_iommu=on and without iommu=pt, or try pool_mib=4",
			   size >> 20);
	return -ENOMEM;
}

/* The device is going. Afterwards pages are ours alone; device memory no longer exists. */
void rsm_pool_unmap(struct rsm_port *port)
{
	struct device *dev = ntb_get_dma_dev(port->bound);
	struct rsm_pool *pool = &port->pool;

	if (pool->pages) {
		rsm_pin_end(port);
		dma_unmap_sgtable(dev, &pool->sgt, DMA_BIDIRECTIONAL, DMA_ATTR_SKIP_CPU_SYNC);
		sg_free_table(&pool->sgt);
	} else if (pool->memory) {
		dma_free_coherent(dev, pool->size, pool->memory, pool->dma);
		pool->memory = NULL;
	}
}

void rsm_pool_free(struct rsm_pool *pool)
{
	if (!pool->pages)
		return;
	vunmap(pool->memory);
	free_pages_of(pool, pool->size >> PAGE_SHIFT);
}

void rsm_pool_zero(struct rsm_pool *pool, u64 offset, u64 length)
{
	u64 end = offset + length;

	for (; offset < end; offset += PAGE_SIZE) {
		if (pool->pages)
			clear_highpage(pool->pages[offset >> PAGE_SHIFT]);
		else
			memset(pool->memory + offset, 0, PAGE_SIZE);
		cond_resched();
	}
}

unsigned long rsm_pool_pfn(struct rsm_pool *pool, u64 offset)
{
	void *address = pool->memory + offset;

	if (pool->pages)
		return page_to_pfn(pool->pages[offset >> PAGE_SHIFT]);
	return is_vmalloc_addr(address) ? vmalloc_to_pfn(address) : PHYS_PFN(virt_to_phys(address));
}

/* Whether there are references to a page of an unmapped extent besides the pool's. */
bool rsm_pool_pinned(struct rsm_pool *pool, u64 offset, u64 length)
{
	unsigned long i, end = (offset + length) >> PAGE_SHIFT;

	if (offset >= pool->size)
		return false; /* none of the pool's */
	for (i = offset >> PAGE_SHIFT; pool->pages && i < end; i++)
		if (page_count(pool->pages[i]) != 1)
			return true;
	return false;
}
