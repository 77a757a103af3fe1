/* SPDX-License-Identifier: BSD-3-Clause */
/* Registered memory that the node sends its few messages from, some hundred slots a registration.
 * Registering takes long, so the lock is not held meanwhile: rsmd's thread gives slots back. */
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <utlist.h>

#include "transport/verbs/node/node.h"

enum { SLOTS_PER_SLAB = 128 };

struct verbs_send_buffer_chunk {
    struct verbs_send_buffer_chunk *next;
    uint8_t *bytes;
    struct ibv_mr *mr;
    struct verbs_send_buffer slot[SLOTS_PER_SLAB];
};

enum { SLAB_BYTES = SLOTS_PER_SLAB * VERBS_MESSAGE_MAX };

/* Returns one of its slots; the others are free. */
static struct verbs_send_buffer *add_slab(struct verbs_node_port *port)
{
    struct verbs_send_buffer_chunk *slab = calloc(1, sizeof *slab);
    if (slab == NULL)
        return NULL;
    slab->bytes =
        mmap(NULL, SLAB_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (slab->bytes == MAP_FAILED)
        goto free_slab;
    slab->mr = ibv_reg_mr(port->pd, slab->bytes, SLAB_BYTES, IBV_ACCESS_LOCAL_WRITE);
    if (slab->mr == NULL) {
        verbs_explain(&port->device, "cannot register memory for messages", errno);
        goto unmap;
    }
    for (int i = 0; i < SLOTS_PER_SLAB; i++)
        slab->slot[i] = (struct verbs_send_buffer){.mr = slab->mr,
                                                   .bytes = slab->bytes + i * VERBS_MESSAGE_MAX};
    pthread_mutex_lock(&port->slots_lock);
    for (int i = 1; i < SLOTS_PER_SLAB; i++)
        LL_PREPEND(port->slots, &slab->slot[i]);
    LL_PREPEND(port->slabs, slab);
    pthread_mutex_unlock(&port->slots_lock);
    return &slab->slot[0];
unmap:
    munmap(slab->bytes, SLAB_BYTES);
free_slab:
    free(slab);
    return NULL;
}

struct verbs_send_buffer *verbs_send_buffer_get(struct verbs_node_port *port)
{
    pthread_mutex_lock(&port->slots_lock);
    struct verbs_send_buffer *slot = port->slots;
    if (slot != NULL)
        port->slots = slot->next;
    pthread_mutex_unlock(&port->slots_lock);
    return slot != NULL ? slot : add_slab(port);
}

void verbs_send_buffer_put(struct verbs_node_port *port, struct verbs_send_buffer *slot)
{
    pthread_mutex_lock(&port->slots_lock);
    LL_PREPEND(port->slots, slot);
    pthread_mutex_unlock(&port->slots_lock);
}

void verbs_send_buffers_end(struct verbs_node_port *port)
{
    while (port->slabs != NULL) {
        struct verbs_send_buffer_chunk *slab = port->slabs;
        port->slabs = slab->next;
        ibv_dereg_mr(slab->mr);
        munmap(slab->bytes, SLAB_BYTES);
        free(slab);
    }
    port->slots = NULL;
}
