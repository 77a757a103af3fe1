// SPDX-License-Identifier: GPL-2.0
/*
 * Mappings. Every descriptor has a range of offsets of its own in the address space of the device
 * node, so that what it has mapped, in whichever process, can be taken away from it alone. What is
 * mapped is decided at each fault: the range of an import that has ended shows a private page.
 */
#include <linux/idr.h>
#include <linux/vmalloc.h>

#include "compat.h"
#include "port.h"

#define KIND_SHIFT 40
#define RANGE_SHIFT 42
#define IDS BIT(20)
/* Pages that one fault puts in place. */
#define AROUND 64

static DEFINE_IDA(ids);
static struct page *zeroes; /* what the canary reads as when an import has ended */

int rsm_mmap_init(void)
{
	zeroes = alloc_page(GFP_KERNEL | __GFP_ZERO);
	return zeroes ? 0 : -ENOMEM;
}

void rsm_mmap_exit(void)
{
	__free_page(zeroes);
	ida_destroy(&ids);
}

int rsm_mmap_id(void)
{
	return ida_alloc_max(&ids, IDS - 1, GFP_KERNEL);
}

void rsm_mmap_id_free(int id)
{
	ida_free(&ids, id);
}

/* Where the descriptor's own range begins. */
u64 rsm_mmap_base(const struct rsm_open *open)
{
	return (u64)open->id << RANGE_SHIFT;
}

/* Take all mappings of a descriptor away; the next access faults. */
void rsm_zap(struct rsm_open *open)
{
	unmap_mapping_range(open->mapping, rsm_mmap_base(open), 1LL << RANGE_SHIFT, 1);
}

static u64 kind_offset(struct vm_area_struct *vma, unsigned long address)
{
	u64 offset = (u64)(vma->vm_pgoff + ((address - vma->vm_start) >> PAGE_SHIFT)) << PAGE_SHIFT;

	return offset & (BIT_ULL(KIND_SHIFT) - 1);
}

static vm_fault_t insert_page_frame(struct vm_fault *vmf, struct page *page)
{
	return vmf_insert_pfn_prot(vmf->vma, vmf->address, page_to_pfn(page),
				   vm_get_page_prot(vmf->vma->vm_flags));
}

/* ---- import ---- */

static unsigned long window_pfn(struct vm_area_struct *vma, unsigned long address)
{
	struct rsm_open *open = vma->vm_private_data;

	return PHYS_PFN(open->port->window_phys + open->import->offset + kind_offset(vma, address));
}

static vm_fault_t import_fault(struct vm_fault *vmf)
{
	struct vm_area_struct *vma = vmf->vma;
	struct rsm_open *open = vma->vm_private_data;
	unsigned long address = ALIGN_DOWN(vmf->address, AROUND * PAGE_SIZE);
	unsigned long end = min(address + AROUND * PAGE_SIZE, vma->vm_end);
	vm_fault_t result;

	down_read(&open->port->map_sem);
	if (open->import->ended) {
		result = insert_page_frame(vmf, open->import->trash);
	} else {
		result = vmf_insert_pfn(vma, vmf->address, window_pfn(vma, vmf->address));
		for (address = max(address, vma->vm_start);
		     result == VM_FAULT_NOPAGE && address < end; address += PAGE_SIZE)
			if (vmf_insert_pfn(vma, address, window_pfn(vma, address)) !=
			    VM_FAULT_NOPAGE)
				break;
	}
	up_read(&open->port->map_sem);
	return result;
}

static vm_fault_t canary_fault(struct vm_fault *vmf)
{
	struct rsm_open *open = vmf->vma->vm_private_data;
	vm_fault_t result;

	down_read(&open->port->map_sem);
	if (open->import->ended)
		result = insert_page_frame(vmf, zeroes);
	else
		result = vmf_insert_pfn(vmf->vma, vmf->address,
					PHYS_PFN(open->port->window_phys + RSM_NTB_HELLO));
	up_read(&open->port->map_sem);
	return result;
}

static vm_fault_t status_fault(struct vm_fault *vmf)
{
	struct rsm_open *open = vmf->vma->vm_private_data;

	return vmf_insert_pfn(vmf->vma, vmf->address,
			      page_to_pfn(virt_to_page(open->import->status)));
}

static const struct vm_operations_struct import_ops = { .fault = import_fault };
static const struct vm_operations_struct canary_ops = { .fault = canary_fault };
static const struct vm_operations_struct status_ops = { .fault = status_fault };

static int import_mmap(struct rsm_open *open, struct vm_area_struct *vma, unsigned int kind,
		       u64 end)
{
	bool read_only = kind != RSM_NTB_MAP_DATA >> KIND_SHIFT ||
			 open->import->flags & RSM_NTB_READ_ONLY;

	if (read_only && vma->vm_flags & VM_WRITE)
		return -EACCES;
	if (read_only)
		rsm_vm_flags_clear(vma, VM_MAYWRITE);
	switch (kind) {
	case RSM_NTB_MAP_DATA >> KIND_SHIFT:
		if (end > open->import->length)
			return -EINVAL;
		vma->vm_page_prot = pgprot_writecombine(vma->vm_page_prot);
		vma->vm_ops = &import_ops;
		break;
	case RSM_NTB_MAP_CANARY >> KIND_SHIFT:
		if (end > PAGE_SIZE)
			return -EINVAL;
		vma->vm_page_prot = pgprot_noncached(vma->vm_page_prot);
		vma->vm_ops = &canary_ops;
		break;
	case RSM_NTB_MAP_STATUS >> KIND_SHIFT:
		if (end > PAGE_SIZE)
			return -EINVAL;
		vma->vm_ops = &status_ops;
		break;
	default:
		return -EINVAL;
	}
	rsm_vm_flags_set(vma, VM_PFNMAP | VM_IO | VM_DONTEXPAND | VM_DONTDUMP);
	return 0;
}

/* ---- export ---- */

/*
 * Of a pool of pages, which stay until the last descriptor has gone. Those around the address come
 * with it: a fault costs more than to put many pages in place, but who touches little shall not pay
 * for all, nor copy all at each fork().
 */
static vm_fault_t pages_fault(struct vm_fault *vmf)
{
	struct vm_area_struct *vma = vmf->vma;
	struct rsm_open *open = vma->vm_private_data;
	struct page **pages = open->port->pool.pages + (open->extent->offset >> PAGE_SHIFT);
	unsigned long around = ALIGN_DOWN(vmf->address, AROUND * PAGE_SIZE);
	unsigned long begin = max(around, vma->vm_start);
	unsigned long count = (min(around + AROUND * PAGE_SIZE, vma->vm_end) - begin) >> PAGE_SHIFT;

	if (!vm_insert_pages(vma, begin, pages + (kind_offset(vma, begin) >> PAGE_SHIFT), &count))
		return VM_FAULT_NOPAGE;
	/* One of them is there already: this one alone. */
	vmf->page = pages[kind_offset(vma, vmf->address) >> PAGE_SHIFT];
	get_page(vmf->page);
	return 0;
}

static vm_fault_t export_fault(struct vm_fault *vmf)
{
	struct vm_area_struct *vma = vmf->vma;
	struct rsm_open *open = vma->vm_private_data;
	struct rsm_pool *pool = &open->port->pool;
	struct rsm_extent *extent = open->extent;
	u64 offset = kind_offset(vma, vmf->address);
	unsigned long pfn = 0;
	vm_fault_t result;

	if (pool->pages)
		return pages_fault(vmf);
	down_read(&open->port->map_sem);
	if (!open->port->gone)
		pfn = rsm_pool_pfn(pool, extent->offset + offset);
	else if (extent->orphan)
		pfn = vmalloc_to_pfn(extent->orphan + offset);
	result = pfn ? vmf_insert_pfn(vma, vmf->address, pfn) : VM_FAULT_SIGBUS;
	up_read(&open->port->map_sem);
	return result;
}

static const struct vm_operations_struct export_ops = { .fault = export_fault };

static int export_mmap(struct rsm_open *open, struct vm_area_struct *vma, unsigned int kind,
		       u64 end)
{
	if (kind != RSM_NTB_MAP_DATA >> KIND_SHIFT || end > open->extent->length)
		return -EINVAL;
	if (open->extent->in_place) /* it is the exporter's own */
		return -ENODEV;
	if (open->read_only && vma->vm_flags & VM_WRITE)
		return -EACCES;
	if (open->read_only)
		rsm_vm_flags_clear(vma, VM_MAYWRITE);
	rsm_vm_flags_set(vma, VM_DONTEXPAND);
	if (open->port->pool.pages) /* for vm_insert_pages() in faults */
		rsm_vm_flags_set(vma, VM_MIXEDMAP);
	else
		rsm_vm_flags_set(vma, VM_PFNMAP | VM_IO | VM_DONTDUMP);
	vma->vm_ops = &export_ops;
	return 0;
}

int rsm_mmap(struct file *file, struct vm_area_struct *vma)
{
	struct rsm_open *open = file->private_data;
	enum rsm_role role = smp_load_acquire(&open->role); /* with what belongs to it */
	unsigned long pages = BIT_ULL(KIND_SHIFT - PAGE_SHIFT), begin = vma->vm_pgoff;
	unsigned long base = rsm_mmap_base(open) >> PAGE_SHIFT;
	unsigned int kind;
	u64 end;
	int err;

	if (begin >= base && begin - base < 4 * pages)
		begin -= base; /* in the descriptor's own range */
	kind = begin / pages;
	end = (u64)(begin % pages + vma_pages(vma)) << PAGE_SHIFT;
	if (begin >= 4 * pages || !(vma->vm_flags & VM_SHARED))
		return -EINVAL;
	if (role == RSM_EXPORT || role == RSM_SHARE)
		err = export_mmap(open, vma, kind, end);
	else if (role == RSM_IMPORT)
		err = import_mmap(open, vma, kind, end);
	else
		err = -EINVAL;
	if (err)
		return err;
	vma->vm_private_data = open;
	vma->vm_pgoff = base + begin;
	return 0;
}
