/* SPDX-License-Identifier: BSD-3-Clause */
/* ntb, import half: the segment is mapped once at connect; put and get are copies through that
 * mapping. No transfer and no barrier makes a system call. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/elements.h"
#include "base/fence.h"
#include "base/apart.h"
#include "base/sealed.h"
#include "base/view.h"
#include "transport/entry.h"
#include "transport/ntb/common/ports.h"
#include "transport/ntb/common/wire.h"
#include "transport/ntb/import/barrier.h"
#include "transport/ntb/import/copy.h"
#include "transport/ntb/import/poster.h"

struct ntb_port {
    struct rsm_port base;
    uint64_t page; /* bytes */
};

struct ntb_conn {
    struct rsm_conn conn;
    uint8_t *base; /* the view's, NULL without rights */
    struct ntb_barrier barrier;
    uint64_t size;
    uint64_t page;
    void *status_page, *canary_page; /* NULL: memory of this host */
    struct ntb_poster poster;
    struct rsm_view view;
};

static struct ntb_conn *ntb_of(struct rsm_conn *conn)
{
    return RSM_CONTAINER_OF(conn, struct ntb_conn, conn);
}

static struct ntb_port *port_of(struct rsm_port *port)
{
    return RSM_CONTAINER_OF(port, struct ntb_port, base);
}

static enum rsm_status ntb_open_port(const struct rsm_controller_info *info, struct rsm_port **port)
{
    (void)info; /* the node half knows the device */
    struct ntb_port *made = calloc(1, sizeof *made);
    if (made == NULL)
        return RSM_ST_NO_MEMORY;
    made->base.caps = RSM_CAP_MAP | RSM_CAP_REMOTE_SIGNAL | RSM_CAP_FORK;
    made->page = (uint64_t)sysconf(_SC_PAGESIZE);
    *port = &made->base;
    return RSM_ST_OK;
}

static void ntb_close_port(struct rsm_port *port)
{
    free(port_of(port));
}

/* The last component of what a link of sysfs leads to. */
static const char *target_name(const char *link, char *target, size_t size)
{
    ssize_t length = readlink(link, target, size - 1);
    if (length < 0)
        return "";
    target[length] = '\0';
    const char *slash = strrchr(target, '/');
    return slash != NULL ? slash + 1 : target;
}

/* Whether it is a descriptor of the kernel module, whose mappings never raise a signal: the
 * device's name in sysfs is rsm_ntbN, and only a module can set that. */
static bool is_module_descriptor(int fd)
{
    static const char prefix[] = "rsm_ntb";
    char device[64], subsystem[80], target[256];
    struct stat file;
    if (fstat(fd, &file) < 0 || !S_ISCHR(file.st_mode))
        return false;
    snprintf(device, sizeof device, "/sys/dev/char/%u:%u", major(file.st_rdev),
             minor(file.st_rdev));
    snprintf(subsystem, sizeof subsystem, "%s/subsystem", device);
    return strcmp(target_name(subsystem, target, sizeof target), "misc") == 0 &&
           strncmp(target_name(device, target, sizeof target), prefix, sizeof prefix - 1) == 0;
}

/* The window, the pool and status pages are the module's, pinned memory is a memfd. @p device:
 * which. */
static bool is_safe(int fd, uint64_t offset, uint64_t length, bool *device)
{
    *device = length <= UINT64_MAX - offset && is_module_descriptor(fd);
    return *device || (length <= UINT64_MAX - offset && rsm_is_sealed_memory(fd, offset + length));
}

static enum rsm_status ntb_extent_check(struct rsm_port *port, int fd, uint64_t offset,
                                        uint64_t length)
{
    bool device;
    (void)port;
    return is_safe(fd, offset, length, &device) ? RSM_ST_OK : RSM_ST_PROTOCOL;
}

static void *map_page(const struct ntb_conn *made, int fd, uint64_t offset)
{
    void *page = rsmcore_mmap_apart(made->page, PROT_READ, MAP_SHARED, fd, (off_t)offset);
    return page == MAP_FAILED ? NULL : page;
}

/* Status and canary of a connection to the other host. */
static enum rsm_status watch(struct ntb_conn *made, const struct rsm_offer *offer,
                             const struct ntb_ticket *ticket)
{
    bool device;
    if (!is_safe(offer->fds[0], ticket->status_offset, made->page, &device) ||
        !is_safe(offer->fds[1], ticket->canary_offset, made->page, &device))
        return RSM_ST_PROTOCOL;
    made->status_page = map_page(made, offer->fds[0], ticket->status_offset);
    made->canary_page = map_page(made, offer->fds[1], ticket->canary_offset);
    if (made->status_page == NULL || made->canary_page == NULL)
        return RSM_ST_NO_MEMORY;
    const struct ntb_status *status = made->status_page;
    uint64_t at = ntb_load64(&status->canary_offset);
    if (ntb_load32(&status->abi) != NTB_STATUS_ABI || at % sizeof(uint64_t) != 0 ||
        at > made->page - sizeof(uint64_t))
        return RSM_ST_PROTOCOL;
    ntb_barrier_begin(&made->barrier, status,
                      (const void *)((const uint8_t *)made->canary_page + at));
    return RSM_ST_OK;
}

/* @p copyable: none is of the device. */
static bool pieces_are_safe(const int *fds, const struct ntb_ticket *ticket, uint64_t page,
                            bool *copyable)
{
    *copyable = true;
    for (uint32_t i = 0; i < ticket->count; i++) {
        const struct rsm_view_piece *piece = &ticket->pieces[i];
        bool device;
        if ((piece->offset | piece->length) % page != 0 ||
            !is_safe(fds[i], piece->offset, piece->length, &device))
            return false;
        *copyable = *copyable && !device;
    }
    return true;
}

static enum rsm_status begin_posts(struct ntb_conn *made, const int *pieces,
                                   const struct ntb_ticket *ticket)
{
    const struct ntb_poster_ops *ops =
        ticket->port < ntb_port_kind_count ? ntb_port_kinds[ticket->port].poster : NULL;
    if (ops == NULL || ticket->post_fds != ops->fds)
        return RSM_ST_PROTOCOL;
    enum rsm_status status = ops->begin(&made->poster, ticket, pieces[0], pieces + ticket->count);
    if (status != RSM_ST_OK)
        return status;
    made->poster.ops = ops;
    made->conn.caps |= RSM_CAP_REMOTE_SIGNAL;
    return RSM_ST_OK;
}

static enum rsm_status build(struct ntb_conn *made, const struct rsm_offer *offer, uint32_t rights)
{
    struct ntb_ticket ticket;
    if (!ntb_ticket_decode(offer, made->size, rights, &ticket))
        return RSM_ST_PROTOCOL;
    if (rights == 0)
        return RSM_ST_OK;
    bool local = (ticket.flags & NTB_TICKET_LOCAL) != 0;
    const int *fds = offer->fds + ntb_ticket_fds_before(&ticket);
    bool copyable;
    enum rsm_status status = local ? RSM_ST_OK : watch(made, offer, &ticket);
    if (status == RSM_ST_OK && !pieces_are_safe(fds, &ticket, made->page, &copyable))
        status = RSM_ST_PROTOCOL;
    if (status == RSM_ST_OK)
        status = rsm_view_make(&made->view, fds, ticket.pieces, ticket.count, made->size,
                               rsm_view_protection(rights), copyable);
    made->base = made->view.base;
    if (status == RSM_ST_OK && (ticket.flags & NTB_TICKET_POSTS) != 0)
        status = begin_posts(made, fds, &ticket);
    return status;
}

static void ntb_disconnect(struct rsm_conn *conn)
{
    struct ntb_conn *ntb = ntb_of(conn);
    rsm_view_end(&ntb->view);
    if (ntb->poster.ops != NULL)
        ntb->poster.ops->end(&ntb->poster);
    if (ntb->status_page != NULL)
        munmap(ntb->status_page, ntb->page);
    if (ntb->canary_page != NULL)
        munmap(ntb->canary_page, ntb->page);
    free(ntb);
}

static enum rsm_status ntb_connect(struct rsm_port *port, const struct rsm_offer *offer,
                                   uint64_t size, uint32_t rights, struct rsm_conn **conn)
{
    if ((rights & ~(RSM_RIGHT_READ | RSM_RIGHT_WRITE)) != 0)
        return RSM_ST_INVALID;
    struct ntb_conn *made = calloc(1, sizeof *made);
    if (made == NULL)
        return RSM_ST_NO_MEMORY;
    made->size = size;
    made->page = port_of(port)->page;
    made->conn.caps = RSM_CAP_MAP | RSM_CAP_FORK;
    ntb_barrier_begin(&made->barrier, NULL, NULL);
    enum rsm_status status = build(made, offer, rights);
    if (status != RSM_ST_OK) {
        ntb_disconnect(&made->conn);
        return status;
    }
    *conn = &made->conn;
    return RSM_ST_OK;
}

/* Accesses of an ended import reach no memory. A port that cuts ensures that; otherwise put and get
 * check it. Barriers report it, not put and get. */
static enum rsm_status ntb_put(struct rsm_conn *conn, uint64_t offset, const void *src,
                               size_t length)
{
    struct ntb_conn *ntb = ntb_of(conn);
    if (ntb_barrier_alive(&ntb->barrier))
        ntb_copy_out(ntb->base + offset, src, length);
    return RSM_ST_OK;
}

static enum rsm_status ntb_get(struct rsm_conn *conn, uint64_t offset, void *dst, size_t length)
{
    struct ntb_conn *ntb = ntb_of(conn);
    if (ntb_barrier_alive(&ntb->barrier))
        ntb_copy_in(dst, ntb->base + offset, length);
    else
        memset(dst, 0, length);
    rsm_fence_loads();
    return RSM_ST_OK;
}

static enum rsm_status ntb_put_elems(struct rsm_conn *conn, uint64_t offset, const void *src,
                                     unsigned width, size_t count)
{
    struct ntb_conn *ntb = ntb_of(conn);
    return ntb_barrier_alive(&ntb->barrier)
               ? rsm_copy_elements(ntb->base + offset, src, width, count)
               : RSM_ST_OK;
}

static enum rsm_status ntb_get_elems(struct rsm_conn *conn, uint64_t offset, void *dst,
                                     unsigned width, size_t count)
{
    struct ntb_conn *ntb = ntb_of(conn);
    enum rsm_status status = RSM_ST_OK;
    if (ntb_barrier_alive(&ntb->barrier))
        status = rsm_copy_elements(dst, ntb->base + offset, width, count);
    else
        memset(dst, 0, width * count);
    rsm_fence_loads();
    return status;
}

static enum rsm_status ntb_map(struct rsm_conn *conn, uint64_t offset, size_t length,
                               uint32_t rights, bool fixed, void **address)
{
    struct ntb_conn *ntb = ntb_of(conn);
    /* Segments are whole pages, so the last page of the window is inside. */
    uint64_t whole = (length + ntb->page - 1) / ntb->page * ntb->page;
    if (length == 0 || whole < length || offset > ntb->size || whole > ntb->size - offset)
        return RSM_ST_RANGE;
    if (offset % ntb->page != 0 || (fixed && (uintptr_t)*address % ntb->page != 0))
        return RSM_ST_ALIGNMENT;
    if (ntb->base == NULL)
        return rsm_view_map_none(whole, fixed, address);
    return rsm_view_map(&ntb->view, offset, whole, rsm_view_protection(rights), fixed, address);
}

static enum rsm_status ntb_unmap(struct rsm_conn *conn, void *address, size_t length)
{
    (void)conn;
    return munmap(address, length) == 0 ? RSM_ST_OK : RSM_ST_INVALID;
}

static enum rsm_status ntb_order(struct rsm_conn *conn)
{
    (void)conn;
    rsm_fence_stores();
    return RSM_ST_OK;
}

static enum rsm_status ntb_complete(struct rsm_conn *conn)
{
    return ntb_barrier_close(&ntb_of(conn)->barrier, conn);
}

static enum rsm_status ntb_health(struct rsm_conn *conn)
{
    return ntb_barrier_alive(&ntb_of(conn)->barrier) ? RSM_ST_OK : RSM_ST_ABORTED;
}

/* A signal to a segment that has gone is lost, as stores are. Barriers report that. */
static enum rsm_status ntb_post(struct rsm_conn *conn, bool coalesce)
{
    const struct ntb_conn *ntb = ntb_of(conn);
    if (!ntb_barrier_alive(&ntb->barrier))
        return RSM_ST_OK;
    return ntb->poster.ops != NULL ? ntb->poster.ops->post(&ntb->poster, coalesce)
                                   : RSM_ST_UNSUPPORTED;
}

static const struct rsm_signal_ops ntb_signal_ops = {.size = sizeof(struct rsm_signal_ops),
                                                     .post = ntb_post};

MODULE_SYMBOL const struct rsm_import_ops rsm_transport_import_ops_v1 = {
    RSM_IMPORT_OPS_HEAD,
    .name = "ntb",
    .open = ntb_open_port,
    .close = ntb_close_port,
    .connect = ntb_connect,
    .disconnect = ntb_disconnect,
    .put = ntb_put,
    .get = ntb_get,
    .put_elems = ntb_put_elems,
    .get_elems = ntb_get_elems,
    .map = ntb_map,
    .unmap = ntb_unmap,
    .order = ntb_order,
    .complete = ntb_complete,
    .health = ntb_health,
    .extent_check = ntb_extent_check,
    .signals = &ntb_signal_ops,
};
