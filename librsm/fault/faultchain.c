/* SPDX-License-Identifier: BSD-3-Clause */
#include "fault/faultchain.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <ucontext.h>

/* The handlers below ours, oldest first. There is more than one when the application installs its
 * own while ours is in place: that one may hand on to ours, and ours must then go on to the one
 * that was there first instead of back to the application's. */
#define CHAIN_MAX 8
static struct chain {
    struct sigaction below[CHAIN_MAX];
    _Atomic unsigned below_count;
    rsmcore_fault_handler installed;
} chains[2];

/* The fault of either chain that this thread is handing on at present. */
static __thread struct {
    const void *context;
    uintptr_t frame;
    unsigned level; /* index into below */
} handing_on[2] __attribute__((tls_model("initial-exec")));

static unsigned number_of(int signal)
{
    return signal == SIGBUS ? 1 : 0;
}

static bool same_action(const struct sigaction *a, const struct sigaction *b)
{
    return a->sa_sigaction == b->sa_sigaction && a->sa_flags == b->sa_flags;
}

static void push(struct chain *chain, const struct sigaction *action)
{
    unsigned count = atomic_load(&chain->below_count);
    if (count > 0 && same_action(&chain->below[count - 1], action))
        return;
    if (count == CHAIN_MAX) { /* the oldest ones but the first are the least likely to be needed */
        memmove(&chain->below[1], &chain->below[2], (CHAIN_MAX - 2) * sizeof chain->below[0]);
        count--;
    }
    chain->below[count] = *action;
    atomic_store(&chain->below_count, count + 1);
}

static bool is_function(const struct sigaction *action)
{
    return (action->sa_flags & SA_SIGINFO) ||
           (action->sa_handler != SIG_DFL && action->sa_handler != SIG_IGN);
}

bool rsmcore_faultchain_install(int signal, rsmcore_fault_handler handler)
{
    struct chain *chain = &chains[number_of(signal)];
    struct sigaction present;
    if (sigaction(signal, NULL, &present) != 0)
        return false;
    if ((present.sa_flags & SA_SIGINFO) && present.sa_sigaction == handler)
        return true;
    push(chain, &present);

    /* All signals are blocked in the handler: another handler on top of a waiting thread could
     * fault in its turn, which the kernel answers with death. */
    struct sigaction action = {.sa_sigaction = handler,
                               .sa_flags = SA_SIGINFO | (present.sa_flags & SA_RESTART)};
    if (!is_function(&present) || (present.sa_flags & SA_ONSTACK))
        action.sa_flags |= SA_ONSTACK;
    sigfillset(&action.sa_mask);
    if (sigaction(signal, &action, NULL) != 0)
        return false;
    chain->installed = handler;
    return true;
}

void rsmcore_faultchain_restore(int signal)
{
    struct chain *chain = &chains[number_of(signal)];
    struct sigaction present;
    unsigned count = atomic_load(&chain->below_count);
    if (chain->installed == NULL || sigaction(signal, NULL, &present) != 0)
        return;
    if ((present.sa_flags & SA_SIGINFO) && present.sa_sigaction == chain->installed) {
        (void)sigaction(signal, &chain->below[count - 1], NULL);
        chain->installed = NULL;
    }
}

static void take_default_action(int signal, const siginfo_t *info)
{
    (void)sigaction(signal, &(struct sigaction){.sa_handler = SIG_DFL}, NULL);
    /* A fault happens again when the instruction does, a signal that was sent has to be sent again;
     * it is delivered when the handler returns. */
    if (info->si_code <= 0)
        (void)pthread_kill(pthread_self(), signal);
}

/* The mask that the action's handler would run with. */
static void enter_mask_of(const struct sigaction *action, int signal, const ucontext_t *context)
{
    sigset_t mask;
    sigorset(&mask, &context->uc_sigmask, &action->sa_mask);
    if (!(action->sa_flags & SA_NODEFER))
        sigaddset(&mask, signal);
    (void)pthread_sigmask(SIG_SETMASK, &mask, NULL);
}

static void call(struct sigaction *action, int signal, siginfo_t *info, void *context)
{
    struct sigaction copy = *action;
    if (copy.sa_flags & (int)SA_RESETHAND)
        *action = (struct sigaction){.sa_handler = SIG_DFL};
    enter_mask_of(&copy, signal, context);
    if (copy.sa_flags & SA_SIGINFO)
        copy.sa_sigaction(signal, info, context);
    else
        copy.sa_handler(signal);
}

void rsmcore_faultchain_next(int signal, siginfo_t *info, void *context)
{
    unsigned number = number_of(signal);
    struct chain *chain = &chains[number];
    uintptr_t frame = (uintptr_t)__builtin_frame_address(0);
    unsigned level = atomic_load(&chain->below_count) - 1;
    /* Called again for the fault that is being handed on: the outer call is further up the same
     * stack. A handler that was left by siglongjmp() is not, so this is no counter. */
    if (handing_on[number].context == context && frame < handing_on[number].frame)
        level = handing_on[number].level > 0 ? handing_on[number].level - 1 : 0;
    struct sigaction *action = &chain->below[level];

    if (!is_function(action)) {
        if (action->sa_handler == SIG_DFL || info->si_code > 0)
            take_default_action(signal, info);
        return;
    }
    handing_on[number].context = context;
    handing_on[number].frame = frame;
    handing_on[number].level = level;
    call(action, signal, info, context);
    handing_on[number].context = NULL;
}
