/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * wire NAMESPACE DEVICE NAMESPACE DEVICE CONTROL: a point-to-point link between two network
 * namespaces that delays and loses packets. It makes both devices (tun) and then reads lines from
 * the fifo CONTROL, each of which sets what holds from then on:
 *
 *     DELAY-MS JITTER-MS LOSS-THERE LOSS-BACK [PORT [RESET]]        losses in percent
 *
 * Losses concern all packets, or those from and to a TCP port that is not 0. With RESET such a packet
 * becomes an RST for both ends of its connection.
 *
 * Not every kernel has the queueing discipline for that, but all have tun.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <netinet/ip.h>
#include <netinet/tcp.h>
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
    long delay_ms, jitter_ms, loss[2], port, reset;
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

/* ---------------------------------------------------------------- packets of TCP */

/* Of IPv4 without options, as those of this wire are; NULL: it is another one. */
static struct tcphdr *tcp_of(struct packet *p)
{
    const struct iphdr *ip = (const struct iphdr *)(const void *)p->bytes;
    bool is = p->length >= sizeof *ip + sizeof(struct tcphdr) && ip->version == 4 && ip->ihl == 5 &&
              ip->protocol == IPPROTO_TCP;
    return is ? (struct tcphdr *)(void *)(p->bytes + sizeof *ip) : NULL;
}

static bool is_concerned(const struct wire *wire, struct packet *p)
{
    const struct tcphdr *tcp = tcp_of(p);
    return wire->port == 0 ||
           (tcp != NULL && (ntohs(tcp->source) == wire->port || ntohs(tcp->dest) == wire->port));
}

static uint32_t sum_words(const void *bytes, size_t length, uint32_t sum)
{
    uint16_t word;
    for (size_t i = 0; i + sizeof word <= length; i += sizeof word) {
        memcpy(&word, (const uint8_t *)bytes + i, sizeof word);
        sum += word;
    }
    return sum;
}

static uint16_t checksum(uint32_t sum)
{
    while (sum > 0xffff)
        sum = (sum & 0xffff) + (sum >> 16);
    return (uint16_t)~sum;
}

static void complete_reset(struct packet *p, uint32_t number)
{
    struct iphdr *ip = (struct iphdr *)(void *)p->bytes;
    struct tcphdr *tcp = tcp_of(p);
    p->length = sizeof *ip + sizeof *tcp;
    tcp->seq = number;
    tcp->doff = sizeof *tcp / 4;
    tcp->rst = 1;
    tcp->syn = tcp->fin = tcp->psh = 0;
    ip->tot_len = htons((uint16_t)p->length);
    ip->check = tcp->check = 0;
    ip->check = checksum(sum_words(ip, sizeof *ip, 0));
    uint32_t sum = htons(IPPROTO_TCP) + htons(sizeof *tcp);
    tcp->check = checksum(sum_words(tcp, sizeof *tcp, sum_words(&ip->saddr, 8, sum)));
}

/* The packet ends its connection at both ends. False: it has none. */
static bool reset(const struct wire *wire, int from, struct packet *p)
{
    struct packet back = *p;
    struct iphdr *ip = (struct iphdr *)(void *)back.bytes;
    struct tcphdr *tcp = tcp_of(p), *tcp_back = tcp_of(&back);
    if (tcp == NULL)
        return false;
    uint32_t address = ip->saddr;
    ip->saddr = ip->daddr;
    ip->daddr = address;
    tcp_back->source = tcp->dest;
    tcp_back->dest = tcp->source;
    tcp_back->ack_seq = tcp->seq;
    complete_reset(&back, tcp->ack_seq);
    ssize_t ignored = write(wire->device[from], back.bytes, back.length);
    (void)ignored;
    complete_reset(p, tcp->seq);
    return true;
}

/* ---------------------------------------------------------------- the wire */

static void take_packets(struct wire *wire, int from)
{
    for (struct packet *p = wire->packets; p < wire->packets + PACKETS_MAX; p++) {
        if (p->due != 0)
            continue;
        ssize_t got = read(wire->device[from], p->bytes, sizeof p->bytes);
        if (got <= 0)
            return;
        p->to = 1 - from;
        p->length = (size_t)got;
        bool lost = is_concerned(wire, p) && random_below(wire, 100) < wire->loss[from];
        if (lost && (wire->reset == 0 || !reset(wire, from, p)))
            continue;
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
    wire->port = strtol(at, &at, 10);
    wire->reset = strtol(at, &at, 10);
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
