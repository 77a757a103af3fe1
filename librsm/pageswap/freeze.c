/* SPDX-License-Identifier: BSD-3-Clause */
#include "pageswap/freeze.h"

#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/fork.h"
#include "pageswap/pageswap.h"
#include "pageswap/segvwait.h"
#include "fault/uffd.h"

static enum rsmcore_freeze_method best_allowed = RSMCORE_FREEZE_UFFD;

/* A userfaultfd costs more to make and to close than to use, so a process keeps one. It belongs to
 * the memory of the process that made it: a child of a fork gives its copy up, and one that was
 * made behind the C library's back notices by its number. */
static struct {
    int uffd;
    pid_t process; /* 0: none is kept */
    enum rsmcore_freeze_method method;
} kept = {.uffd = -1};

/* An application that has closed all descriptors, as daemons do at their start, has closed ours
 * too, and may have another by that number, which is its own. */
static void drop_kept(void)
{
    if (kept.process != 0 && rsmcore_uffd_is_one(kept.uffd))
        close(kept.uffd);
    kept.process = 0;
}

/* Its lock guards nothing: one thread swaps at a time. */
RSMCORE_FORK_PART(kept_part, RSMCORE_FORK_FREEZER, drop_kept);

void rsmcore_freezer_open(struct rsmcore_freezer *freezer)
{
    *freezer = (struct rsmcore_freezer){.method = best_allowed, .uffd = -1};
    if (kept.process == getpid()) {
        freezer->method = kept.method;
        freezer->uffd = kept.uffd;
        return;
    }
    drop_kept();
    for (; freezer->method < RSMCORE_FREEZE_MPROTECT; freezer->method++) {
        freezer->uffd = rsmcore_uffd_open(freezer->method == RSMCORE_FREEZE_UFFD_USER);
        if (freezer->uffd < 0)
            continue;
        kept.uffd = freezer->uffd;
        kept.method = freezer->method;
        kept.process = getpid();
        return;
    }
}

void rsmcore_freezer_close(struct rsmcore_freezer *freezer)
{
    if (freezer->has_handler)
        rsmcore_segvwait_end();
}

static bool freeze_by_uffd(struct rsmcore_freezer *freezer, uintptr_t address, size_t length)
{
    if (freezer->uffd < 0)
        return false;
    if (rsmcore_uffd_protect(freezer->uffd, address, length))
        return true;
    if (rsmcore_uffd_is_one(freezer->uffd))
        return false;
    struct rsmcore_freezer again;
    drop_kept();
    rsmcore_freezer_open(&again);
    freezer->method = again.method;
    freezer->uffd = again.uffd;
    return freezer->uffd >= 0 && rsmcore_uffd_protect(freezer->uffd, address, length);
}

static enum rsm_status freeze_by_mprotect(struct rsmcore_freezer *freezer, uintptr_t address,
                                          size_t length, int protection)
{
    if (!freezer->has_handler) {
        enum rsm_status status = rsmcore_segvwait_begin();
        if (status != RSM_ST_OK)
            return status;
        freezer->has_handler = true;
    }
    return rsmcore_segvwait_freeze(address, length, protection);
}

enum rsm_status rsmcore_freeze(struct rsmcore_freezer *freezer, uintptr_t address, size_t length,
                               int protection)
{
    freezer->address = address;
    freezer->length = length;
    freezer->protection = protection;
    /* A signal handler that runs on this thread and stores into the range would wait for ever. */
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &freezer->mask);
    freezer->by_uffd = freeze_by_uffd(freezer, address, length);
    enum rsm_status status = RSM_ST_OK;
    if (!freezer->by_uffd)
        status = freeze_by_mprotect(freezer, address, length, protection);
    if (status != RSM_ST_OK)
        pthread_sigmask(SIG_SETMASK, &freezer->mask, NULL);
    return status;
}

void rsmcore_thaw(struct rsmcore_freezer *freezer, bool replaced)
{
    if (freezer->by_uffd) {
        if (replaced)
            rsmcore_uffd_wake(freezer->uffd, freezer->address, freezer->length);
        else
            rsmcore_uffd_release(freezer->uffd, freezer->address, freezer->length);
    } else {
        if (!replaced)
            (void)mprotect((void *)freezer->address, freezer->length, freezer->protection);
        rsmcore_segvwait_thaw();
    }
    pthread_sigmask(SIG_SETMASK, &freezer->mask, NULL);
}

const char *rsmcore_swap_method(void)
{
    static const char *const names[] = {
        [RSMCORE_FREEZE_UFFD] = "userfaultfd",
        [RSMCORE_FREEZE_UFFD_USER] = "userfaultfd user mode only",
        [RSMCORE_FREEZE_MPROTECT] = "mprotect",
    };
    struct rsmcore_freezer freezer;
    rsmcore_freezer_open(&freezer);
    rsmcore_freezer_close(&freezer);
    return names[freezer.method];
}

bool rsmcore_freeze_force(enum rsmcore_freeze_method method)
{
    struct rsmcore_freezer freezer;
    best_allowed = method;
    drop_kept();
    rsmcore_freezer_open(&freezer);
    rsmcore_freezer_close(&freezer);
    return freezer.method == method;
}
