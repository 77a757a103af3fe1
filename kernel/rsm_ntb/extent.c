// SPDX-License-Identifier: GPL-2.0
/* Extents: which parts of the pool are in use, and for how long. */
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "port.h"

static struct rsm_extent *extent_of(struct rb_node *node)
{
	return rb_entry_safe(node, struct rsm_extent, node);
}

/* The first extent that ends behind offset. */
static struct rsm_extent *first_behind(struct rsm_port *port, u64 offset)
{
	struct rb_node *node = port->extents.rb_node;
	struct rsm_extent *found = NULL;

	while (node) {
		struct rsm_extent *extent = extent_of(node);

		if (extent->offset + extent->length > offset) {
			found = extent;
			node = node->rb_left;
		} else {
			node = node->rb_right;
		}
	}
	return found;
}

static void insert(struct rsm_port *port, struct rsm_extent *extent)
{
	struct rb_node **link = &port->extents.rb_node, *parent = NULL;

	while (*link) {
		parent = *link;
		link = extent->offset < extent_of(parent)->offset ? &parent->rb_left :
								    &parent->rb_right;
	}
	rb_link_node(&extent->node, parent, link);
	rb_insert_color(&extent->node, &port->extents);
}

static struct rsm_extent *by_id(struct rsm_port *port, u64 id)
{
	struct rsm_id *found = rsm_id_find(&port->extent_ids, id);

	return found ? container_of(found, struct rsm_extent, id) : NULL;
}

/* ---- life of an extent ---- */

/* port->lock. Its range can be used again. */
static void extent_free(struct rsm_port *port, struct rsm_extent *extent)
{
	rb_erase(&extent->node, &port->extents);
	rb_erase(&extent->id.node, &port->extent_ids);
	port->extent_count--;
	if (!port->gone)
		rsm_event(port, RSM_NTB_EVENT_FREE, extent->id.value);
	vfree(extent->orphan);
	kfree(extent);
}

static bool possible(struct rsm_port *port, const struct rsm_ntb_export *arg)
{
	bool in_place = arg->flags & RSM_NTB_IN_PLACE;
	u64 first = in_place ? port->pool.size : RSM_NTB_CONTROL_SIZE;
	u64 end = in_place ? rsm_pool_span(&port->pool) : port->pool.size;

	return !((arg->offset | arg->length) & (PAGE_SIZE - 1)) && arg->length &&
	       arg->offset >= first && arg->offset <= end && arg->length <= end - arg->offset &&
	       !(arg->flags & ~RSM_NTB_IN_PLACE);
}

/* port->lock. Enter it into the table, before a process gets its memory. */
static int reserve(struct rsm_port *port, struct rsm_extent *extent)
{
	struct rsm_extent *next = first_behind(port, extent->offset);

	if (next && next->offset < extent->offset + extent->length)
		return -EBUSY;
	if (port->extent_count == RSM_NTB_EXTENTS_MAX)
		return -ENOSPC;
	rsm_id_add(port, &port->extent_ids, &extent->id);
	extent->state = RSM_NTB_EXTENT_LIVE;
	extent->exposed = port->epoch != 0;
	insert(port, extent);
	port->extent_count++;
	return 0;
}

/* A piece at a time: nothing else of the port waits for long. Memory in place is not the
 * driver's. */
static bool zero(struct rsm_port *port, const struct rsm_extent *extent)
{
	u64 done, piece;
	bool gone = false;

	for (done = 0; done < extent->length && !gone && !extent->in_place; done += piece) {
		piece = min_t(u64, extent->length - done, SZ_1M);
		down_read(&port->map_sem);
		gone = port->gone;
		if (!gone)
			rsm_pool_zero(&port->pool, extent->offset + done, piece);
		up_read(&port->map_sem);
	}
	return !gone;
}

/* The last use on this host has gone. What it held is not left for the other host to read. */
static void extent_end(struct rsm_port *port, struct rsm_extent *extent)
{
	rsm_unpin(port, extent);
	zero(port, extent);
	mutex_lock(&port->lock);
	extent->state = RSM_NTB_EXTENT_QUARANTINED;
	if (port->ntb && (extent->exposed ||
			  rsm_pool_pinned(&port->pool, extent->offset, extent->length)))
		rsm_event(port, RSM_NTB_EVENT_QUARANTINED, extent->id.value);
	else
		extent_free(port, extent);
	mutex_unlock(&port->lock);
}

/*
 * EXPORT. The descriptor is the caller's alone; he gives it its role on success. What the other
 * host stored here since the last use is gone when this returns.
 */
int rsm_export(struct rsm_open *open, struct rsm_ntb_export *arg)
{
	struct rsm_port *port = open->port;
	struct rsm_extent *extent;
	int err;

	if (arg->flags & RSM_NTB_IN_PLACE && !port->pool.pin_size)
		return -EOPNOTSUPP;
	if (!possible(port, arg))
		return -EINVAL;
	extent = kzalloc(sizeof(*extent), GFP_KERNEL);
	if (!extent)
		return -ENOMEM;
	extent->offset = arg->offset;
	extent->length = arg->length;
	extent->in_place = arg->flags & RSM_NTB_IN_PLACE;
	INIT_LIST_HEAD(&extent->opens);
	mutex_lock(&port->lock);
	err = port->ntb ? reserve(port, extent) : -ENODEV;
	mutex_unlock(&port->lock);
	if (err) {
		kfree(extent);
		return err;
	}
	if (!zero(port, extent)) {
		extent_end(port, extent);
		return -ENODEV;
	}
	mutex_lock(&port->lock);
	open->extent = extent;
	list_add(&open->sibling, &extent->opens);
	mutex_unlock(&port->lock);
	arg->id = extent->id.value;
	arg->map = rsm_mmap_base(open);
	return 0;
}

/* SHARE. The caller holds the file of the other one, which has a part in the extent. */
void rsm_share(struct rsm_open *open, struct rsm_open *other, bool read_only)
{
	struct rsm_port *port = open->port;

	mutex_lock(&port->lock);
	open->read_only = read_only;
	open->extent = other->extent;
	list_add(&open->sibling, &open->extent->opens);
	mutex_unlock(&port->lock);
}

/* A descriptor of an extent has gone, with its mappings; the extent's life ends with the last. */
void rsm_extent_close(struct rsm_open *open)
{
	struct rsm_port *port = open->port;
	bool last;

	mutex_lock(&port->lock);
	list_del(&open->sibling);
	last = list_empty(&open->extent->opens);
	mutex_unlock(&port->lock);
	if (last)
		extent_end(port, open->extent);
}

/* RELEASE, port->lock. */
int rsm_extent_release(struct rsm_port *port, u64 id)
{
	struct rsm_extent *extent = by_id(port, id);

	if (!extent)
		return -ENOENT;
	if (extent->state != RSM_NTB_EXTENT_QUARANTINED ||
	    rsm_pool_pinned(&port->pool, extent->offset, extent->length))
		return -EBUSY;
	extent_free(port, extent);
	return 0;
}

/* A session begins, port->lock: the other side has none of the imports of the last one any more. */
void rsm_extents_expose(struct rsm_port *port)
{
	struct rb_node *node, *next;

	for (node = rb_first(&port->extents); node; node = next) {
		struct rsm_extent *extent = extent_of(node);

		next = rb_next(node);
		if (extent->state == RSM_NTB_EXTENT_LIVE)
			extent->exposed = true;
		else if (!rsm_pool_pinned(&port->pool, extent->offset, extent->length))
			extent_free(port, extent);
	}
}

/* Take device memory out of all mappings, port->lock and map_sem. */
void rsm_extents_zap(struct rsm_port *port)
{
	struct rb_node *node;

	for (node = rb_first(&port->extents); node && !port->pool.pages; node = rb_next(node)) {
		struct rsm_open *open;

		list_for_each_entry(open, &extent_of(node)->opens, sibling)
			rsm_zap(open);
	}
}

/*
 * Device memory is being removed, port->lock and map_sem: exporters keep the contents in ordinary
 * memory, because they may be memory of programs. It is not mapped now.
 */
void rsm_extents_orphan(struct rsm_port *port)
{
	struct rb_node *node;

	if (port->pool.pages)
		return;
	for (node = rb_first(&port->extents); node; node = rb_next(node)) {
		struct rsm_extent *extent = extent_of(node);

		if (extent->state != RSM_NTB_EXTENT_LIVE)
			continue;
		extent->orphan = vmalloc_user(extent->length);
		if (extent->orphan)
			memcpy(extent->orphan, port->pool.memory + extent->offset, extent->length);
		else
			pr_err_ratelimited("%s: no memory to keep %llu bytes of exported memory; its contents are lost\n",
					   port->name, extent->length);
	}
}

/* The end of a port without descriptors: what is left is in quarantine. */
void rsm_extents_free(struct rsm_port *port)
{
	struct rb_node *node;

	while ((node = rb_first(&port->extents)))
		extent_free(port, extent_of(node));
}

/* EXTENTS, port->lock. */
u32 rsm_extents_list(struct rsm_port *port, u64 from, struct rsm_ntb_extent *array, u32 capacity)
{
	struct rsm_extent *extent = first_behind(port, from);
	u32 count = 0;

	if (extent && extent->offset < from) /* it reaches across */
		extent = extent_of(rb_next(&extent->node));
	for (; extent && count < capacity; extent = extent_of(rb_next(&extent->node)))
		array[count++] = (struct rsm_ntb_extent){ .id = extent->id.value,
							  .offset = extent->offset,
							  .length = extent->length,
							  .state = extent->state };
	return count;
}
