// SPDX-License-Identifier: GPL-2.0
/*
 * An NTB hardware driver over QEMU's ivshmem-doorbell device, for tests only: two virtual machines
 * whose devices have the same server get a non-transparent bridge between them, with memory
 * windows, scratchpads and doorbells. It knows nothing of any client.
 *
 * The shared memory (BAR 2, S bytes):
 *   [0, 4096), [4096, 8192)   blocks of port 0 and port 1, struct iv_block
 *   [S/2, S)                  four slots of S/8: windows 0 and 1 of port 0, then those of port 1
 * The port is the lowest bit of the device's id, which the server chooses so. A slot is where the
 * other side's window leads, so DMA memory of this device comes out of its own slots: an unmodified
 * client that calls dma_alloc_coherent() gets memory that the window reaches. A bridge with address
 * translation would lead the window to any memory; setting the translation only checks here.
 *
 * With the parameter pages, port 0 has no memory of its own, like a device of hardware, and maps one
 * block of the machine's. Both ports are then in one machine, with an ivshmem-plain device whose
 * memory is the machine's, too: the window of port 1 is the place of that block in the device's
 * memory. QEMU's machine has its memory from address 0.
 *
 * Both ports have number 0 (NTB_TOPO_NONE), so clients treat both sides alike.
 */
#include <linux/dma-map-ops.h>
#include <linux/interrupt.h>
#include <linux/io.h>
#include <linux/io-64-nonatomic-lo-hi.h>
#include <linux/module.h>
#include <linux/ntb.h>
#include <linux/pci.h>

#define IV_MAGIC 0x4e545649
#define IV_SPADS 64
#define IV_WINDOWS 2
#define IV_BELLS 8
#define IV_BLOCK 4096

/* Registers in BAR 0. */
#define IV_POSITION 8
#define IV_DOORBELL 12

static unsigned int beat_ms = 50;
module_param(beat_ms, uint, 0444);
MODULE_PARM_DESC(beat_ms, "interval of the link's heartbeat, in milliseconds (50)");
static bool unsafe;
module_param(unsafe, bool, 0444);
MODULE_PARM_DESC(unsafe, "say that doorbells are unsafe, as hardware with an erratum does (N)");
static bool pages;
module_param(pages, bool, 0444);
MODULE_PARM_DESC(pages, "port 0 maps a block of ordinary memory for its first window, which port 1 reaches by an ivshmem-plain device that repeats the machine's memory (N)");
static unsigned int align_mib;
module_param(align_mib, uint, 0444);
MODULE_PARM_DESC(align_mib, "say that windows are translated only to multiples of so many MiB (0: of the slot's size)");
static unsigned int beat_misses = 20;
module_param(beat_misses, uint, 0444);
MODULE_PARM_DESC(beat_misses, "intervals without a heartbeat that make the link go down (20)");

/* In the shared memory. Written by its own port, but for spad[], which both write. */
struct iv_block {
	__le32 magic;
	__le32 position;
	__le32 link;
	__le32 beat;
	__le32 spad[IV_SPADS];
	__le64 pages, pages_size; /* what window 0 shows; size 0: its slot */
};

/* Of the ivshmem-plain device with the memory of the machine that has port 0; 0: there is none. */
static phys_addr_t repeated;

struct iv_dev;

/* What an interrupt is told: looking it up takes a lock that may sleep. */
struct iv_bell {
	struct iv_dev *iv;
	int vector;	/* of the doorbell, from 0 */
};

struct iv_dev {
	struct ntb_dev ntb;
	struct iv_bell bell[IV_BELLS];
	void __iomem *regs;
	struct iv_block __iomem *own, *peer;
	phys_addr_t memory;
	resource_size_t slot;
	void *slots;	/* both of this port */
	bool taken[IV_WINDOWS];
	unsigned int port, position, bells;
	struct mutex mutex;	/* of taken */

	spinlock_t lock;	/* of the rest */
	u64 pending, mask;
	bool up, enabled, unplugged;
	u32 peer_position, peer_beat, silent;
	struct delayed_work work;
};

static struct iv_dev *to_iv(struct ntb_dev *ntb)
{
	return container_of(ntb, struct iv_dev, ntb);
}

static phys_addr_t slot_address(const struct iv_dev *iv, unsigned int port, unsigned int window)
{
	return iv->memory + 4 * iv->slot + (port * IV_WINDOWS + window) * iv->slot;
}

/* A doorbell is a store behind all others. */
static void ring(const struct iv_dev *iv, unsigned int position, unsigned int vector)
{
	wmb(); /* see above */
	writel(position << 16 | vector, iv->regs + IV_DOORBELL);
}

/* ---- link ---- */

static u64 iv_link_is_up(struct ntb_dev *ntb, enum ntb_speed *speed, enum ntb_width *width)
{
	if (speed)
		*speed = NTB_SPEED_NONE;
	if (width)
		*width = NTB_WIDTH_NONE;
	return READ_ONCE(to_iv(ntb)->up);
}

static int iv_link_enable(struct ntb_dev *ntb, enum ntb_speed speed, enum ntb_width width)
{
	struct iv_dev *iv = to_iv(ntb);

	WRITE_ONCE(iv->enabled, true);
	mod_delayed_work(system_wq, &iv->work, 0);
	return 0;
}

static int iv_link_disable(struct ntb_dev *ntb)
{
	struct iv_dev *iv = to_iv(ntb);

	WRITE_ONCE(iv->enabled, false);
	mod_delayed_work(system_wq, &iv->work, 0);
	return 0;
}

/*
 * The cable between the two ends, for tests: writing 0 takes the link down for both sides, by no
 * doing of either client; writing 1 gives it back.
 */
static ssize_t plugged_store(struct device *dev, struct device_attribute *attribute,
			     const char *text, size_t length)
{
	struct iv_dev *iv = dev_get_drvdata(dev);
	bool plugged;
	int err = kstrtobool(text, &plugged);

	if (err)
		return err;
	WRITE_ONCE(iv->unplugged, !plugged);
	mod_delayed_work(system_wq, &iv->work, 0);
	return length;
}

static ssize_t plugged_show(struct device *dev, struct device_attribute *attribute, char *text)
{
	struct iv_dev *iv = dev_get_drvdata(dev);

	return sysfs_emit(text, "%d\n", !READ_ONCE(iv->unplugged));
}
static DEVICE_ATTR_RW(plugged);

static struct attribute *iv_attrs[] = { &dev_attr_plugged.attr, NULL };
ATTRIBUTE_GROUPS(iv);

/* Whether the other side is there, by its heartbeat. Called by the work alone. */
static bool peer_is_alive(struct iv_dev *iv)
{
	u32 beat = readl(&iv->peer->beat), position = readl(&iv->peer->position);

	if (readl(&iv->peer->magic) != IV_MAGIC || !readl(&iv->peer->link))
		return false;
	if (position != iv->peer_position) { /* another machine in the same place */
		iv->peer_position = position;
		iv->peer_beat = beat;
		iv->silent = beat_misses;
		return false;
	}
	if (beat != iv->peer_beat) {
		iv->peer_beat = beat;
		iv->silent = 0;
	} else if (iv->silent < beat_misses) {
		iv->silent++;
	}
	return iv->silent < beat_misses;
}

/*
 * One side sees the link up before the other one does, unlike in hardware. What it rings meanwhile
 * comes behind the other's link event.
 */
static void iv_work(struct work_struct *work)
{
	struct iv_dev *iv = container_of(to_delayed_work(work), struct iv_dev, work);
	bool here = READ_ONCE(iv->enabled) && !READ_ONCE(iv->unplugged);
	bool up = peer_is_alive(iv) && here;
	u64 early;

	writel(here, &iv->own->link);
	writel(readl(&iv->own->beat) + 1, &iv->own->beat);
	if (up != iv->up) {
		dev_info(&iv->ntb.dev, "link %s\n", up ? "up" : "down");
		spin_lock_irq(&iv->lock);
		WRITE_ONCE(iv->up, up);
		early = up ? iv->pending & ~iv->mask : 0;
		spin_unlock_irq(&iv->lock);
		ntb_link_event(&iv->ntb);
		for (; early; early &= early - 1)
			ntb_db_event(&iv->ntb, __ffs64(early));
	}
	schedule_delayed_work(&iv->work, msecs_to_jiffies(beat_ms));
}

/* ---- memory windows ---- */

static int iv_mw_count(struct ntb_dev *ntb, int pidx)
{
	return pidx ? 0 : IV_WINDOWS;
}

static int iv_mw_get_align(struct ntb_dev *ntb, int pidx, int widx, resource_size_t *addr_align,
			   resource_size_t *size_align, resource_size_t *size_max)
{
	struct iv_dev *iv = to_iv(ntb);

	if (pidx || widx < 0 || widx >= IV_WINDOWS)
		return -EINVAL;
	if (!READ_ONCE(iv->up)) /* as hardware does */
		return -ENOTCONN;
	if (addr_align)
		*addr_align = align_mib ? (u64)align_mib << 20 : pages ? SZ_4K : iv->slot;
	if (size_align)
		*size_align = 1;
	if (size_max)
		*size_max = iv->slot;
	return 0;
}

static int iv_mw_set_trans(struct ntb_dev *ntb, int pidx, int widx, dma_addr_t addr,
			   resource_size_t size)
{
	struct iv_dev *iv = to_iv(ntb);

	if (pidx || widx < 0 || widx >= IV_WINDOWS || size > iv->slot)
		return -EINVAL;
	if (size && addr != slot_address(iv, iv->port, widx) &&
	    (widx || addr != readq(&iv->own->pages) || size > readq(&iv->own->pages_size)))
		return -EINVAL;
	return 0;
}

static int iv_peer_mw_count(struct ntb_dev *ntb)
{
	return IV_WINDOWS;
}

static int iv_peer_mw_get_addr(struct ntb_dev *ntb, int widx, phys_addr_t *base,
			       resource_size_t *size)
{
	struct iv_dev *iv = to_iv(ntb);

	if (widx < 0 || widx >= IV_WINDOWS)
		return -EINVAL;
	if (base)
		*base = slot_address(iv, !iv->port, widx);
	if (size)
		*size = iv->slot;
	if (widx || !readq(&iv->peer->pages_size))
		return 0;
	if (!repeated)
		return -ENXIO;
	if (base)
		*base = repeated + readq(&iv->peer->pages);
	if (size)
		*size = readq(&iv->peer->pages_size);
	return 0;
}

/* ---- doorbells ---- */

static int iv_db_is_unsafe(struct ntb_dev *ntb)
{
	return unsafe;
}

static u64 iv_db_valid_mask(struct ntb_dev *ntb)
{
	return BIT_ULL(to_iv(ntb)->bells) - 1;
}

static int iv_db_vector_count(struct ntb_dev *ntb)
{
	return to_iv(ntb)->bells;
}

static u64 iv_db_vector_mask(struct ntb_dev *ntb, int vector)
{
	return vector >= 0 && vector < to_iv(ntb)->bells ? BIT_ULL(vector) : 0;
}

static u64 iv_db_read(struct ntb_dev *ntb)
{
	return READ_ONCE(to_iv(ntb)->pending);
}

static int iv_db_clear(struct ntb_dev *ntb, u64 bits)
{
	struct iv_dev *iv = to_iv(ntb);
	unsigned long flags;

	spin_lock_irqsave(&iv->lock, flags);
	iv->pending &= ~bits;
	spin_unlock_irqrestore(&iv->lock, flags);
	return 0;
}

static u64 iv_db_read_mask(struct ntb_dev *ntb)
{
	return READ_ONCE(to_iv(ntb)->mask);
}

static int iv_db_set_mask(struct ntb_dev *ntb, u64 bits)
{
	struct iv_dev *iv = to_iv(ntb);
	unsigned long flags;

	if (bits & ~iv_db_valid_mask(ntb))
		return -EINVAL;
	spin_lock_irqsave(&iv->lock, flags);
	iv->mask |= bits;
	spin_unlock_irqrestore(&iv->lock, flags);
	return 0;
}

/* What is pending comes now, as an interrupt: the caller may hold locks that a handler takes. */
static int iv_db_clear_mask(struct ntb_dev *ntb, u64 bits)
{
	struct iv_dev *iv = to_iv(ntb);
	unsigned long flags;
	u64 now;

	if (bits & ~iv_db_valid_mask(ntb))
		return -EINVAL;
	spin_lock_irqsave(&iv->lock, flags);
	now = iv->pending & iv->mask & bits;
	iv->mask &= ~bits;
	spin_unlock_irqrestore(&iv->lock, flags);
	for (; now; now &= now - 1)
		ring(iv, iv->position, 1 + __ffs64(now));
	return 0;
}

static int iv_peer_db_set(struct ntb_dev *ntb, u64 bits)
{
	struct iv_dev *iv = to_iv(ntb);

	if (bits & ~iv_db_valid_mask(ntb))
		return -EINVAL;
	if (!READ_ONCE(iv->up))
		return 0; /* as a store to a dead link: lost */
	for (; bits; bits &= bits - 1)
		ring(iv, readl(&iv->peer->position), 1 + __ffs64(bits));
	return 0;
}

static irqreturn_t iv_interrupt(int irq, void *context)
{
	struct iv_bell *bell = context;
	struct iv_dev *iv = bell->iv;
	int vector = bell->vector;
	bool tell;

	spin_lock(&iv->lock);
	iv->pending |= BIT_ULL(vector);
	tell = iv->up && !(iv->mask & BIT_ULL(vector));
	spin_unlock(&iv->lock);
	if (tell)
		ntb_db_event(&iv->ntb, vector);
	return IRQ_HANDLED;
}

/* ---- scratchpads ---- */

static int iv_spad_count(struct ntb_dev *ntb)
{
	return IV_SPADS;
}

static u32 iv_spad_read(struct ntb_dev *ntb, int sidx)
{
	return sidx >= 0 && sidx < IV_SPADS ? readl(&to_iv(ntb)->own->spad[sidx]) : 0;
}

static int iv_spad_write(struct ntb_dev *ntb, int sidx, u32 value)
{
	if (sidx < 0 || sidx >= IV_SPADS)
		return -EINVAL;
	writel(value, &to_iv(ntb)->own->spad[sidx]);
	return 0;
}

static u32 iv_peer_spad_read(struct ntb_dev *ntb, int pidx, int sidx)
{
	return !pidx && sidx >= 0 && sidx < IV_SPADS ? readl(&to_iv(ntb)->peer->spad[sidx]) : 0;
}

static int iv_peer_spad_write(struct ntb_dev *ntb, int pidx, int sidx, u32 value)
{
	if (pidx || sidx < 0 || sidx >= IV_SPADS)
		return -EINVAL;
	writel(value, &to_iv(ntb)->peer->spad[sidx]);
	return 0;
}

static const struct ntb_dev_ops iv_ops = {
	.link_is_up = iv_link_is_up,
	.link_enable = iv_link_enable,
	.link_disable = iv_link_disable,
	.mw_count = iv_mw_count,
	.mw_get_align = iv_mw_get_align,
	.mw_set_trans = iv_mw_set_trans,
	.peer_mw_count = iv_peer_mw_count,
	.peer_mw_get_addr = iv_peer_mw_get_addr,
	.db_is_unsafe = iv_db_is_unsafe,
	.db_valid_mask = iv_db_valid_mask,
	.db_vector_count = iv_db_vector_count,
	.db_vector_mask = iv_db_vector_mask,
	.db_read = iv_db_read,
	.db_clear = iv_db_clear,
	.db_read_mask = iv_db_read_mask,
	.db_set_mask = iv_db_set_mask,
	.db_clear_mask = iv_db_clear_mask,
	.peer_db_set = iv_peer_db_set,
	.spad_count = iv_spad_count,
	.spad_read = iv_spad_read,
	.spad_write = iv_spad_write,
	.peer_spad_read = iv_peer_spad_read,
	.peer_spad_write = iv_peer_spad_write,
};

/* ---- DMA memory: the own slots, whole ---- */

static void *iv_dma_alloc(struct device *dev, size_t size, dma_addr_t *address, gfp_t gfp,
			  unsigned long attrs)
{
	struct iv_dev *iv = dev_get_drvdata(dev);
	void *memory = NULL;
	unsigned int w;

	if (pages && !iv->port)
		return NULL;
	mutex_lock(&iv->mutex);
	for (w = 0; w < IV_WINDOWS && size <= iv->slot; w++) {
		if (iv->taken[w])
			continue;
		iv->taken[w] = true;
		memory = iv->slots + w * iv->slot;
		*address = slot_address(iv, iv->port, w);
		memset(memory, 0, size);
		break;
	}
	mutex_unlock(&iv->mutex);
	return memory;
}

static void iv_dma_free(struct device *dev, size_t size, void *memory, dma_addr_t address,
			unsigned long attrs)
{
	struct iv_dev *iv = dev_get_drvdata(dev);
	unsigned int w = (memory - iv->slots) / iv->slot;

	mutex_lock(&iv->mutex);
	iv->taken[w] = false;
	mutex_unlock(&iv->mutex);
}

/* Other memory cannot be reached through this bridge. */
static dma_addr_t iv_dma_map_page(struct device *dev, struct page *page, unsigned long offset,
				  size_t size, enum dma_data_direction direction,
				  unsigned long attrs)
{
	return DMA_MAPPING_ERROR;
}

/* But for one block of it, if the other end reaches that. */
static int iv_dma_map_sg(struct device *dev, struct scatterlist *list, int count,
			 enum dma_data_direction direction, unsigned long attrs)
{
	struct iv_dev *iv = dev_get_drvdata(dev);

	if (!pages || iv->port || count != 1 || readq(&iv->own->pages_size))
		return -EIO;
	list->dma_address = sg_phys(list);
	sg_dma_len(list) = list->length;
	writeq(sg_phys(list), &iv->own->pages);
	writeq(list->length, &iv->own->pages_size);
	return 1;
}

static void iv_dma_unmap_sg(struct device *dev, struct scatterlist *list, int count,
			    enum dma_data_direction direction, unsigned long attrs)
{
	struct iv_dev *iv = dev_get_drvdata(dev);

	writeq(0, &iv->own->pages_size);
}

static const struct dma_map_ops iv_dma_ops = {
	.alloc = iv_dma_alloc,
	.free = iv_dma_free,
	.map_page = iv_dma_map_page,
	.map_sg = iv_dma_map_sg,
	.unmap_sg = iv_dma_unmap_sg,
};

/* ---- device ---- */

static int iv_map(struct iv_dev *iv, struct pci_dev *pdev)
{
	resource_size_t size = pci_resource_len(pdev, 2);
	void __iomem *blocks;

	iv->memory = pci_resource_start(pdev, 2);
	iv->slot = size / 8;
	if (iv->slot < SZ_1M || !is_power_of_2(size)) {
		dev_err(&pdev->dev, "shared memory of %pa bytes: a power of two from 8 MiB is needed\n",
			&size);
		return -EINVAL;
	}
	iv->regs = devm_ioremap(&pdev->dev, pci_resource_start(pdev, 0), pci_resource_len(pdev, 0));
	if (!iv->regs)
		return -ENOMEM;
	iv->position = readl(iv->regs + IV_POSITION);
	iv->port = iv->position & 1;
	blocks = devm_ioremap(&pdev->dev, iv->memory, 2 * IV_BLOCK);
	iv->slots = devm_memremap(&pdev->dev, slot_address(iv, iv->port, 0),
				  IV_WINDOWS * iv->slot, MEMREMAP_WB);
	if (!blocks || IS_ERR(iv->slots))
		return -ENOMEM;
	iv->own = blocks + iv->port * IV_BLOCK;
	iv->peer = blocks + !iv->port * IV_BLOCK;
	return 0;
}

static int iv_interrupts(struct iv_dev *iv, struct pci_dev *pdev)
{
	int vectors = pci_alloc_irq_vectors(pdev, 4, 1 + IV_BELLS, PCI_IRQ_MSIX), v, err;

	if (vectors < 0) {
		dev_err(&pdev->dev, "not enough vectors: vectors=%d is needed\n", 1 + IV_BELLS);
		return vectors;
	}
	iv->bells = vectors - 1;
	for (v = 1; v < vectors; v++) {
		iv->bell[v - 1] = (struct iv_bell){ .iv = iv, .vector = v - 1 };
		err = devm_request_irq(&pdev->dev, pci_irq_vector(pdev, v), iv_interrupt, 0,
				       "ntb_hw_ivshmem", &iv->bell[v - 1]);
		if (err)
			return err;
	}
	return 0;
}

static int iv_probe(struct pci_dev *pdev, const struct pci_device_id *id)
{
	struct iv_dev *iv;
	int err;

	if (!pci_resource_len(pdev, 1)) { /* without doorbells: ivshmem-plain */
		repeated = pci_resource_start(pdev, 2);
		return pcim_enable_device(pdev);
	}
	iv = devm_kzalloc(&pdev->dev, sizeof(*iv), GFP_KERNEL);
	if (!iv)
		return -ENOMEM;
	pci_set_drvdata(pdev, iv);
	spin_lock_init(&iv->lock);
	mutex_init(&iv->mutex);
	INIT_DELAYED_WORK(&iv->work, iv_work);
	iv->ntb.pdev = pdev;
	iv->ntb.topo = NTB_TOPO_NONE;
	iv->ntb.ops = &iv_ops;
	err = pcim_enable_device(pdev);
	if (!err)
		err = pci_request_regions(pdev, "ntb_hw_ivshmem");
	if (err)
		return err;
	err = iv_map(iv, pdev);
	if (err)
		return err;
	pci_set_master(pdev);
	set_dma_ops(&pdev->dev, &iv_dma_ops);
	memset_io(iv->own, 0, IV_BLOCK);
	writel(iv->position, &iv->own->position);
	writel(IV_MAGIC, &iv->own->magic);
	err = iv_interrupts(iv, pdev);
	if (!err)
		err = ntb_register_device(&iv->ntb);
	if (err) {
		set_dma_ops(&pdev->dev, NULL);
		return err;
	}
	schedule_delayed_work(&iv->work, 0);
	dev_info(&pdev->dev, "port %u, windows of %pa bytes, %u doorbells\n", iv->port, &iv->slot,
		 iv->bells);
	return 0;
}

static void iv_remove(struct pci_dev *pdev)
{
	struct iv_dev *iv = pci_get_drvdata(pdev);

	if (!iv) {
		repeated = 0;
		return;
	}
	ntb_unregister_device(&iv->ntb);
	cancel_delayed_work_sync(&iv->work);
	writel(0, &iv->own->magic);
	set_dma_ops(&pdev->dev, NULL);
}

static const struct pci_device_id iv_ids[] = { { PCI_DEVICE(0x1af4, 0x1110) }, {} };
MODULE_DEVICE_TABLE(pci, iv_ids);

static struct pci_driver iv_driver = {
	.name = "ntb_hw_ivshmem",
	.id_table = iv_ids,
	.probe = iv_probe,
	.remove = iv_remove,
	.dev_groups = iv_groups,
};
module_pci_driver(iv_driver);

MODULE_DESCRIPTION("NTB over QEMU's ivshmem-doorbell, for tests");
MODULE_AUTHOR("The librsm authors");
MODULE_LICENSE("GPL");
