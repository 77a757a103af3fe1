/* SPDX-License-Identifier: BSD-3-Clause */
#include "sandbox.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

/* Numbers of the kernel's interface that older headers lack. */
#define USER_MODE_ONLY  1u
#define NEW_USERFAULTFD _IO(0xAA, 0x00)

enum { NOT_GRANTED = 1 };

#define LOAD(member)       BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, member))
#define IF_IS(value, t, f) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (value), (t), (f))

const char *sandbox_name(enum sandbox sandbox)
{
    static const char *const names[SANDBOXES] = {
        [SANDBOX_NONE] = "all of userfaultfd",
        [SANDBOX_USER_FAULTS] = "userfaultfd in user mode",
        [SANDBOX_NO_FAULTFD] = "no userfaultfd",
    };
    return names[sandbox];
}

static bool has_user_faults(void)
{
    int fd = (int)syscall(SYS_userfaultfd, USER_MODE_ONLY);
    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

static int enter(void *bytes)
{
    const enum sandbox *sandbox = bytes;
    unsigned allowed = *sandbox == SANDBOX_USER_FAULTS ? USER_MODE_ONLY : 0;
    struct sock_filter program[] = {
        LOAD(nr),
        IF_IS(SYS_userfaultfd, 0, 3),
        LOAD(args[0]),
        BPF_STMT(BPF_ALU | BPF_AND | BPF_K, allowed),
        IF_IS(USER_MODE_ONLY, 4, 3), /* allow : refuse */
        IF_IS(SYS_ioctl, 0, 3),
        LOAD(args[1]),
        IF_IS(NEW_USERFAULTFD, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog filter = {.len = sizeof program / sizeof program[0], .filter = program};
    if (*sandbox == SANDBOX_USER_FAULTS && !has_user_faults())
        return NOT_GRANTED;
    NEED(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    NEED(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &filter) == 0);
    NEED(syscall(SYS_userfaultfd, 0) < 0 && errno == EPERM);
    NEED(has_user_faults() == (*sandbox == SANDBOX_USER_FAULTS));
    return 0;
}

void sandbox_enter(struct actor *actor, enum sandbox sandbox)
{
    if (sandbox == SANDBOX_NONE)
        return;
    int entered = actor_run(actor, enter, &sandbox, sizeof sandbox);
    if (entered == NOT_GRANTED) {
        print_message("    not run: this system grants no userfaultfd\n");
        skip();
    }
    assert_int_equal(entered, 0);
}
