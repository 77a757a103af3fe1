/* SPDX-License-Identifier: BSD-3-Clause */
#include "listener.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

#include "base/fork.h"
#include "base/thread.h"

enum { ROOM_BYTES = 64 * 1024 };

struct sisci_listener {
    const struct sisci_listener_type *type;
    void *source;
    pthread_t thread;
    struct sisci_listener *waits_for; /* which its callback ends; guarded by `lock` */
    bool abandoned;                   /* no thread waits for it; guarded by `lock` */
};

/* That of the calling thread; NULL: it is none of ours. */
static __thread struct sisci_listener *self;

/* ------------------------------------------------------------------ fork */

/* The listeners are the parent's. Where a callback forks, the child's thread is the program's
 * alone. */
static void begin_anew(void)
{
    self = NULL;
}

RSMCORE_FORK_PART(lock, RSMCORE_FORK_CALLBACKS, begin_anew);

/* ------------------------------------------------------------------ the thread */

static void release(struct sisci_listener *listener)
{
    listener->type->finish(listener->source);
    free(listener);
}

/* A fault on memory of the core is the core's to handle, and kills where its signal is blocked. */
static void allow_faults(void)
{
    sigset_t faults;
    sigemptyset(&faults);
    sigaddset(&faults, SIGSEGV);
    sigaddset(&faults, SIGBUS);
    pthread_sigmask(SIG_UNBLOCK, &faults, NULL);
}

static void *run(void *argument)
{
    struct sisci_listener *listener = self = argument;
    allow_faults();
    while (listener->type->listen(listener->source))
        continue;
    /* It can be abandoned only while the callback runs. */
    rsmcore_fork_lock(&lock);
    bool abandoned = listener->abandoned;
    rsmcore_fork_unlock(&lock);
    if (abandoned)
        release(listener);
    return NULL;
}

/* ------------------------------------------------------------------ beginning and end */

sci_error_t sisci_listener_start(const struct sisci_listener_type *type, void *source,
                                 struct sisci_listener **listener)
{
    struct sisci_listener *made = calloc(1, sizeof *made);
    if (made == NULL)
        return SCI_ERR_NOSPC;
    made->type = type;
    made->source = source;
    rsmcore_fork_lock(&lock);
    int error = rsm_thread_start(&made->thread, type->name, 0, run, made);
    rsmcore_fork_unlock(&lock);
    if (error != 0) {
        free(made);
        return SCI_ERR_NOSPC;
    }
    *listener = made;
    return SCI_ERR_OK;
}

bool sisci_in_callback(void)
{
    return self != NULL;
}

/* Whether a callback of `listener` waits, over others maybe, for the calling thread's. Called with
 * the lock held. */
static bool waits_for_self(const struct sisci_listener *listener)
{
    while (listener != NULL && listener != self)
        listener = listener->waits_for;
    return listener != NULL;
}

bool sisci_listener_end(struct sisci_listener *listener)
{
    rsmcore_fork_lock(&lock);
    bool abandon = self != NULL && waits_for_self(listener);
    if (abandon)
        listener->abandoned = true;
    else if (self != NULL)
        self->waits_for = listener;
    pthread_t thread = listener->thread;
    rsmcore_fork_unlock(&lock);
    if (abandon) {
        pthread_detach(thread);
        return false;
    }
    pthread_join(thread, NULL);
    if (self != NULL) {
        rsmcore_fork_lock(&lock);
        self->waits_for = NULL;
        rsmcore_fork_unlock(&lock);
    }
    release(listener);
    return true;
}

__attribute__((noinline)) void sisci_call_deep(void (*call)(void *), void *argument)
{
    /* Keep the compiler from removing it, before and after the call. */
    char room[ROOM_BYTES];
    __asm__ volatile("" : : "r"(room) : "memory");
    call(argument);
    __asm__ volatile("" : : "r"(room) : "memory");
}
