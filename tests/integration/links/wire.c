/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * wire NAMESPACE DEVICE NAMESPACE DEVICE CONTROL: a point-to-point link between two network
 * namespaces that delays and loses packets. It makes both devices (tun) and then reads lines from
 * the fifo CONTROL, each of which sets what holds from then on:
 *
 *     DELAY-MS JITTER-MS LOSS-THERE LOSS-BACK        losses in percent
 *
 * Not every kernel has the queueing discipline for that, but all have tun.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <poll.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

enum { PACKETS_MAX = 4096, PACKET_BYTES = 2048 };

struct packet {
    int64_t due; /* microseconds; 0: free */
    int to;
    size_t length;
    uint8_t bytes[PACKET_BYTES];
};

struct wire {
    int device[2];
    long delay_ms, jitter_ms, loss[2];
    uint64_t noise;
    struct packet packets[PACKETS_MAX];
};

static int64_t now_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static long random_below(struct wire *wire, long limit)
{
    wire->noise = wire->noise * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return limit > 0 ? (long)((wire->noise >> 33) % (uint64_t)limit) : 0;
}

static int fail(const char *what)
{
    fprintf(stderr, "wire: %s: %s\n", what, strerror(errno));
    return -1;
}

static int open_device(const char *name_space, const char *name)
{
    char path[256];
    struct ifreq request = {.ifr_flags = IFF_TUN | IFF_NO_PI};
    snprintf(path, sizeof path, "/run/netns/%s", name_space);
    snprintf(request.ifr_name, sizeof request.ifr_name, "%s", name);
    int space = open(path, O_RDONLY | O_CLOEXEC);
    if (space < 0 || setns(space, CLONE_NEWNET) < 0)
        return fail(path);
    close(space);
    int fd = open("/dev/net/tun", O_RDWR | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0 || ioctl(fd, TUNSETIFF, &request) < 0)
        return fail("/dev/net/tun");
    return fd;
}

static void take_packets(struct wire *wire, int from)
{
    for (struct packet *p = wire->packets; p < wire->packets + PACKETS_MAX; p++) {
        if (p->due != 0)
            continue;
        ssize_t got = read(wire->device[from], p->bytes, sizeof p->bytes);
        if (got <= 0)
            return;
        if (random_below(wire, 100) < wire->loss[from])
            continue;
        p->to = 1 - from;
        p->length = (size_t)got;
        p->due = now_us() + wire->delay_ms * 1000 + random_below(wire, wire->jitter_ms * 1000);
    }
}

/* Microseconds until the next one is due, or -1. */
static int64_t deliver(struct wire *wire)
{
    int64_t now = now_us(), next = -1;
    for (struct packet *p = wire->packets; p < wire->packets + PACKETS_MAX; p++) {
        if (p->due == 0)
            continue;
        if (p->due <= now) {
            /* A device that is down takes nothing, as a real one. */
            ssize_t ignored = write(wire->device[p->to], p->bytes, p->length);
            (void)ignored;
            p->due = 0;
        } else if (next < 0 || p->due - now < next) {
            next = p->due - now;
        }
    }
    return next;
}

static bool take_order(struct wire *wire, FILE *control)
{
    char line[128];
    if (fgets(line, sizeof line, control) == NULL)
        return false;
    char *at = line;
    wire->delay_ms = strtol(at, &at, 10);
    wire->jitter_ms = strtol(at, &at, 10);
    wire->loss[0] = strtol(at, &at, 10);
    wire->loss[1] = strtol(at, &at, 10);
    return true;
}

int main(int argc, char *argv[])
{
    static struct wire wire = {.noise = 4711};
    if (argc != 6)
        return 2;
    for (int i = 0; i < 2; i++) {
        wire.device[i] = open_device(argv[1 + 2 * i], argv[2 + 2 * i]);
        if (wire.device[i] < 0)
            return 1;
    }
    /* For writing, too: it never ends then. */
    int orders = open(argv[5], O_RDWR | O_CLOEXEC);
    FILE *control = orders >= 0 ? fdopen(orders, "r") : NULL;
    if (control == NULL)
        return fail(argv[5]) < 0;
    setvbuf(control, NULL, _IONBF, 0);
    struct pollfd wait[] = {{.fd = wire.device[0], .events = POLLIN},
                            {.fd = wire.device[1], .events = POLLIN},
                            {.fd = orders, .events = POLLIN}};
    for (;;) {
        int64_t next = deliver(&wire);
        struct timespec pause = {.tv_sec = next / 1000000, .tv_nsec = next % 1000000 * 1000};
        if (ppoll(wait, 3, next < 0 ? NULL : &pause, NULL) < 0 && errno != EINTR)
            return fail("ppoll") < 0;
        take_packets(&wire, 0);
        take_packets(&wire, 1);
        if ((wait[2].revents & POLLIN) != 0 && !take_order(&wire, control))
            return 1;
    }
}
