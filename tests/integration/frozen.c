/* SPDX-License-Identifier: BSD-3-Clause */
#include "frozen.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    FUSE_MAJOR_NUMBER = 10,
    FUSE_MINOR_NUMBER = 229,
    READY_MS = 20000,
    PROBE_MS = 300,
    TICK_MS = 10,
    LONGEST_S = 250,
    NOBODY = 65534
};

static const char place[] = "/tmp"; /* in a mount name space of the test's own */
static char device[128], target[128];

static void pause_ms(int ms)
{
    const struct timespec pause = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L};
    nanosleep(&pause, NULL);
}

char process_state(pid_t pid)
{
    char path[64], line[256], state = '?';
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return '?';
    const char *name_end = fgets(line, sizeof line, file) != NULL ? strrchr(line, ')') : NULL;
    if (name_end != NULL)
        sscanf(name_end, ") %c", &state);
    fclose(file);
    return state;
}

static bool write_text(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    bool written = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
    if (fd >= 0)
        close(fd);
    return written;
}

static bool become_root_of_own(void)
{
    char users[64], groups[64];
    snprintf(users, sizeof users, "0 %u 1", (unsigned)geteuid());
    snprintf(groups, sizeof groups, "0 %u 1", (unsigned)getegid());
    /* Who has changed his user cannot write his own files below /proc. */
    return prctl(PR_SET_DUMPABLE, 1) == 0 && unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0 &&
           write_text("/proc/self/setgroups", "deny") && write_text("/proc/self/uid_map", users) &&
           write_text("/proc/self/gid_map", groups);
}

/* Whether unprivileged users may; a process of their own tries it. */
static bool may_have_own_root(void)
{
    int status = 1;
    pid_t pid = fork();
    if (pid == 0)
        _exit(setgid(NOBODY) == 0 && setuid(NOBODY) == 0 && become_root_of_own() ? 0 : 1);
    return pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) &&
           WEXITSTATUS(status) == 0;
}

/* The device file of the system may be root's alone. */
const char *frozen_prepare(void)
{
    char directory[64];
    snprintf(directory, sizeof directory, "%s/rsm-frozen-XXXXXX", place);
    if (access("/dev/fuse", F_OK) != 0)
        return "there is no /dev/fuse";
    if (!may_have_own_root())
        return "unprivileged users may not have user name spaces";
    if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0)
        return "mount name spaces are not permitted";
    if (mkdtemp(directory) == NULL || mount("none", directory, "tmpfs", 0, "mode=755") != 0)
        return "nothing can be mounted";
    snprintf(device, sizeof device, "%s/fuse", directory);
    snprintf(target, sizeof target, "%s/file", directory);
    int fd = open(target, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (fd < 0 || fchmod(fd, 0666) != 0 || close(fd) != 0 ||
        mknod(device, S_IFCHR | 0666, makedev(FUSE_MAJOR_NUMBER, FUSE_MINOR_NUMBER)) != 0 ||
        chmod(device, 0666) != 0)
        return "device files cannot be made";
    return NULL;
}

/* ------------------------------------------------------------------ the server */

static void reply(int fd, uint64_t unique, int error, const void *bytes, size_t length)
{
    char packet[512];
    struct fuse_out_header header = {
        .len = (uint32_t)(sizeof header + length), .error = error, .unique = unique};
    memcpy(packet, &header, sizeof header);
    if (length > 0)
        memcpy(packet + sizeof header, bytes, length);
    ssize_t ignored = write(fd, packet, sizeof header + length);
    (void)ignored;
}

static void answer(int fd, const struct fuse_in_header *asked)
{
    const struct fuse_init_out begun = {
        .major = FUSE_KERNEL_VERSION, .minor = 31, .max_write = 4096};
    const struct fuse_attr_out about = {
        .attr_valid = 1000000,
        .attr = {.ino = 1, .size = 1 << 20, .mode = S_IFREG | 0666, .nlink = 1, .blksize = 4096}};
    const struct fuse_open_out opened = {.fh = 1};
    switch (asked->opcode) {
    case FUSE_INIT:
        reply(fd, asked->unique, 0, &begun, sizeof begun);
        break;
    case FUSE_GETATTR:
        reply(fd, asked->unique, 0, &about, sizeof about);
        break;
    case FUSE_OPEN:
        reply(fd, asked->unique, 0, &opened, sizeof opened);
        break;
    case FUSE_FLUSH:
    case FUSE_RELEASE:
    case FUSE_ACCESS:
        reply(fd, asked->unique, 0, NULL, 0);
        break;
    case FUSE_READ: /* never */
    case FUSE_FORGET:
    case FUSE_BATCH_FORGET:
    case FUSE_INTERRUPT:
        break;
    default:
        reply(fd, asked->unique, -ENOSYS, NULL, 0);
    }
}

static void serve(int fd)
{
    static union {
        struct fuse_in_header header;
        char bytes[1 << 17];
    } request;
    for (;;) {
        ssize_t got = read(fd, request.bytes, sizeof request.bytes);
        if (got >= (ssize_t)sizeof request.header)
            answer(fd, &request.header);
        else if (got < 0 && errno != EINTR && errno != EAGAIN && errno != ENOENT)
            _exit(0);
    }
}

/* ------------------------------------------------------------------ holders */

static void hold(int fd, char *page)
{
    struct stat file;
    if (fstat(fd, &file) != 0)
        _exit(1);
    /* Again and again, should one be of no use yet. */
    for (;;) {
        ssize_t ignored = S_ISSOCK(file.st_mode) ? recv(fd, page, 1, 0) : write(fd, page, 1);
        if (ignored < 0 && (errno == EBADF || errno == EPIPE || errno == EINVAL))
            ignored = S_ISSOCK(file.st_mode) ? send(fd, page, 1, MSG_NOSIGNAL) : read(fd, page, 1);
        if (ignored <= 0)
            pause_ms(TICK_MS);
    }
}

static void end_well(int signal)
{
    _exit(0);
}

/* It outlives whoever has started it, but not the test. */
static int child_of(pid_t group, bool leader)
{
    pid_t pid = fork();
    if (pid == 0) {
        setpgid(0, leader ? 0 : group);
        signal(SIGPIPE, SIG_IGN);
        signal(SIGTERM, end_well);
        signal(SIGALRM, end_well);
        alarm(LONGEST_S);
    }
    return pid;
}

/* The first process of the group: mounts, and begins the others. */
static void hold_all(const int *fds, unsigned count, int report)
{
    char options[128];
    if (!become_root_of_own())
        _exit(2);
    int fuse = open(device, O_RDWR | O_CLOEXEC);
    snprintf(options, sizeof options, "fd=%d,rootmode=100000,user_id=0,group_id=0", fuse);
    if (fuse < 0 || mount("frozen", target, "fuse", MS_NOSUID | MS_NODEV, options) != 0)
        _exit(3);
    if (child_of(getpgrp(), false) == 0)
        serve(fuse);
    close(fuse);
    int file = open(target, O_RDWR | O_CLOEXEC);
    char *pages = file >= 0
                      ? mmap(NULL, FROZEN_MAX * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE, file, 0)
                      : MAP_FAILED;
    struct stat about; /* by which the kernel learns the size */
    if (pages == MAP_FAILED || fstat(file, &about) != 0 || about.st_size < FROZEN_MAX * 4096)
        _exit(4);
    for (unsigned i = 0; i < count; i++)
        if (child_of(getpgrp(), false) == 0)
            hold(fds[i], pages + (size_t)i * 4096);
    if (write(report, "", 1) != 1)
        _exit(5);
    for (;;)
        pause();
}

pid_t frozen_begin(const int *fds, unsigned count)
{
    int report[2];
    char byte;
    if (count > FROZEN_MAX || pipe2(report, O_CLOEXEC) != 0)
        return -1;
    pid_t pid = child_of(0, true);
    if (pid == 0) {
        close(report[0]);
        hold_all(fds, count, report[1]);
    }
    close(report[1]);
    struct pollfd readable = {.fd = report[0], .events = POLLIN};
    bool begun = pid > 0 && poll(&readable, 1, READY_MS) == 1 && read(report[0], &byte, 1) == 1;
    close(report[0]);
    if (!begun && pid > 0) {
        int status = 0;
        kill(pid, SIGKILL);
        waitpid(pid, &status, 0);
        fprintf(stderr, "frozen: exit status %d\n", WEXITSTATUS(status));
        return -1;
    }
    pause_ms(PROBE_MS); /* for all to be where they are to stay */
    return begun ? pid : -1;
}

bool frozen_holds(pid_t frozen, int fd)
{
    pid_t pid = child_of(frozen, false);
    if (pid == 0) {
        ssize_t ignored = pwrite(fd, "", 1, 1024);
        (void)ignored;
        _exit(0);
    }
    for (int waited = 0; waited < PROBE_MS; waited += TICK_MS) {
        if (waitpid(pid, NULL, WNOHANG) == pid)
            return false;
        pause_ms(TICK_MS);
    }
    return process_state(pid) == 'D';
}

void frozen_end(pid_t frozen)
{
    if (frozen > 0)
        kill(-frozen, SIGTERM);
}
