/* SPDX-License-Identifier: BSD-3-Clause */
#include "rsmapi/acl.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/descriptor.h"
#include "core/controller.h"
#include "rsmapi/handle.h"

#if defined(__has_include)
#if __has_include(<sys/single_threaded.h>)
#include <sys/single_threaded.h>
#define HAVE_SINGLE_THREADED 1
#endif
#endif

enum {
    PERMISSION_MAX = 0666, /* compared as a number */
    PERMISSION_BITS = 0666,
};

/* Copy from an address that a program gave, which may lead nowhere. */
static bool read_guarded(void *to, const void *from, size_t length)
{
    struct iovec local = {.iov_base = to, .iov_len = length};
    struct iovec remote = {.iov_len = length};
    memcpy(&remote.iov_base, &from, sizeof from); /* read only, whatever the type says */
    ssize_t copied = process_vm_readv(getpid(), &local, 1, &remote, 1, 0);
    if (copied < 0 && errno != EFAULT && errno != ENOMEM) {
        /* This kernel or sandbox does not offer the call: trust the address. */
        memcpy(to, from, length);
        return true;
    }
    return copied == (ssize_t)length;
}

static int check_entry(const rsmapi_access_entry_t *entry)
{
    return entry->ae_node <= RSMAPI_NODE_ID_MAX && entry->ae_permission <= PERMISSION_MAX
               ? RSM_SUCCESS
               : RSMERR_BAD_ACL;
}

static bool names_own_node(const rsmapi_access_entry_t *entry)
{
    uint32_t own;
    return rsmcore_local_node(&own) == RSM_ST_OK && entry->ae_node == own;
}

int rsmapi_acl_read(const rsmapi_access_entry_t *list, uint32_t count, bool loopback,
                    struct rsm_acl_entry *acl)
{
    rsmapi_access_entry_t copy[RSM_PROTO_ACL_MAX];
    if (count == 0)
        return RSM_SUCCESS;
    if (count > (loopback ? 1 : RSM_PROTO_ACL_MAX))
        return RSMERR_BAD_ACL;
    if (!read_guarded(copy, list, count * sizeof copy[0]))
        return RSMERR_BAD_ADDR;
    for (uint32_t i = 0; i < count; i++) {
        if (check_entry(&copy[i]) != RSM_SUCCESS)
            return RSMERR_BAD_ACL;
        acl[i].node = copy[i].ae_node;
        acl[i].permission = copy[i].ae_permission & PERMISSION_BITS;
    }
    return loopback && !names_own_node(&copy[0]) ? RSMERR_BAD_ACL : RSM_SUCCESS;
}

#define MASK_BITS 0777u

/* The first lines of the thread's status; the process's own would be gone with its main thread.
 * Returns the bytes read, negative if there is no /proc. */
static ssize_t read_status(char *text, size_t capacity)
{
    int fd = rsmcore_fd_place(open("/proc/thread-self/status", O_RDONLY | O_CLOEXEC));
    if (fd < 0)
        return -1;
    ssize_t length = read(fd, text, capacity);
    close(fd);
    return length;
}

/* For as long as it is asked for, the mask is another. */
static mode_t exchanged_umask(void)
{
    mode_t mask = umask(MASK_BITS);
    umask(mask);
    return mask & MASK_BITS;
}

/* Where no other thread and no signal handler can make a file meanwhile, exchanging the mask is
 * both safe and a hundred times faster than reading it. */
static bool ask_alone(unsigned *mask)
{
#ifdef HAVE_SINGLE_THREADED
    sigset_t all, before;
    if (!__libc_single_threaded)
        return false;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    *mask = (unsigned)exchanged_umask();
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return true;
#else
    (void)mask;
    return false;
#endif
}

unsigned rsmapi_umask(void)
{
    unsigned alone;
    if (ask_alone(&alone))
        return alone;
    static const char key[] = "\nUmask:";
    char text[512];
    ssize_t length = read_status(text, sizeof text - 1);
    if (length > 0) {
        text[length] = '\0';
        const char *line = strstr(text, key);
        if (line != NULL)
            return (unsigned)strtoul(line + sizeof key - 1, NULL, 8) & MASK_BITS;
    }
    return (unsigned)exchanged_umask();
}
