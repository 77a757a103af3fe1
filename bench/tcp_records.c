/* SPDX-License-Identifier: BSD-3-Clause */
/* What encryption of the transport tcp takes of a processor: sends and receives over a pair of sockets,
 * plain and in records of TLS, by the clock of this thread, so that other work on the machine hardly
 * counts. The lowest of many rounds. */
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/uio.h>
#include <time.h>

#include "transport/tcp/common/records.h"

enum { ROUNDS = 400, IN_ROUND = 10, LENGTH_MAX = 65536 };

struct cost {
    double send_us, receive_us;
};

static double thread_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

static void move(const struct tcp_channel *channel, uint8_t *bytes, size_t length, bool sends)
{
    for (size_t at = 0; at < length || (sends && tcp_channel_holds(channel));) {
        struct iovec part = {bytes + at, length - at};
        struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
        ssize_t now =
            sends ? tcp_channel_send(channel, &message, 0) : tcp_channel_receive(channel, &message);
        if (now < 0) {
            perror(sends ? "send" : "receive");
            exit(1);
        }
        at += (size_t)now;
    }
}

static struct cost measure(const struct tcp_channel ends[2], size_t length)
{
    static uint8_t out[LENGTH_MAX], in[LENGTH_MAX];
    struct cost lowest = {1e9, 1e9};
    for (unsigned round = 0; round < ROUNDS; round++) {
        struct cost cost = {0, 0};
        for (unsigned i = 0; i < IN_ROUND; i++) {
            double begin = thread_us();
            move(&ends[0], out, length, true);
            double middle = thread_us();
            move(&ends[1], in, length, false);
            cost.send_us += (middle - begin) / IN_ROUND;
            cost.receive_us += (thread_us() - middle) / IN_ROUND;
        }
        if (cost.send_us < lowest.send_us)
            lowest.send_us = cost.send_us;
        if (cost.receive_us < lowest.receive_us)
            lowest.receive_us = cost.receive_us;
    }
    return lowest;
}

int main(void)
{
    static const size_t lengths[] = {32, 4096, LENGTH_MAX};
    static const struct tcp_record_key keys[2];
    EVP_CIPHER *cipher = EVP_CIPHER_fetch(NULL, "ChaCha20-Poly1305", NULL);
    const int room = 1 << 20;
    int sockets[2];
    if (cipher == NULL || socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) != 0 ||
        setsockopt(sockets[0], SOL_SOCKET, SO_SNDBUF, &room, sizeof room) != 0)
        return 1;
    const struct tcp_channel plain[2] = {{sockets[0], NULL}, {sockets[1], NULL}};
    const struct tcp_channel sealed[2] = {
        {sockets[0], tcp_records_make(cipher, &keys[0], &keys[1], 4, true)},
        {sockets[1], tcp_records_make(cipher, &keys[1], &keys[0], 2, true)}};
    if (sealed[0].records == NULL || sealed[1].records == NULL)
        return 1;
    printf("%8s %12s %12s %12s %12s\n", "bytes", "send", "encrypted", "receive", "encrypted");
    for (unsigned i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        struct cost without = measure(plain, lengths[i]), with = measure(sealed, lengths[i]);
        printf("%8zu %9.2f us %9.2f us %9.2f us %9.2f us\n", lengths[i], without.send_us,
               with.send_us, without.receive_us, with.receive_us);
    }
    return 0;
}
