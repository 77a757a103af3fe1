/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/clock.h"
#include "base/descriptor.h"
#include "watch.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>

#include "daemon.h"

int watch_begin(void)
{
    sigset_t ending;
    sigemptyset(&ending);
    sigaddset(&ending, SIGINT);
    sigaddset(&ending, SIGTERM);
    if (sigprocmask(SIG_BLOCK, &ending, NULL) < 0)
        return -1;
    return rsmcore_fd_above_stdio(signalfd(-1, &ending, SFD_CLOEXEC | SFD_NONBLOCK));
}

bool watch_ended(int interrupt, int ms)
{
    struct pollfd wait = {.fd = interrupt, .events = POLLIN};
    int64_t until = rsm_deadline(ms);
    for (;;) {
        int ready = poll(&wait, 1, rsm_deadline_left_ms(until));
        if (ready >= 0)
            return ready > 0;
        if (errno != EINTR)
            return true;
    }
}
