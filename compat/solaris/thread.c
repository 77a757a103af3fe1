/* SPDX-License-Identifier: BSD-3-Clause */
/* Life and death of threads. */
#include "registry.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <unistd.h>

#define THR_FLAGS (THR_BOUND | THR_NEW_LWP | THR_DETACHED | THR_SUSPENDED | THR_DAEMON)

/* --- creation --- */

/* The creator holds the registry until it has noted the new thread's id. */
static void *thread_main(void *record)
{
    struct rsm_solaris_thread *thread = record;
    void *status = NULL;
    sigset_t saved;
    rsm_solaris_registry_lock(&saved);
    rsm_solaris_become(thread);
    while (thread->suspended) {
        unsigned long seen = rsm_solaris_changes();
        rsm_solaris_registry_unlock(&saved);
        rsm_solaris_wait_change(seen);
        rsm_solaris_registry_lock(&saved);
    }
    pthread_cleanup_push(rsm_solaris_thread_ends, thread);
    rsm_solaris_registry_unlock(&thread->mask);
    status = thread->start(thread->arg);
    pthread_cleanup_pop(1);
    return status;
}

/* Below thr_min_stack() the size is EINVAL. */
static int set_stack(pthread_attr_t *attr, void *base, size_t size)
{
    if (base == NULL && size == 0)
        return 0;
    return base != NULL ? pthread_attr_setstack(attr, base, size)
                        : pthread_attr_setstacksize(attr, size);
}

/* Its kernel's id is what thr_kill() and others need. */
static void wait_for_start(thread_t id)
{
    const struct rsm_solaris_thread *thread;
    bool started = false;
    while (!started) {
        sigset_t saved;
        unsigned long seen = rsm_solaris_changes();
        rsm_solaris_registry_lock(&saved);
        thread = rsm_solaris_find(id);
        started = thread == NULL || thread->tid != 0; /* NULL: it has ended already */
        rsm_solaris_registry_unlock(&saved);
        if (!started)
            rsm_solaris_wait_change(seen);
    }
}

/* Signals stay blocked in the new thread until it knows itself. */
static int start_thread(const pthread_attr_t *attr, struct rsm_solaris_thread *thread,
                        thread_t *new_thread)
{
    sigset_t saved;
    int cancel;
    rsm_solaris_self(); /* the process would end too early if its creator were not known */
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
    rsm_solaris_registry_lock(&saved);
    thread->mask = saved;
    int error = pthread_create(&thread->handle, attr, thread_main, thread);
    thread_t id = 0;
    if (error == 0) {
        rsm_solaris_insert(thread);
        id = thread->id;
        if (new_thread != NULL)
            *new_thread = id;
    }
    rsm_solaris_registry_unlock(&saved);
    if (error == 0)
        wait_for_start(id);
    pthread_setcancelstate(cancel, NULL);
    return error;
}

int thr_create(void *stack_base, size_t stack_size, void *(*start)(void *), void *arg, long flags,
               thread_t *new_thread)
{
    if (start == NULL || (flags & ~(long)THR_FLAGS) != 0)
        return EINVAL;
    int error = rsm_solaris_registry_init();
    if (error != 0)
        return error;
    pthread_attr_t attr;
    error = pthread_attr_init(&attr);
    if (error != 0)
        return error;
    error = set_stack(&attr, stack_base, stack_size);
    if (error != 0)
        goto destroy_attr;
    struct rsm_solaris_thread *thread = calloc(1, sizeof(*thread));
    if (thread == NULL) {
        error = ENOMEM;
        goto destroy_attr;
    }
    thread->created = true;
    thread->start = start;
    thread->arg = arg;
    thread->detached = (flags & THR_DETACHED) != 0;
    thread->daemon = (flags & THR_DAEMON) != 0;
    thread->suspended = (flags & THR_SUSPENDED) != 0;
    if (thread->detached)
        pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    error = start_thread(&attr, thread, new_thread);
    if (error != 0)
        free(thread);
destroy_attr:
    pthread_attr_destroy(&attr);
    return error;
}

int thr_continue(thread_t id)
{
    sigset_t saved;
    rsm_solaris_registry_lock(&saved);
    struct rsm_solaris_thread *thread = rsm_solaris_find(id);
    bool found = thread != NULL && !thread->exited;
    bool changed = found && thread->suspended;
    if (changed)
        thread->suspended = false;
    rsm_solaris_registry_unlock(&saved);
    if (changed)
        rsm_solaris_changed();
    return found ? 0 : ESRCH;
}

/* --- joining --- */

/* Does that thread wait for another one's end? No longer, when that end has come. */
static bool waits(const struct rsm_solaris_thread *thread)
{
    if (!thread->joining || thread->awaited == 0)
        return thread->joining;
    const struct rsm_solaris_thread *awaited = rsm_solaris_find(thread->awaited);
    return awaited != NULL && !awaited->exited;
}

/* Is that thread's end to be waited for by thr_join(0)? */
static bool may_end(const struct rsm_solaris_thread *thread, const struct rsm_solaris_thread *self)
{
    return thread != self && !thread->exited && !thread->daemon && !waits(thread);
}

/* An ended thread for thr_join(0) in *found, or 0 with none: it is worth waiting for one. */
static int look_for_any(const struct rsm_solaris_thread *self, struct rsm_solaris_thread **found)
{
    bool worth_waiting = false;
    for (struct rsm_solaris_thread *thread = rsm_solaris_first(); thread != NULL;
         thread = thread->next) {
        if (thread->exited && !thread->detached && !thread->daemon && thread->joiners == 0) {
            *found = thread;
            return 0;
        }
        worth_waiting = worth_waiting || may_end(thread, self);
    }
    return worth_waiting ? 0 : EDEADLK;
}

static int look_for(thread_t id, struct rsm_solaris_thread **found)
{
    struct rsm_solaris_thread *thread = rsm_solaris_find(id);
    if (thread == NULL || thread->detached)
        return ESRCH;
    if (thread->exited)
        *found = thread;
    return 0;
}

struct join_wait {
    thread_t id; /* 0: any */
    struct rsm_solaris_thread *self;
    struct rsm_solaris_thread *found; /* the caller's, once it is not NULL */
};

/* Let others know whether the caller waits. Under the lock. */
static void mark_waiting(const struct join_wait *wait, bool waiting)
{
    struct rsm_solaris_thread *target = wait->id != 0 ? rsm_solaris_find(wait->id) : NULL;
    if (waiting == wait->self->joining)
        return;
    wait->self->joining = waiting;
    wait->self->awaited = wait->id;
    if (target != NULL)
        target->joiners += waiting ? 1u : -1u;
}

/* At a cancellation. */
static void stop_waiting(void *join_wait)
{
    sigset_t saved;
    rsm_solaris_registry_lock(&saved);
    mark_waiting(join_wait, false);
    rsm_solaris_registry_unlock(&saved);
}

/* One look. An error, or the thread in wait->found, or else the caller is marked as waiting. */
static int try_join(struct join_wait *wait)
{
    sigset_t saved;
    rsm_solaris_registry_lock(&saved);
    int error =
        wait->id == 0 ? look_for_any(wait->self, &wait->found) : look_for(wait->id, &wait->found);
    mark_waiting(wait, error == 0 && wait->found == NULL);
    if (wait->found != NULL)
        rsm_solaris_remove(wait->found);
    rsm_solaris_registry_unlock(&saved);
    return error;
}

static int wait_for_end(struct join_wait *wait)
{
    for (;;) {
        unsigned long seen = rsm_solaris_changes();
        int error = try_join(wait);
        if (error != 0 || wait->found != NULL)
            return error;
        rsm_solaris_wait_change(seen);
    }
}

/* Join a thread whose record the caller has taken off the list, and free its memory and stack. The
 * thread is in its last steps, so this does not take long. */
static int take_status(struct rsm_solaris_thread *thread, thread_t *departed, void **status)
{
    void *result = thread->status;
    int error = thread->created ? pthread_join(thread->handle, &result) : 0;
    if (departed != NULL)
        *departed = thread->id;
    if (status != NULL)
        *status = result;
    if (thread->created)
        free(thread);
    return error;
}

int thr_join(thread_t id, thread_t *departed, void **status)
{
    struct join_wait wait = {.id = id, .self = rsm_solaris_self()};
    if (id == wait.self->id)
        return EDEADLK;
    int error = try_join(&wait);
    if (error == 0 && wait.found == NULL) {
        pthread_cleanup_push(stop_waiting, &wait);
        rsm_solaris_changed(); /* a thread that waits for any thread may now wait in vain */
        error = wait_for_end(&wait);
        pthread_cleanup_pop(0);
    }
    return error != 0 ? error : take_status(wait.found, departed, status);
}

/* --- the calling thread --- */

void thr_exit(void *status)
{
    struct rsm_solaris_thread *self = rsm_solaris_self();
    self->status = status;
    pthread_exit(status);
}

thread_t thr_self(void)
{
    return rsm_solaris_self()->id;
}

int thr_main(void)
{
    return gettid() == getpid();
}

void thr_yield(void)
{
    sched_yield();
}

size_t thr_min_stack(void)
{
    return (size_t)sysconf(_SC_THREAD_STACK_MIN);
}

int thr_stksegment(stack_t *stack)
{
    pthread_attr_t attr;
    void *base = NULL;
    size_t size = 0;
    if (stack == NULL)
        return EFAULT;
    int error = pthread_getattr_np(pthread_self(), &attr);
    if (error != 0)
        return error;
    error = pthread_attr_getstack(&attr, &base, &size);
    pthread_attr_destroy(&attr);
    if (error != 0)
        return error;
    stack->ss_sp = (char *)base + size;
    stack->ss_size = size;
    stack->ss_flags = 0;
    return 0;
}
