/* SPDX-License-Identifier: BSD-3-Clause */
#include "mapping/mapping_internal.h"

#include <signal.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/log.h"
#include "mapping/decode.h"

enum { NONE, SEEN, REPORTED };

static atomic_int first = NONE;

/* As the kernel does for a fault: a handler gets it, and nothing can keep it from coming. */
static void raise_sigbus(ucontext_t *context, uintptr_t address)
{
    struct sigaction action;
    siginfo_t info = {.si_signo = SIGBUS, .si_code = BUS_OBJERR};
    info.si_addr = (void *)address;
    bool blocked = sigismember(&context->uc_sigmask, SIGBUS) == 1;
    (void)sigaction(SIGBUS, NULL, &action);
    bool ignored = !(action.sa_flags & SA_SIGINFO) && action.sa_handler == SIG_IGN;
    if (blocked || ignored)
        (void)sigaction(SIGBUS, &(struct sigaction){.sa_handler = SIG_DFL}, NULL);
    sigdelset(&context->uc_sigmask, SIGBUS);
    (void)syscall(SYS_rt_tgsigqueueinfo, getpid(), syscall(SYS_gettid), SIGBUS, &info);
}

bool mapping_atomics_refuse(const struct mapping_options *options, ucontext_t *context,
                            uintptr_t address)
{
    int none = NONE;
    bool refuse = options->atomics == MAPPING_ATOMICS_SIGBUS;
    if ((!refuse && atomic_load(&first) != NONE) || !mapping_is_atomic(context))
        return false;
    if (refuse)
        raise_sigbus(context, address);
    else
        atomic_compare_exchange_strong(&first, &none, SEEN);
    return refuse;
}

void mapping_report_blocked(void)
{
    static atomic_flag reported = ATOMIC_FLAG_INIT;
    if (!atomic_flag_test_and_set(&reported))
        rsm_log_info("a thread that blocks the engine's signal stores to a mapping: a store of the "
                     "same value may be lost, see rsm_map(7)");
}

void mapping_atomics_report(void)
{
    int seen = SEEN;
    if (atomic_compare_exchange_strong(&first, &seen, REPORTED))
        rsm_log_warning("a locked instruction on a mapping: it is atomic among the threads of this "
                        "process, not with the peer, see rsm_map(7)");
}
