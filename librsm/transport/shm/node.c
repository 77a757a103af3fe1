/* SPDX-License-Identifier: BSD-3-Clause */
/** @file shm, node half: extents are sealed memfds, an offer is their descriptors.
 *
 *  A descriptor is the right: the read-only one is a file description of its own that was opened
 *  for reading, so that the kernel refuses a writable mapping and any mprotect() that would make
 *  one. The mode of the memfd keeps others than its owner and root from opening it anew through
 *  /proc with more than they were given. */
#include "transport/shm/shm.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/status.h"
#include "base/extent_memfd.h"
#include "base/extent_pieces.h"
#include "base/memory_limit.h"

struct shm_node_port {
    struct rsm_node_port base;
    uint64_t page;               /* bytes */
    struct rsm_node_offer offer; /* all of them: an offer leaves nothing behind in the daemon */
};

static struct shm_node_port *port_of(struct rsm_node_port *port)
{
    return RSM_CONTAINER_OF(port, struct shm_node_port, base);
}

/* A controller that is configured with transport = shm has no fabric that these could be for. */
static enum rsm_status shm_check(const struct rsm_controller_info *info)
{
    bool device = info->device != NULL && *info->device != '\0';
    if (!device && (info->options == NULL || *info->options == '\0'))
        return RSM_ST_OK;
    rsm_log_error("shm has no %s: remove \"%s\"", device ? "device" : "options",
                  device ? info->device : info->options);
    return RSM_ST_INVALID;
}

static enum rsm_status shm_open_port(const struct rsm_controller_info *info,
                                     struct rsm_node_port **port)
{
    if (shm_check(info) != RSM_ST_OK)
        return RSM_ST_INVALID;
    struct shm_node_port *made = calloc(1, sizeof *made);
    if (made == NULL)
        return RSM_ST_NO_MEMORY;
    made->base.caps = RSM_NODE_EXTENTS_SHAREABLE | RSM_NODE_ANY_THREAD;
    made->page = (uint64_t)sysconf(_SC_PAGESIZE);
    made->offer.port = &made->base;
    *port = &made->base;
    return RSM_ST_OK;
}

static void shm_close_port(struct rsm_node_port *port)
{
    free(port_of(port));
}

/* Every extent takes one of the daemon's descriptors. */
static uint64_t max_extents(void)
{
    struct rlimit files;
    return getrlimit(RLIMIT_NOFILE, &files) == 0 ? files.rlim_cur : UINT32_MAX;
}

static void shm_attributes(struct rsm_node_port *port, struct rsm_port_attr *attr)
{
    uint64_t page = port_of(port)->page;
    uint64_t memory = rsmcore_memory_size();
    *attr = (struct rsm_port_attr){
        .size = attr->size,
        .access_sizes = 1 | 2 | 4 | 8,
        .atomic_sizes = 1 | 2 | 4 | 8,
        .page_size = page,
        .max_segment_size = memory,
        .total_segment_size = memory,
        .max_segments = max_extents(),
        .max_map_size = memory,
        .total_map_size = memory,
        .max_imports = UINT32_MAX,
        .hardware_address = 0,
    };
}

static enum rsm_status shm_extent_make(struct rsm_node_port *port, uint64_t length,
                                       struct rsm_extent **extent)
{
    return rsmcore_extent_memfd_make(port_of(port)->page, length, extent);
}

static enum rsm_status shm_extent_adopt(struct rsm_node_port *port, int fd, uint64_t length,
                                        struct rsm_extent **extent)
{
    return rsmcore_extent_memfd_adopt(port_of(port)->page, fd, length, extent);
}

/* By a predecessor, whose extents were made like these. */
static enum rsm_status shm_extent_take(struct rsm_node_port *port, int fd, uint64_t length,
                                       struct rsm_extent **extent)
{
    return rsmcore_extent_memfd_take(port_of(port)->page, fd, length, extent);
}

static bool pieces_are_possible(struct rsm_node_port *port, const struct rsm_extent_piece *pieces,
                                unsigned count)
{
    return rsmcore_extent_pieces_are_inside(pieces, count, RSM_OFFER_MAX_FDS, port_of(port)->page);
}

static enum rsm_status add_pieces(const struct rsm_extent_piece *pieces, unsigned count,
                                  uint32_t rights, struct rsm_offer *offer)
{
    struct rsm_view_piece layout[RSM_OFFER_MAX_FDS];
    for (unsigned i = 0; i < count; i++) {
        int fd = rsmcore_extent_memfd_share(pieces[i].extent->fd, (rights & RSM_RIGHT_WRITE) != 0);
        if (fd < 0)
            return rsmcore_status_from_errno(errno);
        offer->fds[offer->fd_count++] = fd;
        layout[i] = (struct rsm_view_piece){.offset = pieces[i].offset, .length = pieces[i].length};
    }
    struct rsm_codec codec = rsm_encoder(offer->blob, sizeof offer->blob);
    shm_pieces_codec(&codec, layout, count);
    offer->blob_len = count * SHM_PIECE_BYTES;
    return RSM_ST_OK;
}

static enum rsm_status shm_offer(struct rsm_node_port *port, const struct rsm_extent_piece *pieces,
                                 unsigned count, uint32_t rights,
                                 const struct rsm_importer *importer, struct rsm_offer *offer,
                                 struct rsm_node_offer **made)
{
    (void)importer; /* only the process that gets the descriptors has the memory */
    if ((rights & ~(RSM_RIGHT_READ | RSM_RIGHT_WRITE)) != 0 ||
        !pieces_are_possible(port, pieces, count))
        return RSM_ST_INVALID;
    offer->blob_len = 0;
    offer->fd_count = 0;
    enum rsm_status status = rights == 0 ? RSM_ST_OK : add_pieces(pieces, count, rights, offer);
    if (status != RSM_ST_OK) {
        while (offer->fd_count > 0)
            close(offer->fds[--offer->fd_count]);
        return status;
    }
    *made = &port_of(port)->offer;
    return RSM_ST_OK;
}

static enum rsm_status shm_offer_take(struct rsm_node_port *port,
                                      const struct rsm_extent_piece *pieces, unsigned count,
                                      uint32_t rights, const struct rsm_importer *importer,
                                      struct rsm_node_offer **made)
{
    (void)rights, (void)importer;
    if (!pieces_are_possible(port, pieces, count))
        return RSM_ST_INVALID;
    *made = &port_of(port)->offer;
    return RSM_ST_OK;
}

static void shm_revoke(struct rsm_node_port *port, struct rsm_node_offer *made)
{
    /* A mapping in another process cannot be revoked. The exporter therefore leaves the extent (by
     * a page swap), and importers go on to read and write memory that no longer belongs to any
     * segment. */
    (void)port, (void)made;
}

const struct rsm_node_ops rsmcore_shm_node_ops = {
    RSM_NODE_OPS_HEAD,
    .name = "shm",
    .open = shm_open_port,
    .check = shm_check,
    .close = shm_close_port,
    .attributes = shm_attributes,
    .extent_make = shm_extent_make,
    .extent_free = rsmcore_extent_memfd_free,
    .offer = shm_offer,
    .revoke = shm_revoke,
    .extent_adopt = shm_extent_adopt,
    .extent_take = shm_extent_take,
    .offer_take = shm_offer_take,
};
