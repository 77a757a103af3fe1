/* SPDX-License-Identifier: BSD-3-Clause */
#include "fault/faultchain.h"

#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <ucontext.h>

#include "base/fork.h"

enum { HANDLERS_MAX = 4, BELOW_MAX = 8 };

/* What handles SIGSEGV. The actions below ours are the application's, oldest first. There is more
 * than one when the application installs a handler while ours is in place: that one may hand on to
 * ours, and ours must then go on to the one that was there first instead of back to the
 * application's. */
static struct {
    _Atomic(rsmcore_fault_handler) ours[HANDLERS_MAX];
    struct sigaction below[BELOW_MAX];
    _Atomic unsigned below_count;
} chain;

/* Serialises changes. The signal handler never takes it. */
RSMCORE_FORK_PART(changes, RSMCORE_FORK_FAULTS, NULL);

/* The fault that this thread is handing on at present. */
static __thread struct {
    const void *context;
    uintptr_t frame;
    unsigned level; /* index into below */
} handing_on __attribute__((tls_model("initial-exec")));

static bool same_action(const struct sigaction *a, const struct sigaction *b)
{
    return a->sa_sigaction == b->sa_sigaction && a->sa_flags == b->sa_flags;
}

static void push(const struct sigaction *action)
{
    unsigned count = atomic_load(&chain.below_count);
    if (count > 0 && same_action(&chain.below[count - 1], action))
        return;
    if (count == BELOW_MAX) { /* the oldest ones but the first are the least likely to be needed */
        memmove(&chain.below[1], &chain.below[2], (BELOW_MAX - 2) * sizeof chain.below[0]);
        count--;
    }
    chain.below[count] = *action;
    atomic_store(&chain.below_count, count + 1);
}

static bool is_function(const struct sigaction *action)
{
    return (action->sa_flags & SA_SIGINFO) ||
           (action->sa_handler != SIG_DFL && action->sa_handler != SIG_IGN);
}

static void take_default_action(const siginfo_t *info)
{
    (void)sigaction(SIGSEGV, &(struct sigaction){.sa_handler = SIG_DFL}, NULL);
    /* A fault happens again when the instruction does, a signal that was sent has to be sent again;
     * it is delivered when the handler returns. */
    if (info->si_code <= 0)
        (void)pthread_kill(pthread_self(), SIGSEGV);
}

/* The mask that the action's handler would run with. */
static void enter_mask_of(const struct sigaction *action, const ucontext_t *context)
{
    sigset_t mask;
    sigorset(&mask, &context->uc_sigmask, &action->sa_mask);
    if (!(action->sa_flags & SA_NODEFER))
        sigaddset(&mask, SIGSEGV);
    (void)pthread_sigmask(SIG_SETMASK, &mask, NULL);
}

static void call(struct sigaction *action, siginfo_t *info, void *context)
{
    struct sigaction copy = *action;
    if (copy.sa_flags & (int)SA_RESETHAND)
        *action = (struct sigaction){.sa_handler = SIG_DFL};
    enter_mask_of(&copy, context);
    if (copy.sa_flags & SA_SIGINFO)
        copy.sa_sigaction(SIGSEGV, info, context);
    else
        copy.sa_handler(SIGSEGV);
}

/* Do what would have happened without us. */
static void hand_on(siginfo_t *info, void *context)
{
    uintptr_t frame = (uintptr_t)__builtin_frame_address(0);
    unsigned level = atomic_load(&chain.below_count) - 1;
    /* Called again for the fault that is being handed on: the outer call is further up the same
     * stack. A handler that was left by siglongjmp() is not, so this is no counter. */
    if (handing_on.context == context && frame < handing_on.frame)
        level = handing_on.level > 0 ? handing_on.level - 1 : 0;
    struct sigaction *action = &chain.below[level];

    if (!is_function(action)) {
        if (action->sa_handler == SIG_DFL || info->si_code > 0)
            take_default_action(info);
        return;
    }
    handing_on.context = context;
    handing_on.frame = frame;
    handing_on.level = level;
    call(action, info, context);
    handing_on.context = NULL;
}

static void on_fault(int signal, siginfo_t *info, void *context)
{
    (void)signal;
    int error = errno;
    bool ours = false;
    for (unsigned i = 0; i < HANDLERS_MAX && !ours; i++) {
        rsmcore_fault_handler handler = atomic_load(&chain.ours[i]);
        ours = handler != NULL && handler(info, context);
    }
    errno = error;
    if (!ours)
        hand_on(info, context);
}

static bool is_on_fault(const struct sigaction *action)
{
    return (action->sa_flags & SA_SIGINFO) && action->sa_sigaction == on_fault;
}

/* Put on_fault() in front of what handles SIGSEGV now. */
static bool install(void)
{
    struct sigaction present;
    if (sigaction(SIGSEGV, NULL, &present) != 0)
        return false;
    if (is_on_fault(&present))
        return true;
    push(&present);

    /* All signals are blocked in the handler: another handler on top of a waiting thread could
     * fault in its turn, which the kernel answers with death. */
    struct sigaction action = {.sa_sigaction = on_fault,
                               .sa_flags = SA_SIGINFO | (present.sa_flags & SA_RESTART)};
    if (!is_function(&present) || (present.sa_flags & SA_ONSTACK))
        action.sa_flags |= SA_ONSTACK;
    sigfillset(&action.sa_mask);
    if (sigaction(SIGSEGV, &action, &present) != 0)
        return false;
    if (!is_on_fault(&present)) /* what another thread has installed since the look goes before */
        push(&present);
    return true;
}

/* Put back what was there before, unless the application has installed its own meanwhile. */
static void restore(void)
{
    struct sigaction present;
    if (sigaction(SIGSEGV, NULL, &present) == 0 && is_on_fault(&present))
        (void)sigaction(SIGSEGV, &chain.below[atomic_load(&chain.below_count) - 1], NULL);
}

/* A signal handler of the program that interrupts a change may make one itself. */
static void lock_changes(sigset_t *before)
{
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, before);
    rsmcore_fork_lock(&changes);
}

static void unlock_changes(const sigset_t *before)
{
    rsmcore_fork_unlock(&changes);
    pthread_sigmask(SIG_SETMASK, before, NULL);
}

/* Where the handler is in the table, or a free place; HANDLERS_MAX: neither. */
static unsigned place_of(rsmcore_fault_handler handler)
{
    unsigned free_place = HANDLERS_MAX;
    for (unsigned i = HANDLERS_MAX; i-- > 0;) {
        rsmcore_fault_handler present = atomic_load(&chain.ours[i]);
        if (present == handler)
            return i;
        if (present == NULL)
            free_place = i;
    }
    return free_place;
}

static bool is_empty(void)
{
    unsigned i = 0;
    while (i < HANDLERS_MAX && atomic_load(&chain.ours[i]) == NULL)
        i++;
    return i == HANDLERS_MAX;
}

bool rsmcore_faultchain_add(rsmcore_fault_handler handler)
{
    sigset_t before;
    lock_changes(&before);
    unsigned place = place_of(handler);
    int error = place < HANDLERS_MAX ? 0 : ENOSPC;
    if (error == 0) {
        rsmcore_fault_handler old = atomic_exchange(&chain.ours[place], handler);
        if (!install()) {
            error = errno;
            atomic_store(&chain.ours[place], old);
        }
    }
    unlock_changes(&before);
    errno = error;
    return error == 0;
}

void rsmcore_faultchain_remove(rsmcore_fault_handler handler)
{
    sigset_t before;
    lock_changes(&before);
    unsigned place = place_of(handler);
    if (place < HANDLERS_MAX && atomic_load(&chain.ours[place]) == handler) {
        atomic_store(&chain.ours[place], NULL);
        if (is_empty())
            restore();
    }
    unlock_changes(&before);
}

void rsmcore_faultchain_renew(void)
{
    struct sigaction present;
    sigset_t before;
    if (sigaction(SIGSEGV, NULL, &present) != 0 || is_on_fault(&present))
        return;
    lock_changes(&before);
    if (!is_empty())
        (void)install();
    unlock_changes(&before);
}
