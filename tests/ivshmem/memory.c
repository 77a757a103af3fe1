/* SPDX-License-Identifier: BSD-3-Clause */
/* The port over an ivshmem server: extents in this host's half of the memory, imports from the
 * other. */
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/descriptor.h"
#include "base/extent_memfd.h"
#include "base/log.h"

#include "port.h"

/* ------------------------------------------------------------------ extents */

/* Those of this daemon: whoever comes after another knows of none. */
int ivshmem_extents(struct ntb_port *base, struct ntb_port_extent *extents, unsigned capacity)
{
    struct ivshmem_port *port = ivshmem_port_of(base);
    const struct ivshmem_extent *extent;
    unsigned count = 0;
    pthread_mutex_lock(&port->lock);
    for (extent = port->extents; extent != NULL && count < capacity; extent = extent->hh.next)
        extents[count++] = (struct ntb_port_extent){.id = extent->id,
                                                    .offset = extent->offset,
                                                    .length = extent->length,
                                                    .quarantined = extent->closed};
    pthread_mutex_unlock(&port->lock);
    return (int)count;
}

void ivshmem_end_extent(struct ivshmem_port *port, struct ivshmem_extent *extent)
{
    ivshmem_tell(port, NTB_PORT_FREE, extent->id);
    HASH_DEL(port->extents, extent);
    free(extent);
}

enum rsm_status ivshmem_extent_make(struct ntb_port *base, uint64_t offset, uint64_t length,
                                    struct ntb_port_memory *memory)
{
    struct ivshmem_port *port = ivshmem_port_of(base);
    struct ivshmem_extent *extent = calloc(1, sizeof *extent);
    if (extent == NULL)
        return RSM_ST_NO_MEMORY;
    /* Zeros, whoever stored what there. By stores, because other hosts and importers have the
     * memory, too, and could hold up fallocate(2) for ever. */
    memset(port->ivshmem.base + port->own + offset, 0, length);
    pthread_mutex_lock(&port->lock);
    bool wary = port->wary;
    *extent = (struct ivshmem_extent){
        .id = ++port->last_id, .offset = offset, .length = length, .exposed = port->up};
    if (!wary)
        HASH_ADD(hh, port->extents, id, sizeof extent->id, extent);
    bool known = extent->hh.tbl != NULL;
    *memory = (struct ntb_port_memory){
        .id = extent->id, .fd = port->ivshmem.memory, .offset = port->own + offset};
    pthread_mutex_unlock(&port->lock);
    if (known)
        return RSM_ST_OK;
    free(extent);
    if (!wary)
        return RSM_ST_NO_MEMORY;
    rsm_log_warning("ntb: ivshmem: the other host has not agreed on a session yet: its processes "
                    "may still store into this pool, and nothing is exported before");
    return RSM_ST_NO_RESOURCES;
}

static struct ivshmem_extent *find_extent(const struct ivshmem_port *port, uint64_t id)
{
    struct ivshmem_extent *extent;
    HASH_FIND(hh, port->extents, &id, sizeof id, extent);
    return extent;
}

void ivshmem_extent_close(struct ntb_port *base, const struct ntb_port_memory *memory)
{
    struct ivshmem_port *port = ivshmem_port_of(base);
    pthread_mutex_lock(&port->lock);
    struct ivshmem_extent *extent = find_extent(port, memory->id);
    if (extent != NULL && extent->exposed) {
        extent->closed = true;
        ivshmem_tell(port, NTB_PORT_QUARANTINED, extent->id);
    } else if (extent != NULL) {
        ivshmem_end_extent(port, extent);
    }
    pthread_mutex_unlock(&port->lock);
}

bool ivshmem_extent_release(struct ntb_port *base, uint64_t id)
{
    struct ivshmem_port *port = ivshmem_port_of(base);
    pthread_mutex_lock(&port->lock);
    struct ivshmem_extent *extent = find_extent(port, id);
    bool possible = extent == NULL || extent->closed;
    if (extent != NULL && possible)
        ivshmem_end_extent(port, extent);
    pthread_mutex_unlock(&port->lock);
    return possible;
}

int ivshmem_extent_share(struct ntb_port *base, const struct ntb_port_memory *memory, bool writable,
                         uint64_t *offset)
{
    *offset = memory->offset;
    return rsmcore_extent_memfd_share(memory->fd, writable);
}

/* ------------------------------------------------------------------ imports */

void ivshmem_free_import(struct ivshmem_import *import)
{
    if (import->status != NULL)
        munmap(import->status, IVSHMEM_GRANULE);
    if (import->page >= 0)
        close(import->page);
    free(import);
}

static struct ivshmem_import *new_import(void)
{
    struct ivshmem_import *import = calloc(1, sizeof *import);
    if (import == NULL)
        return NULL;
    import->page = rsmcore_extent_memfd(IVSHMEM_GRANULE);
    void *page = import->page < 0 ? MAP_FAILED
                                  : mmap(NULL, IVSHMEM_GRANULE, PROT_READ | PROT_WRITE, MAP_SHARED,
                                         import->page, 0);
    if (page == MAP_FAILED) {
        ivshmem_free_import(import);
        return NULL;
    }
    import->status = page;
    return import;
}

static void close_descriptors(const struct ntb_port_import *made)
{
    const int fds[] = {made->status, made->canary, made->data};
    for (size_t i = 0; i < sizeof fds / sizeof fds[0]; i++)
        if (fds[i] >= 0)
            close(fds[i]);
    for (unsigned i = 0; i < made->post_fd_count; i++)
        if (made->post_fds[i] >= 0)
            close(made->post_fds[i]);
}

static enum rsm_status fill_import(const struct ivshmem_port *port,
                                   const struct ivshmem_import *import, uint64_t offset,
                                   bool writable, struct ntb_port_import *made)
{
    *made =
        (struct ntb_port_import){.id = import->id,
                                 .status = rsmcore_extent_memfd_share(import->page, false),
                                 .canary = rsmcore_extent_memfd_share(port->ivshmem.memory, false),
                                 .data = rsmcore_extent_memfd_share(port->ivshmem.memory, writable),
                                 .canary_offset = port->peer + NTB_HELLO_AT,
                                 .data_offset = port->peer + offset};
    if (made->status >= 0 && made->canary >= 0 && made->data >= 0)
        return RSM_ST_OK;
    close_descriptors(made);
    return RSM_ST_NO_RESOURCES;
}

/* Lock held. There is no driver that would count for the process: it writes its counter itself,
 * by a descriptor of all the memory. It has no other right by that than by its segment, unless
 * that is read-only, and then the daemons carry its signals. */
static enum rsm_status fill_posts(const struct ivshmem_port *port, bool writable,
                                  uint32_t connection, struct ntb_port_import *made)
{
    const struct ivshmem *ivshmem = &port->ivshmem;
    if (connection >= NTB_CONNECTIONS || !port->session.posts || !writable ||
        ivshmem->peer_bells <= IVSHMEM_POST_BELL)
        return RSM_ST_OK;
    made->post_fds[made->post_fd_count++] = rsmcore_extent_memfd_share(ivshmem->memory, true);
    made->post_fds[made->post_fd_count++] =
        rsmcore_fd_copy_above_stdio(ivshmem->peer_bell[IVSHMEM_POST_BELL]);
    made->post_word = port->peer + NTB_POSTS_AT + connection * sizeof(uint64_t);
    made->posts = made->post_fds[0] >= 0 && made->post_fds[1] >= 0;
    if (made->posts)
        return RSM_ST_OK;
    close_descriptors(made);
    return RSM_ST_NO_RESOURCES;
}

bool ivshmem_posts(struct ntb_port *base, uint32_t first, uint32_t count, uint64_t *words)
{
    const struct ivshmem_port *port = ivshmem_port_of(base);
    const uint64_t *shared = (const void *)(port->ivshmem.base + port->own + NTB_POSTS_AT);
    for (uint32_t i = 0; i < count; i++)
        words[i] = le64toh(ntb_load64(&shared[first + i]));
    return true;
}

enum rsm_status ivshmem_import_make(struct ntb_port *base, const struct ntb_grant_piece *piece,
                                    uint32_t epoch, bool writable, uint32_t connection,
                                    struct ntb_port_import *made)
{
    struct ivshmem_port *port = ivshmem_port_of(base);
    struct ivshmem_import *import = new_import();
    if (import == NULL)
        return RSM_ST_NO_MEMORY;
    pthread_mutex_lock(&port->lock);
    const struct ntb_session *session = &port->session;
    enum rsm_status status = RSM_ST_UNREACHABLE;
    if (session->up && session->epoch == epoch) {
        import->id = ++port->last_id;
        import->epoch = epoch;
        *import->status = (struct ntb_status){.abi = NTB_STATUS_ABI,
                                              .import_epoch = epoch,
                                              .epoch = epoch,
                                              .link_seq = port->link_seq,
                                              .canary = ntb_session_canary(session),
                                              .canary_offset = NTB_CANARY_OFFSET,
                                              .length = piece->length};
        status = fill_import(port, import, piece->offset, writable, made);
        if (status == RSM_ST_OK)
            status = fill_posts(port, writable, connection, made);
    }
    if (status == RSM_ST_OK)
        HASH_ADD(hh, port->imports, id, sizeof import->id, import);
    if (status == RSM_ST_OK && import->hh.tbl == NULL) {
        close_descriptors(made);
        status = RSM_ST_NO_MEMORY;
    }
    pthread_mutex_unlock(&port->lock);
    if (status != RSM_ST_OK)
        ivshmem_free_import(import);
    return status;
}

static struct ivshmem_import *find_import(const struct ivshmem_port *port, uint64_t id)
{
    struct ivshmem_import *import;
    HASH_FIND(hh, port->imports, &id, sizeof id, import);
    return import;
}

void ivshmem_import_revoke(struct ntb_port *base, uint64_t id)
{
    struct ivshmem_port *port = ivshmem_port_of(base);
    pthread_mutex_lock(&port->lock);
    const struct ivshmem_import *import = find_import(port, id);
    if (import != NULL)
        ntb_store32(&import->status->revoked, 1);
    pthread_mutex_unlock(&port->lock);
}

void ivshmem_import_close(struct ntb_port *base, uint64_t id)
{
    struct ivshmem_port *port = ivshmem_port_of(base);
    pthread_mutex_lock(&port->lock);
    struct ivshmem_import *import = find_import(port, id);
    if (import != NULL) {
        ntb_store32(&import->status->revoked, 1);
        HASH_DEL(port->imports, import);
        if (!port->up || import->epoch != port->session.epoch)
            port->old_imports--;
        ivshmem_wake(port); /* a session may be waiting for it */
    }
    pthread_mutex_unlock(&port->lock);
    if (import != NULL)
        ivshmem_free_import(import);
}
