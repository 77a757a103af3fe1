/* SPDX-License-Identifier: BSD-3-Clause */
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/apart.h"
#include "base/clock.h"
#include "base/status.h"
#include "mapping/mirror.h"
#include "mapping/mapping_internal.h"

enum { STACK_BYTES = 1024 * 1024 };
/* For so long after the last work the thread looks for more by itself. To wake it costs the thread
 * that faults tens of microseconds where a processor has to leave its sleep for that. */
enum { LINGER_US = 1000 };

/* Sleep until `work` is no longer @p seen, or for @p us microseconds; 0: for ever. */
static void wait_for_work(struct mapping *mapping, uint32_t seen, uint32_t us)
{
    const struct timespec time = rsm_timespec(us * RSM_NS_PER_US);
    /* A thread that posts after the call's first check of `work` sees this. */
    atomic_store(&mapping->asleep, us == 0 || us > LINGER_US);
    (void)syscall(SYS_futex, &mapping->work, FUTEX_WAIT_PRIVATE, seen, us > 0 ? &time : NULL, NULL,
                  0);
    atomic_store(&mapping->asleep, false);
}

static void post_work(struct mapping *mapping, bool at_once)
{
    atomic_fetch_add(&mapping->work, 1);
    if (!at_once && !atomic_load(&mapping->asleep))
        return;
    (void)syscall(SYS_futex, &mapping->work, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

void mapping_service_wake(struct mapping_space *space)
{
    post_work(mapping_of_space(space), false);
}

/* The lock is given up between pages, so that a fault waits for one transfer at most. */
static void serve(struct mapping_space *space)
{
    mapping_lock(&space->lock);
    mapping_service(space);
    mapping_unlock(&space->lock);
    uint32_t page = 0;
    while (page != MAPPING_NO_PAGE) {
        mapping_lock(&space->lock);
        page = mapping_service_next(space, page);
        mapping_unlock(&space->lock);
    }
}

static uint32_t pause_of_mirror(struct mapping_space *space)
{
    mapping_lock(&space->lock);
    uint32_t pause = mapping_mirror_pause(space);
    mapping_unlock(&space->lock);
    return pause;
}

/* Microseconds until something is due; 0: nothing will be until there is work. */
static uint32_t time_to_sleep(struct mapping_space *space)
{
    if (space->mirror != NULL)
        return pause_of_mirror(space);
    uint32_t refresh = space->options.refresh_us > 0 ? space->options.refresh_us : 1;
    mapping_lock(&space->lock);
    uint32_t flush = mapping_service_due(space);
    mapping_unlock(&space->lock);
    if (atomic_load(&space->clean_count) == 0)
        return flush;
    return flush > 0 && flush < refresh ? flush : refresh;
}

/* Microseconds between two looks while it lingers: what comes meanwhile is no later for it. */
static uint32_t time_to_look(const struct mapping_space *space)
{
    const struct mapping_options *options = &space->options;
    uint32_t time = options->flush_us < LINGER_US ? options->flush_us : LINGER_US;
    return options->refresh_us > 0 && options->refresh_us < time ? options->refresh_us : time;
}

static void *run(void *argument)
{
    struct mapping *mapping = argument;
    (void)prctl(PR_SET_NAME, "rsm-mapping");
    (void)prctl(PR_SET_TIMERSLACK,
                RSM_NS_PER_US); /* the kernel's default is as long as our intervals */
    uint32_t lingered = 0, before = 0;
    while (!atomic_load(&mapping->stopping)) {
        uint32_t seen = atomic_load(&mapping->work);
        serve(&mapping->space);
        mapping_atomics_report();
        uint32_t us = time_to_sleep(&mapping->space);
        if (us > 0 || seen != before) {
            lingered = 0;
            before = seen;
        }
        if (us == 0 && lingered < LINGER_US) {
            us = time_to_look(&mapping->space);
            lingered += us;
        }
        if (!atomic_load(&mapping->stopping))
            wait_for_work(mapping, seen, us);
    }
    return NULL;
}

static size_t guard_bytes(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

/* It has room for what programs and sanitizers keep for each thread; what is not touched costs
 * nothing. Not by the C library, which would put it where the program may have had a mapping. */
static void *make_stack(void)
{
    uint8_t *made =
        rsmcore_mmap_apart(STACK_BYTES, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    if (made == MAP_FAILED)
        return NULL;
    (void)mprotect(made, guard_bytes(), PROT_NONE);
    return made;
}

enum rsm_status mapping_thread_start(struct mapping *mapping, void *(*run_it)(void *),
                                     struct mapping_thread *thread)
{
    pthread_attr_t attributes;
    struct mapping_mask before;
    int error = pthread_attr_init(&attributes);
    if (error != 0)
        return rsmcore_status_from_errno(error);
    thread->stack = make_stack();
    if (thread->stack == NULL) {
        pthread_attr_destroy(&attributes);
        return RSM_ST_NO_MEMORY;
    }
    (void)pthread_attr_setstack(&attributes, (uint8_t *)thread->stack + guard_bytes(),
                                STACK_BYTES - guard_bytes());
    mapping_block(&before); /* the thread inherits the mask */
    error = pthread_create(&thread->id, &attributes, run_it, mapping);
    mapping_unblock(&before);
    pthread_attr_destroy(&attributes);
    if (error == 0)
        return RSM_ST_OK;
    munmap(thread->stack, STACK_BYTES);
    return RSM_ST_NO_RESOURCES;
}

void mapping_thread_join(struct mapping_thread *thread)
{
    (void)pthread_join(thread->id, NULL);
    munmap(thread->stack, STACK_BYTES);
}

enum rsm_status mapping_service_start(struct mapping *mapping)
{
    atomic_store(&mapping->stopping, false);
    return mapping_thread_start(mapping, run, &mapping->thread);
}

void mapping_service_stop(struct mapping *mapping)
{
    atomic_store(&mapping->stopping, true);
    post_work(mapping, true);
    mapping_thread_join(&mapping->thread);
    mapping_atomics_report();
}
