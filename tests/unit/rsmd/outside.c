/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * More transports from outside, made of the skeleton, for what that has not:
 *
 *  - "news": a fabric that tells of its importers. What it tells is what the test writes into the
 *    FIFO that is the controller's device, in struct news_order. It has jobs, too. With the option
 *    "later" its offers end when the test says so.
 *  - "shared" (with OUTSIDE_SHARED): extents that processes of the host may map. It refuses every
 *    offer itself, so that whoever connects has gone another way, and logs that.
 *  - "window" (with OUTSIDE_WINDOW): extents are parts of one file without a seal, as those of a
 *    device's memory would be, so that only the transport can tell where they are and that they
 *    stay.
 *  - "slow" (with OUTSIDE_SLOW): making and freeing an extent of more than a page takes as many
 *    milliseconds as the controller's options say, in whatever thread.
 */
#define rsm_transport_import_ops_v1 skeleton_import_ops
#define rsm_transport_node_ops_v1   skeleton_node_ops
#include "../../../examples/transport/skeleton.c" /* NOLINT(bugprone-suspicious-include) */
#undef rsm_transport_import_ops_v1
#undef rsm_transport_node_ops_v1

#include <limits.h>
#include <stdio.h>
#include <time.h>

#include "outside.h"

#define VISIBLE __attribute__((visibility("default")))

#if defined(OUTSIDE_SHARED)
#define NAME "shared"
#elif defined(OUTSIDE_SLOW)
#define NAME "slow"
#elif defined(OUTSIDE_WINDOW)
#define NAME "window"
#else
#define NAME "news"
#endif

#ifdef OUTSIDE_WINDOW
static const uint64_t pool_bytes = UINT64_C(1) << 30;

/* A device's transport would ask the device. Here nobody but this transport has such files. */
static enum rsm_status window_extent_check(struct rsm_port *port, int fd, uint64_t offset,
                                           uint64_t length)
{
    struct stat file;
    return fcntl(fd, F_GET_SEALS) == 0 && fstat(fd, &file) == 0 &&
                   (uint64_t)file.st_size == pool_bytes && length <= pool_bytes &&
                   offset <= pool_bytes - length
               ? RSM_ST_OK
               : RSM_ST_PROTOCOL;
}
#endif

VISIBLE extern const struct rsm_import_ops rsm_transport_import_ops_v1;
const struct rsm_import_ops rsm_transport_import_ops_v1 = {
    RSM_IMPORT_OPS_HEAD, /* version and sizes */
    .name = NAME,
    .open = skeleton_open,
    .close = skeleton_close,
    .connect = skeleton_connect,
    .disconnect = skeleton_disconnect,
    .put = skeleton_put,
    .get = skeleton_get,
    .order = skeleton_order,
    .complete = skeleton_complete,
#ifdef OUTSIDE_WINDOW
    .extent_check = window_extent_check,
#endif
};

VISIBLE extern const struct rsm_node_ops rsm_transport_node_ops_v1;

#if defined(OUTSIDE_SHARED)

static rsm_transport_log shared_log;

VISIBLE void rsm_transport_log_v1(rsm_transport_log log);
void rsm_transport_log_v1(rsm_transport_log log)
{
    shared_log = log;
}

static enum rsm_status shared_open(const struct rsm_controller_info *info,
                                   struct rsm_node_port **port)
{
    enum rsm_status status = node_open(info, port);
    if (status == RSM_ST_OK)
        (*port)->caps = RSM_NODE_EXTENTS_SHAREABLE;
    return status;
}

static enum rsm_status shared_extent_make(struct rsm_node_port *port, uint64_t length,
                                          struct rsm_extent **extent)
{
    enum rsm_status status = node_extent_make(port, length, extent);
    if (status == RSM_ST_OK && fchmod((*extent)->fd, S_IRUSR) < 0) {
        node_extent_free(port, *extent);
        return RSM_ST_NO_RESOURCES;
    }
    return status;
}

static enum rsm_status shared_offer(struct rsm_node_port *port,
                                    const struct rsm_extent_piece *pieces, unsigned count,
                                    uint32_t rights, const struct rsm_importer *importer,
                                    struct rsm_offer *offer, struct rsm_node_offer **made)
{
    char text[40];
    (void)port, (void)pieces, (void)count, (void)importer, (void)offer, (void)made;
    snprintf(text, sizeof text, "shared: no offer of rights %u", (unsigned)rights);
    if (shared_log != NULL)
        shared_log(1, text);
    return RSM_ST_UNREACHABLE;
}

const struct rsm_node_ops rsm_transport_node_ops_v1 = {
    RSM_NODE_OPS_HEAD,
    .name = NAME,
    .open = shared_open,
    .close = node_close,
    .attributes = node_attributes,
    .extent_make = shared_extent_make,
    .extent_free = node_extent_free,
    .offer = shared_offer,
    .revoke = node_revoke,
};

#elif defined(OUTSIDE_WINDOW)

struct window_port {
    struct skeleton_node_port port; /* first: the skeleton's functions get a pointer to it */
    int pool;
    uint64_t used; /* bytes; what is free again is not used a second time */
};

static struct window_port *window_of(struct rsm_node_port *port)
{
    return RSM_CONTAINER_OF(port, struct window_port, port.base);
}

static enum rsm_status window_open(const struct rsm_controller_info *info,
                                   struct rsm_node_port **port)
{
    struct window_port *made = calloc(1, sizeof *made);
    if (made == NULL)
        return RSM_ST_NO_MEMORY;
    made->port.page = (uint64_t)sysconf(_SC_PAGESIZE);
    made->pool = memfd_create("rsm-window", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (made->pool < 0 || ftruncate(made->pool, (off_t)pool_bytes) < 0) {
        free(made);
        return RSM_ST_NO_RESOURCES;
    }
    *port = &made->port.base;
    return RSM_ST_OK;
}

static void window_close(struct rsm_node_port *port)
{
    close(window_of(port)->pool);
    free(window_of(port));
}

static enum rsm_status window_extent_make(struct rsm_node_port *port, uint64_t length,
                                          struct rsm_extent **extent)
{
    struct window_port *window = window_of(port);
    if (length == 0 || length % page_of(port) != 0)
        return RSM_ST_INVALID;
    if (length > pool_bytes - window->used)
        return RSM_ST_NO_MEMORY;
    struct rsm_extent *made = calloc(1, sizeof *made);
    if (made == NULL)
        return RSM_ST_NO_MEMORY;
    *made = (struct rsm_extent){
        .kind = RSM_EXTENT_DEVICE, .fd = window->pool, .offset = window->used, .length = length};
    window->used += length;
    *extent = made;
    return RSM_ST_OK;
}

static void window_extent_free(struct rsm_node_port *port, struct rsm_extent *extent)
{
    (void)fallocate(extent->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)extent->offset,
                    (off_t)extent->length);
    free(extent);
}

const struct rsm_node_ops rsm_transport_node_ops_v1 = {
    RSM_NODE_OPS_HEAD,
    .name = NAME,
    .open = window_open,
    .close = window_close,
    .attributes = node_attributes,
    .extent_make = window_extent_make,
    .extent_free = window_extent_free,
    .offer = node_offer,
    .revoke = node_revoke,
};

#elif defined(OUTSIDE_SLOW)

struct slow_port {
    struct skeleton_node_port port; /* first: the skeleton's functions get a pointer to it */
    long ms;
};

static enum rsm_status slow_open(const struct rsm_controller_info *info,
                                 struct rsm_node_port **port)
{
    struct slow_port *made = calloc(1, sizeof *made);
    if (made == NULL)
        return RSM_ST_NO_MEMORY;
    made->port.page = (uint64_t)sysconf(_SC_PAGESIZE);
    made->port.base.caps = RSM_NODE_ANY_THREAD;
    made->ms = strtol(info->options, NULL, 10);
    *port = &made->port.base;
    return RSM_ST_OK;
}

static void slow_close(struct rsm_node_port *port)
{
    free(port);
}

static void take_long(const struct rsm_node_port *port)
{
    long ms = ((const struct slow_port *)port)->ms;
    struct timespec time = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
    nanosleep(&time, NULL);
}

static enum rsm_status slow_extent_make(struct rsm_node_port *port, uint64_t length,
                                        struct rsm_extent **extent)
{
    if (length > page_of(port))
        take_long(port);
    return node_extent_make(port, length, extent);
}

static enum rsm_status slow_extent_make_now(struct rsm_node_port *port, uint64_t length,
                                            struct rsm_extent **extent)
{
    return length > page_of(port) ? RSM_ST_BUSY : node_extent_make(port, length, extent);
}

static void slow_extent_free(struct rsm_node_port *port, struct rsm_extent *extent)
{
    if (extent->length > page_of(port))
        take_long(port);
    node_extent_free(port, extent);
}

const struct rsm_node_ops rsm_transport_node_ops_v1 = {
    RSM_NODE_OPS_HEAD,
    .name = NAME,
    .open = slow_open,
    .close = slow_close,
    .attributes = node_attributes,
    .extent_make = slow_extent_make,
    .extent_free = slow_extent_free,
    .offer = node_offer,
    .revoke = node_revoke,
    .extent_make_now = slow_extent_make_now,
};

#else

enum { OFFERS_MAX = 16 };

struct news_port {
    struct skeleton_node_port port; /* first: the skeleton's functions get a pointer to it */
    int fifo;
    int go; /* a byte ends a job */
    unsigned count;
    unsigned jobs; /* that are not done */
    struct rsm_node_port part;
    struct rsm_node_offer *offers[OFFERS_MAX]; /* in the order they were made */
    struct rsm_node_offer *ending[OFFERS_MAX]; /* by the same number */
    bool later;
};

static struct news_port *news_of(struct rsm_node_port *port)
{
    return (struct news_port *)port;
}

static enum rsm_status news_open(const struct rsm_controller_info *info,
                                 struct rsm_node_port **port)
{
    struct news_port *made = calloc(1, sizeof *made);
    if (made == NULL)
        return RSM_ST_NO_MEMORY;
    made->port.page = (uint64_t)sysconf(_SC_PAGESIZE);
    made->later = strcmp(info->options, "later") == 0;
    /* For reading and writing: it never comes to an end. */
    made->fifo = open(info->device, O_RDWR | O_NONBLOCK | O_CLOEXEC);
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s" NEWS_JOBS_GO_ON, info->device);
    made->go = open(path, O_RDWR | O_CLOEXEC); /* not every test has it */
    if (made->fifo < 0) {
        free(made);
        return RSM_ST_NO_CONTROLLER;
    }
    *port = &made->port.base;
    return RSM_ST_OK;
}

static void news_close(struct rsm_node_port *port)
{
    close(news_of(port)->fifo);
    if (news_of(port)->go >= 0)
        close(news_of(port)->go);
    if (news_of(port)->jobs != 0) /* rsmd must not close a port with jobs */
        abort();
    for (unsigned i = 0; i < OFFERS_MAX; i++)
        if (news_of(port)->offers[i] != NULL || news_of(port)->ending[i] != NULL)
            abort(); /* ... or with offers */
    free(news_of(port));
}

static enum rsm_status news_offer(struct rsm_node_port *port, const struct rsm_extent_piece *pieces,
                                  unsigned count, uint32_t rights,
                                  const struct rsm_importer *importer, struct rsm_offer *offer,
                                  struct rsm_node_offer **made)
{
    struct news_port *news = news_of(port);
    if (news->count == OFFERS_MAX)
        return RSM_ST_NO_RESOURCES;
    enum rsm_status status = node_offer(port, pieces, count, rights, importer, offer, made);
    if (status == RSM_ST_OK)
        news->offers[news->count++] = *made;
    return status;
}

/* The offers that come after it keep their numbers. */
static void news_revoke(struct rsm_node_port *port, struct rsm_node_offer *made)
{
    struct news_port *news = news_of(port);
    for (unsigned i = 0; i < news->count; i++) {
        if (news->offers[i] == made)
            news->offers[i] = NULL;
        if (news->ending[i] == made)
            news->ending[i] = NULL;
    }
    node_revoke(port, made);
}

static bool news_revoke_begin(struct rsm_node_port *port, struct rsm_node_offer *made)
{
    struct news_port *news = news_of(port);
    if (!news->later) {
        news_revoke(port, made);
        return true;
    }
    for (unsigned i = 0; i < news->count; i++)
        if (news->offers[i] == made) {
            news->ending[i] = made;
            news->offers[i] = NULL;
        }
    return false;
}

static void end_offer(struct news_port *news, unsigned offer, const struct rsm_node_upcalls *up,
                      void *context)
{
    struct rsm_node_offer nobody;
    struct rsm_node_offer *made = offer < news->count ? news->ending[offer] : NULL;
    up->revoked(context, made != NULL ? made : &nobody);
    if (made == NULL)
        return;
    news->ending[offer] = NULL;
    node_revoke(&news->port.base, made);
}

struct news_job {
    struct rsm_node_job base;
    struct news_port *port;
    unsigned offer; /* number */
};

static struct news_job *job_of(struct rsm_node_job *job)
{
    return RSM_CONTAINER_OF(job, struct news_job, base);
}

static void run_job(struct rsm_node_job *job)
{
    char byte;
    if (read(job_of(job)->port->go, &byte, sizeof byte) != sizeof byte)
        abort();
}

static void job_done(struct rsm_node_job *job, const struct rsm_node_upcalls *up, void *context)
{
    struct news_job *own = job_of(job);
    struct rsm_node_offer *made = own->port->offers[own->offer];
    own->port->jobs--;
    if (made != NULL) /* not revoked */
        up->signalled(context, made, 1, false);
    free(own);
}

static void submit_job(struct news_port *news, struct rsm_node_offer *made, unsigned offer,
                       const struct rsm_node_upcalls *up, void *context)
{
    struct news_job *job = calloc(1, sizeof *job);
    if (job == NULL)
        abort();
    *job =
        (struct news_job){.base = {.run = run_job, .done = job_done}, .port = news, .offer = offer};
    bool known = offer < news->count && made == news->offers[offer];
    enum rsm_status status = up->submit(context, made, &job->base);
    if (status != (known ? RSM_ST_OK : RSM_ST_NOT_FOUND))
        abort();
    if (known)
        news->jobs++;
    else
        free(job);
}

static int news_event_fd(struct rsm_node_port *port)
{
    return news_of(port)->fifo;
}

static void news_dispatch(struct rsm_node_port *port, const struct rsm_node_upcalls *up,
                          void *context)
{
    struct news_port *news = news_of(port);
    struct news_order order;
    while (read(news->fifo, &order, sizeof order) == sizeof order) {
        /* One that rsmd never heard of must do no harm. */
        struct rsm_node_offer nobody, *made = &nobody;
        if (order.kind == NEWS_OF_LINK) {
            up->link_state(context, port, order.up);
            continue;
        }
        if (order.kind == NEWS_OF_NODE) {
            up->node_state(context, port, order.node, order.up, order.epoch);
            continue;
        }
        if (order.kind == NEWS_OF_END) {
            end_offer(news, order.offer, up, context);
            continue;
        }
        if (order.offer < news->count && news->offers[order.offer] != NULL)
            made = news->offers[order.offer];
        if (order.kind == NEWS_OF_PART) {
            made->port = &news->part;
            up->link_state(context, &news->part, false);
        } else if (order.kind == NEWS_OF_JOB)
            submit_job(news, made, order.offer, up, context);
        else if (order.lost)
            up->lost(context, made);
        else
            up->signalled(context, made, order.count, order.coalesced);
    }
}

const struct rsm_node_ops rsm_transport_node_ops_v1 = {
    RSM_NODE_OPS_HEAD,
    .name = NAME,
    .open = news_open,
    .close = news_close,
    .attributes = node_attributes,
    .extent_make = node_extent_make,
    .extent_free = node_extent_free,
    .offer = news_offer,
    .revoke = news_revoke,
    .event_fd = news_event_fd,
    .dispatch = news_dispatch,
    .revoke_begin = news_revoke_begin,
};

#endif
