// SPDX-License-Identifier: GPL-2.0
/*
 * Signals between a connection's two ends: counters of connections, of which the importer's driver
 * is the only writer and the exporter's daemon the reader.
 */
#include <linux/io.h>
#include <linux/io-64-nonatomic-lo-hi.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "port.h"

static __le64 *counters(struct rsm_port *port)
{
	return port->pool.memory + RSM_NTB_POST_COUNTERS;
}

/* What a counter becomes by one more post; rsm_ntb.h has its parts. */
static u64 next(u64 counter, bool coalesce)
{
	u32 number = counter, run = counter >> 40 & 0xff;
	u16 coalesced = counter >> 48;
	u8 at = counter >> 32;

	if (!coalesce)
		return (counter & ~(u64)U32_MAX) | (u32)(number + 1);
	if (!run || at != (u8)number)
		run = 1;
	else if (run < 0xff)
		run++;
	return (u64)(u16)(coalesced + 1) << 48 | (u64)run << 40 | (u64)(u8)number << 32 | number;
}

/* POST */
int rsm_post(struct rsm_open *open, unsigned long flags)
{
	struct rsm_port *port = open->port;
	struct rsm_import *import = open->import;
	u64 *counter;
	int err;

	if (flags & ~(unsigned long)RSM_NTB_POST_COALESCE ||
	    import->connection == RSM_NO_CONNECTION)
		return -EINVAL;
	mutex_lock(&port->lock);
	if (!port->ntb) {
		err = -ENODEV;
	} else if (import->ended) {
		err = -ESTALE;
	} else {
		counter = &port->posted[import->connection];
		*counter = next(*counter, flags & RSM_NTB_POST_COALESCE);
		wmb(); /* the caller's stores are there before the signal */
		writeq(*counter, port->window + RSM_NTB_POST_COUNTERS +
					 import->connection * sizeof(__le64));
		wmb(); /* the counter is there before the doorbell */
		err = ntb_peer_db_set(port->ntb, BIT_ULL(RSM_NTB_DB_POSTED));
	}
	mutex_unlock(&port->lock);
	return err;
}

/* POSTS. User memory is touched without the lock, for its fault may need it. */
int rsm_posts(struct rsm_port *port, void __user *user)
{
	struct rsm_ntb_posts arg;
	u64 *words;
	int err = 0;
	u32 i;

	if (copy_from_user(&arg, user, sizeof(arg)))
		return -EFAULT;
	if (!arg.count || arg.count > RSM_NTB_POSTS_AT_ONCE || arg.first >= RSM_NTB_CONNECTIONS ||
	    arg.count > RSM_NTB_CONNECTIONS - arg.first ||
	    memchr_inv(arg.reserved, 0, sizeof(arg.reserved)))
		return -EINVAL;
	words = kcalloc(arg.count, sizeof(*words), GFP_KERNEL);
	if (!words)
		return -ENOMEM;
	mutex_lock(&port->lock);
	if (port->ntb)
		for (i = 0; i < arg.count; i++)
			words[i] = le64_to_cpu(READ_ONCE(counters(port)[arg.first + i]));
	else
		err = -ENODEV;
	mutex_unlock(&port->lock);
	if (!err && copy_to_user(u64_to_user_ptr(arg.array), words, arg.count * sizeof(*words)))
		err = -EFAULT;
	kfree(words);
	return err;
}

/* Before another session is acknowledged, whose counters begin at 0. */
void rsm_posts_reset(struct rsm_port *port)
{
	memset(counters(port), 0, RSM_NTB_CONNECTIONS * sizeof(__le64));
}
