// SPDX-License-Identifier: GPL-2.0
/*
 * Half a bridge, for tests only: an NTB hardware driver over QEMU's edu device, whose DMA engine
 * takes the place of the other host. What the other host would load from or store to the window at
 * some offset is a read or write of /dev/ntb_edu there: the device does it at the translated bus
 * address, by way of the IOMMU. Unlike ntb_hw_ivshmem, it translates to any memory.
 *
 * There is a link and nobody behind it: doorbells lead nowhere, and the scratchpads there are those here, so
 * that a client driver sees itself on the other side: it greets, and acknowledges. The outbound window is
 * the memory of an ivshmem-plain device in the same machine, which nobody looks at.
 *
 * As on a bus, a write is posted: it succeeds whether or not it arrives. A read that the IOMMU
 * refuses gives what QEMU makes of it, which is none of the memory. Nobody may have /dev/ntb_edu
 * open while the driver is unbound.
 */
#include <linux/delay.h>
#include <linux/dma-mapping.h>
#include <linux/fs.h>
#include <linux/io.h>
#include <linux/io-64-nonatomic-lo-hi.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/ntb.h>
#include <linux/pci.h>
#include <linux/uaccess.h>

#define EDU_SPADS 16
#define EDU_BELLS 4

/* Registers of the DMA engine in BAR 0, and its memory as the engine sees it. */
#define EDU_SOURCE 0x80
#define EDU_TARGET 0x88
#define EDU_COUNT 0x90
#define EDU_COMMAND 0x98
#define EDU_RUN 1
#define EDU_FROM_DEVICE 2
#define EDU_MEMORY 0x40000
#define EDU_AT_ONCE 2048 /* the device has 4096 bytes, but older ones refuse the last */
#define EDU_PATIENCE_MS 20000

struct edu {
	struct ntb_dev ntb;
	void __iomem *regs;
	struct pci_dev *window;	/* whose memory is the outbound window */
	struct miscdevice misc;
	void *bounce;		/* of EDU_AT_ONCE bytes */
	dma_addr_t bounce_dma;
	struct mutex mutex;	/* of what follows, and of the engine */
	bool link;
	dma_addr_t translation;
	resource_size_t size;	/* 0: none is set */
	spinlock_t bells_lock;
	u64 bells_mask;
	u32 spads[EDU_SPADS];
};

static struct edu *edu_of(struct ntb_dev *ntb)
{
	return container_of(ntb, struct edu, ntb);
}

/* ---- link ---- */

static u64 edu_link_is_up(struct ntb_dev *ntb, enum ntb_speed *speed, enum ntb_width *width)
{
	if (speed)
		*speed = NTB_SPEED_GEN1;
	if (width)
		*width = NTB_WIDTH_1;
	return READ_ONCE(edu_of(ntb)->link);
}

static int edu_link_enable(struct ntb_dev *ntb, enum ntb_speed speed, enum ntb_width width)
{
	WRITE_ONCE(edu_of(ntb)->link, true);
	ntb_link_event(ntb);
	return 0;
}

static int edu_link_disable(struct ntb_dev *ntb)
{
	WRITE_ONCE(edu_of(ntb)->link, false);
	return 0;
}

/* ---- windows ---- */

static int edu_mw_count(struct ntb_dev *ntb, int peer)
{
	return peer ? -EINVAL : 1;
}

static resource_size_t window_size(struct edu *edu)
{
	return pci_resource_len(edu->window, 2);
}

static int edu_mw_get_align(struct ntb_dev *ntb, int peer, int index, resource_size_t *address,
			    resource_size_t *granule, resource_size_t *max)
{
	if (peer || index)
		return -EINVAL;
	if (!edu_of(ntb)->link)
		return -ENOTCONN;
	if (address)
		*address = window_size(edu_of(ntb)); /* as strict as the oldest hardware */
	if (granule)
		*granule = SZ_4K;
	if (max)
		*max = window_size(edu_of(ntb));
	return 0;
}

static int edu_mw_set_trans(struct ntb_dev *ntb, int peer, int index, dma_addr_t address,
			    resource_size_t size)
{
	struct edu *edu = edu_of(ntb);

	if (peer || index || size > window_size(edu))
		return -EINVAL;
	mutex_lock(&edu->mutex);
	edu->translation = address;
	edu->size = size;
	mutex_unlock(&edu->mutex);
	return 0;
}

static int edu_mw_clear_trans(struct ntb_dev *ntb, int peer, int index)
{
	return edu_mw_set_trans(ntb, peer, index, 0, 0);
}

static int edu_peer_mw_count(struct ntb_dev *ntb)
{
	return 1;
}

static int edu_peer_mw_get_addr(struct ntb_dev *ntb, int index, phys_addr_t *base,
				resource_size_t *size)
{
	if (index)
		return -EINVAL;
	if (base)
		*base = pci_resource_start(edu_of(ntb)->window, 2);
	if (size)
		*size = window_size(edu_of(ntb));
	return 0;
}

/* ---- doorbells, which nobody rings, and scratchpads, where everybody is the other side, too ---- */

static u64 edu_db_valid_mask(struct ntb_dev *ntb)
{
	return BIT_ULL(EDU_BELLS) - 1;
}

static u64 edu_db_read(struct ntb_dev *ntb)
{
	return 0;
}

static int edu_db_ignore(struct ntb_dev *ntb, u64 bits)
{
	return 0;
}

static u64 edu_db_read_mask(struct ntb_dev *ntb)
{
	return edu_of(ntb)->bells_mask;
}

static int edu_db_set_mask(struct ntb_dev *ntb, u64 bits)
{
	struct edu *edu = edu_of(ntb);

	spin_lock_irq(&edu->bells_lock);
	edu->bells_mask |= bits;
	spin_unlock_irq(&edu->bells_lock);
	return 0;
}

static int edu_db_clear_mask(struct ntb_dev *ntb, u64 bits)
{
	struct edu *edu = edu_of(ntb);

	spin_lock_irq(&edu->bells_lock);
	edu->bells_mask &= ~bits;
	spin_unlock_irq(&edu->bells_lock);
	return 0;
}

static int edu_spad_count(struct ntb_dev *ntb)
{
	return EDU_SPADS;
}

static u32 edu_spad_read(struct ntb_dev *ntb, int index)
{
	return index < 0 || index >= EDU_SPADS ? 0 : edu_of(ntb)->spads[index];
}

static int edu_spad_write(struct ntb_dev *ntb, int index, u32 value)
{
	if (index < 0 || index >= EDU_SPADS)
		return -EINVAL;
	edu_of(ntb)->spads[index] = value;
	return 0;
}

static u32 edu_peer_spad_read(struct ntb_dev *ntb, int peer, int index)
{
	return peer ? 0 : edu_spad_read(ntb, index);
}

static int edu_peer_spad_write(struct ntb_dev *ntb, int peer, int index, u32 value)
{
	return peer ? -EINVAL : edu_spad_write(ntb, index, value);
}

static const struct ntb_dev_ops edu_ops = {
	.link_is_up = edu_link_is_up,
	.link_enable = edu_link_enable,
	.link_disable = edu_link_disable,
	.mw_count = edu_mw_count,
	.mw_get_align = edu_mw_get_align,
	.mw_set_trans = edu_mw_set_trans,
	.mw_clear_trans = edu_mw_clear_trans,
	.peer_mw_count = edu_peer_mw_count,
	.peer_mw_get_addr = edu_peer_mw_get_addr,
	.db_valid_mask = edu_db_valid_mask,
	.db_read = edu_db_read,
	.db_clear = edu_db_ignore,
	.db_read_mask = edu_db_read_mask,
	.db_set_mask = edu_db_set_mask,
	.db_clear_mask = edu_db_clear_mask,
	.peer_db_set = edu_db_ignore,
	.spad_count = edu_spad_count,
	.spad_read = edu_spad_read,
	.spad_write = edu_spad_write,
	.peer_spad_read = edu_peer_spad_read,
	.peer_spad_write = edu_peer_spad_write,
};

/* ---- the other host ---- */

/* mutex. Move between the device's memory and bus address `address`. */
static int transfer(struct edu *edu, dma_addr_t address, size_t size, bool from_device)
{
	unsigned int waited;

	writeq(from_device ? EDU_MEMORY : address, edu->regs + EDU_SOURCE);
	writeq(from_device ? address : EDU_MEMORY, edu->regs + EDU_TARGET);
	writeq(size, edu->regs + EDU_COUNT);
	writeq(EDU_RUN | (from_device ? EDU_FROM_DEVICE : 0), edu->regs + EDU_COMMAND);
	for (waited = 0; readq(edu->regs + EDU_COMMAND) & EDU_RUN; waited++) {
		if (waited == EDU_PATIENCE_MS)
			return -ETIMEDOUT;
		usleep_range(1000, 2000);
	}
	return 0;
}

static struct edu *edu_of_file(struct file *file)
{
	return container_of(file->private_data, struct edu, misc);
}

/* mutex. Whether the window leads anywhere there. */
static bool reachable(struct edu *edu, loff_t offset, size_t size)
{
	return size <= EDU_AT_ONCE && offset >= 0 && offset <= edu->size &&
	       size <= edu->size - offset;
}

static ssize_t edu_load(struct file *file, char __user *user, size_t size, loff_t *offset)
{
	struct edu *edu = edu_of_file(file);
	int err = -EINVAL;

	mutex_lock(&edu->mutex);
	if (reachable(edu, *offset, size)) {
		err = transfer(edu, edu->translation + *offset, size, false);
		memset(edu->bounce, 0, size);
		if (!err)
			err = transfer(edu, edu->bounce_dma, size, true);
		if (!err && copy_to_user(user, edu->bounce, size))
			err = -EFAULT;
	}
	mutex_unlock(&edu->mutex);
	return err ? err : size;
}

static ssize_t edu_store(struct file *file, const char __user *user, size_t size, loff_t *offset)
{
	struct edu *edu = edu_of_file(file);
	int err = -EINVAL;

	mutex_lock(&edu->mutex);
	if (reachable(edu, *offset, size)) {
		err = copy_from_user(edu->bounce, user, size) ? -EFAULT : 0;
		if (!err)
			err = transfer(edu, edu->bounce_dma, size, false);
		if (!err)
			err = transfer(edu, edu->translation + *offset, size, true);
	}
	mutex_unlock(&edu->mutex);
	return err ? err : size;
}

static const struct file_operations edu_fops = {
	.owner = THIS_MODULE,
	.read = edu_load,
	.write = edu_store,
	.llseek = no_seek_end_llseek,
};

/* ---- device ---- */

static int edu_map(struct edu *edu, struct pci_dev *pdev)
{
	edu->window = pci_get_device(PCI_VENDOR_ID_REDHAT_QUMRANET, 0x1110, NULL);
	if (!edu->window || !pci_resource_len(edu->window, 2)) {
		dev_err(&pdev->dev, "no ivshmem-plain device, whose memory is to be the window\n");
		return -ENODEV;
	}
	edu->regs = devm_ioremap(&pdev->dev, pci_resource_start(pdev, 0), pci_resource_len(pdev, 0));
	edu->bounce = dmam_alloc_coherent(&pdev->dev, EDU_AT_ONCE, &edu->bounce_dma, GFP_KERNEL);
	return edu->regs && edu->bounce ? 0 : -ENOMEM;
}

static int edu_register(struct edu *edu, struct pci_dev *pdev)
{
	int err;

	edu->misc.minor = MISC_DYNAMIC_MINOR;
	edu->misc.name = "ntb_edu";
	edu->misc.fops = &edu_fops;
	edu->misc.mode = 0600;
	err = misc_register(&edu->misc);
	if (err)
		return err;
	edu->ntb.pdev = pdev;
	edu->ntb.topo = NTB_TOPO_NONE;
	edu->ntb.ops = &edu_ops;
	err = ntb_register_device(&edu->ntb);
	if (err)
		misc_deregister(&edu->misc);
	return err;
}

static int edu_probe(struct pci_dev *pdev, const struct pci_device_id *id)
{
	struct edu *edu = devm_kzalloc(&pdev->dev, sizeof(*edu), GFP_KERNEL);
	int err;

	if (!edu)
		return -ENOMEM;
	mutex_init(&edu->mutex);
	spin_lock_init(&edu->bells_lock);
	pci_set_drvdata(pdev, edu);
	err = pcim_enable_device(pdev);
	if (!err)
		err = dma_set_mask_and_coherent(&pdev->dev, DMA_BIT_MASK(64));
	pci_set_master(pdev);
	if (!err)
		err = edu_map(edu, pdev);
	if (!err)
		err = edu_register(edu, pdev);
	if (err)
		pci_dev_put(edu->window);
	return err;
}

static void edu_remove(struct pci_dev *pdev)
{
	struct edu *edu = pci_get_drvdata(pdev);

	ntb_unregister_device(&edu->ntb);
	misc_deregister(&edu->misc);
	pci_dev_put(edu->window);
}

static const struct pci_device_id edu_ids[] = {
	{ PCI_DEVICE(0x1234, 0x11e8) },
	{ }
};
MODULE_DEVICE_TABLE(pci, edu_ids);

static struct pci_driver edu_driver = {
	.name = "ntb_hw_edu",
	.id_table = edu_ids,
	.probe = edu_probe,
	.remove = edu_remove,
};
module_pci_driver(edu_driver);

MODULE_DESCRIPTION("Half an NTB over QEMU's edu device, for tests");
MODULE_AUTHOR("The librsm authors");
MODULE_LICENSE("GPL");
