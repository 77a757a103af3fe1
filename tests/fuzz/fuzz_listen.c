/* SPDX-License-Identifier: BSD-3-Clause */
/* What a service manager passes to rsmd: LISTEN_PID, LISTEN_FDS, LISTEN_FDNAMES, and descriptors from 3
 * on, of any kind. Those that are taken are usable, those that are not are closed or left to whoever
 * asks next, and nothing of the process's own is. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "check.h"
#include "descriptors.h"
#include "fuzz.h"
#include "handover/handover.h"
#include "handover/internal.h"
#include "server/notify.h"

enum { FIRST = 3, PLACES = 70, TEXT_MAX = 256 };

static int nothing = -1;

/* The places where descriptors are passed are the input's: nobody else opens any there. */
static void hold_places(void)
{
    for (int fd = FIRST; fd < FIRST + PLACES; fd++)
        CHECK(dup2(nothing, fd) == fd);
}

/* Before the fuzzer opens anything of its own. */
__attribute__((constructor)) static void begin(void)
{
    int fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    CHECK(fd >= 0);
    nothing = fcntl(fd, F_DUPFD_CLOEXEC, FIRST + PLACES);
    close(fd);
    CHECK(nothing >= 0);
    hold_places();
}

/* A listener, or the parcel of a predecessor, of anything. */
static int make(struct input *in)
{
    int fds[4], queue, count = 1 + (int)input_below(in, 4);
    switch (input_below(in, 4)) {
    case 0:
        queue = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
        CHECK(bind(queue, (struct sockaddr *)&(struct sockaddr){.sa_family = AF_UNIX},
                   sizeof(sa_family_t)) == 0);
        if (input_below(in, 4) != 3)
            CHECK(listen(queue, 4) == 0);
        return queue;
    case 1:
        for (int i = 0; i < count; i++)
            fds[i] = descriptor_make(in, nothing);
        queue = rsmd_queue_fill(fds, (uint32_t)count, 0);
        for (int i = 0; i < count; i++)
            close(fds[i]);
        CHECK(queue >= 0);
        return queue;
    default:
        return descriptor_make(in, nothing);
    }
}

/* Mostly a number that is right, else one that is not, or any text. */
static void set_number(struct input *in, const char *name, long right)
{
    char text[TEXT_MAX];
    unsigned form = input_below(in, 8);
    if (form == 7) {
        text[input_bytes(in, text, input_u8(in) % 32u)] = '\0';
    } else {
        snprintf(text, sizeof text, "%lld",
                 form == 6 ? (long long)input_number(in) : (long long)right);
    }
    setenv(name, text, 1);
}

static void set_names(struct input *in, unsigned count)
{
    static const char *const known[] = {RSMD_HANDOVER_STORED, "rsmd.socket", "", "unknown"};
    char text[PLACES * 32 + TEXT_MAX] = "";
    for (unsigned i = 0; i < count; i++) {
        strcat(text, known[input_below(in, 4)]);
        strcat(text, i + 1 < count ? ":" : "");
    }
    if (input_below(in, 4) == 3) {
        char more[32];
        more[input_bytes(in, more, sizeof more - 1)] = '\0';
        strcat(text, more);
    }
    if (input_below(in, 8) != 7)
        setenv("LISTEN_FDNAMES", text, 1);
    else
        unsetenv("LISTEN_FDNAMES");
}

static void pass(struct input *in)
{
    unsigned count = input_below(in, 16) == 15 ? input_below(in, PLACES) : input_below(in, 5);
    for (unsigned i = 0; i < count; i++) {
        int fd = make(in);
        CHECK(dup2(fd, FIRST + (int)i) == FIRST + (int)i);
        close(fd);
    }
    set_number(in, "LISTEN_PID", getpid());
    set_number(in, "LISTEN_FDS", count);
    set_names(in, count);
}

static void receive(void)
{
    struct rsmd_handover received;
    int64_t begin = fuzz_step_begin();
    rsmd_handover_receive(&received);
    CHECK(received.readable <= received.present);
    CHECK(received.listener < 0 || fcntl(received.listener, F_GETFD) >= 0);
    rsmd_handover_drop(&received);
    int listener = rsmd_passed_socket();
    fuzz_step_end(begin, "taking what is passed");
    CHECK(getenv("LISTEN_FDS") == NULL && getenv("LISTEN_FDNAMES") == NULL);
    CHECK(listener < 0 || (listener == FIRST && (fcntl(listener, F_GETFD) & FD_CLOEXEC) != 0 &&
                           (fcntl(listener, F_GETFL) & O_NONBLOCK) != 0));
}

void fuzz_input(const uint8_t *data, size_t size)
{
    struct input in = {.at = data, .left = size};
    unsigned before = descriptors_open();
    pass(&in);
    receive();
    hold_places();
    CHECK(descriptors_open() == before);
}
