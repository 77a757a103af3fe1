// SPDX-License-Identifier: GPL-2.0
/* The numbers by which control descriptors name extents and imports: found in a tree, however many
 * there are. */
#include "port.h"

static bool less(struct rb_node *a, const struct rb_node *b)
{
	return rb_entry(a, struct rsm_id, node)->value < rb_entry(b, struct rsm_id, node)->value;
}

static int compare(const void *key, const struct rb_node *node)
{
	u64 wanted = *(const u64 *)key, value = rb_entry(node, struct rsm_id, node)->value;

	return wanted < value ? -1 : wanted > value;
}

/* port->lock. The next number, never used again, and an entry of the tree. */
void rsm_id_add(struct rsm_port *port, struct rb_root *root, struct rsm_id *id)
{
	id->value = port->next_id++;
	rb_add(&id->node, root, less);
}

/* port->lock. NULL: nothing has the number. */
struct rsm_id *rsm_id_find(const struct rb_root *root, u64 value)
{
	return rb_entry_safe(rb_find(&value, root, compare), struct rsm_id, node);
}
