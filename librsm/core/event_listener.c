/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The thread that brings events from transports' connections to their counters, as rsmd does with
 * events that come by the daemons. A process has one, from the first time that it looks for events
 * of such a connection until the last such connection has gone. It sleeps on the connections'
 * descriptors, blocks all signals and touches no memory of the program.
 *
 * Waiters cannot take from the connections themselves. Events have to reach the counter while no
 * thread waits, too: the counter's value at that moment decides whether a coalesced event counts.
 * And a program may sleep in a poll(2) of its own. (For that an epoll instance of doorbell and
 * connection would do, but the kernel does not wake those who wait there for POLLRDNORM.)
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/cancel.h"
#include "base/descriptor.h"
#include "base/fork.h"
#include "base/thread.h"
#include "core/event_internal.h"

struct rsmcore_listener {
    pthread_t thread;
    int sources; /* epoll: the events' */
    int stop;    /* eventfd */
    unsigned count;
};

enum { STACK_BYTES = 128 * 1024, AT_ONCE = 16 };

static struct rsmcore_listener *listener; /* NULL: none is needed */

/* The thread is not here, and what it listened to is the parent's. */
static void in_child(void)
{
    if (listener != NULL) {
        close(listener->sources);
        close(listener->stop);
    }
    listener = NULL; /* its memory is left alone: malloc() may be in any state */
}

/* Guards the listener, and its events while the thread uses them. */
RSMCORE_FORK_PART(lock, RSMCORE_FORK_EVENTS, in_child);

void rsmcore_event_raise(struct rsmcore_event *event, uint32_t count, bool coalesce)
{
    struct rsm_event_counter *counter = atomic_load(&event->counter);
    if (rsm_event_counter_post(counter, count, coalesce) && atomic_load(&event->descriptor_given))
        rsmcore_event_ring(event);
}

/* False: there will be no more. */
static bool bring(struct rsmcore_event *event)
{
    struct rsm_signals came;
    struct rsm_conn *source = event->source;
    if (source->ops->signals->poll(source, &came) != RSM_ST_OK)
        return false;
    if (came.coalesced)
        rsmcore_event_raise(event, 1, true);
    if (came.count > 0)
        rsmcore_event_raise(event, came.count, false);
    if (came.coalesced || came.count > 0)
        source->ops->signals->acknowledge(source);
    return true;
}

/* Those that are ready and still there. */
static void serve(const struct rsmcore_listener *own)
{
    struct epoll_event ready[AT_ONCE];
    rsmcore_fork_lock(&lock);
    int count = epoll_wait(own->sources, ready, AT_ONCE, 0);
    for (int i = 0; i < count; i++) {
        struct rsmcore_event *event = ready[i].data.ptr;
        if (event != NULL && !bring(event)) /* or it might stay readable for ever */
            epoll_ctl(own->sources, EPOLL_CTL_DEL, event->source_fd, NULL);
    }
    rsmcore_fork_unlock(&lock);
}

static void *listen_to_all(void *argument)
{
    const struct rsmcore_listener *own = argument;
    struct epoll_event first;
    eventfd_t ignored;
    while (eventfd_read(own->stop, &ignored) != 0)
        if (epoll_wait(own->sources, &first, 1, -1) > 0)
            serve(own);
    return NULL;
}

static bool start_thread(struct rsmcore_listener *made)
{
    return rsm_thread_start(&made->thread, "rsm-events", STACK_BYTES, listen_to_all, made) == 0;
}

static void discard(struct rsmcore_listener *made)
{
    if (made->sources >= 0)
        close(made->sources);
    if (made->stop >= 0)
        close(made->stop);
    free(made);
}

static struct rsmcore_listener *start(void)
{
    struct epoll_event stopping = {.events = EPOLLIN, .data.ptr = NULL};
    struct rsmcore_listener *made = calloc(1, sizeof *made);
    if (made == NULL)
        return NULL;
    made->sources = rsmcore_fd_place(epoll_create1(EPOLL_CLOEXEC));
    made->stop = rsmcore_fd_place(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (made->sources >= 0 && made->stop >= 0 &&
        epoll_ctl(made->sources, EPOLL_CTL_ADD, made->stop, &stopping) == 0 && start_thread(made))
        return made;
    discard(made);
    return NULL;
}

/* Without the lock, which the thread may be waiting for. */
static void stop(struct rsmcore_listener *unused)
{
    if (unused == NULL)
        return;
    eventfd_write(unused->stop, 1);
    pthread_join(unused->thread, NULL);
    discard(unused);
}

static struct rsmcore_listener *take_unused(void)
{
    struct rsmcore_listener *unused = NULL;
    if (listener != NULL && listener->count == 0) {
        unused = listener;
        listener = NULL;
    }
    return unused;
}

static bool add(struct rsmcore_event *event)
{
    struct epoll_event readable = {.events = EPOLLIN, .data.ptr = event};
    rsmcore_fork_lock(&lock);
    if (listener == NULL)
        listener = start();
    if (listener != NULL &&
        epoll_ctl(listener->sources, EPOLL_CTL_ADD, event->source_fd, &readable) == 0) {
        listener->count++;
        event->listener = listener;
    }
    struct rsmcore_listener *unused = take_unused();
    rsmcore_fork_unlock(&lock);
    stop(unused);
    return event->listener != NULL;
}

void rsmcore_event_set_source(struct rsmcore_event *event, struct rsm_conn *conn)
{
    event->source_fd = conn->ops->signals->fd(conn);
    if (event->source_fd >= 0)
        event->source = conn;
}

void rsmcore_event_listen(struct rsmcore_event *event)
{
    if (event->source == NULL || atomic_load_explicit(&event->asked, memory_order_relaxed))
        return;
    RSM_UNCANCELLABLE;
    pthread_mutex_lock(&event->lock);
    /* First the thread: what has come must not lie there. */
    if (!atomic_load(&event->asked) && add(event) &&
        event->source->ops->signals->arm(event->source) != RSM_ST_OK)
        rsmcore_event_stop_listening(event);
    atomic_store(&event->asked, true);
    pthread_mutex_unlock(&event->lock);
}

void rsmcore_event_stop_listening(struct rsmcore_event *event)
{
    if (event->listener == NULL)
        return;
    rsmcore_fork_lock(&lock);
    if (event->listener == listener) { /* not so in a child */
        epoll_ctl(listener->sources, EPOLL_CTL_DEL, event->source_fd, NULL);
        listener->count--;
    }
    event->listener = NULL;
    struct rsmcore_listener *unused = take_unused();
    rsmcore_fork_unlock(&lock);
    stop(unused);
}
