/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Threads that call programs back: one for each resource that was made with a callback; and those
 * that move bytes for DMA queues. Of all signals only those of faults reach them.
 *
 * Such a thread works on a source, which is the core's object and what the callback needs, and not
 * on the resource: a callback may end its own resource, and then the source is needed until the
 * callback has returned.
 */
#ifndef SISCI_LISTENER_H
#define SISCI_LISTENER_H

#include <stdbool.h>

#include "error.h"

struct sisci_listener;

struct sisci_listener_type {
    const char *name; /**< of the thread, at most 15 characters */
    /** Wait for an event and call the program, through sisci_call_deep(). False: do not call again,
     *  because the callback said so or the source has been cancelled. */
    bool (*listen)(void *source);
    /** Release the source, which is unused. */
    void (*finish)(void *source);
};

/** Begin. SCI_ERR_NOSPC: there is no thread, and the source remains the caller's. */
sci_error_t sisci_listener_start(const struct sisci_listener_type *type, void *source,
                                 struct sisci_listener **listener);

/**
 * End it. The source has been cancelled, so that listen() returns. When this returns the callback
 * runs no more and the source has been released. Where that would be waiting for oneself - in the
 * listener's own callback, or in one that such a callback waits for - that happens when the
 * callback has returned: false.
 */
bool sisci_listener_end(struct sisci_listener *listener);

/** Whether the calling thread is one of these. */
bool sisci_in_callback(void);

/**
 * Call a program's callback, with some room on the stack between it and the library's frames.
 * There are programs that hand the address of a local variable of their callback to another thread
 * and return: what lies there remains as it is until the next callback.
 */
void sisci_call_deep(void (*call)(void *), void *argument);

#endif
