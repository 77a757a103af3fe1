/* SPDX-License-Identifier: BSD-3-Clause */
/* The waits of the program, which the linker brings here: --wrap in programs/CMakeLists.txt. While the
 * program waits the daemon has its turn. If that leaves nothing to wait for, the program's clock goes
 * on to the end of the wait. Other threads, such as the fuzzer's own, wait as usual. */
#include <linux/futex.h>
#include <sys/syscall.h>
#include <sys/time.h>

#include "check.h"
#include "hostile.h"

enum { NS_PER_S = 1000000000 };

int __real_clock_gettime(clockid_t clock, struct timespec *now);
int __real_nanosleep(const struct timespec *time, struct timespec *left);
int __real_poll(struct pollfd *fds, nfds_t count, int ms);
ssize_t __real_recvmsg(int fd, struct msghdr *message, int flags);
long __real_syscall(long number, ...);

int __wrap_clock_gettime(clockid_t clock, struct timespec *now);
int __wrap_nanosleep(const struct timespec *time, struct timespec *left);
int __wrap_poll(struct pollfd *fds, nfds_t count, int ms);
ssize_t __wrap_recvmsg(int fd, struct msghdr *message, int flags);
long __wrap_syscall(long number, ...);

static __thread bool is_program;
static int64_t skipped_ns; /* by the program's clock */

void hostile_waits_begin(void)
{
    is_program = true;
}

/* ------------------------------------------------------------------ the clock */

static int64_t ns_of(const struct timespec *time)
{
    return (int64_t)time->tv_sec * NS_PER_S + time->tv_nsec;
}

static void skip(int64_t ns)
{
    skipped_ns += ns > 0 ? ns : 0;
}

int __wrap_clock_gettime(clockid_t clock, struct timespec *now)
{
    int result = __real_clock_gettime(clock, now);
    if (is_program && clock == CLOCK_MONOTONIC && result == 0) {
        int64_t ns = ns_of(now) + skipped_ns;
        *now = (struct timespec){.tv_sec = ns / NS_PER_S, .tv_nsec = ns % NS_PER_S};
    }
    return result;
}

int __wrap_nanosleep(const struct timespec *time, struct timespec *left)
{
    if (!is_program)
        return __real_nanosleep(time, left);
    if (!hostile_turn())
        skip(ns_of(time));
    return 0;
}

/* ------------------------------------------------------------------ waits for news */

int __wrap_poll(struct pollfd *fds, nfds_t count, int ms)
{
    if (!is_program || ms == 0)
        return __real_poll(fds, count, ms);
    int ready;
    do
        ready = __real_poll(fds, count, 0);
    while (ready == 0 && hostile_turn());
    if (ready == 0) {
        CHECK(ms > 0); /* it would wait for ever */
        skip((int64_t)ms * 1000000);
    }
    return ready;
}

ssize_t __wrap_recvmsg(int fd, struct msghdr *message, int flags)
{
    struct timeval most = {.tv_sec = 0};
    socklen_t size = sizeof most;
    ssize_t length;
    if (!is_program || (flags & MSG_DONTWAIT) != 0)
        return __real_recvmsg(fd, message, flags);
    do
        length = __real_recvmsg(fd, message, flags | MSG_DONTWAIT);
    while (length < 0 && errno == EAGAIN && hostile_turn());
    if (length < 0 && errno == EAGAIN) {
        CHECK(getsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &most, &size) == 0);
        CHECK(most.tv_sec > 0 || most.tv_usec > 0); /* it would wait for ever */
        skip((int64_t)most.tv_sec * NS_PER_S + most.tv_usec * 1000);
        errno = EAGAIN;
    }
    return length;
}

/* A wait for a word that nobody else will change. */
static long wait_for_word(const uint32_t *word, int operation, uint32_t value,
                          const struct timespec *until)
{
    (void)hostile_turn();
    if (__atomic_load_n(word, __ATOMIC_SEQ_CST) != value) {
        errno = EAGAIN;
        return -1;
    }
    CHECK(until != NULL); /* it would wait for ever */
    struct timespec now = {.tv_sec = 0};
    if ((operation & FUTEX_CMD_MASK) == FUTEX_WAIT_BITSET)
        CHECK(__wrap_clock_gettime(CLOCK_MONOTONIC, &now) == 0);
    skip(ns_of(until) - ns_of(&now));
    errno = ETIMEDOUT;
    return -1;
}

/* Arguments that are not there are passed on, and not looked at. */
__attribute__((no_sanitize("address"))) long __wrap_syscall(long number, ...)
{
    long a[6];
    va_list rest;
    va_start(rest, number);
    for (int i = 0; i < 6; i++)
        a[i] = va_arg(rest, long);
    va_end(rest);
    int command = (int)a[1] & FUTEX_CMD_MASK;
    if (is_program && number == SYS_futex &&
        (command == FUTEX_WAIT || command == FUTEX_WAIT_BITSET))
        return wait_for_word((const uint32_t *)(uintptr_t)a[0], (int)a[1], (uint32_t)a[2],
                             (const struct timespec *)(uintptr_t)a[3]);
    return __real_syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}
