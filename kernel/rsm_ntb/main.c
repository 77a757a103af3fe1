// SPDX-License-Identifier: GPL-2.0
/* rsm_ntb: binding to an NTB device, and letting go of it. */
#include <linux/idr.h>
#include <linux/io.h>
#include <linux/module.h>
#include <linux/pci.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "compat.h"
#include "port.h"

static unsigned int pool_mib = 64;
module_param_cb(pool_mib, &rsm_positive_ops, &pool_mib, 0444);
__MODULE_PARM_TYPE(pool_mib, "uint");
MODULE_PARM_DESC(pool_mib, "memory that the other host reaches, in MiB; at most what the window has (64)");

static unsigned int pin_mib;
module_param(pin_mib, uint, 0444);
MODULE_PARM_DESC(pin_mib, "memory of applications that can be exported in place, in MiB, behind the pool in the same window; needs an IOMMU that translates (0: none)");

/* A parameter of 0 would mean nothing that could work: the module is not loaded with it. */
static int set_positive(const char *value, const struct kernel_param *param)
{
	return param_set_uint_minmax(value, param, 1, UINT_MAX);
}

const struct kernel_param_ops rsm_positive_ops = { .set = set_positive, .get = param_get_uint };

/* Why the device that was looked at last was not taken: it has no character device to say so. */
static DEFINE_MUTEX(refused_lock);
static char refused[256];

static int refused_get(char *buffer, const struct kernel_param *param)
{
	int length;

	mutex_lock(&refused_lock);
	length = scnprintf(buffer, PAGE_SIZE, "%s\n", refused);
	mutex_unlock(&refused_lock);
	return length;
}

static const struct kernel_param_ops refused_ops = { .get = refused_get };
module_param_cb(refused, &refused_ops, NULL, 0444);
MODULE_PARM_DESC(refused, "read only: why the latest device could not be used; empty if it could");

void rsm_refuse(struct ntb_dev *ntb, const char *format, ...)
{
	struct va_format text;
	va_list args;

	va_start(args, format);
	text.fmt = format;
	text.va = &args;
	dev_err(&ntb->dev, "%pV\n", &text);
	mutex_lock(&refused_lock);
	scnprintf(refused, sizeof(refused), "%s: %pV", dev_name(&ntb->dev), &text);
	mutex_unlock(&refused_lock);
	va_end(args);
}

static DEFINE_IDA(indexes);

static void port_free(struct kref *ref)
{
	struct rsm_port *port = container_of(ref, struct rsm_port, ref);

	rsm_extents_free(port);
	rsm_pool_free(&port->pool);
	vfree(port->posted);
	kvfree(port->queue);
	kfree(port);
}

void rsm_port_put(struct rsm_port *port)
{
	kref_put(&port->ref, port_free);
}

static struct rsm_port *port_alloc(struct ntb_dev *ntb)
{
	struct rsm_port *port = kzalloc(sizeof(*port), GFP_KERNEL);

	if (!port)
		return NULL;
	kref_init(&port->ref);
	mutex_init(&port->lock);
	mutex_init(&port->pin_lock);
	INIT_LIST_HEAD(&port->pins);
	init_rwsem(&port->map_sem);
	spin_lock_init(&port->event_lock);
	init_waitqueue_head(&port->control_wait);
	INIT_LIST_HEAD(&port->imports);
	INIT_DELAYED_WORK(&port->work, rsm_session_work);
	port->extents = RB_ROOT;
	port->extent_ids = RB_ROOT;
	port->import_ids = RB_ROOT;
	port->next_id = 1;
	port->ntb = ntb;
	port->bound = ntb;
	strscpy(port->device, dev_name(&ntb->dev), sizeof(port->device));
	port->index = ida_alloc(&indexes, GFP_KERNEL);
	if (port->index < 0) {
		kfree(port);
		return NULL;
	}
	snprintf(port->name, sizeof(port->name), "rsm_ntb%d", port->index);
	port->posted = vzalloc(RSM_NTB_CONNECTIONS * sizeof(*port->posted));
	port->queue = kvcalloc(RSM_EVENTS, sizeof(*port->queue), GFP_KERNEL);
	if (!port->posted || !port->queue) {
		ida_free(&indexes, port->index);
		rsm_port_put(port);
		return NULL;
	}
	return port;
}

/* Whether the hardware has what a session needs; says what it lacks. */
static bool suitable(struct ntb_dev *ntb)
{
	u64 bells = BIT_ULL(RSM_NTB_DB_POSTED) | BIT_ULL(RSM_NTB_DB_SESSION);

	if (ntb_peer_port_count(ntb) != 1)
		dev_warn(&ntb->dev, "%d peers: only the first is used\n", ntb_peer_port_count(ntb));
	if (ntb_db_is_unsafe(ntb))
		rsm_refuse(ntb, "doorbells are unsafe on this hardware (an erratum); rsm_ntb does not use it");
	else if (ntb_spad_is_unsafe(ntb))
		rsm_refuse(ntb, "scratchpads are unsafe on this hardware (an erratum); rsm_ntb does not use it");
	else if (ntb_spad_count(ntb) < RSM_NTB_SPADS)
		rsm_refuse(ntb, "%d scratchpads, but rsm_ntb needs %d: this hardware is not supported",
			ntb_spad_count(ntb), RSM_NTB_SPADS);
	else if ((ntb_db_valid_mask(ntb) & bells) != bells)
		rsm_refuse(ntb, "doorbells %#llx, but rsm_ntb needs %#llx: this hardware is not supported",
			ntb_db_valid_mask(ntb), bells);
	else if (!ntb->ops->mw_set_trans || ntb_peer_mw_count(ntb) < 1)
		rsm_refuse(ntb, "no memory window that this side can translate: this hardware is not supported");
	else
		return true;
	return false;
}

static int map_window(struct rsm_port *port)
{
	struct ntb_dev *ntb = port->ntb;
	resource_size_t size;
	int err = ntb_peer_mw_get_addr(ntb, RSM_WINDOW, &port->window_phys, &size);

	if (err)
		return err;
	port->window_size = round_down(size, PAGE_SIZE);
	if (port->window_size <= 2 * RSM_NTB_CONTROL_SIZE) {
		rsm_refuse(ntb, "a window of %llu bytes is too small: enlarge it in the firmware's setup",
			(u64)size);
		return -ENOSPC;
	}
	port->window = ioremap(port->window_phys, RSM_NTB_CONTROL_SIZE);
	if (!port->window)
		return -ENOMEM;
	/* Mappings of processes are write combining only where the kernel knows so. */
	port->memtype = arch_io_reserve_memtype_wc(port->window_phys + RSM_NTB_CONTROL_SIZE,
						   port->window_size - RSM_NTB_CONTROL_SIZE);
	if (port->memtype)
		dev_warn(&ntb->dev, "the window cannot be mapped write combining (%d): stores will be slow\n",
			 port->memtype);
	return 0;
}

static void unmap_window(struct rsm_port *port)
{
	if (!port->window)
		return;
	if (!port->memtype)
		arch_io_free_memtype_wc(port->window_phys + RSM_NTB_CONTROL_SIZE,
					port->window_size - RSM_NTB_CONTROL_SIZE);
	iounmap(port->window);
	port->window = NULL;
}

static int add_node(struct rsm_port *port)
{
	port->misc.minor = MISC_DYNAMIC_MINOR;
	port->misc.name = port->name;
	port->misc.fops = &rsm_fops;
	port->misc.mode = 0600;
	port->misc.parent = &port->ntb->dev;
	return misc_register(&port->misc);
}

/*
 * From here on descriptors and mappings live without hardware: only the caller uses the device, the
 * window and the drivers' part of the pool after this.
 */
static void let_go(struct rsm_port *port)
{
	mutex_lock(&port->lock);
	rsm_session_leave(port);
	/* Exporters wait in their next fault until what they have is in a place of its own. */
	down_write(&port->map_sem);
	rsm_extents_zap(port);
	rsm_extents_orphan(port);
	WRITE_ONCE(port->gone, true);
	up_write(&port->map_sem);
	port->ntb = NULL;
	mutex_unlock(&port->lock);
	wake_up_all(&port->control_wait);
}

/* The end of what attach() has made, and of all that has come of it since. */
static void detach(struct rsm_port *port)
{
	struct ntb_dev *ntb = port->bound;

	ntb_db_set_mask(ntb, ntb_db_valid_mask(ntb));
	ntb_clear_ctx(ntb);
	let_go(port);
	cancel_delayed_work_sync(&port->work);
	ntb_mw_clear_trans(ntb, RSM_PEER, RSM_WINDOW);
	ntb_link_disable(ntb);
	rsm_pool_unmap(port);
	unmap_window(port);
}

/* The pool, and behind it as much of the window as pin_mib wants. */
static int make_pool(struct rsm_port *port)
{
	u64 size = min_t(u64, (u64)pool_mib << 20, port->window_size), room;
	/* A table of pages for the DMA API describes less than 4 GiB at once. */
	u64 end = min_t(u64, port->window_size, SZ_4G - SZ_2M);

	room = size < end ? end - size : 0;
	if ((u64)pin_mib << 20 > room)
		dev_warn(&port->ntb->dev, "pin_mib=%llu is what the window has room for, not %u\n",
			 room >> 20, pin_mib);
	return rsm_pool_make(port, size, min_t(u64, (u64)pin_mib << 20, room));
}

/* Window, pool, and the callbacks by which a link can begin a session. On failure nothing is
 * left. */
static int attach(struct rsm_port *port)
{
	int err = map_window(port);

	if (err)
		return err;
	err = make_pool(port);
	if (err)
		goto out_window;
	rsm_session_init(port);
	rsm_device_errors(port); /* what was before does not count */
	err = ntb_set_ctx(port->bound, port, &rsm_ctx_ops);
	if (!err)
		return 0;
	rsm_pool_unmap(port);
out_window:
	unmap_window(port);
	return err;
}

static void log_port(const struct rsm_port *port)
{
	struct ntb_dev *ntb = port->bound;

	dev_info(&ntb->dev, "%s: pool of %zu KiB %s, %zu KiB to pin, window of %llu KiB%s\n",
		 port->name, port->pool.size >> 10,
		 port->pool.pages ? "of pages" : "of device memory", port->pool.pin_size >> 10,
		 (u64)port->window_size >> 10,
		 rsm_translated(ntb_get_dma_dev(ntb)) ? "" :
			", no IOMMU translates: trust the other host");
}

static int rsm_probe(struct ntb_client *client, struct ntb_dev *ntb)
{
	struct rsm_port *port;
	int err;

	mutex_lock(&refused_lock);
	refused[0] = 0;
	mutex_unlock(&refused_lock);
	if (!suitable(ntb))
		return -ENODEV;
	port = port_alloc(ntb);
	if (!port)
		return -ENOMEM;
	err = attach(port);
	if (err)
		goto out_port;
	log_port(port);
	dev_set_drvdata(&ntb->dev, port);
	err = add_node(port);
	if (err)
		goto out_attached;
	rsm_debug_add(port);
	ntb_db_clear(ntb, ntb_db_valid_mask(ntb));
	ntb_db_clear_mask(ntb, BIT_ULL(RSM_NTB_DB_POSTED) | BIT_ULL(RSM_NTB_DB_SESSION));
	ntb_link_enable(ntb, NTB_SPEED_AUTO, NTB_WIDTH_AUTO);
	mod_delayed_work(system_highpri_wq, &port->work, 0);
	return 0;

out_attached:
	detach(port); /* another client may have left the link up, and so there may be a session */
out_port:
	ida_free(&indexes, port->index);
	rsm_port_put(port);
	return err;
}

static void rsm_remove(struct ntb_client *client, struct ntb_dev *ntb)
{
	struct rsm_port *port = dev_get_drvdata(&ntb->dev);

	misc_deregister(&port->misc);
	rsm_debug_remove(port);
	ida_free(&indexes, port->index); /* the name is free for the device's return */
	detach(port);
	rsm_port_put(port);
}

static struct ntb_client rsm_client = {
	.ops = { .probe = rsm_probe, .remove = rsm_remove },
};

static int __init rsm_init(void)
{
	int err = rsm_mmap_init();

	if (err)
		return err;
	rsm_debug_init();
	err = ntb_register_client(&rsm_client);
	if (err) {
		rsm_debug_exit();
		rsm_mmap_exit();
	}
	return err;
}

static void __exit rsm_exit(void)
{
	ntb_unregister_client(&rsm_client);
	rsm_debug_exit();
	rsm_mmap_exit();
}

module_init(rsm_init);
module_exit(rsm_exit);

MODULE_DESCRIPTION("Remote shared memory across a PCIe non-transparent bridge");
MODULE_AUTHOR("The librsm authors");
MODULE_LICENSE("GPL");
MODULE_VERSION("1");
