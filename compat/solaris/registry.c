/* SPDX-License-Identifier: BSD-3-Clause */
#include "registry.h"

#include <stdlib.h>
#include <unistd.h>

static pthread_mutex_t registry_mutex = PTHREAD_MUTEX_INITIALIZER;
static struct rsm_solaris_thread *threads;
static thread_t last_id = RSM_SOLARIS_MAIN_THREAD;

/* Separate from the registry's lock, so that no thread waits under that one. */
static pthread_mutex_t change_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t change_cond = PTHREAD_COND_INITIALIZER;
static unsigned long change_count;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t end_key;
static int init_error;
static sigset_t mask_before_fork;

static __thread struct rsm_solaris_thread *self;
/* Records of threads that thr_create() did not make need no memory that might be short. The main
 * thread's outlives the thread. */
static __thread struct rsm_solaris_thread adopted;
static struct rsm_solaris_thread main_thread;

void rsm_solaris_registry_lock(sigset_t *saved)
{
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, saved);
    pthread_mutex_lock(&registry_mutex);
}

void rsm_solaris_registry_unlock(const sigset_t *saved)
{
    pthread_mutex_unlock(&registry_mutex);
    pthread_sigmask(SIG_SETMASK, saved, NULL);
}

unsigned long rsm_solaris_changes(void)
{
    pthread_mutex_lock(&change_mutex);
    unsigned long seen = change_count;
    pthread_mutex_unlock(&change_mutex);
    return seen;
}

void rsm_solaris_changed(void)
{
    pthread_mutex_lock(&change_mutex);
    change_count++;
    pthread_cond_broadcast(&change_cond);
    pthread_mutex_unlock(&change_mutex);
}

static void unlock_change(void *mutex)
{
    pthread_mutex_unlock(mutex);
}

void rsm_solaris_wait_change(unsigned long seen)
{
    pthread_mutex_lock(&change_mutex);
    pthread_cleanup_push(unlock_change, &change_mutex);
    while (change_count == seen)
        pthread_cond_wait(&change_cond, &change_mutex);
    pthread_cleanup_pop(1);
}

struct rsm_solaris_thread *rsm_solaris_first(void)
{
    return threads;
}

struct rsm_solaris_thread *rsm_solaris_find(thread_t id)
{
    struct rsm_solaris_thread *thread = threads;
    while (thread != NULL && thread->id != id)
        thread = thread->next;
    return thread;
}

void rsm_solaris_insert(struct rsm_solaris_thread *thread)
{
    if (thread->id == 0)
        thread->id = ++last_id; /* 2^32 threads would be needed to use one twice */
    thread->next = threads;
    threads = thread;
}

void rsm_solaris_remove(struct rsm_solaris_thread *thread)
{
    struct rsm_solaris_thread **link = &threads;
    while (*link != NULL && *link != thread)
        link = &(*link)->next;
    if (*link == thread)
        *link = thread->next;
}

/* Whether only daemon threads are left, now that this thread ends. */
static bool only_daemons_left(void)
{
    bool daemons = false;
    for (const struct rsm_solaris_thread *thread = threads; thread != NULL; thread = thread->next) {
        if (thread->exited)
            continue;
        if (!thread->daemon)
            return false;
        daemons = true;
    }
    return daemons;
}

void rsm_solaris_thread_ends(void *record)
{
    struct rsm_solaris_thread *thread = record;
    sigset_t saved;
    rsm_solaris_registry_lock(&saved);
    bool end_process = !thread->daemon;
    bool forget = thread->detached;
    thread->exited = true;
    if (forget) {
        rsm_solaris_remove(thread);
        /* Destructors of the program's keys may still ask who they are. */
        adopted.id = thread->id;
        self = &adopted;
    }
    end_process = end_process && only_daemons_left();
    rsm_solaris_registry_unlock(&saved);
    if (forget && thread->created)
        free(thread);
    rsm_solaris_changed();
    if (end_process)
        exit(0);
}

static void before_fork(void)
{
    sigset_t saved;
    rsm_solaris_registry_lock(&saved);
    pthread_mutex_lock(&change_mutex);
    mask_before_fork = saved;
}

static void after_fork_in_parent(void)
{
    sigset_t saved = mask_before_fork;
    pthread_mutex_unlock(&change_mutex);
    rsm_solaris_registry_unlock(&saved);
}

/* Only the calling thread is left, and it is the main thread now. */
static void after_fork_in_child(void)
{
    sigset_t saved = mask_before_fork;
    struct rsm_solaris_thread *thread = threads;
    threads = NULL;
    if (self != &main_thread)
        main_thread = (struct rsm_solaris_thread){0};
    while (thread != NULL) {
        struct rsm_solaris_thread *next = thread->next;
        if (thread != self && thread->created)
            free(thread);
        thread = next;
    }
    if (self != NULL) {
        self->tid = getpid();
        self->joiners = 0;
        self->joining = false;
        rsm_solaris_insert(self);
    }
    pthread_cond_init(&change_cond, NULL); /* of whose waiters none is here */
    pthread_mutex_unlock(&change_mutex);
    rsm_solaris_registry_unlock(&saved);
}

static void init(void)
{
    init_error = pthread_key_create(&end_key, rsm_solaris_thread_ends);
    if (init_error == 0)
        init_error = pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
}

int rsm_solaris_registry_init(void)
{
    pthread_once(&once, init);
    return init_error;
}

void rsm_solaris_become(struct rsm_solaris_thread *thread)
{
    self = thread;
    thread->tid = gettid();
    rsm_solaris_changed();
}

static struct rsm_solaris_thread *adopt(void)
{
    sigset_t saved;
    struct rsm_solaris_thread *thread = thr_main() ? &main_thread : &adopted;
    int error = rsm_solaris_registry_init();
    if (error == 0)
        error = pthread_setspecific(end_key, thread);
    rsm_solaris_registry_lock(&saved);
    thread->detached = thread != &main_thread; /* POSIX would have to be asked for the others */
    if (thread == &main_thread)
        thread->id = RSM_SOLARIS_MAIN_THREAD;
    if (error == 0)
        rsm_solaris_insert(thread);
    else if (thread->id == 0)
        thread->id = ++last_id; /* unknown to others, as its end would go unnoticed */
    rsm_solaris_become(thread);
    rsm_solaris_registry_unlock(&saved);
    return thread;
}

struct rsm_solaris_thread *rsm_solaris_self(void)
{
    return self != NULL ? self : adopt();
}
