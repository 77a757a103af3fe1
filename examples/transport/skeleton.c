/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * A complete transport of the smallest kind, to start a new one from. doc/transports.md walks
 * through it. It needs <rsm/transport.h> and nothing else of librsm.
 *
 * Its fabric is the read and write system calls: a segment is memory that an importer reaches by
 * pread() and pwrite() and cannot map. So it shows what a fabric without load and store looks like.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <rsm/transport.h>

/* How a piece of a segment is described in an offer. Both halves run on one host here; a fabric
 * between hosts would fix the byte order too. */
struct offered_piece {
    uint64_t offset;
    uint64_t length;
};

/* ------------------------------------------------------------------ import half */

struct skeleton_port {
    struct rsm_port base;
    /* a device handle would be here */
};

struct skeleton_conn {
    struct rsm_conn base;
    unsigned count;
    int fds[RSM_OFFER_MAX_FDS];
    struct offered_piece pieces[RSM_OFFER_MAX_FDS];
};

static struct skeleton_conn *skeleton_of(struct rsm_conn *conn)
{
    return RSM_CONTAINER_OF(conn, struct skeleton_conn, base);
}

static enum rsm_status skeleton_open(const struct rsm_controller_info *info, struct rsm_port **port)
{
    (void)info; /* info->device says which adapter, info->options is ours to define */
    struct skeleton_port *made = calloc(1, sizeof *made);
    if (made == NULL)
        return RSM_ST_NO_MEMORY;
    made->base.caps = 0; /* nothing beyond the mandatory operations; the core supplies the rest */
    *port = &made->base;
    return RSM_ST_OK;
}

static void skeleton_close(struct rsm_port *port)
{
    free(RSM_CONTAINER_OF(port, struct skeleton_port, base));
}

/* Another process made this offer. Take nothing in it for granted. */
static bool offer_makes_sense(const struct rsm_offer *offer, uint64_t size, uint32_t rights)
{
    if (offer->fd_count > RSM_OFFER_MAX_FDS ||
        offer->blob_len != offer->fd_count * sizeof(struct offered_piece))
        return false;
    uint64_t sum = 0;
    for (unsigned i = 0; i < offer->fd_count; i++) {
        struct offered_piece piece;
        memcpy(&piece, offer->blob + i * sizeof piece, sizeof piece);
        if (piece.length > size - sum || piece.offset > INT64_MAX - piece.length)
            return false;
        sum += piece.length;
    }
    return rights == 0 || sum == size;
}

static void skeleton_disconnect(struct rsm_conn *conn)
{
    struct skeleton_conn *skeleton = skeleton_of(conn);
    for (unsigned i = 0; i < skeleton->count; i++)
        close(skeleton->fds[i]);
    free(skeleton);
}

static enum rsm_status skeleton_connect(struct rsm_port *port, const struct rsm_offer *offer,
                                        uint64_t size, uint32_t rights, struct rsm_conn **conn)
{
    if (!offer_makes_sense(offer, size, rights))
        return RSM_ST_PROTOCOL;
    struct skeleton_conn *made = calloc(1, sizeof *made);
    if (made == NULL)
        return RSM_ST_NO_MEMORY;
    made->base.caps = port->caps;
    memcpy(made->pieces, offer->blob, offer->blob_len);
    for (; made->count < offer->fd_count; made->count++) {
        /* The offer's descriptors stay the caller's. Ours are never 0, 1 or 2. */
        int fd = fcntl(offer->fds[made->count], F_DUPFD_CLOEXEC, 3);
        if (fd < 0) {
            skeleton_disconnect(&made->base);
            return RSM_ST_NO_RESOURCES;
        }
        made->fds[made->count] = fd;
    }
    *conn = &made->base; /* the core sets its `ops` and `port` */
    return RSM_ST_OK;
}

/* Move one contiguous run. Writes if `src` is given, else reads into `dst`. */
static enum rsm_status move_run(int fd, uint64_t at, const char *src, char *dst, size_t length)
{
    for (size_t done = 0; done < length;) {
        ssize_t moved = src != NULL ? pwrite(fd, src + done, length - done, (off_t)(at + done))
                                    : pread(fd, dst + done, length - done, (off_t)(at + done));
        if (moved < 0 && errno == EINTR)
            continue;
        if (moved <= 0)
            return RSM_ST_TRANSFER;
        done += (size_t)moved;
    }
    return RSM_ST_OK;
}

static enum rsm_status transfer(struct skeleton_conn *skeleton, uint64_t offset, const char *src,
                                char *dst, size_t length)
{
    enum rsm_status status = RSM_ST_OK;
    for (unsigned i = 0; i < skeleton->count && length > 0 && status == RSM_ST_OK; i++) {
        const struct offered_piece *piece = &skeleton->pieces[i];
        if (offset >= piece->length) {
            offset -= piece->length;
            continue;
        }
        size_t run = length < piece->length - offset ? length : piece->length - offset;
        status = move_run(skeleton->fds[i], piece->offset + offset, src, dst, run);
        src = src != NULL ? src + run : NULL;
        dst = dst != NULL ? dst + run : NULL;
        length -= run;
        offset = 0;
    }
    return status;
}

static enum rsm_status skeleton_put(struct rsm_conn *conn, uint64_t offset, const void *src,
                                    size_t length)
{
    return transfer(skeleton_of(conn), offset, src, NULL, length);
}

static enum rsm_status skeleton_get(struct rsm_conn *conn, uint64_t offset, void *dst,
                                    size_t length)
{
    return transfer(skeleton_of(conn), offset, NULL, dst, length);
}

/* A system call returns when the bytes have moved: writes are in order and complete by
 * themselves. A fabric that answers later counts what fails: rsm_conn_failed(). */
static enum rsm_status skeleton_order(struct rsm_conn *conn)
{
    (void)conn;
    return RSM_ST_OK;
}

static enum rsm_status skeleton_complete(struct rsm_conn *conn)
{
    (void)conn;
    return RSM_ST_OK;
}

/* librsm looks for this symbol in librsm_skeleton.so when an application opens a controller. */
__attribute__((
    visibility("default"))) extern const struct rsm_import_ops rsm_transport_import_ops_v1;
const struct rsm_import_ops rsm_transport_import_ops_v1 = {
    RSM_IMPORT_OPS_HEAD, /* version and sizes */
    .name = "skeleton",
    .open = skeleton_open,
    .close = skeleton_close,
    .connect = skeleton_connect,
    .disconnect = skeleton_disconnect,
    .put = skeleton_put,
    .get = skeleton_get,
    .order = skeleton_order,
    .complete = skeleton_complete,
};

/* ------------------------------------------------------------------ node half */

struct skeleton_node_port {
    struct rsm_node_port base;
    uint64_t page;
};

/* Of an extent there is nothing to remember beyond its base. Of an offer neither; what revoke()
 * needs to know would be here. A connection takes no descriptor and no thread of rsmd, so both
 * members of the base that say how many stay 0. */
struct skeleton_offer {
    struct rsm_node_offer base;
};

static uint64_t page_of(struct rsm_node_port *port)
{
    return RSM_CONTAINER_OF(port, struct skeleton_node_port, base)->page;
}

static enum rsm_status node_open(const struct rsm_controller_info *info,
                                 struct rsm_node_port **port)
{
    (void)info;
    struct skeleton_node_port *made = calloc(1, sizeof *made);
    if (made == NULL)
        return RSM_ST_NO_MEMORY;
    made->base.caps = 0;
    made->page = (uint64_t)sysconf(_SC_PAGESIZE);
    *port = &made->base;
    return RSM_ST_OK;
}

static void node_close(struct rsm_node_port *port)
{
    free(RSM_CONTAINER_OF(port, struct skeleton_node_port, base));
}

/* Elements of one byte are all that a system call does not tear: on processors without fast short
 * string instructions the kernel copies byte by byte. */
static void node_attributes(struct rsm_node_port *port, struct rsm_port_attr *attr)
{
    uint64_t memory = (uint64_t)sysconf(_SC_PHYS_PAGES) * page_of(port);
    *attr = (struct rsm_port_attr){.size = attr->size,
                                   .access_sizes = 1 | 2 | 4 | 8,
                                   .atomic_sizes = 1,
                                   .page_size = page_of(port),
                                   .max_segment_size = memory,
                                   .total_segment_size = memory,
                                   .max_segments = 1024,
                                   .max_map_size = memory,
                                   .total_map_size = memory,
                                   .max_imports = 1024};
}

/* The exporting process maps the descriptor; its pages are the segment. */
static enum rsm_status node_extent_make(struct rsm_node_port *port, uint64_t length,
                                        struct rsm_extent **extent)
{
    if (length == 0 || length > INT64_MAX || length % page_of(port) != 0)
        return RSM_ST_INVALID;
    struct rsm_extent *made = calloc(1, sizeof *made);
    if (made == NULL)
        return RSM_ST_NO_MEMORY;
    made->kind = RSM_EXTENT_MEMFD;
    made->length = length;
    made->fd = memfd_create("rsm-skeleton", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (made->fd < 0)
        goto free_extent;
    /* rsmd runs with 0, 1 and 2 open, so this is not one of them. */
    if (ftruncate(made->fd, (off_t)length) < 0 || fchmod(made->fd, S_IRUSR | S_IWUSR) < 0 ||
        fcntl(made->fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) < 0)
        goto close_fd;
    *extent = made;
    return RSM_ST_OK;
close_fd:
    close(made->fd);
free_extent:
    free(made);
    return RSM_ST_NO_RESOURCES;
}

static void node_extent_free(struct rsm_node_port *port, struct rsm_extent *extent)
{
    (void)port;
    close(extent->fd);
    free(extent);
}

/* Exactly the rights granted: the importer is not trusted, its descriptor is all that it has. */
static int descriptor_with_rights(int fd, uint32_t rights)
{
    char path[32];
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if ((rights & RSM_RIGHT_WRITE) == 0)
        return open(path, O_RDONLY | O_CLOEXEC);
    return open(path, (rights & RSM_RIGHT_READ) != 0 ? O_RDWR | O_CLOEXEC : O_WRONLY | O_CLOEXEC);
}

static enum rsm_status node_offer(struct rsm_node_port *port, const struct rsm_extent_piece *pieces,
                                  unsigned count, uint32_t rights,
                                  const struct rsm_importer *importer, struct rsm_offer *offer,
                                  struct rsm_node_offer **made)
{
    (void)importer;
    if (count > RSM_OFFER_MAX_FDS)
        return RSM_ST_NO_RESOURCES;
    struct skeleton_offer *fresh = calloc(1, sizeof *fresh);
    if (fresh == NULL)
        return RSM_ST_NO_MEMORY;
    fresh->base.port = port;
    offer->blob_len = 0;
    offer->fd_count = 0;
    for (unsigned i = 0; rights != 0 && i < count; i++) {
        const struct rsm_extent *extent = pieces[i].extent;
        struct offered_piece piece = {.offset = extent->offset + pieces[i].offset,
                                      .length = pieces[i].length};
        int fd = descriptor_with_rights(extent->fd, rights);
        if (fd < 0)
            goto close_fds;
        offer->fds[offer->fd_count++] = fd;
        memcpy(offer->blob + offer->blob_len, &piece, sizeof piece);
        offer->blob_len += sizeof piece;
    }
    *made = &fresh->base;
    return RSM_ST_OK;
close_fds:
    while (offer->fd_count > 0)
        close(offer->fds[--offer->fd_count]);
    free(fresh);
    return RSM_ST_NO_RESOURCES;
}

static void node_revoke(struct rsm_node_port *port, struct rsm_node_offer *made)
{
    (void)port;
    free(RSM_CONTAINER_OF(made, struct skeleton_offer, base));
}

/* rsmd looks for this one in the same file. */
__attribute__((visibility("default"))) extern const struct rsm_node_ops rsm_transport_node_ops_v1;
const struct rsm_node_ops rsm_transport_node_ops_v1 = {
    RSM_NODE_OPS_HEAD,
    .name = "skeleton",
    .open = node_open,
    .close = node_close,
    .attributes = node_attributes,
    .extent_make = node_extent_make,
    .extent_free = node_extent_free,
    .offer = node_offer,
    .revoke = node_revoke,
};
