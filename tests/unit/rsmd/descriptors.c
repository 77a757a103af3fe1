/* SPDX-License-Identifier: BSD-3-Clause */
#include "descriptors.h"

#include <dirent.h>
#include <sys/syscall.h>

#ifndef SO_PASSRIGHTS
#define SO_PASSRIGHTS 83
#endif

bool let_descriptors_in(const struct daemon *daemon)
{
    int on = 1;
    int process = (int)syscall(SYS_pidfd_open, daemon->pid, 0);
    assert_true(process >= 0);
    bool let = true;
    for (int fd = 0; fd < 1024 && let; fd++) {
        int copy = (int)syscall(SYS_pidfd_getfd, process, fd, 0);
        let = copy >= 0 || errno != EPERM;
        if (copy < 0)
            continue;
        setsockopt(copy, SOL_SOCKET, SO_PASSRIGHTS, &on, sizeof on);
        close(copy);
    }
    close(process);
    if (!let)
        print_message("not run: descriptors of the daemon cannot be had here (pidfd_getfd)\n");
    return let;
}

int send_with(int socket, const void *bytes, size_t length, const int *fds, unsigned count)
{
    union {
        char bytes[CMSG_SPACE(sizeof(int) * FDS_IN_A_PACKET)];
        struct cmsghdr align;
    } control = {.bytes = {0}};
    struct iovec data = {.iov_base = (void *)(uintptr_t)bytes, .iov_len = length};
    struct msghdr header = {.msg_iov = &data,
                            .msg_iovlen = 1,
                            .msg_control = control.bytes,
                            .msg_controllen = CMSG_SPACE(sizeof(int) * count)};
    struct cmsghdr *rights = CMSG_FIRSTHDR(&header);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(sizeof(int) * count);
    memcpy(CMSG_DATA(rights), fds, count * sizeof *fds);
    return sendmsg(socket, &header, MSG_NOSIGNAL) < 0 ? errno : 0;
}

unsigned descriptors_of(const struct daemon *daemon)
{
    char path[64];
    unsigned count = 0;
    snprintf(path, sizeof path, "/proc/%d/fd", (int)daemon->pid);
    DIR *directory = opendir(path);
    assert_non_null(directory);
    while (readdir(directory) != NULL)
        count++;
    closedir(directory);
    return count;
}
