/* SPDX-License-Identifier: BSD-3-Clause */
/* What a mistake in serving could be used for is taken away before the first byte of an importer
 * arrives. */
#include <errno.h>
#include <grp.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pwd.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/log.h"
#include "transport/tcp/server/server.h"

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

/* Without the user that packages make, the uid is one that owns nothing. rsmd may run without the
 * privilege to change the user. rsm-tcpd then has rsmd's user, and what follows takes the rest. */
static bool leave_root(void)
{
    enum { OVERFLOW_ID = 65534 };
    uid_t uid = OVERFLOW_ID;
    gid_t gid = OVERFLOW_ID;
    const struct passwd *user = geteuid() == 0 ? getpwnam("rsm-tcpd") : NULL;
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
#define ALLOW         BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
#define IF_CALL(name) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##name, 0, 1), ALLOW

/* Those of the event loop, of the C library's allocator and of an end. Memory is never executed,
 * and nothing is opened: what is not listed fails with EPERM. */
static bool restrict_calls(void)
{
    struct sock_filter program[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, WORD(arch)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARCHITECTURE, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, WORD(nr)),
        IF_CALL(recvfrom),
        IF_CALL(sendmsg),
        IF_CALL(recvmsg),
        IF_CALL(epoll_pwait),
#ifdef SYS_epoll_wait
        IF_CALL(epoll_wait),
#endif
        IF_CALL(epoll_ctl),
        IF_CALL(accept4),
        IF_CALL(shutdown),
        IF_CALL(setsockopt),
        IF_CALL(close),
        IF_CALL(munmap),
        IF_CALL(brk),
        IF_CALL(mremap),
        IF_CALL(madvise),
        IF_CALL(fcntl),
        IF_CALL(futex),
        IF_CALL(getrandom),
        IF_CALL(getpid), /* OpenSSL's random numbers: whether this is a child */
        IF_CALL(clock_gettime),
        IF_CALL(restart_syscall),
        IF_CALL(rt_sigreturn),
        IF_CALL(exit),
        IF_CALL(exit_group),
#ifdef __s390x__ /* its mmap has the arguments in memory, where a filter does not see them */
        IF_CALL(mmap),
#endif
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mmap, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, WORD(args[2]) + LOW_HALF),
        BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, PROT_EXEC, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        ALLOW,
    };
    const struct sock_fprog filter = {sizeof program / sizeof program[0], program};
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}
#else
static bool restrict_calls(void)
{
    return true;
}
#endif

bool tcp_sandbox_enter(void)
{
    const struct rlimit none = {0, 0};
    if (!leave_root())
        return false;
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0 ||
        setrlimit(RLIMIT_CORE, &none) != 0) {
        rsm_log_error("privileges cannot be given up: %s", strerror(errno));
        return false;
    }
    if (restrict_calls() || errno == EINVAL) /* a kernel without filters */
        return true;
    rsm_log_error("the filter of system calls: %s", strerror(errno));
    return false;
}
