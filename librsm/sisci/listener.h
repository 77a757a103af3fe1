/* SPDX-License-Identifier: BSD-3-Clause */
/** @file The threads that call programs back, and those that move bytes for DMA queues and blocks.
 *  Of all signals only those of faults reach them.
 *
 *  A listener is what threads do for one resource, in turns: no two threads are in a turn of it at
 *  the same time. All listeners share the threads. A thread sleeps on the events of all listeners.
 *  The one that wakes takes the turn, and before it does so it sees to it that another thread
 *  sleeps on the other events: callbacks may wait for each other. So there are as many threads as
 *  callbacks run at that moment, and one or two that sleep. A callback costs one wake-up, as if its
 *  listener had a thread of its own.
 *
 *  Where the kernel cannot sleep on several events (before Linux 5.16), each listener with an event
 *  has a thread that sleeps on it.
 *
 *  A listener works on a source, which is the core's object and what the callback needs, and not on
 *  the resource: a callback may end its own resource, and then the source is needed until the
 *  callback has returned. */
#pragma once

#include <stdbool.h>

#include "error.h"

struct rsmcore_event;
struct sisci_listener;

/** What has become of a listener's turn. */
enum sisci_turn {
    SISCI_TURN_IDLE,  /**< there was nothing to do */
    SISCI_TURN_AGAIN, /**< there may be more to do */
    SISCI_TURN_LAST,  /**< never again: the callback said so, or the source has been cancelled */
};

struct sisci_listener_type {
    /** The event that says that there is something to do; NULL: there is none yet. Does not wait.
     *  NULL: there never is one, and sisci_listener_wake() says it. */
    struct rsmcore_event *(*event)(const void *source);
    /** Do what there is to do, and do not wait for more. Calls programs by sisci_call_deep(). */
    enum sisci_turn (*take_turn)(void *source);
    /** Release the source, which is unused. */
    void (*finish)(void *source);
};

/** Begin, with a turn at once. SCI_ERR_NOSPC: there is no thread, and the source remains the
 *  caller's. */
sci_error_t sisci_listener_start(const struct sisci_listener_type *type, void *source,
                                 struct sisci_listener **listener);

/** There is something to do that no event says. */
void sisci_listener_wake(struct sisci_listener *listener);
/** The same, of a listener that the calling thread comes to after the turn that it is in. */
void sisci_listener_wake_next(struct sisci_listener *listener);

/** End it. The source has been cancelled and the listener woken, so that the next turn is the last.
 *  When this returns the callback runs no more and the source has been released. Where that would
 *  be waiting for oneself - in the listener's own callback, or in one that such a callback waits
 *  for - that happens when the callback has returned: false. */
bool sisci_listener_end(struct sisci_listener *listener);

/** Whether the calling thread is one of these. */
bool sisci_in_callback(void);

/** Call a program's callback, with some room on the stack between it and the library's frames.
 *  There are programs that hand the address of a local variable of their callback to another thread
 *  and return: what lies there remains as it is until the thread's next callback. */
void sisci_call_deep(void (*call)(void *), void *argument);
