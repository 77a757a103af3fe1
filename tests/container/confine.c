/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * confine COMMAND...: run a command with the capabilities and system calls that Docker and Podman leave a container by
 * default. Calls that their profile does not know, or allows only with capabilities that the container has not, fail with
 * EPERM; clone3 with ENOSYS, as no filter sees its flags. Needs root.
 */
#include <errno.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define NAMESPACES                                                                                 \
    (CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID |  \
     CLONE_NEWNET)

static const int capabilities[] = {
    CAP_CHOWN,      CAP_DAC_OVERRIDE, CAP_FOWNER,      CAP_FSETID,           CAP_KILL,
    CAP_SETGID,     CAP_SETUID,       CAP_SETPCAP,     CAP_NET_BIND_SERVICE, CAP_NET_RAW,
    CAP_SYS_CHROOT, CAP_MKNOD,        CAP_AUDIT_WRITE, CAP_SETFCAP,
};

static const int refused[] = {
    SYS_acct,
    SYS_add_key,
    SYS_bpf,
    SYS_clock_adjtime,
    SYS_clock_settime,
    SYS_delete_module,
    SYS_fanotify_init,
    SYS_finit_module,
    SYS_fsconfig,
    SYS_fsmount,
    SYS_fsopen,
    SYS_fspick,
    SYS_get_mempolicy,
    SYS_init_module,
    SYS_io_uring_enter,
    SYS_io_uring_register,
    SYS_io_uring_setup,
    SYS_kcmp,
    SYS_kexec_file_load,
    SYS_kexec_load,
    SYS_keyctl,
    SYS_lookup_dcookie,
    SYS_mbind,
    SYS_mount,
    SYS_mount_setattr,
    SYS_move_mount,
    SYS_move_pages,
    SYS_name_to_handle_at,
    SYS_nfsservctl,
    SYS_open_by_handle_at,
    SYS_open_tree,
    SYS_perf_event_open,
    SYS_pidfd_getfd,
    SYS_pivot_root,
    SYS_process_madvise,
    SYS_quotactl,
    SYS_quotactl_fd,
    SYS_reboot,
    SYS_request_key,
    SYS_set_mempolicy,
    SYS_sethostname,
    SYS_setdomainname,
    SYS_setns,
    SYS_settimeofday,
    SYS_swapoff,
    SYS_swapon,
    SYS_syslog,
    SYS_umount2,
    SYS_unshare,
    SYS_userfaultfd,
    SYS_vhangup,
#ifdef __x86_64__
    SYS_create_module,
    SYS_get_kernel_syms,
    SYS_ioperm,
    SYS_iopl,
    SYS_query_module,
    SYS_sysfs,
    SYS_uselib,
    SYS_ustat,
    SYS__sysctl,
#endif
};

/* The personalities that are allowed; all others are refused. */
static const unsigned personalities[] = {0, 0x8, 0x20000, 0x20008, 0xffffffff};

static struct sock_filter program[256];
static unsigned short length;

static void statement(unsigned code, unsigned value)
{
    program[length++] = (struct sock_filter)BPF_STMT((unsigned short)code, value);
}

/* Go on behind so many statements if the comparison holds. */
static void skip_if(unsigned test, unsigned value, unsigned statements)
{
    program[length++] = (struct sock_filter)BPF_JUMP((unsigned short)(BPF_JMP | test | BPF_K),
                                                     value, (unsigned char)statements, 0);
}

static void skip_unless(unsigned test, unsigned value, unsigned statements)
{
    program[length++] = (struct sock_filter)BPF_JUMP((unsigned short)(BPF_JMP | test | BPF_K),
                                                     value, 0, (unsigned char)statements);
}

static void load(size_t offset)
{
    statement(BPF_LD | BPF_W | BPF_ABS, (unsigned)offset);
}

static void fail(unsigned error)
{
    statement(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error);
}

static void allow(void)
{
    statement(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
}

/* The lower half of an argument, on this processor's order of bytes. */
static size_t argument(unsigned number)
{
    size_t half = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? 4 : 0;
    return offsetof(struct seccomp_data, args) + 8 * number + half;
}

static void make_filter(void)
{
    load(offsetof(struct seccomp_data, nr));
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        skip_unless(BPF_JEQ, (unsigned)refused[i], 1);
        fail(EPERM);
    }
    skip_unless(BPF_JEQ, SYS_clone3, 1);
    fail(ENOSYS);
    skip_unless(BPF_JEQ, SYS_clone, 4);
    load(argument(0));
    skip_unless(BPF_JSET, NAMESPACES, 1);
    fail(EPERM);
    allow();
    const unsigned count = sizeof personalities / sizeof personalities[0];
    skip_unless(BPF_JEQ, SYS_personality, count + 3);
    load(argument(0));
    for (unsigned i = 0; i < count; i++)
        skip_if(BPF_JEQ, personalities[i], count - i);
    fail(EPERM);
    allow();
    allow();
}

static bool keeps(int capability)
{
    for (size_t i = 0; i < sizeof capabilities / sizeof capabilities[0]; i++)
        if (capabilities[i] == capability)
            return true;
    return false;
}

static bool drop_capabilities(void)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct sets[2] = {{0, 0, 0}, {0, 0, 0}};
    for (int i = 0; prctl(PR_CAPBSET_READ, i, 0, 0, 0) >= 0; i++)
        if (!keeps(i) && prctl(PR_CAPBSET_DROP, i, 0, 0, 0) < 0)
            return false;
    for (size_t i = 0; i < sizeof capabilities / sizeof capabilities[0]; i++)
        sets[capabilities[i] / 32].permitted |= 1u << (capabilities[i] % 32);
    sets[0].effective = sets[0].permitted;
    sets[1].effective = sets[1].permitted;
    return syscall(SYS_capset, &header, sets) == 0;
}

int main(int count, char **arguments)
{
    if (count < 2) {
        fprintf(stderr, "usage: confine COMMAND...\n");
        return 2;
    }
    make_filter();
    struct sock_fprog filter = {.len = length, .filter = program};
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) < 0 || !drop_capabilities()) {
        fprintf(stderr, "confine: %s\n", strerror(errno));
        return 125;
    }
    execvp(arguments[1], arguments + 1);
    fprintf(stderr, "confine: %s: %s\n", arguments[1], strerror(errno));
    return 127;
}
