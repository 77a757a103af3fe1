/* SPDX-License-Identifier: BSD-3-Clause */
/** @file shm, import half: the whole segment is mapped once at connect; put and get are copies.
 *
 *  No transfer and no barrier makes a system call. The other side may read and write the same bytes
 *  at the same time, which is what shared memory is for; what that means for the contents is agreed
 *  between the programs by barriers and events, so the copies here are not data races to report. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/elements.h"
#include "base/fence.h"
#include "base/sanitizer.h"
#include "base/sealed.h"
#include "transport/shm/copy.h"
#include "transport/shm/shm.h"

struct shm_port {
    struct rsm_port base;
    uint64_t page; /* bytes */
};

struct shm_conn {
    struct rsm_conn conn;
    uint8_t *base; /* the view's, NULL without rights; here to be near */
    uint64_t size;
    uint64_t page;
    bool vectors; /* pay here, see copy.h */
    struct rsm_view view;
};

static struct shm_conn *shm_of(struct rsm_conn *conn)
{
    return (struct shm_conn *)conn;
}

static struct shm_port *port_of(struct rsm_port *port)
{
    return RSM_CONTAINER_OF(port, struct shm_port, base);
}

/* Without mapping, put and get alone are left: to try the mapping engine. */
static bool maps(void)
{
    const char *direct = secure_getenv("RSM_SHM_DIRECT");
    return direct == NULL || strcmp(direct, "0") != 0;
}

static enum rsm_status shm_open_port(const struct rsm_controller_info *info, struct rsm_port **port)
{
    (void)info; /* see the node half */
    struct shm_port *made = calloc(1, sizeof *made);
    if (made == NULL)
        return RSM_ST_NO_MEMORY;
    made->base.caps = RSM_CAP_FORK | (maps() ? RSM_CAP_MAP : RSM_CAP_FAULT_SAFE);
    made->page = (uint64_t)sysconf(_SC_PAGESIZE);
    *port = &made->base;
    return RSM_ST_OK;
}

static void shm_close_port(struct rsm_port *port)
{
    free(port_of(port));
}

/* Whether every byte of the piece is there and stays there. */
static bool piece_is_safe(int fd, const struct rsm_view_piece *piece)
{
    return piece->length <= UINT64_MAX - piece->offset &&
           rsm_is_sealed_memory(fd, piece->offset + piece->length);
}

/* Decode the offer and check that it is a segment of @p size bytes. */
static enum rsm_status check_offer(const struct rsm_offer *offer, uint64_t size, uint64_t page,
                                   struct rsm_view_piece *pieces)
{
    if (offer->fd_count > RSM_OFFER_MAX_FDS || offer->blob_len != offer->fd_count * SHM_PIECE_BYTES)
        return RSM_ST_PROTOCOL;
    struct rsm_codec codec = rsm_decoder(offer->blob, offer->blob_len);
    shm_pieces_codec(&codec, pieces, offer->fd_count);
    uint64_t sum = 0;
    for (unsigned i = 0; i < offer->fd_count; i++) {
        const struct rsm_view_piece *piece = &pieces[i];
        if (piece->length == 0 || (piece->offset | piece->length) % page != 0 ||
            piece->length > size - sum || !piece_is_safe(offer->fds[i], piece))
            return RSM_ST_PROTOCOL;
        sum += piece->length;
    }
    return sum == size && size > 0 ? RSM_ST_OK : RSM_ST_PROTOCOL;
}

static enum rsm_status connect_without_rights(const struct rsm_offer *offer)
{
    return offer->fd_count == 0 && offer->blob_len == 0 ? RSM_ST_OK : RSM_ST_PROTOCOL;
}

static enum rsm_status connect_with_rights(struct shm_conn *made, const struct rsm_offer *offer,
                                           uint32_t rights)
{
    struct rsm_view_piece pieces[RSM_OFFER_MAX_FDS];
    enum rsm_status status = check_offer(offer, made->size, made->page, pieces);
    if (status != RSM_ST_OK)
        return status;
    status = rsm_view_make(&made->view, offer->fds, pieces, offer->fd_count, made->size,
                           rsm_view_protection(rights), true);
    made->base = made->view.base;
    return status;
}

/* The table and the base, which every transfer reads, are in one line of the cache. */
static struct shm_conn *new_conn(void)
{
    enum { LINE = 64 };
    void *made;
    if (posix_memalign(&made, LINE, sizeof(struct shm_conn)) != 0)
        return NULL;
    memset(made, 0, sizeof(struct shm_conn));
    return made;
}

static enum rsm_status shm_connect(struct rsm_port *port, const struct rsm_offer *offer,
                                   uint64_t size, uint32_t rights, struct rsm_conn **conn)
{
    if ((rights & ~(RSM_RIGHT_READ | RSM_RIGHT_WRITE)) != 0)
        return RSM_ST_INVALID;
    struct shm_conn *made = new_conn();
    if (made == NULL)
        return RSM_ST_NO_MEMORY;
    made->size = size;
    made->page = port_of(port)->page;
    made->vectors = shm_vectors_pay();
    made->conn.caps = port->caps;
    enum rsm_status status =
        rights == 0 ? connect_without_rights(offer) : connect_with_rights(made, offer, rights);
    if (status != RSM_ST_OK) {
        free(made);
        return status;
    }
    *conn = &made->conn;
    return RSM_ST_OK;
}

static void shm_disconnect(struct rsm_conn *conn)
{
    struct shm_conn *shm = shm_of(conn);
    rsm_view_end(&shm->view);
    free(shm);
}

#if RSM_THREAD_SANITIZER
/* memcpy() would be checked for races; volatile keeps this loop from becoming one. */
RACES_BY_DESIGN static void copy(const struct shm_conn *shm, void *to, const void *from,
                                 size_t length)
{
    (void)shm;
    volatile uint8_t *target = to;
    const volatile uint8_t *source = from;
    size_t i = 0;
    /* Whole words, as memcpy() does it: a counter must not arrive in parts. */
    if (((uintptr_t)to | (uintptr_t)from) % sizeof(uint64_t) == 0)
        for (; i + sizeof(uint64_t) <= length; i += sizeof(uint64_t))
            *(volatile uint64_t *)(target + i) = *(const volatile uint64_t *)(source + i);
    for (; i < length; i++)
        target[i] = source[i];
}
#else
/* The C library already goes past the cache where that pays, by what it knows of this machine. */
static void copy(const struct shm_conn *shm, void *to, const void *from, size_t length)
{
    if (shm->vectors && length >= SHM_VECTORS_MIN && length <= SHM_VECTORS_MAX)
        shm_copy_by_vectors(to, from, length);
    else
        memcpy(to, from, length);
}
#endif

/* Apart, so that a small transfer pays one comparison for it and nothing else. */
static __attribute__((noinline)) enum rsm_status put_large(struct rsm_conn *conn, uint64_t offset,
                                                           const void *src, size_t length)
{
    const struct shm_conn *shm = shm_of(conn);
    copy(shm, shm->base + offset, src, length);
    return RSM_ST_OK;
}

static __attribute__((noinline)) enum rsm_status get_large(struct rsm_conn *conn, uint64_t offset,
                                                           void *dst, size_t length)
{
    const struct shm_conn *shm = shm_of(conn);
    copy(shm, dst, shm->base + offset, length);
    rsm_fence_acquire();
    return RSM_ST_OK;
}

static enum rsm_status shm_put(struct rsm_conn *conn, uint64_t offset, const void *src,
                               size_t length)
{
    if (RSM_THREAD_SANITIZER || __builtin_expect(length >= SHM_VECTORS_MIN, 0))
        return put_large(conn, offset, src, length);
    memcpy(shm_of(conn)->base + offset, src, length);
    return RSM_ST_OK;
}

static enum rsm_status shm_get(struct rsm_conn *conn, uint64_t offset, void *dst, size_t length)
{
    if (RSM_THREAD_SANITIZER || __builtin_expect(length >= SHM_VECTORS_MIN, 0))
        return get_large(conn, offset, dst, length);
    memcpy(dst, shm_of(conn)->base + offset, length);
    rsm_fence_acquire();
    return RSM_ST_OK;
}

static enum rsm_status shm_put_elems(struct rsm_conn *conn, uint64_t offset, const void *src,
                                     unsigned width, size_t count)
{
    return rsm_copy_elements(shm_of(conn)->base + offset, src, width, count);
}

static enum rsm_status shm_get_elems(struct rsm_conn *conn, uint64_t offset, void *dst,
                                     unsigned width, size_t count)
{
    enum rsm_status status = rsm_copy_elements(dst, shm_of(conn)->base + offset, width, count);
    rsm_fence_acquire();
    return status;
}

static enum rsm_status shm_putv(struct rsm_conn *conn, const struct rsm_transfer *vec,
                                unsigned count, unsigned *done)
{
    const struct shm_conn *shm = shm_of(conn);
    for (unsigned i = 0; i < count; i++)
        copy(shm, shm->base + vec[i].remote, vec[i].local, vec[i].length);
    *done = count;
    return RSM_ST_OK;
}

static enum rsm_status shm_getv(struct rsm_conn *conn, const struct rsm_transfer *vec,
                                unsigned count, unsigned *done)
{
    const struct shm_conn *shm = shm_of(conn);
    for (unsigned i = 0; i < count; i++)
        copy(shm, vec[i].local, shm->base + vec[i].remote, vec[i].length);
    rsm_fence_acquire();
    *done = count;
    return RSM_ST_OK;
}

static enum rsm_status shm_map(struct rsm_conn *conn, uint64_t offset, size_t length,
                               uint32_t rights, bool fixed, void **address)
{
    struct shm_conn *shm = shm_of(conn);
    /* Segments are whole pages, so the last page of the window is inside. */
    uint64_t whole = (length + shm->page - 1) / shm->page * shm->page;
    if (length == 0 || whole < length || offset > shm->size || whole > shm->size - offset)
        return RSM_ST_RANGE;
    if (offset % shm->page != 0 || (fixed && (uintptr_t)*address % shm->page != 0))
        return RSM_ST_ALIGNMENT;
    if (shm->base == NULL)
        return rsm_view_map_none(whole, fixed, address);
    return rsm_view_map(&shm->view, offset, whole, rsm_view_protection(rights), fixed, address);
}

static enum rsm_status shm_unmap(struct rsm_conn *conn, void *address, size_t length)
{
    (void)conn;
    return munmap(address, length) == 0 ? RSM_ST_OK : RSM_ST_INVALID;
}

static enum rsm_status shm_order(struct rsm_conn *conn)
{
    (void)conn;
    rsm_fence_full();
    return RSM_ST_OK;
}

/* No health: that the exporter lives is the core's to know, memory does not break. */
const struct rsm_import_ops rsmcore_shm_import_ops = {
    RSM_IMPORT_OPS_HEAD,
    .name = "shm",
    .open = shm_open_port,
    .close = shm_close_port,
    .connect = shm_connect,
    .disconnect = shm_disconnect,
    .put = shm_put,
    .get = shm_get,
    .put_elems = shm_put_elems,
    .get_elems = shm_get_elems,
    .putv = shm_putv,
    .getv = shm_getv,
    .map = shm_map,
    .unmap = shm_unmap,
    .order = shm_order,
    .complete = shm_order, /* an access that has been executed has happened */
};
