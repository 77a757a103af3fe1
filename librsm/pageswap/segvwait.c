/* SPDX-License-Identifier: BSD-3-Clause */
#include "pageswap/segvwait.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include "base/fork.h"
#include "base/status.h"
#include "fault/faultchain.h"
#include "fault/quiet.h"
#include "pageswap/vma.h"

/* How long end() waits for threads that may be on their way into the handler. */
#define QUIET_LIMIT_MS 50

/* What the handler looks at. turn is odd while [start, end) is frozen, and a futex. */
static _Atomic unsigned turn;
static _Atomic uintptr_t frozen_start, frozen_end;
/* All addresses frozen since the handler was installed: a fault there may be reported late. */
static _Atomic uintptr_t ever_start = UINTPTR_MAX, ever_end;
/* Threads in the handler that have not yet found out whose fault theirs is. */
static _Atomic unsigned deciding;

/* Whether the fault was a store, if the processor reports that. */
static bool is_store(const ucontext_t *context)
{
#if defined(__x86_64__)
    return context->uc_mcontext.gregs[REG_ERR] & 2;
#else
    (void)context;
    return true;
#endif
}

static bool is_frozen(unsigned now, uintptr_t address)
{
    return now % 2 == 1 && address >= atomic_load(&frozen_start) &&
           address < atomic_load(&frozen_end);
}

/* A store that failed in a window may be reported when the window is over. It is one of those if
 * nothing speaks against it now. */
static bool is_late(uintptr_t address)
{
    struct rsmcore_vma vma;
    return address >= atomic_load(&ever_start) && address < atomic_load(&ever_end) &&
           rsmcore_vma_from(address, &vma) && vma.start <= address && (vma.protection & PROT_WRITE);
}

/* Whether a store to the address failed because of a freeze; returns when it can be tried again.
 * What was seen while a window began or ended says nothing and is looked at once more. */
static bool is_ours(uintptr_t address)
{
    for (;;) {
        unsigned now = atomic_load(&turn);
        bool frozen = is_frozen(now, address);
        bool late = !frozen && is_late(address);
        if (late)
            return true;
        if (atomic_load(&turn) != now)
            continue;
        if (!frozen)
            return false;
        while (atomic_load(&turn) == now)
            (void)syscall(SYS_futex, &turn, FUTEX_WAIT_PRIVATE, now, NULL, NULL, 0);
        return true;
    }
}

/* If the fault is ours the store is tried again. */
static bool on_segv(siginfo_t *info, void *context)
{
    if (info->si_code != SEGV_ACCERR || !is_store(context))
        return false;
    atomic_fetch_add(&deciding, 1);
    bool ours = is_ours((uintptr_t)info->si_addr);
    atomic_fetch_sub(&deciding, 1);
    return ours;
}

/* In a child: the swap goes on in the parent alone. */
static void remove_handler(void)
{
    rsmcore_faultchain_remove(on_segv);
}

/* Held from freeze() to thaw(), and while the handler is installed or restored: a child must not
 * find frozen memory that no thread in it thaws, nor a half-done change of handlers. */
RSMCORE_FORK_PART(window, RSMCORE_FORK_FREEZE, remove_handler);

enum rsm_status rsmcore_segvwait_begin(void)
{
    rsmcore_fork_lock(&window);
    bool installed = rsmcore_faultchain_add(on_segv);
    int error = errno;
    rsmcore_fork_unlock(&window);
    return installed ? RSM_ST_OK : rsmcore_status_from_errno(error);
}

void rsmcore_segvwait_end(void)
{
    if (!rsmcore_quiet_wait(QUIET_LIMIT_MS))
        return;
    rsmcore_fork_lock(&window);
    if (atomic_load(&deciding) != 0) { /* the next end() restores the handler */
        rsmcore_fork_unlock(&window);
        return;
    }
    rsmcore_faultchain_remove(on_segv);
    atomic_store(&ever_start, UINTPTR_MAX);
    atomic_store(&ever_end, 0);
    rsmcore_fork_unlock(&window);
}

enum rsm_status rsmcore_segvwait_freeze(uintptr_t address, size_t length, int protection)
{
    rsmcore_fork_lock(&window);
    if (address < atomic_load(&ever_start))
        atomic_store(&ever_start, address);
    if (address + length > atomic_load(&ever_end))
        atomic_store(&ever_end, address + length);
    atomic_store(&frozen_start, address);
    atomic_store(&frozen_end, address + length);
    atomic_fetch_add(&turn, 1);
    if (mprotect((void *)address, length, (protection & ~PROT_WRITE) | PROT_READ) == 0)
        return RSM_ST_OK;
    int error = errno;
    (void)mprotect((void *)address, length, protection);
    rsmcore_segvwait_thaw();
    return rsmcore_status_from_errno(error);
}

void rsmcore_segvwait_thaw(void)
{
    atomic_fetch_add(&turn, 1);
    (void)syscall(SYS_futex, &turn, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
    rsmcore_fork_unlock(&window);
}
