/* SPDX-License-Identifier: BSD-3-Clause */
#include <linux/futex.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "core/softmap/atomics.h"
#include "core/softmap/softmap_internal.h"
#include "core/status.h"

enum { NS_PER_US = 1000, US_PER_S = 1000000, STACK_BYTES = 128 * 1024 };

/* Sleep until `work` is no longer @p seen, or for @p us microseconds; 0: for ever. */
static void wait_for_work(struct softmap *softmap, uint32_t seen, uint32_t us)
{
    struct timespec time = {.tv_sec = us / US_PER_S, .tv_nsec = (long)(us % US_PER_S) * NS_PER_US};
    (void)syscall(SYS_futex, &softmap->work, FUTEX_WAIT_PRIVATE, seen, us > 0 ? &time : NULL, NULL,
                  0);
}

static void post_work(struct softmap *softmap)
{
    atomic_fetch_add(&softmap->work, 1);
    (void)syscall(SYS_futex, &softmap->work, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

void softmap_service_wake(struct softmap_space *space)
{
    post_work(softmap_of_space(space));
}

/* The lock is given up between pages, so that a fault waits for one transfer at most. */
static void serve(struct softmap_space *space)
{
    softmap_lock(&space->lock);
    softmap_service(space);
    softmap_unlock(&space->lock);
    uint32_t page = 0;
    while (page != SOFTMAP_NO_PAGE) {
        softmap_lock(&space->lock);
        page = softmap_service_next(space, page);
        softmap_unlock(&space->lock);
    }
}

/* Microseconds until something is due; 0: nothing will be until there is work. */
static uint32_t time_to_sleep(struct softmap_space *space)
{
    const struct softmap_options *options = &space->options;
    bool dirty = atomic_load(&space->dirty_count) > 0, clean = atomic_load(&space->clean_count) > 0;
    uint32_t refresh = options->refresh_us > 0 ? options->refresh_us : 1;
    if (dirty && clean)
        return options->flush_us < refresh ? options->flush_us : refresh;
    if (dirty)
        return options->flush_us;
    return clean ? refresh : 0;
}

static void *run(void *argument)
{
    struct softmap *softmap = argument;
    (void)prctl(PR_SET_NAME, "rsm-softmap");
    (void)prctl(PR_SET_TIMERSLACK,
                NS_PER_US); /* the kernel's default is as long as our intervals */
    while (!atomic_load(&softmap->stopping)) {
        uint32_t seen = atomic_load(&softmap->work);
        serve(&softmap->space);
        softmap_atomics_report();
        if (!atomic_load(&softmap->stopping))
            wait_for_work(softmap, seen, time_to_sleep(&softmap->space));
    }
    return NULL;
}

enum rsm_status softmap_thread_start(struct softmap *softmap, void *(*run_it)(void *),
                                     pthread_t *thread)
{
    pthread_attr_t attributes;
    sigset_t before;
    int error = pthread_attr_init(&attributes);
    if (error != 0)
        return rsmcore_status_from_errno(error);
    (void)pthread_attr_setstacksize(&attributes, STACK_BYTES);
    softmap_block(&before); /* the thread inherits the mask */
    error = pthread_create(thread, &attributes, run_it, softmap);
    softmap_unblock(&before);
    pthread_attr_destroy(&attributes);
    return error == 0 ? RSM_ST_OK : RSM_ST_NO_RESOURCES;
}

enum rsm_status softmap_service_start(struct softmap *softmap)
{
    atomic_store(&softmap->stopping, false);
    return softmap_thread_start(softmap, run, &softmap->thread);
}

void softmap_service_stop(struct softmap *softmap)
{
    atomic_store(&softmap->stopping, true);
    post_work(softmap);
    (void)pthread_join(softmap->thread, NULL);
    softmap_atomics_report();
}
