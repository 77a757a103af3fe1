/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/descriptor.h"
#include "rsmapi/umask.h"

#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#if defined(__has_include)
#if __has_include(<sys/single_threaded.h>)
#include <sys/single_threaded.h>
#define HAVE_SINGLE_THREADED 1
#endif
#endif

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
