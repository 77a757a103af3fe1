/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/descriptor.h"
#include "fault/uffd.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/major.h>
#include <linux/userfaultfd.h>
#include <stdatomic.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

/* Newer than the headers that this must build with. */
#ifndef UFFD_FEATURE_WP_UNPOPULATED
#define UFFD_FEATURE_WP_UNPOPULATED (1 << 13)
#endif
#ifndef USERFAULTFD_IOC_NEW
#define USERFAULTFD_IOC_NEW _IO(0xAA, 0x00)
#endif
#ifndef UFFD_USER_MODE_ONLY
#define UFFD_USER_MODE_ONLY 1
#endif
#ifndef UFFD_FEATURE_WP_HUGETLBFS_SHMEM
#define UFFD_FEATURE_WP_HUGETLBFS_SHMEM (1 << 12)
#endif

#define ATTEMPTS 100

/* The ioctl makes one for the calling process, whichever process has opened the device. */
static int ask_device(int device)
{
    return ioctl(device, USERFAULTFD_IOC_NEW, O_CLOEXEC | O_NONBLOCK);
}

static int open_device(void)
{
    int device = rsmcore_fd_place(open("/dev/userfaultfd", O_RDONLY | O_CLOEXEC));
    if (device < 0)
        return -1;
    int uffd = ask_device(device);
    close(device);
    return uffd;
}

/* The descriptor, -1: none, and which device it must still be of: a program may close all
 * descriptors, and have another of its own by that number. */
static _Atomic int lent = -1;
static _Atomic dev_t lent_device;

static bool is_device(int fd, dev_t *device)
{
    struct stat status;
    if (fd < 0 || fstat(fd, &status) != 0 || !S_ISCHR(status.st_mode) ||
        major(status.st_rdev) != MISC_MAJOR)
        return false;
    *device = status.st_rdev;
    return true;
}

static bool is_lent(int fd)
{
    dev_t device;
    return is_device(fd, &device) && device == atomic_load(&lent_device);
}

void rsmcore_uffd_lend(int device)
{
    dev_t number;
    int before = atomic_load(&lent);
    device = rsmcore_fd_place(device);
    if (is_device(device, &number) && !is_lent(before)) {
        atomic_store(&lent_device, number);
        if (atomic_compare_exchange_strong(&lent, &before, device))
            return; /* what was there before is not ours to close */
    }
    if (device >= 0)
        close(device);
}

static int ask_lent_device(void)
{
    int fd = atomic_load(&lent);
    return is_lent(fd) ? ask_device(fd) : -1;
}

int rsmcore_uffd_new(bool user_only, uint64_t features)
{
    int flags = O_CLOEXEC | O_NONBLOCK | (user_only ? UFFD_USER_MODE_ONLY : 0);
    struct uffdio_api api = {.api = UFFD_API, .features = features};
    int uffd = (int)syscall(SYS_userfaultfd, flags);
    if (uffd < 0 && !user_only)
        uffd = open_device();
    if (uffd < 0 && !user_only)
        uffd = ask_lent_device();
    uffd = rsmcore_fd_place(uffd);
    if (uffd >= 0 && ioctl(uffd, UFFDIO_API, &api) != 0) {
        close(uffd);
        return -1;
    }
    return uffd;
}

/* With the best set of features that the kernel has. */
int rsmcore_uffd_open(bool user_only)
{
    const uint64_t sets[] = {
        UFFD_FEATURE_PAGEFAULT_FLAG_WP | UFFD_FEATURE_WP_HUGETLBFS_SHMEM |
            UFFD_FEATURE_WP_UNPOPULATED,
        UFFD_FEATURE_PAGEFAULT_FLAG_WP | UFFD_FEATURE_WP_HUGETLBFS_SHMEM,
        UFFD_FEATURE_PAGEFAULT_FLAG_WP,
    };
    int uffd = -1;
    for (size_t i = 0; i < sizeof sets / sizeof sets[0] && uffd < 0; i++)
        uffd = rsmcore_uffd_new(user_only, sets[i]);
    return uffd;
}

bool rsmcore_uffd_is_one(int fd)
{
    struct uffdio_api again = {.api = UFFD_API}; /* refused, as it has been agreed on */
    return ioctl(fd, UFFDIO_API, &again) != 0 && errno != ENOTTY && errno != EBADF;
}

/* The kernel refuses for a moment while mappings are being copied by fork(). */
bool rsmcore_uffd_set_writable(int uffd, uintptr_t address, size_t length, bool writable)
{
    struct uffdio_writeprotect request = {.range = {.start = address, .len = length},
                                          .mode = writable ? 0 : UFFDIO_WRITEPROTECT_MODE_WP};
    int result, attempts = 0;
    do
        result = ioctl(uffd, UFFDIO_WRITEPROTECT, &request);
    while (result != 0 && (errno == EAGAIN || errno == EINTR) && ++attempts < ATTEMPTS);
    return result == 0;
}

bool rsmcore_uffd_protect(int uffd, uintptr_t address, size_t length)
{
    struct uffdio_register request = {.range = {.start = address, .len = length},
                                      .mode = UFFDIO_REGISTER_MODE_WP};
    if (ioctl(uffd, UFFDIO_REGISTER, &request) != 0)
        return false;
    if ((request.ioctls >> _UFFDIO_WRITEPROTECT & 1) &&
        rsmcore_uffd_set_writable(uffd, address, length, false))
        return true;
    rsmcore_uffd_release(uffd, address, length);
    return false;
}

void rsmcore_uffd_release(int uffd, uintptr_t address, size_t length)
{
    struct uffdio_range range = {.start = address, .len = length};
    (void)rsmcore_uffd_set_writable(uffd, address, length, true);
    (void)ioctl(uffd, UFFDIO_UNREGISTER, &range); /* wakes too */
}

void rsmcore_uffd_wake(int uffd, uintptr_t address, size_t length)
{
    struct uffdio_range range = {.start = address, .len = length};
    (void)ioctl(uffd, UFFDIO_WAKE, &range);
}
