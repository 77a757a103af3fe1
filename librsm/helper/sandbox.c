/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <grp.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pwd.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/log.h"
#include "helper/program.h"

#if defined(__x86_64__)
#define ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCHITECTURE AUDIT_ARCH_AARCH64
#elif defined(__riscv) && __riscv_xlen == 64
#define ARCHITECTURE AUDIT_ARCH_RISCV64
#elif defined(__powerpc64__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define ARCHITECTURE AUDIT_ARCH_PPC64LE
#elif defined(__s390x__)
#define ARCHITECTURE AUDIT_ARCH_S390X
#endif

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#undef ARCHITECTURE /* sanitizers need more system calls than can be listed */
#endif

/* ------------------------------------------------------------------ the user */

static bool leave_root(const char *name)
{
    enum { OVERFLOW_ID = 65534 };
    uid_t uid = OVERFLOW_ID;
    gid_t gid = OVERFLOW_ID;
    const struct passwd *user = geteuid() == 0 ? getpwnam(name) : NULL;
    if (geteuid() != 0)
        return true;
    if (user != NULL && user->pw_uid != 0) {
        uid = user->pw_uid;
        gid = user->pw_gid;
    }
    if (setgroups(0, NULL) == 0 && setresgid(gid, gid, gid) == 0 && setresuid(uid, uid, uid) == 0)
        return setuid(0) != 0;
    if (errno == EPERM)
        return true;
    rsm_log_error("the user cannot be changed: %s", strerror(errno));
    return false;
}

/* ------------------------------------------------------------------ system calls */

#ifdef ARCHITECTURE
#define WORD(member) (uint32_t) offsetof(struct seccomp_data, member)
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define LOW_HALF 0
#else
#define LOW_HALF 4
#endif

static const int loop_calls[] = {
    SYS_recvfrom,      SYS_recvmsg,         SYS_sendmsg,      SYS_epoll_pwait,
#ifdef SYS_epoll_wait
    SYS_epoll_wait,
#endif
    SYS_epoll_ctl,     SYS_shutdown,        SYS_fcntl,        SYS_close,       SYS_munmap,
    SYS_brk,           SYS_mremap,          SYS_madvise,      SYS_futex,       SYS_getrandom,
    SYS_getpid, /* OpenSSL's random numbers: whether this is a child */
    SYS_clock_gettime, SYS_restart_syscall, SYS_rt_sigreturn, SYS_exit,        SYS_exit_group,
#ifdef __s390x__ /* its mmap has the arguments in memory, where a filter does not see them */
    SYS_mmap,
#endif
};

enum {
    LOOP_CALLS = sizeof loop_calls / sizeof loop_calls[0],
    FRAME = 16, /* instructions before and behind the calls, and more */
    PROGRAM_MAX = 2 * (LOOP_CALLS + RSM_HELPER_CALLS_MAX) + FRAME,
};

struct program {
    struct sock_filter steps[PROGRAM_MAX];
    unsigned short length;
};

static void add(struct program *program, const struct sock_filter *steps, unsigned short count)
{
    memcpy(program->steps + program->length, steps, count * sizeof *steps);
    program->length = (unsigned short)(program->length + count);
}

static void allow(struct program *program, const int *calls, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct sock_filter steps[] = {
            BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)calls[i], 0, 1),
            BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        };
        add(program, steps, 2);
    }
}

static bool restrict_calls(const int *calls, size_t count)
{
    static const struct sock_filter head[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, WORD(arch)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARCHITECTURE, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, WORD(nr)),
    };
    static const struct sock_filter rest[] = {
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mmap, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, WORD(args[2]) + LOW_HALF),
        BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, PROT_EXEC, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct program program = {.length = 0};
    if (count > RSM_HELPER_CALLS_MAX) {
        errno = E2BIG;
        return false;
    }
    add(&program, head, sizeof head / sizeof head[0]);
    allow(&program, loop_calls, LOOP_CALLS);
    allow(&program, calls, count);
    add(&program, rest, sizeof rest / sizeof rest[0]);
    const struct sock_fprog filter = {program.length, program.steps};
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}
#else
static bool restrict_calls(const int *calls, size_t count)
{
    (void)calls, (void)count;
    return true;
}
#endif

bool rsm_helper_enter_sandbox(const char *user, const int *calls, size_t count)
{
    const struct rlimit none = {0, 0};
    if (!leave_root(user))
        return false;
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0 ||
        setrlimit(RLIMIT_CORE, &none) != 0) {
        rsm_log_error("privileges cannot be given up: %s", strerror(errno));
        return false;
    }
    if (restrict_calls(calls, count) || errno == EINVAL) /* a kernel without filters */
        return true;
    rsm_log_error("the filter of system calls: %s", strerror(errno));
    return false;
}
