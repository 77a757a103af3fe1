/* SPDX-License-Identifier: BSD-3-Clause */
/* The queue of descriptors that a successor gets from the service manager (handover/queue.c), with
 * messages that nobody honest has put there: labels, lengths and descriptors that lie, other kinds of
 * sockets, and what is no socket. What comes out has the first descriptor, and
 * none is lost. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "check.h"
#include "descriptors.h"
#include "fuzz.h"
#include "handover/internal.h"

enum { BATCH = 250, MOST = 253, MESSAGES_MAX = 8, TOTAL_MAX = 700 };

struct label {
    uint32_t magic, total, first;
};

static void put(struct input *in, int socket, const struct label *label, unsigned count, int passed)
{
    static const char more[64];
    struct label sent = *label;
    unsigned form = input_u8(in);
    size_t length = sizeof sent, extra = 0;
    if (form >= 0xf0)
        length = input_below(in, sizeof sent + 1);
    else if (form >= 0xe0)
        extra = input_below(in, sizeof more);
    struct iovec parts[] = {{&sent, length}, {(void *)(uintptr_t)more, extra}};
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(MOST * sizeof(int))];
    } control = {.bytes = {0}};
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};
    if (count > 0) {
        control.header = (struct cmsghdr){.cmsg_len = CMSG_LEN(count * sizeof(int)),
                                          .cmsg_level = SOL_SOCKET,
                                          .cmsg_type = SCM_RIGHTS};
        for (unsigned i = 0; i < count; i++)
            memcpy(CMSG_DATA(&control.header) + i * sizeof(int), &passed, sizeof passed);
        message.msg_control = control.bytes;
        message.msg_controllen = CMSG_SPACE(count * sizeof(int));
    }
    (void)!sendmsg(socket, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
}

/* Labels as they should be, but for what the input changes. */
static void fill(struct input *in, int socket, int passed)
{
    uint32_t total = 1 + (input_u8(in) | (uint32_t)input_below(in, 4) << 8) % TOTAL_MAX, first = 0;
    for (unsigned i = 0; i < MESSAGES_MAX && first < total; i++) {
        struct label label = {0x51444d52, total, first};
        unsigned count = total - first < BATCH ? total - first : BATCH;
        first += count;
        switch (input_below(in, 16)) {
        case 9:
            continue; /* it does not come */
        case 10:
            label.magic = (uint32_t)input_number(in);
            break;
        case 11:
            label.total = (uint32_t)input_number(in);
            break;
        case 12:
            label.first = (uint32_t)input_number(in);
            break;
        case 13:
            count = input_u8(in) % (MOST + 1);
            break;
        case 14:
            put(in, socket, &label, count, passed); /* it comes twice */
            break;
        }
        put(in, socket, &label, count, passed);
    }
}

static void take(int queue)
{
    int *fds;
    int64_t begin = fuzz_step_begin();
    uint32_t count = rsmd_queue_empty(queue, &fds);
    fuzz_step_end(begin, "taking a queue");
    CHECK((count > 0) == (fds != NULL));
    for (uint32_t i = 0; i < count; i++) {
        CHECK(i > 0 ? fds[i] == -1 || fds[i] > STDERR_FILENO : fds[i] > STDERR_FILENO);
        CHECK(fds[i] < 0 || (fcntl(fds[i], F_GETFD) & FD_CLOEXEC) != 0);
        if (fds[i] >= 0)
            close(fds[i]);
    }
    free(fds);
}

void fuzz_input(const uint8_t *data, size_t size)
{
    static const int types[] = {SOCK_SEQPACKET, SOCK_SEQPACKET, SOCK_DGRAM, SOCK_STREAM};
    struct input in = {.at = data, .left = size};
    unsigned before = descriptors_open(), form = input_below(&in, 8);
    int ends[2];
    CHECK(socketpair(AF_UNIX, types[form % 4] | SOCK_CLOEXEC, 0, ends) == 0);
    int passed = descriptor_make(&in, ends[0]);
    fill(&in, ends[0], passed);
    bool stays = form >= 6; /* its writer, who then may add to it */
    if (!stays)
        close(ends[0]);
    take(ends[1]);
    take(passed);
    if (stays)
        close(ends[0]);
    close(ends[1]);
    close(passed);
    CHECK(descriptors_open() == before);
}
