/* SPDX-License-Identifier: BSD-3-Clause */
/* Send buffers: registered memory from which the node sends its few messages, in chunks with one
 * registration each. Registering takes long, and the lock is not held meanwhile, because rsmd's
 * thread returns buffers. */
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <utlist.h>

#include "transport/verbs/node/node.h"

enum { BUFFERS_PER_CHUNK = 128 };

struct verbs_send_buffer_chunk {
    struct verbs_send_buffer_chunk *next;
    uint8_t *bytes;
    struct ibv_mr *mr;
    struct verbs_send_buffer buffer[BUFFERS_PER_CHUNK];
};

enum { CHUNK_BYTES = BUFFERS_PER_CHUNK * VERBS_MESSAGE_MAX };

/* Add a chunk. Returns one of its buffers; the others are free. */
static struct verbs_send_buffer *add_chunk(struct verbs_node_port *port)
{
    struct verbs_send_buffer_chunk *chunk = calloc(1, sizeof *chunk);
    if (chunk == NULL)
        return NULL;
    chunk->bytes =
        mmap(NULL, CHUNK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (chunk->bytes == MAP_FAILED)
        goto free_chunk;
    chunk->mr = ibv_reg_mr(port->pd, chunk->bytes, CHUNK_BYTES, IBV_ACCESS_LOCAL_WRITE);
    if (chunk->mr == NULL) {
        verbs_explain(&port->device, "cannot register memory for messages", errno);
        goto unmap;
    }
    for (int i = 0; i < BUFFERS_PER_CHUNK; i++)
        chunk->buffer[i] = (struct verbs_send_buffer){
            .mr = chunk->mr, .bytes = chunk->bytes + i * VERBS_MESSAGE_MAX};
    pthread_mutex_lock(&port->send_buffers_lock);
    for (int i = 1; i < BUFFERS_PER_CHUNK; i++)
        LL_PREPEND(port->send_buffers, &chunk->buffer[i]);
    LL_PREPEND(port->send_buffer_chunks, chunk);
    pthread_mutex_unlock(&port->send_buffers_lock);
    return &chunk->buffer[0];
unmap:
    munmap(chunk->bytes, CHUNK_BYTES);
free_chunk:
    free(chunk);
    return NULL;
}

struct verbs_send_buffer *verbs_send_buffer_get(struct verbs_node_port *port)
{
    pthread_mutex_lock(&port->send_buffers_lock);
    struct verbs_send_buffer *buffer = port->send_buffers;
    if (buffer != NULL)
        port->send_buffers = buffer->next;
    pthread_mutex_unlock(&port->send_buffers_lock);
    return buffer != NULL ? buffer : add_chunk(port);
}

void verbs_send_buffer_put(struct verbs_node_port *port, struct verbs_send_buffer *buffer)
{
    pthread_mutex_lock(&port->send_buffers_lock);
    LL_PREPEND(port->send_buffers, buffer);
    pthread_mutex_unlock(&port->send_buffers_lock);
}

void verbs_send_buffers_end(struct verbs_node_port *port)
{
    while (port->send_buffer_chunks != NULL) {
        struct verbs_send_buffer_chunk *chunk = port->send_buffer_chunks;
        port->send_buffer_chunks = chunk->next;
        ibv_dereg_mr(chunk->mr);
        munmap(chunk->bytes, CHUNK_BYTES);
        free(chunk);
    }
    port->send_buffers = NULL;
}
