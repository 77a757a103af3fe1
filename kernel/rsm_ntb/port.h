/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A port: one NTB device that rsm_ntb drives, its pool, session, extents and imports.
 *
 * Locks, in the order in which they are taken (mmap_lock before map_sem):
 *   port->lock       session, extents, imports, roles, and that port->ntb stays
 *   port->map_sem    taken for reading by faults and to access the pool's data, for writing to
 *                    change what a mapping shows. User memory is not accessed with it.
 *   port->event_lock the queue of events; taken in interrupts
 *   port->pin_lock   what the IOMMU maps behind the pool; none of the others is taken with it
 *
 * Lifetime: the driver's binding and every open descriptor hold a reference; a mapping holds its
 * descriptor. When the hardware driver goes, port->ntb becomes NULL and the hardware is not
 * accessed any more; the rest stays until the last descriptor has gone.
 *
 * port->ntb stands for what goes with the device: the device itself, port->window, the drivers'
 * part of the pool (pool.memory) and pool.dma. It is set before any other thread can see the port,
 * and becomes NULL once, with port->lock, in detach(). A user of any of that
 *   - holds port->lock and has found port->ntb set since taking it: ioctls, close, the work item,
 *     debugfs; or
 *   - is a callback of the NTB core, which ntb_clear_ctx() waits for, and uses port->bound; or
 *   - holds map_sem and has found port->gone false since taking it: faults, zero(); only of
 *     pool.memory; or
 *   - holds pin_lock and has found pool.domain set; only of pool.dma; or
 *   - is probe before the port has a node, or detach() after all of these have ended, and uses
 *     port->bound.
 */
#ifndef RSM_NTB_PORT_H
#define RSM_NTB_PORT_H

#include <linux/kref.h>
#include <linux/list.h>
#include <linux/miscdevice.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/ntb.h>
#include <linux/rbtree.h>
#include <linux/rwsem.h>
#include <linux/scatterlist.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include "rsm_ntb.h"

/* One peer, one window: index 0 of both. */
#define RSM_PEER 0
#define RSM_WINDOW 0

#define RSM_EVENTS 1024
#define RSM_NO_CONNECTION U32_MAX

struct dentry;
struct iommu_domain;
struct rsm_open;
struct rsm_pin;

/* Memory that the other host reaches. Either pages of ours, or what the device has. */
struct rsm_pool {
	size_t size;
	size_t pin_size;	/* of the range behind it for pinned memory */
	struct iommu_domain *domain; /* that maps it, NULL: nothing can be pinned; pin_lock */
	dma_addr_t dma;
	struct page **pages;	/* NULL: device memory */
	struct sg_table sgt;	/* of pages, mapped for the device */
	void *memory;		/* device memory, or the pages of the drivers' part */
};

/* (generation, sequence) of a side. */
struct rsm_key {
	u32 generation, sequence;
};

/* An entry of a tree of numbers; ids.c. */
struct rsm_id {
	struct rb_node node;
	u64 value;
};

struct rsm_extent {
	struct rb_node node;	/* in port->extents, by offset */
	struct rsm_id id;	/* in port->extent_ids */
	u64 offset, length;
	u32 state;
	bool exposed;		/* a session was there while it was live */
	bool in_place;		/* of the range for pinned memory */
	struct rsm_pin *pin;	/* pin_lock */
	void *orphan;		/* its contents, when device memory has gone */
	struct list_head opens;	/* descriptors; port->lock */
};

struct rsm_import {
	struct list_head list;	/* port->imports */
	struct rsm_id id;	/* in port->import_ids */
	struct rsm_open *open;
	u64 offset, length;
	u32 flags;
	u32 connection;		/* RSM_NO_CONNECTION: it does not post */
	bool ended;		/* map_sem */
	struct rsm_ntb_status *status;
	struct page *trash;	/* what mappings show when it has ended */
};

enum rsm_role { RSM_NONE, RSM_CLAIMED, RSM_CONTROL, RSM_EXPORT, RSM_SHARE, RSM_IMPORT };

/* An open descriptor. */
struct rsm_open {
	struct rsm_port *port;
	struct address_space *mapping;
	int id;			/* of its range of offsets in the mapping */
	enum rsm_role role;	/* set once, with release semantics */
	bool read_only;		/* of a share */
	struct rsm_extent *extent;
	struct list_head sibling; /* in extent->opens */
	struct rsm_import *import;
};

struct rsm_port {
	struct kref ref;
	struct mutex lock;	/* see above, as the other locks */
	struct rw_semaphore map_sem;
	int index;
	char name[24];
	char device[32];
	struct miscdevice misc;
	struct dentry *debug;
	struct ntb_dev *ntb;	/* NULL: unbound; port->lock, see above */
	struct ntb_dev *bound;	/* the same for callbacks, probe and detach(), while they run */
	bool gone;		/* unbound; map_sem */

	struct rsm_pool pool;
	struct mutex pin_lock;
	struct list_head pins;	/* pin_lock */
	phys_addr_t window_phys;
	resource_size_t window_size;
	void __iomem *window;	/* the drivers' part of the other side's pool */
	int memtype;		/* whether the rest is reserved for write combining */

	/* Session; see session.c. */
	struct delayed_work work;
	unsigned long events;	/* RSM_LINK_EVENT */
	bool fits;		/* the hardware can translate to the pool */
	bool translated;	/* and does */
	bool complained;
	struct rsm_ntb_trouble trouble;
	unsigned int failures;
	struct rsm_key own, acked, peer;
	struct rsm_key published, published_ack;	/* in the other side's scratchpads */
	u32 epoch, last_epoch, link_seq, err_seq;
	u32 beat, peer_beat, silent;
	unsigned long next_beat;	/* jiffies */
	u64 peer_pool, peer_granule;
	u32 peer_node, node;
	u32 peer_caps, caps;
	u64 *posted;		/* counters, by the other side's connections */

	struct rb_root extents, extent_ids, import_ids;
	u64 next_id;
	u32 extent_count;
	struct list_head imports;

	struct rsm_open *control;
	spinlock_t event_lock;
	struct rsm_ntb_event *queue;
	unsigned int queue_head, queue_count;
	bool overflow;
	bool rung;		/* counters of connections may have changed */
	wait_queue_head_t control_wait;
};

/* main.c */
extern const struct kernel_param_ops rsm_positive_ops;
void rsm_port_put(struct rsm_port *port);

/* ids.c */
void rsm_id_add(struct rsm_port *port, struct rb_root *root, struct rsm_id *id);
struct rsm_id *rsm_id_find(const struct rb_root *root, u64 value);

/* pool.c */
int rsm_pool_make(struct rsm_port *port, size_t size, size_t pin_size);
size_t rsm_pool_span(const struct rsm_pool *pool);
void rsm_pool_unmap(struct rsm_port *port);
void rsm_pool_free(struct rsm_pool *pool);
void rsm_pool_zero(struct rsm_pool *pool, u64 offset, u64 length);
unsigned long rsm_pool_pfn(struct rsm_pool *pool, u64 offset);
bool rsm_pool_pinned(struct rsm_pool *pool, u64 offset, u64 length);
__printf(2, 3) void rsm_refuse(struct ntb_dev *ntb, const char *format, ...);
bool rsm_translated(struct device *dev);

/* pin.c */
size_t rsm_pin_room(struct rsm_port *port, size_t wanted);
void rsm_pin_refuse(struct rsm_port *port, const char *why);
void rsm_pin_begin(struct rsm_port *port);
void rsm_pin_end(struct rsm_port *port);
int rsm_pin(struct rsm_port *port, struct rsm_extent *extent, u64 address);
void rsm_unpin(struct rsm_port *port, struct rsm_extent *extent);

/* session.c */
#define RSM_LINK_EVENT 0
extern const struct ntb_ctx_ops rsm_ctx_ops;
struct rsm_ntb_hello *rsm_hello(struct rsm_port *port);
void rsm_session_init(struct rsm_port *port);
void rsm_session_work(struct work_struct *work);
void rsm_session_leave(struct rsm_port *port);
void rsm_session_publish(struct rsm_port *port);
bool rsm_device_errors(struct rsm_port *port);

/* extent.c */
int rsm_export(struct rsm_open *open, struct rsm_ntb_export *arg);
void rsm_share(struct rsm_open *open, struct rsm_open *other, bool read_only);
void rsm_extent_close(struct rsm_open *open);
void rsm_extents_expose(struct rsm_port *port);
void rsm_extents_zap(struct rsm_port *port);
void rsm_extents_orphan(struct rsm_port *port);
void rsm_extents_free(struct rsm_port *port);
int rsm_extent_release(struct rsm_port *port, u64 id);
u32 rsm_extents_list(struct rsm_port *port, u64 from, struct rsm_ntb_extent *array, u32 capacity);

/* import.c */
int rsm_import(struct rsm_open *open, struct rsm_ntb_import *arg);
void rsm_import_close(struct rsm_port *port, struct rsm_import *import);
void rsm_imports_end(struct rsm_port *port);
void rsm_imports_errors(struct rsm_port *port);
int rsm_import_revoke(struct rsm_port *port, u64 id);

/* posts.c */
int rsm_post(struct rsm_open *open, unsigned long flags);
int rsm_posts(struct rsm_port *port, void __user *user);
void rsm_posts_reset(struct rsm_port *port);

/* events.c */
void rsm_event(struct rsm_port *port, u32 type, u64 id);
void rsm_event_posted(struct rsm_port *port);
bool rsm_has_events(struct rsm_port *port);
bool rsm_next_event(struct rsm_port *port, struct rsm_ntb_event *event);

/* chardev.c */
extern const struct file_operations rsm_fops;

/* mmap.c */
int rsm_mmap(struct file *file, struct vm_area_struct *vma);
void rsm_zap(struct rsm_open *open);
int rsm_mmap_init(void);
void rsm_mmap_exit(void);
u64 rsm_mmap_base(const struct rsm_open *open);
int rsm_mmap_id(void);
void rsm_mmap_id_free(int id);

/* debug.c */
void rsm_debug_init(void);
void rsm_debug_exit(void);
void rsm_debug_add(struct rsm_port *port);
void rsm_debug_remove(struct rsm_port *port);

#endif
