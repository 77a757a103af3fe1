/* SPDX-License-Identifier: BSD-3-Clause */
#include "conf/address.h"
#include "wire.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/random.h>

#include "protocol/sharedmem.h"
#include "cluster/proto.h"

/* ------------------------------------------------------------------ the daemon */

static unsigned network; /* the two bytes in the middle of 127.x.y.z */

static void address_text(char text[20], unsigned node)
{
    snprintf(text, 20, "127.%u.%u.%u", network >> 8, network & 255, node);
}

void wire_daemon_start(struct daemon *daemon)
{
    char text[1024], address[2][20], directory[64];
    uint16_t random = 0;
    assert_int_equal(getrandom(&random, sizeof random, 0), sizeof random);
    network = 256u + random % 65000u;
    for (unsigned node = 1; node <= 2; node++)
        address_text(address[node - 1], node);
    snprintf(text, sizeof text,
             "[cluster]\nauth = none\ninsecure = yes\n"
             "[limits]\npeer-timeout-ms = 60000\n"
             "[node 1]\nhost = one\naddress = %s\n[node 2]\nhost = two\naddress = %s\n"
             "[controller sci0]\ntransport = shm\n[controller far0]\ntransport = peek\n",
             address[0], address[1]);
    assert_int_equal(setenv("RSM_MODULE_DIR", WIRE_MODULES, 1), 0);
    directory_make(directory);
    daemon_start_in(daemon, directory, WIRE_OWN, text, NULL);
}

/* The daemon listens for other hosts soon after it listens for clients. */
static int call_daemon(void)
{
    char text[20];
    struct sockaddr_in from = {.sin_family = AF_INET};
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(RSM_CLUSTER_PORT)};
    address_text(text, WIRE_OWN);
    assert_int_equal(inet_pton(AF_INET, text, &to.sin_addr), 1);
    address_text(text, 1); /* the daemon looks where its peer comes from */
    assert_int_equal(inet_pton(AF_INET, text, &from.sin_addr), 1);
    for (int tries = PEER_WAIT_MS / 10; tries > 0; tries--) {
        int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        assert_true(fd >= 0);
        assert_int_equal(bind(fd, (const struct sockaddr *)&from, sizeof from), 0);
        if (connect(fd, (const struct sockaddr *)&to, sizeof to) == 0)
            return fd;
        close(fd);
        usleep(10000);
    }
    fail_msg("the daemon does not listen for other hosts");
    return -1;
}

int wire_open(const struct daemon *daemon, char letter)
{
    return letter == WIRE_PEER ? call_daemon() : peer_connect(daemon);
}

/* ------------------------------------------------------------------ packets and frames */

static uint32_t word_at(const uint8_t *bytes)
{
    uint32_t word;
    memcpy(&word, bytes, sizeof word); /* little-endian, as those who run this */
    return word;
}

void wire_send(int socket, char letter, const uint8_t *bytes, size_t length,
               const struct rsm_packet_fds *fds)
{
    if (letter != WIRE_PEER) {
        assert_int_equal(rsm_packet_send(socket, bytes, length, fds, 1), 0);
        return;
    }
    uint8_t frame[4 + WIRE_BYTES_MAX];
    uint32_t word = (uint32_t)length;
    memcpy(frame, &word, sizeof word);
    memcpy(frame + 4, bytes, length);
    assert_int_equal(send(socket, frame, 4 + length, MSG_NOSIGNAL), 4 + length);
}

/* All of it, or none because the connection has ended. */
static bool receive_all(int socket, uint8_t *bytes, size_t length)
{
    for (size_t got = 0; got < length;) {
        await_readable(socket);
        ssize_t now = recv(socket, bytes + got, length - got, 0);
        if (now <= 0)
            return false;
        got += (size_t)now;
    }
    return true;
}

static size_t receive_frame(int socket, uint8_t *bytes)
{
    uint8_t word[4];
    if (!receive_all(socket, word, sizeof word))
        return 0;
    uint32_t length = word_at(word);
    assert_in_range(length, 4, RSM_CLUSTER_FRAME_MAX);
    return receive_all(socket, bytes, length) ? length : 0;
}

size_t wire_receive(int socket, char letter, uint8_t bytes[WIRE_BYTES_MAX],
                    struct rsm_packet_fds *fds, bool want_ping)
{
    fds->count = 0;
    if (letter != WIRE_PEER) {
        await_readable(socket);
        ssize_t got = rsm_packet_receive(socket, bytes, WIRE_BYTES_MAX, fds, NULL);
        return got > 0 ? (size_t)got : 0;
    }
    for (;;) {
        size_t length = receive_frame(socket, bytes);
        if (length < 4 || want_ping || word_at(bytes) != RSM_CLUSTER_PING)
            return length;
        uint32_t pong = RSM_CLUSTER_PONG;
        memcpy(bytes, &pong, sizeof pong);
        wire_send(socket, letter, bytes, length, NULL);
    }
}

/* ------------------------------------------------------------------ descriptors */

static struct rsm_packet_fds kept[128];
static unsigned kept_count;

void wire_keep_fds(struct rsm_packet_fds *fds)
{
    assert_true(kept_count < sizeof kept / sizeof kept[0]);
    kept[kept_count++] = *fds;
    fds->count = 0;
}

void wire_drop_fds(void)
{
    while (kept_count > 0)
        rsm_packet_fds_close(&kept[--kept_count]);
}

static const char *access_text(int fd)
{
    int flags = fcntl(fd, F_GETFL);
    return (flags & O_ACCMODE) == O_RDONLY   ? "read-only"
           : (flags & O_ACCMODE) == O_WRONLY ? "write-only"
                                             : "read-write";
}

/* The beginning of the two layouts that are shared in memory belongs to the protocol. */
void wire_describe_fd(int fd, char *text)
{
    struct stat status;
    uint32_t words[3] = {0};
    assert_int_equal(fstat(fd, &status), 0);
    if (S_ISFIFO(status.st_mode)) {
        snprintf(text, 64, "pipe:%s", access_text(fd));
        return;
    }
    if (S_ISSOCK(status.st_mode)) {
        int type = 0;
        socklen_t size = sizeof type;
        assert_int_equal(getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size), 0);
        snprintf(text, 64, "socket:%s", type == SOCK_SEQPACKET ? "packets" : "other");
        return;
    }
    int seals = fcntl(fd, F_GET_SEALS);
    assert_true(S_ISREG(status.st_mode) && seals >= 0);
    ssize_t got = pread(fd, words, sizeof words, 0);
    bool table = got == (ssize_t)sizeof words && words[0] == RSM_GENERATION_TABLE_MAGIC;
    int used = snprintf(text, 64, "memory:%s:%lld:%s", access_text(fd), (long long)status.st_size,
                        seals & F_SEAL_SHRINK ? "sealed" : "unsealed");
    if (table)
        snprintf(text + used, 64 - (size_t)used, ":generations-%u-%u", (unsigned)words[1],
                 (unsigned)words[2]);
}

int wire_make_fd(const char *text)
{
    int ends[2];
    bool writes = strcmp(text, "pipe:write-only") == 0;
    if (!writes && strcmp(text, "pipe:read-only") != 0)
        fail_msg("no descriptor to send is known as %s", text);
    assert_int_equal(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
    /* The other end stays open as long as this process: a pipe without a reader is not kicked. */
    return ends[writes ? 1 : 0];
}
