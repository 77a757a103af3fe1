/* SPDX-License-Identifier: BSD-3-Clause */
/* rsm_memseg_get_pollfd(3RSM), rsm_memseg_release_pollfd(3RSM), rsm_intr_signal_wait_pollfd(3RSM)
 */
#include <errno.h>
#include <utlist.h>

#include "base/clock.h"
#include "base/fork.h"
#include "rsmapi/export.h"
#include "rsmapi/handle.h"
#include "rsmapi/status.h"

/* The segments that have a poll descriptor reference, by descriptor. */
enum { BUCKETS = 64 };
static struct rsmapi_segment *table[BUCKETS]; /* guarded by table_lock */

/* Held while events are consumed, so that no segment leaves the table meanwhile. To see what was
 * stored before an event, a mapping may have to fetch it from the segment: this lock is not taken
 * by fork(2). Taken inside a segment's own lock and before table_lock. */
static pthread_mutex_t consuming_lock = PTHREAD_MUTEX_INITIALIZER;

/* The consuming thread is the parent's. */
static void after_fork_in_child(void)
{
    consuming_lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
}

RSMCORE_FORK_PART(table_lock, RSMCORE_FORK_POLLFDS, after_fork_in_child);

static struct rsmapi_segment **bucket_of(int fd)
{
    return &table[(unsigned)fd % BUCKETS];
}

static void table_add(struct rsmapi_segment *segment, int fd)
{
    rsmcore_fork_lock(&table_lock);
    segment->pollfd = fd;
    LL_PREPEND2(*bucket_of(fd), segment, next_pollfd);
    rsmcore_fork_unlock(&table_lock);
}

static void table_remove(struct rsmapi_segment *segment)
{
    pthread_mutex_lock(&consuming_lock);
    rsmcore_fork_lock(&table_lock);
    LL_DELETE2(*bucket_of(segment->pollfd), segment, next_pollfd);
    rsmcore_fork_unlock(&table_lock);
    pthread_mutex_unlock(&consuming_lock);
}

/* Called with consuming_lock held, which keeps the segment there. */
static struct rsmapi_segment *table_find(int fd)
{
    rsmcore_fork_lock(&table_lock);
    struct rsmapi_segment *segment;
    LL_SEARCH_SCALAR2(*bucket_of(fd), segment, pollfd, fd, next_pollfd);
    rsmcore_fork_unlock(&table_lock);
    return segment;
}

/* Whether events can come: a connection is there as long as its handle, an export segment has to be
 * published, and to stay so. Called with the segment's lock held. */
static bool is_reachable(const struct rsmapi_segment *segment)
{
    const struct __rsm_memseg_export_handle *export_handle =
        (const struct __rsm_memseg_export_handle *)segment;
    return segment->tag != RSMAPI_TAG_EXPORT ||
           (rsmcore_export_is_published(export_handle->core) && !export_handle->unpublishing);
}

static bool looks_reachable(struct rsmapi_segment *segment)
{
    pthread_mutex_lock(&segment->lock);
    bool reachable = is_reachable(segment);
    pthread_mutex_unlock(&segment->lock);
    return reachable;
}

/* One more reference to the segment's descriptor. */
static enum rsm_status refer(struct rsmapi_segment *segment, int fd)
{
    enum rsm_status status = RSM_ST_STALE;
    pthread_mutex_lock(&segment->lock);
    if (is_reachable(segment)) {
        if (segment->pollfd_references++ == 0)
            table_add(segment, fd);
        status = RSM_ST_OK;
    }
    pthread_mutex_unlock(&segment->lock);
    return status;
}

RSM_API(int, rsm_memseg_get_pollfd)(void *memseg, struct pollfd *pollfd)
{
    RSM_UNCANCELLABLE;
    int fd;
    enum rsm_status status = RSM_ST_STALE;
    struct rsmapi_segment *segment = rsmapi_segment_of(memseg);
    if (segment == NULL)
        return RSMERR_BAD_SEG_HNDL;
    if (pollfd == NULL)
        return RSMERR_BAD_ADDR;
    if (looks_reachable(segment)) /* or rsmd need not be asked */
        status = rsmcore_event_descriptor(segment->event, &fd);
    if (status == RSM_ST_OK)
        status = refer(segment, fd);
    if (status == RSM_ST_OK) {
        pollfd->fd = fd;
        pollfd->events = POLLRDNORM;
    }
    return rsmapi_error(RSMAPI_WAIT, status);
}

RSM_API(int, rsm_memseg_release_pollfd)(void *memseg)
{
    RSM_UNCANCELLABLE;
    struct rsmapi_segment *segment = rsmapi_segment_of(memseg);
    if (segment == NULL)
        return RSMERR_BAD_SEG_HNDL;
    pthread_mutex_lock(&segment->lock);
    if (segment->pollfd_references > 0 && --segment->pollfd_references == 0)
        table_remove(segment);
    pthread_mutex_unlock(&segment->lock);
    return RSM_SUCCESS;
}

/* A program may have asked for more than POLLRDNORM; the answer for a segment is that, POLLHUP or
 * nothing. Take one event from it. Called with consuming_lock held. */
static void consume(struct rsmapi_segment *segment, struct pollfd *entry)
{
    enum rsm_status status = RSM_ST_TIMEOUT;
    if ((entry->revents & (POLLIN | POLLRDNORM)) != 0)
        status = rsmcore_event_wait(segment->event, 0);
    if (status == RSM_ST_OK) {
        rsmapi_see_stores(segment);
        entry->revents = POLLRDNORM;
    } else {
        /* The descriptor does not become readable when the daemon dies. */
        entry->revents = rsmcore_event_state(segment->event) == RSM_ST_OK ? 0 : POLLHUP;
    }
}

/* Settle the entries that stand for segments; whether there are any. */
static bool settle_segments(struct pollfd fds[], nfds_t nfds)
{
    RSM_UNCANCELLABLE;
    bool any = false;
    pthread_mutex_lock(&consuming_lock);
    for (nfds_t i = 0; i < nfds; i++) {
        struct rsmapi_segment *segment = fds[i].fd < 0 ? NULL : table_find(fds[i].fd);
        if (segment == NULL || (fds[i].revents & POLLNVAL) != 0)
            continue;
        any = true;
        consume(segment, &fds[i]);
    }
    pthread_mutex_unlock(&consuming_lock);
    return any;
}

static int poll_error(void)
{
    switch (errno) {
    case EINTR:
        return RSMERR_INTERRUPTED;
    case EAGAIN:
        return RSMERR_INSUFFICIENT_RESOURCES;
    case EFAULT:
        return RSMERR_BAD_ADDR;
    case ENOMEM:
        return RSMERR_INSUFFICIENT_MEM;
    default:
        return RSMERR_BAD_ARGS_ERRORS;
    }
}

/* One poll, of the whole time or of a part of it. *ready is the number of entries that are left
 * with something to report, *segments whether any stands for a segment. */
static int poll_once(struct pollfd fds[], nfds_t nfds, int timeout, int *ready, bool *segments)
{
    *ready = 0;
    if (poll(fds, nfds, timeout) < 0)
        return poll_error();
    *segments = settle_segments(fds, nfds);
    for (nfds_t i = 0; i < nfds; i++)
        *ready += fds[i].revents != 0;
    return *ready > 0 ? RSM_SUCCESS : RSMERR_TIMEOUT;
}

/* How long one poll(2) may last: with segments among the entries, their daemons are checked in
 * between. Before the first poll(2) it is not known whether there are any, because only the kernel
 * can detect a bad array. */
static int slice(int left, bool segments)
{
    return segments && (left < 0 || left > RSMCORE_EVENT_LOOK_MS) ? RSMCORE_EVENT_LOOK_MS : left;
}

/* Where every event was taken by another thread, waiting goes on for the rest of the time. */
RSM_API(int, rsm_intr_signal_wait_pollfd)
(struct pollfd fds[], nfds_t nfds, int timeout, int *numfdsp)
{
    RSM_CANCEL_DEFERRED;
    int ready;
    if (numfdsp != NULL)
        *numfdsp = 0;
    int64_t end = rsm_deadline(timeout);
    int left = timeout;
    int error;
    bool segments = true;
    do {
        error = poll_once(fds, nfds, slice(left, segments), &ready, &segments);
        if (timeout > 0)
            left = rsm_deadline_left_ms(end);
    } while (error == RSMERR_TIMEOUT && left != 0);
    if (error == RSM_SUCCESS && numfdsp != NULL)
        *numfdsp = ready;
    return error;
}
