/* SPDX-License-Identifier: BSD-3-Clause */
/* Small writes that are collected. The test is rsm-tcpd at the other end of a pair of sockets. */
#include "cases.h"

#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "transport/tcp/import/import.h"

enum { RUN = 40, WAIT_MS = 5000, MANY = 4000 };

static const struct tcp_options options = {.timeout_ms = 2000};

struct pair {
    struct tcp_conn conn;
    int peer;
};

static struct tcp_sender sender;

static void pair_open(struct pair *pair)
{
    int ends[2];
    memset(pair, 0, sizeof *pair);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends), 0);
    pair->conn.options = &options;
    pair->conn.sender = &sender;
    pair->conn.channel.socket = ends[0];
    pair->peer = ends[1];
    pthread_mutex_init(&pair->conn.lock, NULL);
    tcp_stage_init(&pair->conn.stage);
}

static void pair_close(struct pair *pair)
{
    tcp_sender_leave(&pair->conn);
    pthread_mutex_destroy(&pair->conn.lock);
    tcp_stage_destroy(&pair->conn.stage);
    close(pair->conn.channel.socket);
    close(pair->peer);
}

/* One with a thread even on a single processor, where tcp_sender_start() starts none. */
static int set_up(void **state)
{
    (void)state;
    memset(&sender, 0, sizeof sender);
    tcp_sender_init(&sender);
    tcp_sender_start(&sender);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    tcp_sender_destroy(&sender);
    return 0;
}

#define STAGE_TEST(name) TEST_BETWEEN(name, set_up, tear_down)

static bool collects(void)
{
    return sysconf(_SC_NPROCESSORS_ONLN) > 1;
}

static void receive(struct pair *pair, uint8_t *into, size_t length)
{
    while (length > 0) {
        struct pollfd readable = {.fd = pair->peer, .events = POLLIN};
        assert_int_equal(poll(&readable, 1, WAIT_MS), 1);
        ssize_t more = recv(pair->peer, into, length, 0);
        assert_true(more > 0);
        into += more;
        length -= (size_t)more;
    }
}

/* The next frame at the peer, and its payload. */
static struct tcp_frame arrived_bytes(struct pair *pair, uint8_t payload[TCP_STAGED_PUT_MAX])
{
    uint8_t head[TCP_FRAME_BYTES];
    receive(pair, head, sizeof head);
    struct tcp_frame frame = tcp_frame_decode(head);
    if (frame.type == TCP_PUT) {
        assert_true(frame.length <= TCP_STAGED_PUT_MAX);
        receive(pair, payload, frame.length);
    }
    return frame;
}

/* The same of a payload that begins with a word. */
static struct tcp_frame arrived(struct pair *pair, uint64_t *word)
{
    uint8_t payload[TCP_STAGED_PUT_MAX];
    struct tcp_frame frame = arrived_bytes(pair, payload);
    if (frame.type == TCP_PUT)
        memcpy(word, payload, sizeof *word);
    return frame;
}

static size_t staged(struct pair *pair)
{
    pthread_mutex_lock(&pair->conn.stage.lock);
    const struct tcp_stage *stage = &pair->conn.stage;
    size_t used = 0;
    for (unsigned i = 0; i < stage->filled.count; i++)
        used += stage->slots[stage->filled.slot[i]].used;
    pthread_mutex_unlock(&pair->conn.stage.lock);
    return used;
}

/* Puts follow each other closely, whatever the machine does. */
static void put_bytes_closely(struct pair *pair, uint64_t offset, const void *from, size_t length)
{
    pair->conn.stage.last_ns = INT64_MAX / 2;
    assert_int_equal(tcp_put(&pair->conn.base, offset, from, length), RSM_ST_OK);
}

static void put_closely(struct pair *pair, uint64_t word)
{
    put_bytes_closely(pair, word * sizeof word, &word, sizeof word);
}

STAGE_TEST(all_arrive_in_their_order)
{
    struct pair pair;
    pair_open(&pair);
    for (uint64_t i = 0; i < RUN; i++)
        put_closely(&pair, i);
    for (uint64_t i = 0; i < RUN; i++) {
        uint64_t word;
        assert_int_equal(arrived(&pair, &word).offset, i * sizeof word);
        assert_int_equal(word, i);
    }
    pair_close(&pair);
}

STAGE_TEST(the_first_of_a_run_go_out_by_themselves)
{
    struct pair pair;
    uint64_t word;
    pair_open(&pair);
    word = 1;
    assert_int_equal(tcp_put(&pair.conn.base, 8, &word, sizeof word), RSM_ST_OK);
    put_closely(&pair, 2);
    assert_int_equal(staged(&pair), 0);
    arrived(&pair, &word);
    arrived(&pair, &word);
    assert_int_equal(word, 2);
    pthread_mutex_lock(&pair.conn.lock); /* the thread cannot have the connection */
    if (collects()) {
        put_closely(&pair, 3);
        assert_int_equal(staged(&pair), TCP_FRAME_BYTES + sizeof word);
    }
    pthread_mutex_unlock(&pair.conn.lock);
    pair.conn.stage.last_ns = 0; /* a pause */
    assert_int_equal(tcp_put(&pair.conn.base, 32, &word, sizeof word), RSM_ST_OK);
    assert_int_equal(staged(&pair), 0);
    pair_close(&pair);
}

/* Writes that share a slot and writes with slots of their own, more than there are slots. */
enum { LENGTHS = 5, ROUNDS = 20 };
static const size_t lengths[LENGTHS] = {8, 4096, 256, 257, 1000};

static void put_all_lengths(struct pair *pair, unsigned round)
{
    uint8_t bytes[TCP_STAGED_PUT_MAX];
    for (unsigned i = 0; i < LENGTHS; i++) {
        memset(bytes, (int)(round * LENGTHS + i), lengths[i]);
        put_bytes_closely(pair, round, bytes, lengths[i]);
    }
}

static void expect_all_lengths(struct pair *pair, unsigned round)
{
    uint8_t bytes[TCP_STAGED_PUT_MAX], expected[TCP_STAGED_PUT_MAX];
    for (unsigned i = 0; i < LENGTHS; i++) {
        memset(expected, (int)(round * LENGTHS + i), lengths[i]);
        struct tcp_frame frame = arrived_bytes(pair, bytes);
        assert_int_equal(frame.type, TCP_PUT);
        assert_int_equal(frame.offset, round);
        assert_int_equal(frame.length, lengths[i]);
        assert_memory_equal(bytes, expected, lengths[i]);
    }
}

STAGE_TEST(writes_of_all_lengths_arrive_in_their_order)
{
    struct pair pair;
    pair_open(&pair);
    for (unsigned round = 0; round < ROUNDS; round++) {
        put_all_lengths(&pair, round);
        expect_all_lengths(&pair, round);
    }
    pair_close(&pair);
}

static void *put_rounds(void *pair)
{
    for (unsigned round = 0; round < ROUNDS; round++)
        put_all_lengths(pair, round);
    return NULL;
}

/* The socket takes parts of slots, and the last writes wait for it. */
STAGE_TEST(a_socket_with_little_room_takes_all)
{
    struct pair pair;
    pthread_t writer;
    int small = 1;
    pair_open(&pair);
    assert_int_equal(
        setsockopt(pair.conn.channel.socket, SOL_SOCKET, SO_SNDBUF, &small, sizeof small), 0);
    assert_int_equal(pthread_create(&writer, NULL, put_rounds, &pair), 0);
    for (unsigned round = 0; round < ROUNDS; round++)
        expect_all_lengths(&pair, round);
    pthread_join(writer, NULL);
    pair_close(&pair);
}

/* Nothing waits for the memory that a write is read from: what serves its fault may use the same
 * connection, and what the fault was served by is sent first. */
static struct pair *faulting;
static void *faulting_page;

static void serve_fault(int signal)
{
    (void)signal;
    uint64_t word = 77;
    if (tcp_put(&faulting->conn.base, 0, &word, sizeof word) != RSM_ST_OK ||
        tcp_post(&faulting->conn.base, false) != RSM_ST_OK ||
        mprotect(faulting_page, TCP_STAGED_PUT_MAX, PROT_READ) != 0)
        abort();
}

static void put_from_faulting_page(struct pair *pair, size_t length)
{
    uint64_t word = 0;
    faulting = pair;
    faulting_page = mmap(NULL, TCP_STAGED_PUT_MAX, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(faulting_page != MAP_FAILED);
    pair->conn.stage.run = 5;
    put_bytes_closely(pair, 8, faulting_page, length);
    assert_int_equal(arrived(pair, &word).type, TCP_PUT);
    assert_int_equal(word, 77);
    assert_int_equal(arrived(pair, &word).type, TCP_SIGNAL);
    struct tcp_frame frame = arrived(pair, &word);
    assert_int_equal(frame.offset, 8);
    assert_int_equal(frame.length, length);
    munmap(faulting_page, TCP_STAGED_PUT_MAX);
}

STAGE_TEST(memory_that_faults_is_read_without_a_lock)
{
    struct sigaction action = {.sa_handler = serve_fault}, before;
    struct pair pair;
    if (!collects()) /* send(2) would report EFAULT */
        skip();
    pair_open(&pair);
    assert_int_equal(sigaction(SIGSEGV, &action, &before), 0);
    put_from_faulting_page(&pair, 8);
    put_from_faulting_page(&pair, TCP_STAGED_PUT_MAX);
    assert_int_equal(sigaction(SIGSEGV, &before, NULL), 0);
    pair_close(&pair);
}

/* What is sent by itself takes along what was collected before it. */
STAGE_TEST(nothing_overtakes)
{
    struct pair pair;
    uint64_t word;
    uint8_t large[TCP_STAGED_PUT_MAX + 1] = {0};
    pair_open(&pair);
    for (int round = 0; round < RUN; round++) {
        for (uint64_t i = 0; i < 5; i++)
            put_closely(&pair, i);
        assert_int_equal(tcp_post(&pair.conn.base, false), RSM_ST_OK);
        for (uint64_t i = 0; i < 5; i++) {
            assert_int_equal(arrived(&pair, &word).type, TCP_PUT);
            assert_int_equal(word, i);
        }
        assert_int_equal(arrived(&pair, &word).type, TCP_SIGNAL);
    }
    put_closely(&pair, 7);
    assert_int_equal(tcp_put(&pair.conn.base, 0, large, sizeof large), RSM_ST_OK);
    assert_int_equal(arrived(&pair, &word).offset, 7 * sizeof word);
    uint8_t bytes[TCP_FRAME_BYTES];
    assert_int_equal(recv(pair.peer, bytes, sizeof bytes, 0), sizeof bytes);
    assert_int_equal(tcp_frame_decode(bytes).length, sizeof large);
    pair_close(&pair);
}

/* A barrier waits for what was collected, too: a FLUSH follows it. */
STAGE_TEST(a_barrier_knows_of_it)
{
    struct pair pair;
    uint64_t word;
    pair_open(&pair);
    for (uint64_t i = 0; i < 3; i++)
        put_closely(&pair, i);
    pthread_mutex_lock(&pair.conn.lock);
    pair.conn.dirty = false; /* as if those before had been waited for */
    pthread_mutex_unlock(&pair.conn.lock);
    uint8_t done[TCP_FRAME_BYTES];
    const struct tcp_frame reply = {.type = TCP_DONE, .id = 1};
    tcp_frame_encode(&reply, done);
    assert_int_equal(send(pair.peer, done, sizeof done, 0), sizeof done);
    if (!collects())
        pair.conn.dirty = true;
    assert_int_equal(tcp_complete(&pair.conn.base), RSM_ST_OK);
    for (uint64_t i = 0; i < 3; i++)
        assert_int_equal(arrived(&pair, &word).type, TCP_PUT);
    if (pair.conn.id == 1)
        assert_int_equal(arrived(&pair, &word).type, TCP_FLUSH);
    pair_close(&pair);
}

/* Whether what has been collected is taken, before long. */
static bool is_taken(struct pair *pair)
{
    for (int64_t end = rsm_clock_ms() + 50; rsm_clock_ms() < end; usleep(100))
        if (staged(pair) == 0)
            return true;
    return false;
}

/* A peer that reads nothing: others are served meanwhile, and all arrives when it reads again. */
STAGE_TEST(a_peer_that_stops_delays_nobody)
{
    struct pair stuck, other;
    uint64_t word;
    int small = 1;
    pair_open(&stuck);
    pair_open(&other);
    assert_int_equal(
        setsockopt(stuck.conn.channel.socket, SOL_SOCKET, SO_SNDBUF, &small, sizeof small), 0);
    uint64_t sent = 0;
    while (collects() && sent < MANY && is_taken(&stuck))
        put_closely(&stuck, sent++);
    for (uint64_t i = 0; i < RUN; i++) {
        put_closely(&other, i);
        int64_t start = rsm_clock_ms();
        assert_int_equal(arrived(&other, &word).type, TCP_PUT);
        assert_true(rsm_clock_ms() - start < options.timeout_ms);
        assert_int_equal(word, i);
    }
    for (uint64_t i = 0; i < sent; i++) {
        assert_int_equal(arrived(&stuck, &word).type, TCP_PUT);
        assert_int_equal(word, i);
    }
    pair_close(&stuck);
    pair_close(&other);
}

/* Writes that were collected and are lost with their connection are counted. */
STAGE_TEST(lost_writes_are_reported)
{
    struct pair pair;
    pair_open(&pair);
    for (uint64_t i = 0; i < RUN; i++)
        put_closely(&pair, i);
    shutdown(pair.peer, SHUT_RDWR);
    enum rsm_status status = RSM_ST_OK;
    for (int64_t end = rsm_clock_ms() + WAIT_MS; status == RSM_ST_OK && rsm_clock_ms() < end;) {
        uint64_t word = 1;
        pair.conn.stage.last_ns = INT64_MAX / 2;
        status = tcp_put(&pair.conn.base, 0, &word, sizeof word);
    }
    assert_int_equal(status, RSM_ST_ABORTED);
    assert_int_equal(rsm_conn_failures(&pair.conn.base), 1);
    assert_int_equal(tcp_complete(&pair.conn.base), RSM_ST_ABORTED);
    pair_close(&pair);
}

/* A disconnect sends what has been collected. */
STAGE_TEST(a_disconnect_leaves_nothing_behind)
{
    struct pair pair;
    uint64_t word;
    pair_open(&pair);
    for (uint64_t i = 0; i < RUN; i++)
        put_closely(&pair, i);
    tcp_sender_leave(&pair.conn);
    tcp_drain(&pair.conn);
    for (uint64_t i = 0; i < RUN; i++)
        assert_int_equal(arrived(&pair, &word).offset, i * sizeof word);
    pair_close(&pair);
}
