/* SPDX-License-Identifier: BSD-3-Clause */
#include "core/event.h"

#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cancel.h"
#include "base/clock.h"
#include "base/descriptor.h"
#include "base/fence.h"
#include "base/probe.h"
#include "core/event_internal.h"

enum {
    SPINS_BEFORE_SLEEP = 200, /* a few microseconds: the length of a futex wake */
    /* The longest sleep before looking again. No wake-up comes when rsmd dies, and a peer that
     * overwrites the shared words may delay a wake-up by this time, not suppress it. */
    SLEEP_SLICE_MS = RSMCORE_EVENT_LOOK_MS,
};

enum rsm_status rsmcore_event_create(struct rsmcore_control *control, enum rsm_event_end end,
                                     uint32_t id, struct rsmcore_event **event)
{
    struct rsmcore_event *made = calloc(1, sizeof *made);
    if (made == NULL)
        return RSM_ST_NO_MEMORY;
    made->control = rsmcore_control_hold(control);
    made->end = end;
    made->id = id;
    made->polled = made->ringing = -1;
    pthread_mutex_init(&made->lock, NULL);
    *event = made;
    return RSM_ST_OK;
}

void rsmcore_event_destroy(struct rsmcore_event *event)
{
    rsmcore_event_stop_listening(event);
    rsmcore_event_forget_receivers(event);
    struct rsm_event_counter *counter = atomic_load(&event->counter);
    if (counter != NULL)
        rsm_event_counter_unmap(counter);
    if (event->polled >= 0) {
        close(event->polled);
        close(event->ringing);
    }
    rsmcore_control_release(event->control);
    pthread_mutex_destroy(&event->lock);
    free(event);
}

/* Ask rsmd for the counter. */
static enum rsm_status request_counter(struct rsmcore_event *event,
                                       struct rsm_event_counter **counter)
{
    RSM_UNCANCELLABLE;
    struct rsm_packet_fds fds;
    struct rsm_msg msg;
    rsm_msg_begin(&msg, RSM_MSG_EVENT_OPEN);
    msg.u.event_open = (struct rsm_event_open_request){.end = event->end, .id = event->id};
    enum rsm_status status = rsmcore_control_call(event->control, &msg, &fds);
    if (status != RSM_ST_OK)
        return status;
    *counter = fds.count == 1 ? rsm_event_counter_map(fds.fds[0]) : NULL;
    rsm_packet_fds_close(&fds);
    return *counter != NULL ? RSM_ST_OK : RSM_ST_NO_RESOURCES;
}

/* This handle's counter, opened at first use. If rsmd can no longer provide it (the connection has
 * gone, or this is a forked child), a private counter replaces it, which no process can post to. A
 * wait on that ends by time-out or signal, as on a dead segment. */
static enum rsm_status own_counter(struct rsmcore_event *event, struct rsm_event_counter **counter)
{
    *counter = atomic_load_explicit(&event->counter, memory_order_acquire);
    if (*counter != NULL)
        return RSM_ST_OK;
    pthread_mutex_lock(&event->lock);
    enum rsm_status status = RSM_ST_OK;
    *counter = atomic_load(&event->counter);
    if (*counter == NULL) {
        status = request_counter(event, counter);
        bool gone = status == RSM_ST_STALE || status == RSM_ST_NOT_FOUND ||
                    status == RSM_ST_PROTOCOL || status == RSM_ST_DENIED;
        if (gone) {
            *counter = rsm_event_counter_map(-1);
            status = *counter != NULL ? RSM_ST_OK : RSM_ST_NO_RESOURCES;
        }
        atomic_store_explicit(&event->counter, *counter, memory_order_release);
    }
    pthread_mutex_unlock(&event->lock);
    return status;
}

enum rsm_status rsmcore_event_open(struct rsmcore_event *event)
{
    struct rsm_event_counter *counter = NULL;
    enum rsm_status status = RSM_ST_OK;
    pthread_mutex_lock(&event->lock);
    if (atomic_load(&event->counter) == NULL) {
        status = request_counter(event, &counter);
        atomic_store_explicit(&event->counter, counter, memory_order_release);
    }
    pthread_mutex_unlock(&event->lock);
    return status;
}

static bool consume(struct rsm_event_counter *counter)
{
    uint32_t pending = atomic_load_explicit(&counter->pending, memory_order_relaxed);
    while (pending > 0)
        if (atomic_compare_exchange_weak(&counter->pending, &pending, pending - 1))
            return true;
    return false;
}

void rsmcore_event_ring(const struct rsmcore_event *event)
{
    /* A full one is readable, which is all that is wanted. */
    ssize_t ignored = send(event->ringing, "", 1, MSG_DONTWAIT | MSG_NOSIGNAL);
    (void)ignored;
}

/* Make the poll descriptor agree with the counter: readable exactly while it is not 0. A poster
 * that comes between the two steps has rung it, or finds it not rung and the counter is read
 * again. */
static void settle_descriptor(struct rsmcore_event *event, struct rsm_event_counter *counter)
{
    char byte;
    if (!atomic_load(&event->descriptor_given))
        return;
    while (recv(event->polled, &byte, sizeof byte, MSG_DONTWAIT) > 0)
        continue;
    if (atomic_load(&counter->pending) > 0)
        rsmcore_event_ring(event);
}

static bool consume_and_settle(struct rsmcore_event *event, struct rsm_event_counter *counter)
{
    bool consumed = consume(counter);
    if (atomic_load(&counter->pending) == 0)
        settle_descriptor(event, counter);
    return consumed;
}

/* Sleep while the counter is 0, until `deadline`. The kernel restarts a futex wait after a handler
 * with SA_RESTART only if it has no time-out; this one always has, so EINTR is always seen. */
static int sleep_on(struct rsm_event_counter *counter, int64_t deadline)
{
    const struct timespec until = rsm_timespec(deadline);
    atomic_fetch_add(&counter->waiters, 1);
    long result = syscall(SYS_futex, &counter->pending, FUTEX_WAIT_BITSET, 0, &until, NULL,
                          FUTEX_BITSET_MATCH_ANY);
    int error = result < 0 ? errno : 0;
    atomic_fetch_sub(&counter->waiters, 1);
    return error;
}

void rsmcore_event_spin(const struct rsm_event_counter *counter)
{
    if (!rsm_event_counter_may_spin(counter))
        return;
    for (int i = 0; i < SPINS_BEFORE_SLEEP; i++) {
        if (atomic_load_explicit(&counter->pending, memory_order_acquire) > 0)
            return;
        rsm_pause();
    }
}

enum rsm_status rsmcore_event_state(const struct rsmcore_event *event)
{
    if (rsmcore_control_daemon_lives(event->control,
                                     rsmcore_control_generation_table(event->control)))
        return RSM_ST_OK;
    bool is_own = event->end == RSM_EVENT_EXPORT || event->end == RSM_EVENT_EXPORT_RECORDS ||
                  event->end == RSM_EVENT_INTERRUPT;
    return is_own ? RSM_ST_STALE : RSM_ST_ABORTED;
}

/* Wait until `deadline` on a counter that was 0 a moment ago. Events posted before rsmd died are
 * taken before its death is reported. */
static enum rsm_status sleep_for_event(struct rsmcore_event *event,
                                       struct rsm_event_counter *counter, int64_t deadline)
{
    for (;;) {
        enum rsm_status state = rsmcore_event_state(event);
        if (consume_and_settle(event, counter))
            return RSM_ST_OK;
        if (state != RSM_ST_OK)
            return state;
        int64_t until = rsm_deadline(SLEEP_SLICE_MS);
        bool last = deadline < until;
        int error = sleep_on(counter, last ? deadline : until);
        if (error == EINTR)
            return RSM_ST_INTERRUPTED;
        if (error == ETIMEDOUT && last)
            return consume_and_settle(event, counter) ? RSM_ST_OK : RSM_ST_TIMEOUT;
    }
}

static enum rsm_status wait_for_event(struct rsmcore_event *event, int timeout_ms)
{
    struct rsm_event_counter *counter;
    int64_t deadline = timeout_ms != 0 ? rsm_deadline(timeout_ms) : 0; /* without the clock */
    enum rsm_status status;
    do /* a daemon that does not answer now may do so later */
        status = own_counter(event, &counter);
    while (status == RSM_ST_TIMEOUT && !rsm_deadline_has_passed(deadline));
    if (status != RSM_ST_OK)
        return status;
    rsmcore_event_listen(event);
    if (consume_and_settle(event, counter))
        return RSM_ST_OK;
    if (timeout_ms == 0) {
        enum rsm_status state = rsmcore_event_state(event);
        return state == RSM_ST_OK ? RSM_ST_TIMEOUT : state;
    }
    rsmcore_event_spin(counter);
    return sleep_for_event(event, counter, deadline);
}

enum rsm_status rsmcore_event_wait(struct rsmcore_event *event, int timeout_ms)
{
    RSM_PROBE3(event_wait, (uint32_t)event->end, event->id, timeout_ms);
    enum rsm_status status = wait_for_event(event, timeout_ms);
    if (__builtin_expect(atomic_load_explicit(&event->cancelled, memory_order_acquire), 0)) {
        rsmcore_event_raise(event, 1, true); /* for the next who waits */
        return RSM_ST_STALE;
    }
    return status;
}

void rsmcore_event_cancel(struct rsmcore_event *event)
{
    atomic_store(&event->cancelled, true);
    rsmcore_event_raise(event, 1, false);
}

/* One end of the doorbell, in *fd. */
static enum rsm_status get_end(struct rsmcore_event *event, bool ringing, int *fd)
{
    struct rsm_packet_fds fds;
    struct rsm_msg msg;
    rsm_msg_begin(&msg, RSM_MSG_EVENT_ARM);
    msg.u.event_arm =
        (struct rsm_event_arm_request){.end = event->end, .id = event->id, .ringing = ringing};
    enum rsm_status status = rsmcore_control_call(event->control, &msg, &fds);
    if (status != RSM_ST_OK)
        return status;
    if (fds.count != 1) {
        rsm_packet_fds_close(&fds);
        return RSM_ST_PROTOCOL;
    }
    *fd = fds.fds[0];
    return RSM_ST_OK;
}

/* A doorbell is a pair of sockets: they report POLLRDNORM, as the API demands, and a write to them
 * never blocks. rsmd makes the pair and rings it for posters. This process writes to it, too. */
static enum rsm_status get_doorbell(struct rsmcore_event *event, int ends[2])
{
    enum rsm_status status = get_end(event, false, &ends[0]);
    if (status != RSM_ST_OK)
        return status;
    status = get_end(event, true, &ends[1]);
    if (status != RSM_ST_OK)
        close(ends[0]);
    return status;
}

/* Make a doorbell that rsmd does not know. */
static enum rsm_status make_own_doorbell(int ends[2])
{
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) < 0)
        return RSM_ST_NO_RESOURCES;
    for (unsigned i = 0; i < 2; i++)
        ends[i] = rsmcore_fd_place(ends[i]);
    if (ends[0] >= 0 && ends[1] >= 0)
        return RSM_ST_OK;
    for (unsigned i = 0; i < 2; i++)
        if (ends[i] >= 0)
            close(ends[i]);
    return RSM_ST_NO_RESOURCES;
}

static enum rsm_status make_doorbell(struct rsmcore_event *event)
{
    int ends[2];
    enum rsm_status status = get_doorbell(event, ends);
    /* Any other failure means that no poster is left. The descriptor stays silent. */
    if (status != RSM_ST_OK && status != RSM_ST_NO_RESOURCES && status != RSM_ST_NO_MEMORY)
        status = make_own_doorbell(ends);
    if (status != RSM_ST_OK)
        return status;
    event->polled = ends[0];
    event->ringing = ends[1];
    return RSM_ST_OK;
}

enum rsm_status rsmcore_event_descriptor(struct rsmcore_event *event, int *fd)
{
    struct rsm_event_counter *counter;
    enum rsm_status status = own_counter(event, &counter);
    if (status != RSM_ST_OK)
        return status;
    rsmcore_event_listen(event);
    pthread_mutex_lock(&event->lock);
    if (event->polled < 0)
        status = make_doorbell(event);
    if (status == RSM_ST_OK && !atomic_load(&event->descriptor_given)) {
        atomic_store(&event->descriptor_given, true);
        atomic_store(&counter->armed, 1);
        settle_descriptor(event, counter);
    }
    pthread_mutex_unlock(&event->lock);
    if (status == RSM_ST_OK)
        *fd = event->polled;
    return status;
}
