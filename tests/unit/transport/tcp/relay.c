/* SPDX-License-Identifier: BSD-3-Clause */
#include "relay.h"

#include <netinet/in.h>

#include "cases.h"

enum { PART = 16384, POLL_MS = 20 };

static int new_socket(struct sockaddr_in *address, uint16_t port)
{
    *address = (struct sockaddr_in){
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    return socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
}

static void keep(struct relay *relay, const uint8_t *bytes, size_t length)
{
    size_t at = atomic_load(&relay->length);
    size_t part = length < RELAY_KEPT - at ? length : RELAY_KEPT - at;
    memcpy(relay->kept + at, bytes, part);
    atomic_store(&relay->length, at + part);
}

static void change(struct relay *relay, uint8_t *bytes, size_t length)
{
    long left = atomic_load(&relay->change);
    if (left < 0)
        return;
    if ((size_t)left < length)
        bytes[left] ^= 1;
    atomic_store(&relay->change, (size_t)left < length ? -1 : left - (long)length);
}

/* False: this direction has ended. */
static bool pass(struct relay *relay, int from, int to, bool of_importer)
{
    uint8_t bytes[PART];
    ssize_t got = recv(from, bytes, sizeof bytes, 0);
    if (got <= 0)
        return false;
    if (of_importer)
        change(relay, bytes, (size_t)got);
    keep(relay, bytes, (size_t)got);
    for (ssize_t at = 0; at < got;) {
        ssize_t sent = send(to, bytes + at, (size_t)(got - at), MSG_NOSIGNAL);
        if (sent <= 0)
            return false;
        at += sent;
    }
    return true;
}

static void serve(struct relay *relay, int importer)
{
    struct sockaddr_in address;
    int server = new_socket(&address, (uint16_t)atomic_load(&relay->to));
    struct pollfd ends[2] = {{importer, POLLIN, 0}, {server, POLLIN, 0}};
    bool goes_on = connect(server, (const struct sockaddr *)&address, sizeof address) == 0;
    while (goes_on && !atomic_load(&relay->stop)) {
        (void)poll(ends, 2, POLL_MS);
        for (unsigned i = 0; i < 2 && goes_on; i++)
            if (ends[i].revents != 0)
                goes_on = pass(relay, ends[i].fd, ends[1 - i].fd, i == 0);
    }
    close(server);
}

static void *run(void *argument)
{
    struct relay *relay = argument;
    struct pollfd calls = {relay->listener, POLLIN, 0};
    while (!atomic_load(&relay->stop)) {
        if (poll(&calls, 1, POLL_MS) != 1)
            continue;
        int importer = accept4(relay->listener, NULL, NULL, SOCK_CLOEXEC);
        if (importer < 0)
            continue;
        serve(relay, importer);
        close(importer);
    }
    return NULL;
}

struct relay *relay_begin(void)
{
    struct relay *relay = calloc(1, sizeof *relay);
    struct sockaddr_in address;
    socklen_t length = sizeof address;
    assert_non_null(relay);
    relay->listener = new_socket(&address, 0);
    assert_int_equal(bind(relay->listener, (struct sockaddr *)&address, length), 0);
    assert_int_equal(listen(relay->listener, 4), 0);
    assert_int_equal(getsockname(relay->listener, (struct sockaddr *)&address, &length), 0);
    relay->port = ntohs(address.sin_port);
    atomic_init(&relay->change, -1);
    assert_int_equal(pthread_create(&relay->thread, NULL, run, relay), 0);
    return relay;
}

void relay_end(struct relay *relay)
{
    atomic_store(&relay->stop, true);
    pthread_join(relay->thread, NULL);
    close(relay->listener);
    free(relay);
}

bool relay_has_seen(const struct relay *relay, const void *bytes, size_t length)
{
    return memmem(relay->kept, atomic_load(&relay->length), bytes, length) != NULL;
}
