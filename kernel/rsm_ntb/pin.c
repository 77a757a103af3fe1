// SPDX-License-Identifier: GPL-2.0
/*
 * Memory of applications behind the window, in place. Next to the pool lies a range of bus
 * addresses that belongs to the device and where nothing is mapped: the IOMMU refuses what the
 * other host sends there. PIN maps the pages of a process at the offset of one extent, and they
 * are gone from there when the end of the extent or of the device returns.
 *
 * The DMA API has no call that keeps a range of addresses without memory. So the range is mapped
 * together with the pool, which also makes both contiguous, and then emptied; before the DMA API
 * takes the pool back, the range is filled again, for it wants to find what it has mapped.
 *
 * What is pinned counts for the limit RLIMIT_MEMLOCK of the process, in VmPin, as memory that is
 * registered for RDMA does. The counter is atomic: nothing here waits for a lock that a process can
 * hold.
 */
#include <linux/iommu.h>
#include <linux/mm.h>
#include <linux/scatterlist.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>

#include "compat.h"
#include "port.h"

#define PROTECTION (IOMMU_READ | IOMMU_WRITE | IOMMU_CACHE)

/* What is pinned for an extent. port->pins has those that are mapped. */
struct rsm_pin {
	struct list_head list;
	struct rsm_extent *extent;
	struct mm_struct *mm;	/* that it counts for */
	struct page **pages;
	unsigned long count;
};

/* ---- the range ---- */

/* Why the device cannot have such a range, NULL if it can. */
static const char *unsuitable(struct device *dev)
{
	struct iommu_domain *domain = iommu_get_domain_for_dev(dev);

	if (!domain || !(domain->type & __IOMMU_DOMAIN_DMA_API))
		return "no IOMMU translates for this device: boot with intel_iommu=on or amd_iommu=on and without iommu=pt";
	if (!(domain->pgsize_bitmap & PAGE_SIZE))
		return "its IOMMU does not map single pages";
	return NULL;
}

/* How much room for pinned memory of the wanted the device can have; says why if there is none. */
size_t rsm_pin_room(struct rsm_port *port, size_t wanted)
{
	const char *why = wanted ? unsuitable(ntb_get_dma_dev(port->ntb)) : NULL;

	if (why)
		rsm_pin_refuse(port, why);
	return why ? 0 : wanted;
}

void rsm_pin_refuse(struct rsm_port *port, const char *why)
{
	dev_warn(&port->ntb->dev, "pin_mib is ignored, nothing can be pinned: %s\n", why);
}

/* The pool is mapped with the range behind it: empty that. */
void rsm_pin_begin(struct rsm_port *port)
{
	struct device *dev = ntb_get_dma_dev(port->ntb);
	struct iommu_domain *domain = iommu_get_domain_for_dev(dev);
	struct rsm_pool *pool = &port->pool;

	if (!pool->pin_size)
		return;
	if (iommu_unmap(domain, pool->dma + pool->size, pool->pin_size) != pool->pin_size)
		dev_warn(dev, "the IOMMU did not unmap the range for pinned memory\n");
	mutex_lock(&port->pin_lock);
	pool->domain = domain;
	mutex_unlock(&port->pin_lock);
}

/* ---- pages of a process ---- */

/* Whether the process may have that much more of its memory pinned; if so it has. */
static bool charge(struct mm_struct *mm, unsigned long count)
{
	unsigned long limit = rlimit(RLIMIT_MEMLOCK) >> PAGE_SHIFT;

	if (atomic64_add_return(count, &mm->pinned_vm) <= limit || capable(CAP_IPC_LOCK))
		return true;
	atomic64_sub(count, &mm->pinned_vm);
	return false;
}

static void pin_free(struct rsm_pin *pin)
{
	unpin_user_pages_dirty_lock(pin->pages, pin->count, true);
	atomic64_sub(pin->count, &pin->mm->pinned_vm);
	mmdrop(pin->mm);
	kvfree(pin->pages);
	kfree(pin);
}

/*
 * Only memory that swaps, and huge pages: pages of a file may be written back, and then only the
 * file system may change them.
 */
static bool suitable(struct page **pages, unsigned long count)
{
	unsigned long i;

	for (i = 0; i < count; i++) {
		struct folio *folio = page_folio(pages[i]);

		if (!folio_test_swapbacked(folio) && !folio_test_hugetlb(folio))
			return false;
		if (!(i & 1023))
			cond_resched();
	}
	return true;
}

/* Pin [address, address + count pages) of the calling process. */
static int pin_pages(struct rsm_pin *pin, unsigned long address)
{
	int pinned;

	if (!pin->count || pin->count > INT_MAX)
		return -EINVAL;
	pin->pages = kvmalloc_array(pin->count, sizeof(*pin->pages), GFP_KERNEL_ACCOUNT);
	if (!pin->pages)
		return -ENOMEM;
	pinned = pin_user_pages_fast(address, pin->count, FOLL_WRITE | FOLL_LONGTERM, pin->pages);
	if (pinned == pin->count && suitable(pin->pages, pin->count))
		return 0;
	if (pinned > 0)
		unpin_user_pages(pin->pages, pinned);
	if (pinned == pin->count)
		return -EOPNOTSUPP;
	if (fatal_signal_pending(current))
		return -EINTR;
	return pinned < 0 ? pinned : -EFAULT;
}

static struct rsm_pin *pin_make(unsigned long address, unsigned long count)
{
	struct rsm_pin *pin = kzalloc(sizeof(*pin), GFP_KERNEL);
	int err;

	if (!pin)
		return ERR_PTR(-ENOMEM);
	pin->count = count;
	if (!charge(current->mm, count)) {
		kfree(pin);
		return ERR_PTR(-EDQUOT);
	}
	err = pin_pages(pin, address);
	if (!err) {
		pin->mm = current->mm;
		mmgrab(pin->mm);
		return pin;
	}
	atomic64_sub(count, &current->mm->pinned_vm);
	kvfree(pin->pages);
	kfree(pin);
	return ERR_PTR(err);
}

/* ---- IOMMU, pin_lock ---- */

static dma_addr_t address_of(struct rsm_port *port, const struct rsm_extent *extent)
{
	return port->pool.dma + extent->offset;
}

static int map(struct rsm_port *port, struct rsm_pin *pin, struct sg_table *sgt)
{
	struct rsm_extent *extent = pin->extent;
	ssize_t mapped;

	if (!port->pool.domain)
		return -ENODEV;
	if (extent->pin)
		return -EBUSY;
	mapped = rsm_iommu_map_sg(port->pool.domain, address_of(port, extent), sgt, PROTECTION);
	if (mapped < 0)
		return mapped;
	if (mapped != extent->length) { /* not by the API's word; leave nothing behind */
		iommu_unmap(port->pool.domain, address_of(port, extent), mapped);
		return -ENOMEM;
	}
	extent->pin = pin;
	list_add(&pin->list, &port->pins);
	return 0;
}

/* When this returns, no access of the device that comes later reaches the pages. */
static void unmap(struct rsm_port *port, struct rsm_pin *pin)
{
	struct rsm_extent *extent = pin->extent;

	if (iommu_unmap(port->pool.domain, address_of(port, extent), extent->length) !=
	    extent->length)
		pr_err_ratelimited("%s: the IOMMU has kept a part of extent %llu\n", port->name,
				   extent->id.value);
	extent->pin = NULL;
	list_del(&pin->list);
}

/* ---- what others call ---- */

/* PIN. The caller holds the descriptor, which keeps the extent live. */
int rsm_pin(struct rsm_port *port, struct rsm_extent *extent, u64 address)
{
	struct sg_table sgt;
	struct rsm_pin *pin;
	int err;

	if (!extent->in_place || address & (PAGE_SIZE - 1) ||
	    address != (unsigned long)address || !current->mm)
		return -EINVAL;
	if (READ_ONCE(extent->pin))
		return -EBUSY;
	pin = pin_make(address, extent->length >> PAGE_SHIFT);
	if (IS_ERR(pin))
		return PTR_ERR(pin);
	pin->extent = extent;
	err = sg_alloc_table_from_pages(&sgt, pin->pages, pin->count, 0, extent->length,
					GFP_KERNEL);
	if (!err) {
		mutex_lock(&port->pin_lock);
		err = map(port, pin, &sgt);
		mutex_unlock(&port->pin_lock);
		sg_free_table(&sgt);
	}
	if (err)
		pin_free(pin);
	return err;
}

/* The end of an extent. */
void rsm_unpin(struct rsm_port *port, struct rsm_extent *extent)
{
	struct rsm_pin *pin;

	mutex_lock(&port->pin_lock);
	pin = extent->pin;
	if (pin)
		unmap(port, pin);
	mutex_unlock(&port->pin_lock);
	if (pin)
		pin_free(pin);
}

/* The device is going: nothing is pinned any more, and the range is as the DMA API has made it. */
void rsm_pin_end(struct rsm_port *port)
{
	struct rsm_pool *pool = &port->pool;
	struct iommu_domain *domain;
	struct rsm_pin *pin, *next;
	size_t done = 0;
	LIST_HEAD(pins);

	mutex_lock(&port->pin_lock);
	domain = pool->domain;
	list_for_each_entry_safe(pin, next, &port->pins, list) {
		unmap(port, pin);
		list_add(&pin->list, &pins);
	}
	pool->domain = NULL;
	mutex_unlock(&port->pin_lock);
	list_for_each_entry_safe(pin, next, &pins, list)
		pin_free(pin);
	for (; domain && done < pool->pin_size; done += PAGE_SIZE) {
		if (rsm_iommu_map(domain, pool->dma + pool->size + done,
				  page_to_phys(pool->pages[0]), PAGE_SIZE, PROTECTION))
			break;
		cond_resched();
	}
}
