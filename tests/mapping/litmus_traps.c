/* SPDX-License-Identifier: BSD-3-Clause */
/* Traps that cannot be had: mapping is refused, and nothing else is. */
#include "litmus.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

/* Newer than the headers that this must build with. */
#define NEW_USERFAULTFD _IO(0xAA, 0x00)

#define LOAD(member)       BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, member))
#define IF_IS(value, t, f) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (value), (t), (f))

/* As in many containers. */
static void forbid_userfaultfd(void)
{
    struct sock_filter program[] = {
        LOAD(nr),
        IF_IS(SYS_userfaultfd, 3, 0),
        IF_IS(SYS_ioctl, 0, 3),
        LOAD(args[1]),
        IF_IS(NEW_USERFAULTFD, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog filter = {.len = sizeof program / sizeof program[0], .filter = program};
    CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    CHECK(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &filter) == 0);
    CHECK(!has_faultfd(false) && !has_faultfd(true));
}

static void nothing(void)
{
}

/* Also where the kernel has not what it takes, without any filter. */
static void trap_refused(void)
{
    if (trap_is("signal"))
        litmus_skip("this trap is possible everywhere");
    bed_start_refused(has_faultfd(false) ? forbid_userfaultfd : nothing);
    bed_end();
}

static void choose_precise(void)
{
    setenv("RSM_MAP_MODE", "precise", 1);
}

static void precise_refused(void)
{
    if (instructions_are_decoded() || !accesses_are_refused())
        litmus_skip("instructions are decoded");
    bed_start_refused(choose_precise);
    bed_end();
}

static void choose_mirror(void)
{
    setenv("RSM_MAP_MODE", "mirror", 1);
    if (has_notes())
        forbid_userfaultfd();
}

/* Like the traps that cannot be had. */
static void mirror_refused(void)
{
    bed_start_refused(choose_mirror);
    bed_end();
}

static void choose_off(void)
{
    setenv("RSM_MAP_MODE", "off", 1);
}

static void off(void)
{
    bed_start_refused(choose_off);
    bed_end();
}

const struct litmus litmus_traps[] = {
    {"trap_refused", trap_refused},
    {"precise_refused", precise_refused},
    {"mirror_refused", mirror_refused},
    {"off", off},
    {NULL, NULL},
};
