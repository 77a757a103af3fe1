/* SPDX-License-Identifier: GPL-2.0 */
/* What differs between the kernels that rsm_ntb is built for. */
#ifndef RSM_NTB_COMPAT_H
#define RSM_NTB_COMPAT_H

#include <linux/iommu.h>
#include <linux/mm.h>
#include <linux/ntb.h>
#include <linux/pci.h>
#include <linux/version.h>

/* vm_flags became read-only in 6.3. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 3, 0)
static inline void rsm_vm_flags_set(struct vm_area_struct *vma, unsigned long flags)
{
	vma->vm_flags |= flags;
}

static inline void rsm_vm_flags_clear(struct vm_area_struct *vma, unsigned long flags)
{
	vma->vm_flags &= ~flags;
}
#else
#define rsm_vm_flags_set vm_flags_set
#define rsm_vm_flags_clear vm_flags_clear
#endif

/* The device whose DMA goes through the bridge; Kbuild looks for the function. */
#ifndef RSM_HAS_NTB_GET_DMA_DEV
static inline struct device *ntb_get_dma_dev(struct ntb_dev *ntb)
{
	return &ntb->pdev->dev;
}
#endif

/* iommu_map() has an argument for allocation flags since 6.3. */
static inline int rsm_iommu_map(struct iommu_domain *domain, unsigned long iova,
				phys_addr_t physical, size_t size, int prot)
{
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 3, 0)
	return iommu_map(domain, iova, physical, size, prot);
#else
	return iommu_map(domain, iova, physical, size, prot, GFP_KERNEL);
#endif
}

static inline ssize_t rsm_iommu_map_sg(struct iommu_domain *domain, unsigned long iova,
				       struct sg_table *sgt, int prot)
{
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 3, 0)
	return iommu_map_sg(domain, iova, sgt->sgl, sgt->orig_nents, prot);
#else
	return iommu_map_sg(domain, iova, sgt->sgl, sgt->orig_nents, prot, GFP_KERNEL);
#endif
}

#endif
