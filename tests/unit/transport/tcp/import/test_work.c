/* SPDX-License-Identifier: BSD-3-Clause */
/* Transfers whose end is reported. The test is rsm-tcpd at the other end of a pair of sockets. */
#include "cases.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "transport/tcp/import/import.h"

enum { BYTES = 512, SOON_MS = 20, TIMEOUT_MS = 1000, LARGE = 4 << 20 };

#define OPS (&tcp_completion_ops)

static const struct tcp_options options = {.timeout_ms = TIMEOUT_MS};
static struct tcp_sender sender;

struct pair {
    struct tcp_conn conn;
    int peer;
};

static int set_up(void **state)
{
    int ends[2];
    struct pair *pair = calloc(1, sizeof *pair);
    assert_non_null(pair);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    memset(&sender, 0, sizeof sender);
    tcp_sender_init(&sender);
    pair->conn.options = &options;
    pair->conn.sender = &sender;
    pair->conn.channel.socket = ends[0];
    pair->peer = ends[1];
    pthread_mutex_init(&pair->conn.lock, NULL);
    pthread_mutex_init(&pair->conn.stage.lock, NULL);
    *state = pair;
    return 0;
}

static int tear_down(void **state)
{
    struct pair *pair = *state;
    tcp_works_end(&pair->conn);
    pthread_mutex_destroy(&pair->conn.lock);
    pthread_mutex_destroy(&pair->conn.stage.lock);
    tcp_sender_destroy(&sender);
    close(pair->conn.channel.socket);
    if (pair->peer >= 0)
        close(pair->peer);
    free(pair);
    return 0;
}

static enum rsm_status submit(struct pair *pair, uint64_t cookie, bool read, uint8_t *local,
                              size_t length)
{
    const struct rsm_work work = {
        .cookie = cookie, .read = read, .transfer = {local, cookie * BYTES, length}};
    return OPS->submit(&pair->conn.base, &work);
}

/* The one completion that there is. */
static enum rsm_status ended(struct pair *pair, uint64_t cookie)
{
    struct rsm_completion taken[2];
    assert_int_equal(OPS->poll(&pair->conn.base, taken, 2), 1);
    assert_int_equal(taken[0].cookie, cookie);
    return taken[0].status;
}

static bool nothing_ended(struct pair *pair)
{
    struct rsm_completion taken;
    return OPS->poll(&pair->conn.base, &taken, 1) == 0;
}

/* ------------------------------------------------------------------ rsm-tcpd */

/* The next frame, and its payload. */
static struct tcp_frame next(int peer)
{
    uint8_t bytes[TCP_FRAME_BYTES];
    static uint8_t payload[TCP_PAYLOAD_MAX];
    if (recv(peer, bytes, sizeof bytes, MSG_WAITALL) != sizeof bytes)
        return (struct tcp_frame){.type = 0};
    struct tcp_frame frame = tcp_frame_decode(bytes);
    if (frame.type == TCP_PUT &&
        recv(peer, payload, frame.length, MSG_WAITALL) != (ssize_t)frame.length)
        frame.type = 0;
    return frame;
}

static bool is_silent(struct pair *pair)
{
    char byte;
    return recv(pair->peer, &byte, 1, MSG_DONTWAIT | MSG_PEEK) < 0;
}

static void answer(int peer, struct tcp_frame frame, const uint8_t *data)
{
    uint8_t bytes[TCP_FRAME_BYTES];
    tcp_frame_encode(&frame, bytes);
    assert_int_equal(send(peer, bytes, sizeof bytes, MSG_NOSIGNAL), sizeof bytes);
    if (data != NULL)
        assert_int_equal(send(peer, data, frame.length, MSG_NOSIGNAL), frame.length);
}

static void answer_read(struct pair *pair, struct tcp_frame asked, uint8_t first)
{
    uint8_t data[BYTES];
    for (size_t i = 0; i < sizeof data; i++)
        data[i] = (uint8_t)(first + i);
    answer(pair->peer, (struct tcp_frame){.type = TCP_DATA, .length = asked.length, .id = asked.id},
           data);
}

static void answer_flush(struct pair *pair, struct tcp_frame asked, uint64_t failed)
{
    answer(pair->peer, (struct tcp_frame){.type = TCP_DONE, .offset = failed, .id = asked.id},
           NULL);
}

static struct tcp_frame asks_for(struct pair *pair, enum tcp_frame_type type)
{
    struct tcp_frame frame = next(pair->peer);
    assert_int_equal(frame.type, type);
    return frame;
}

/* ------------------------------------------------------------------ the tests */

TEST_WITH(struct pair *pair, reads_are_asked_for_before_the_first_is_answered, set_up, tear_down)
{
    static uint8_t to[TCP_ANSWERS_MAX + 2][BYTES];
    struct tcp_frame asked[TCP_ANSWERS_MAX + 2];
    for (unsigned i = 0; i < TCP_ANSWERS_MAX + 2; i++)
        assert_int_equal(submit(pair, i, true, to[i], BYTES), RSM_ST_OK);
    for (unsigned i = 0; i < TCP_ANSWERS_MAX; i++) {
        asked[i] = asks_for(pair, TCP_GET);
        assert_int_equal(asked[i].offset, i * BYTES);
    }
    assert_true(is_silent(pair) && nothing_ended(pair));
    for (unsigned i = 0; i < TCP_ANSWERS_MAX + 2; i++) {
        answer_read(pair, asked[i], (uint8_t)i);
        assert_int_equal(OPS->wait(&pair->conn.base, -1), RSM_ST_OK);
        assert_int_equal(ended(pair, i), RSM_ST_OK);
        assert_true(to[i][0] == i && to[i][BYTES - 1] == (uint8_t)(i + BYTES - 1));
        if (i < 2) /* those for which there was no room */
            asked[TCP_ANSWERS_MAX + i] = asks_for(pair, TCP_GET);
    }
    assert_int_equal(OPS->wait(&pair->conn.base, -1), RSM_ST_NOT_FOUND);
}

/* Long ones are asked for in parts. */
TEST_WITH(struct pair *pair, no_more_bytes_are_asked_for_than_may_be_under_way, set_up, tear_down)
{
    static uint8_t to[2][TCP_READ_BYTES];
    for (unsigned i = 0; i < 2; i++)
        assert_int_equal(submit(pair, i, true, to[i], TCP_READ_BYTES), RSM_ST_OK);
    for (unsigned at = 0; at < TCP_READ_BYTES; at += TCP_PAYLOAD_MAX)
        assert_int_equal(asks_for(pair, TCP_GET).offset, at);
    assert_true(is_silent(pair));
}

/* What comes in pieces. */
TEST_WITH(struct pair *pair, an_answer_may_come_byte_by_byte, set_up, tear_down)
{
    uint8_t to[2] = {0}, bytes[TCP_FRAME_BYTES + 2];
    assert_int_equal(submit(pair, 0, true, to, 2), RSM_ST_OK);
    struct tcp_frame asked = asks_for(pair, TCP_GET);
    tcp_frame_encode(&(struct tcp_frame){.type = TCP_DATA, .length = 2, .id = asked.id}, bytes);
    bytes[TCP_FRAME_BYTES] = 'a';
    bytes[TCP_FRAME_BYTES + 1] = 'b';
    for (size_t i = 0; i < sizeof bytes; i++) {
        assert_true(nothing_ended(pair));
        assert_int_equal(send(pair->peer, bytes + i, 1, 0), 1);
    }
    assert_int_equal(ended(pair, 0), RSM_ST_OK);
    assert_memory_equal(to, "ab", 2);
}

TEST_WITH(struct pair *pair, a_refusal_is_that_of_its_transfer, set_up, tear_down)
{
    static uint8_t to[2][BYTES];
    assert_int_equal(submit(pair, 0, true, to[0], BYTES), RSM_ST_OK);
    assert_int_equal(submit(pair, 1, true, to[1], BYTES), RSM_ST_OK);
    struct tcp_frame first = asks_for(pair, TCP_GET), second = asks_for(pair, TCP_GET);
    answer(pair->peer, (struct tcp_frame){.type = TCP_DATA, .id = first.id, .status = RSM_ST_RANGE},
           NULL);
    answer_read(pair, second, 7);
    assert_int_equal(OPS->wait(&pair->conn.base, -1), RSM_ST_OK);
    struct rsm_completion taken[2];
    assert_int_equal(OPS->poll(&pair->conn.base, taken, 2), 2);
    assert_int_equal(taken[0].status, RSM_ST_RANGE);
    assert_int_equal(taken[1].status, RSM_ST_OK);
    assert_int_equal(to[1][0], 7);
}

/* What failed before is not this write's, and what this one fails is no barrier's. */
TEST_WITH(struct pair *pair, a_write_learns_what_has_become_of_it, set_up, tear_down)
{
    static uint8_t from[BYTES];
    struct rsm_conn *conn = &pair->conn.base;
    assert_int_equal(tcp_put(conn, 0, from, BYTES), RSM_ST_OK);
    assert_int_equal(submit(pair, 1, false, from, BYTES), RSM_ST_OK);
    (void)asks_for(pair, TCP_PUT);
    struct tcp_frame before = asks_for(pair, TCP_FLUSH);
    assert_int_equal(asks_for(pair, TCP_PUT).offset, BYTES);
    struct tcp_frame behind = asks_for(pair, TCP_FLUSH);
    answer_flush(pair, before, 1);
    assert_true(nothing_ended(pair));
    assert_int_equal(rsm_conn_failures(conn), 1);
    answer_flush(pair, behind, 2);
    assert_int_equal(ended(pair, 1), RSM_ST_TRANSFER);
    assert_int_equal(rsm_conn_failures(conn), 1);

    assert_int_equal(submit(pair, 2, false, from, BYTES), RSM_ST_OK);
    (void)asks_for(pair, TCP_PUT); /* there is nothing to ask for before it */
    answer_flush(pair, asks_for(pair, TCP_FLUSH), 2);
    assert_int_equal(ended(pair, 2), RSM_ST_OK);
    assert_int_equal(tcp_complete(conn), RSM_ST_OK); /* asks for nothing */
    assert_true(is_silent(pair));
}

TEST_WITH(struct pair *pair, others_take_the_answers_before_theirs, set_up, tear_down)
{
    static uint8_t to[2][BYTES];
    assert_int_equal(submit(pair, 0, true, to[0], BYTES), RSM_ST_OK);
    struct tcp_frame asked = asks_for(pair, TCP_GET);
    answer_read(pair, asked, 1);
    asked.id++; /* the next one is known */
    answer_read(pair, asked, 2);
    assert_int_equal(tcp_get(&pair->conn.base, 0, to[1], BYTES), RSM_ST_OK);
    assert_true(to[0][0] == 1 && to[1][0] == 2);
    assert_int_equal(ended(pair, 0), RSM_ST_OK);
}

/* While it sends, it takes nothing. */
static void *serve(void *argument)
{
    static uint8_t data[TCP_PAYLOAD_MAX];
    int peer = *(int *)argument;
    for (struct tcp_frame frame = next(peer); frame.type != 0; frame = next(peer))
        if (frame.type == TCP_GET)
            answer(peer,
                   (struct tcp_frame){.type = TCP_DATA, .length = frame.length, .id = frame.id},
                   data);
        else if (frame.type == TCP_FLUSH)
            answer(peer, (struct tcp_frame){.type = TCP_DONE, .id = frame.id}, NULL);
    return NULL;
}

TEST_WITH(struct pair *pair, large_writes_and_reads_do_not_wait_for_each_other, set_up, tear_down)
{
    static uint8_t to[LARGE], from[LARGE];
    struct rsm_completion taken[8];
    unsigned count = 0;
    pthread_t server;
    assert_int_equal(pthread_create(&server, NULL, serve, &pair->peer), 0);
    for (unsigned i = 0; i < 6; i++)
        assert_int_equal(submit(pair, i, i % 3 != 2, i % 3 != 2 ? to : from, LARGE), RSM_ST_OK);
    assert_int_equal(tcp_put(&pair->conn.base, 0, from, LARGE), RSM_ST_OK);
    assert_int_equal(submit(pair, 6, true, to, LARGE), RSM_ST_OK);
    assert_int_equal(tcp_complete(&pair->conn.base), RSM_ST_OK);
    while (OPS->wait(&pair->conn.base, -1) == RSM_ST_OK) {
        unsigned got = OPS->poll(&pair->conn.base, taken, 8);
        for (unsigned i = 0; i < got; i++) {
            assert_int_equal(taken[i].cookie, count++);
            assert_int_equal(taken[i].status, RSM_ST_OK);
        }
    }
    assert_int_equal(count, 7);
    assert_int_equal(shutdown(pair->conn.channel.socket, SHUT_RDWR), 0);
    assert_int_equal(pthread_join(server, NULL), 0);
}

TEST_WITH(struct pair *pair, there_is_a_greatest_number, set_up, tear_down)
{
    static uint8_t to[BYTES];
    for (unsigned i = 0; i < RSM_WORK_MAX; i++)
        assert_int_equal(submit(pair, i, true, to, 1), RSM_ST_OK);
    assert_int_equal(submit(pair, RSM_WORK_MAX, true, to, 1), RSM_ST_BUSY);
}

static void all_have_been_aborted(struct pair *pair, unsigned count)
{
    struct rsm_completion taken[8];
    assert_int_equal(OPS->wait(&pair->conn.base, -1), RSM_ST_OK);
    assert_int_equal(OPS->poll(&pair->conn.base, taken, 8), count);
    for (unsigned i = 0; i < count; i++)
        assert_int_equal(taken[i].status, RSM_ST_ABORTED);
    assert_int_equal(OPS->wait(&pair->conn.base, -1), RSM_ST_NOT_FOUND);
    assert_int_equal(submit(pair, 9, true, NULL, 0), RSM_ST_ABORTED);
}

TEST_WITH(struct pair *pair, all_end_with_the_connection, set_up, tear_down)
{
    static uint8_t bytes[BYTES];
    assert_int_equal(submit(pair, 0, false, bytes, BYTES), RSM_ST_OK);
    assert_int_equal(submit(pair, 1, true, bytes, BYTES), RSM_ST_OK);
    assert_int_equal(submit(pair, 2, false, bytes, BYTES), RSM_ST_OK); /* waits for the read */
    close(pair->peer);
    pair->peer = -1;
    all_have_been_aborted(pair, 3);
    assert_int_equal(rsm_conn_failures(&pair->conn.base), 0); /* no barrier asks for these */
}

TEST_WITH(struct pair *pair, a_wait_ends_and_a_silent_peer_is_dead, set_up, tear_down)
{
    static uint8_t bytes[BYTES];
    assert_int_equal(submit(pair, 0, true, bytes, BYTES), RSM_ST_OK);
    assert_int_equal(OPS->wait(&pair->conn.base, SOON_MS), RSM_ST_TIMEOUT);
    assert_true(nothing_ended(pair));
    assert_int_equal(tcp_health(&pair->conn.base), RSM_ST_OK);
    all_have_been_aborted(pair, 1);
}
