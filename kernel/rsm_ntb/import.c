// SPDX-License-Identifier: GPL-2.0
/* Imports: parts of the other side's pool, in one session. */
#include <linux/io.h>
#include <linux/slab.h>

#include "port.h"

static bool possible(struct rsm_port *port, const struct rsm_ntb_import *arg)
{
	return !((arg->offset | arg->length) & (PAGE_SIZE - 1)) && arg->length &&
	       arg->offset >= RSM_NTB_CONTROL_SIZE && arg->offset <= port->peer_pool &&
	       arg->length <= port->peer_pool - arg->offset &&
	       !(arg->flags & ~(RSM_NTB_READ_ONLY | RSM_NTB_POSTER)) &&
	       arg->connection < (arg->flags & RSM_NTB_POSTER ? RSM_NTB_CONNECTIONS : 1);
}

static void import_free(struct rsm_import *import)
{
	free_page((unsigned long)import->status);
	if (import->trash)
		__free_page(import->trash);
	kfree(import);
}

static struct rsm_import *import_alloc(void)
{
	struct rsm_import *import = kzalloc(sizeof(*import), GFP_KERNEL);

	if (!import)
		return NULL;
	import->status = (void *)get_zeroed_page(GFP_KERNEL);
	import->trash = alloc_page(GFP_KERNEL | __GFP_ZERO);
	if (import->status && import->trash)
		return import;
	import_free(import);
	return NULL;
}

static void fill_status(struct rsm_port *port, struct rsm_import *import)
{
	*import->status = (struct rsm_ntb_status){
		.abi = RSM_NTB_ABI,
		.import_epoch = port->epoch,
		.epoch = port->epoch,
		.link_seq = port->link_seq,
		.err_seq = port->err_seq,
		.canary = (u64)port->peer.generation << 32 | port->peer.sequence,
		.canary_offset = offsetof(struct rsm_ntb_hello, canary),
		.length = import->length,
		.flags = import->flags,
	};
}

/* IMPORT. The descriptor is the caller's alone; he gives it its role on success. */
int rsm_import(struct rsm_open *open, struct rsm_ntb_import *arg)
{
	struct rsm_port *port = open->port;
	struct rsm_import *import = import_alloc();
	int err = 0;

	if (!import)
		return -ENOMEM;
	mutex_lock(&port->lock);
	if (!port->ntb)
		err = -ENODEV;
	else if (!port->epoch)
		err = -ENOTCONN;
	else if (port->epoch != arg->epoch)
		err = -ESTALE;
	else if (!possible(port, arg))
		err = -EINVAL;
	if (err) {
		mutex_unlock(&port->lock);
		import_free(import);
		return err;
	}
	import->open = open;
	import->offset = arg->offset;
	import->length = arg->length;
	import->flags = arg->flags;
	import->connection = arg->flags & RSM_NTB_POSTER ? arg->connection : RSM_NO_CONNECTION;
	fill_status(port, import);
	rsm_id_add(port, &port->import_ids, &import->id);
	list_add(&import->list, &port->imports);
	open->import = import;
	mutex_unlock(&port->lock);
	arg->id = import->id.value;
	return 0;
}

void rsm_import_close(struct rsm_port *port, struct rsm_import *import)
{
	mutex_lock(&port->lock);
	list_del(&import->list);
	rb_erase(&import->id.node, &port->import_ids);
	mutex_unlock(&port->lock);
	import_free(import);
}

/* port->lock. On return no store goes through it any more. */
static void end(struct rsm_port *port, struct rsm_import *import, bool revoked)
{
	if (import->ended)
		return;
	/* Faults that saw it good have put their page in place before this goes on. */
	down_write(&port->map_sem);
	import->ended = true;
	up_write(&port->map_sem);
	if (revoked)
		WRITE_ONCE(import->status->revoked, 1);
	rsm_zap(import->open);
}

/* A session has ended, port->lock. All learn of it before the first mapping changes. */
void rsm_imports_end(struct rsm_port *port)
{
	struct rsm_import *import;

	list_for_each_entry(import, &port->imports, list) {
		WRITE_ONCE(import->status->epoch, 0);
		smp_wmb(); /* link_seq shows the change of epoch */
		WRITE_ONCE(import->status->link_seq, port->link_seq);
	}
	list_for_each_entry(import, &port->imports, list)
		end(port, import, false);
}

/* The device has reported errors, port->lock. */
void rsm_imports_errors(struct rsm_port *port)
{
	struct rsm_import *import;

	port->err_seq++;
	list_for_each_entry(import, &port->imports, list)
		WRITE_ONCE(import->status->err_seq, port->err_seq);
	rsm_event(port, RSM_NTB_EVENT_ERROR, port->err_seq);
}

/* REVOKE, port->lock. */
int rsm_import_revoke(struct rsm_port *port, u64 id)
{
	struct rsm_id *one = rsm_id_find(&port->import_ids, id);
	struct rsm_import *import;

	if (id == RSM_NTB_ALL_IMPORTS)
		list_for_each_entry(import, &port->imports, list)
			end(port, import, true);
	else if (one)
		end(port, container_of(one, struct rsm_import, id), true);
	else
		return -ENOENT;
	/*
	 * A read does not pass stores: afterwards they have arrived. Needed after the session's
	 * end, too: its last stores may be in flight while the daemons agree that the memory is
	 * free.
	 */
	if (port->ntb && ntb_link_is_up(port->ntb, NULL, NULL) & BIT_ULL(RSM_PEER))
		(void)readl(port->window + RSM_NTB_HELLO);
	return 0;
}
