// SPDX-License-Identifier: GPL-2.0
/* debugfs, for tests: rsm_ntb/rsm_ntbN/inject_error acts as if the device had reported an error. */
#include <linux/debugfs.h>

#include "port.h"

static struct dentry *root;

static int inject(void *data, u64 value)
{
	struct rsm_port *port = data;

	mutex_lock(&port->lock);
	if (port->ntb)
		rsm_imports_errors(port);
	mutex_unlock(&port->lock);
	return 0;
}
DEFINE_DEBUGFS_ATTRIBUTE(inject_fops, NULL, inject, "%llu\n");

void rsm_debug_init(void)
{
	root = debugfs_create_dir("rsm_ntb", NULL);
}

void rsm_debug_exit(void)
{
	debugfs_remove_recursive(root);
}

void rsm_debug_add(struct rsm_port *port)
{
	port->debug = debugfs_create_dir(port->name, root);
	debugfs_create_file("inject_error", 0200, port->debug, port, &inject_fops);
}

/* Returns when no reader is left. */
void rsm_debug_remove(struct rsm_port *port)
{
	debugfs_remove_recursive(port->debug);
}
