/* SPDX-License-Identifier: BSD-3-Clause */
#include "mapping/signal.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include "mapping/mapping_internal.h"

/* The code of a signal of ours; those that the program sends have others. */
enum { CODE = -0x5253 };

enum { PROGRESS = 256 };
static atomic_uint progress[PROGRESS]; /* by the number of the thread */

enum { CANCELLATION = 32 }; /* the C library's signal for pthread_cancel(3) */

/* Whether the two signals came at once: ours is handled first, on top of the other one's handler,
 * which has not begun. A change of the thread's cancellation type would wait for that one for ever.
 * It goes first; if the thread is not cancelled then, its store faults again. */
static bool is_being_cancelled(const ucontext_t *interrupted)
{
    return sigismember(&interrupted->uc_sigmask, CANCELLATION) == 1;
}

static void on_signal(int signal, siginfo_t *info, void *context)
{
    (void)signal;
    if (is_being_cancelled(context))
        return;
    RSM_UNCANCELLABLE;
    int error = errno;
    if (info->si_code == CODE &&
        mapping_trap_store((uintptr_t)info->si_value.sival_ptr, (uint32_t)info->si_pid, context))
        atomic_fetch_add(&progress[(unsigned)syscall(SYS_gettid) % PROGRESS], 1);
    errno = error;
}

unsigned mapping_signal_progress(pid_t thread)
{
    return atomic_load(&progress[(unsigned)thread % PROGRESS]);
}

/* ---------------------------------------------------------------- its action */

#if defined(__x86_64__) || defined(__aarch64__)

/* The kernel's form of struct sigaction. Not by the C library's function: there are libraries that
 * take its place to put their own handler first, which may run ours later and elsewhere. */
struct action {
    void (*handler)(int signal, siginfo_t *info, void *context);
    unsigned long flags;
    void (*restorer)(void);
    uint64_t mask;
};

#if defined(__x86_64__)

enum { HAS_RESTORER = 0x04000000 }; /* SA_RESTORER */

/* Debuggers know the end of a handler by these very bytes. */
void mapping_signal_return(void) __attribute__((visibility("hidden")));
__asm__(".pushsection .text\n"
        "    .p2align 4\n"
        "    nop\n"
        "    .hidden mapping_signal_return\n"
        "    .globl mapping_signal_return\n"
        "    .type mapping_signal_return, @function\n"
        "mapping_signal_return:\n"
        "    movq $15, %rax\n" /* rt_sigreturn */
        "    syscall\n"
        "    .size mapping_signal_return, . - mapping_signal_return\n"
        "    .popsection\n");

#else

enum { HAS_RESTORER = 0 }; /* the kernel brings its own end of a handler */
#define mapping_signal_return NULL

#endif

static bool swap(int signal, const struct action *action, struct action *before)
{
    return syscall(SYS_rt_sigaction, signal, action, before, sizeof action->mask) == 0;
}

static bool is_ours(int signal)
{
    struct action present;
    return swap(signal, NULL, &present) && present.handler == on_signal;
}

/* SIG_DFL is 0. */
static bool is_free(const struct action *action)
{
    return action->handler == NULL;
}

/* The C library's own signals, 32 and 33, which sigfillset(3) leaves out, too: a thread that is
 * being cancelled waits for its signal wherever it changes its cancellation type. */
#define ALL_BUT_LIBC UINT64_C(0xfffffffe7fffffff)

/* All other signals are blocked in the handler, as in that of SIGSEGV. It stays for the rest of the
 * process's life: a signal may be on its way. Not on an alternate stack: many programs give each
 * thread one that is just large enough for a handler of their own. */
static bool claim(int signal)
{
    const struct action action = {.handler = on_signal,
                                  .flags = SA_SIGINFO | SA_RESTART | HAS_RESTORER,
                                  .restorer = mapping_signal_return,
                                  .mask = ALL_BUT_LIBC};
    struct action present;
    if (!swap(signal, NULL, &present) || !is_free(&present) || !swap(signal, &action, &present))
        return false;
    if (is_free(&present))
        return true;
    (void)swap(signal, &present, NULL); /* another thread was faster */
    return present.handler == on_signal;
}

#else

static bool is_ours(int signal)
{
    (void)signal;
    return false;
}

static bool claim(int signal)
{
    (void)signal, (void)on_signal;
    return false;
}

#endif

/* SIGURG is the first choice: debuggers let it pass, and where the program takes it back it does no
 * harm. */
int mapping_signal(void)
{
    static atomic_int chosen;
    int signal = atomic_load(&chosen);
    if (signal != 0 && is_ours(signal))
        return signal;
    signal = SIGURG;
    if (!is_ours(signal) && !claim(signal))
        for (signal = SIGRTMAX; signal >= SIGRTMIN && !is_ours(signal) && !claim(signal); signal--)
            ;
    signal = signal >= SIGRTMIN || signal == SIGURG ? signal : 0;
    atomic_store(&chosen, signal);
    return signal;
}

bool mapping_signal_send(pid_t thread, int signal, uintptr_t address, uint64_t pc)
{
    siginfo_t info;
    memset(&info, 0, sizeof info);
    info.si_signo = signal;
    info.si_code = CODE;
    info.si_pid = (pid_t)(uint32_t)pc;
    info.si_value.sival_ptr = (void *)address;
    return syscall(SYS_rt_tgsigqueueinfo, getpid(), thread, signal, &info) == 0;
}
