/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads of one moment, beside a thread that stores all the time, and where there is no room for
 * them. */
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "../bed.h"
#include "cases.h"

enum { WORDS = BED_BYTES / 8 };

static const struct tcp_frame get = {
    .type = TCP_GET, .flags = TCP_FLAG_SNAPSHOT, .length = BED_BYTES, .id = 3};

static int connect_to(struct bed *bed, uint64_t id)
{
    bed_grant(bed, id, RSM_RIGHT_READ);
    return bed_connect(bed, id, TCP_STREAM_DATA);
}

static struct tcp_link *link_of(const struct bed *bed, uint64_t id)
{
    const struct tcp_grant *grant = bed->server.grants;
    while (grant->id != id)
        grant = grant->hh.next;
    return grant->link[TCP_STREAM_DATA];
}

static unsigned used(const struct bed *bed)
{
    unsigned count = 0;
    for (unsigned i = 0; i < TCP_SNAPSHOTS; i++)
        count += bed->server.snapshots[i].grant != NULL;
    return count;
}

/* @return whether it is of one moment. */
static bool ask(struct bed *bed, int fd, struct tcp_frame request, uint64_t *back)
{
    bed_send(fd, request, NULL, 0);
    struct tcp_frame data = bed_reply(bed, fd, back);
    assert_true(data.type == TCP_DATA && data.id == request.id && data.status == RSM_ST_OK);
    assert_int_equal(data.length, request.length);
    assert_int_equal(used(bed), 0);
    return data.flags == TCP_FLAG_SNAPSHOT;
}

static void importers_learn_that_they_may_ask(void **state)
{
    struct bed *bed = *state;
    bed_grant(bed, 1, RSM_RIGHT_READ);
    for (unsigned stream = 0; stream < TCP_STREAMS; stream++) {
        int fd = bed_call(bed);
        bed_hello(fd, 1, stream, 1);
        struct tcp_frame done = bed_reply(bed, fd, NULL);
        if (stream == TCP_STREAM_DATA)
            assert_true(done.type == TCP_DONE && done.offset == TCP_CAN_SNAPSHOT);
        else
            assert_int_equal(done.offset, 0);
        close(fd);
    }
}

static void the_data_is_what_was_there(void **state)
{
    struct bed *bed = *state;
    static uint64_t back[WORDS];
    int fd = connect_to(bed, 1);
    for (unsigned i = 0; i < BED_BYTES; i++)
        bed->segment[i] = (uint8_t)(i * 5);
    assert_true(ask(bed, fd, get, back));
    assert_memory_equal(back, bed->segment, BED_BYTES);
    struct tcp_frame part = get;
    part.offset = 8;
    part.length = 24;
    assert_true(ask(bed, fd, part, back));
    assert_memory_equal(back, bed->segment + 8, 24);
    part.length = 0;
    assert_false(ask(bed, fd, part, back));
    part = get;
    part.flags = 0; /* nobody asked for it */
    assert_false(ask(bed, fd, part, back));
    close(fd);
}

/* The importer gets the data all the same. */
static void not_for_every_range(void **state)
{
    struct bed *bed = *state;
    static uint64_t back[WORDS];
    int fd = connect_to(bed, 1);
    memset(bed->segment, 0x77, BED_BYTES);
    for (unsigned i = 0; i < 2; i++) {
        struct tcp_frame odd = get;
        odd.offset = i == 0 ? 4 : 0;
        odd.length = i == 0 ? 64 : 60;
        memset(back, 0, sizeof back);
        assert_false(ask(bed, fd, odd, back));
        for (unsigned at = 0; at < odd.length; at++)
            assert_int_equal(((uint8_t *)back)[at], 0x77);
    }
    close(fd);
}

static void others_may_have_all_the_room(void **state)
{
    struct bed *bed = *state;
    static uint64_t back[WORDS];
    const struct tcp_grant others = {.node = 9};
    int fd = connect_to(bed, 1);
    memset(bed->segment, 9, BED_BYTES);
    for (unsigned i = 0; i < TCP_SNAPSHOTS; i++)
        bed->server.snapshots[i].grant = &others;
    bed_send(fd, get, NULL, 0);
    struct tcp_frame data = bed_reply(bed, fd, back);
    assert_true(data.type == TCP_DATA && data.flags == 0);
    assert_memory_equal(back, bed->segment, BED_BYTES);
    bed->server.snapshots[3].grant = NULL;
    bed_send(fd, get, NULL, 0);
    assert_int_equal(bed_reply(bed, fd, back).flags, TCP_FLAG_SNAPSHOT);
    assert_int_equal(used(bed), TCP_SNAPSHOTS - 1);
    for (unsigned i = 0; i < TCP_SNAPSHOTS; i++)
        bed->server.snapshots[i].grant = NULL;
    close(fd);
}

/* Who does not read what he has asked for keeps others from nothing. */
static void a_user_has_his_share(void **state)
{
    struct bed *bed = *state;
    enum { MANY = 1000 };
    static uint64_t back[WORDS];
    int idle[TCP_SNAPSHOTS_USER], fd = connect_to(bed, 10);
    for (unsigned i = 0; i < TCP_SNAPSHOTS_USER; i++) {
        idle[i] = connect_to(bed, i + 1);
        for (unsigned sent = 0; sent < MANY; sent++)
            bed_send(idle[i], get, NULL, 0);
    }
    bed_turn(bed);
    assert_int_equal(used(bed), TCP_SNAPSHOTS_USER);
    bed_send(fd, get, NULL, 0);
    assert_int_equal(bed_reply(bed, fd, back).flags, 0);
    link_of(bed, 10)->grant->uid = 1; /* another user */
    bed_send(fd, get, NULL, 0);
    assert_int_equal(bed_reply(bed, fd, back).flags, TCP_FLAG_SNAPSHOT);
    for (unsigned i = 0; i < TCP_SNAPSHOTS_USER; i++)
        close(idle[i]);
    bed_turn(bed);
    assert_int_equal(used(bed), 0);
    close(fd);
}

/* One that waits for the socket does not change, and has one place. It goes with the connection. */
static void one_that_waits_stays_as_it_was(void **state)
{
    struct bed *bed = *state;
    enum { MANY = 1000 };
    static uint64_t back[WORDS];
    int fd = connect_to(bed, 1), other = connect_to(bed, 2);
    memset(bed->segment, 1, BED_BYTES);
    for (unsigned i = 0; i < MANY; i++)
        bed_send(fd, get, NULL, 0);
    bed_turn(bed);
    assert_non_null(link_of(bed, 1)->snapshot);
    assert_int_equal(used(bed), 1);
    memset(bed->segment, 2, BED_BYTES);
    unsigned news = 0;
    for (unsigned i = 0; i < MANY; i++) {
        assert_int_equal(bed_reply(bed, fd, back).flags, TCP_FLAG_SNAPSHOT);
        uint64_t first = back[0];
        assert_true(first == UINT64_C(0x0101010101010101) ||
                    first == 2 * UINT64_C(0x0101010101010101));
        for (unsigned word = 0; word < WORDS; word++)
            assert_int_equal(back[word], first);
        news += first != UINT64_C(0x0101010101010101);
    }
    assert_in_range(news, 1, MANY - 1);
    assert_int_equal(used(bed), 0);
    for (unsigned i = 0; i < MANY; i++)
        bed_send(fd, get, NULL, 0);
    bed_turn(bed);
    assert_int_equal(used(bed), 1);
    close(fd);
    bed_turn(bed);
    assert_int_equal(used(bed), 0);
    close(other);
}

static atomic_bool stop;

/* At each moment the first words have a number, and the others the one before. */
static void *count(void *argument)
{
    _Atomic uint64_t *words = argument;
    for (uint64_t number = 1; !atomic_load(&stop); number++)
        for (unsigned i = 0; i < WORDS; i++)
            atomic_store_explicit(&words[i], number, memory_order_release);
    return NULL;
}

/* It is not always possible, and said only when it was. */
static void stores_go_on_meanwhile(void **state)
{
    struct bed *bed = *state;
    static uint64_t back[WORDS];
    pthread_t thread;
    struct tcp_frame few = get;
    few.length = 64;
    int fd = connect_to(bed, 1);
    memset(bed->segment, 0, BED_BYTES);
    atomic_store(&stop, false);
    assert_int_equal(pthread_create(&thread, NULL, count, bed->segment), 0);
    for (unsigned i = 0; i < 3000; i++) {
        struct tcp_frame request = i % 2 == 0 ? get : few;
        if (!ask(bed, fd, request, back))
            continue;
        unsigned words = request.length / 8, changes = 0;
        for (unsigned word = 1; word < words; word++)
            changes += back[word] != back[word - 1];
        assert_in_range(changes, 0, 1);
        assert_in_range(back[0] - back[words - 1], 0, 1);
    }
    atomic_store(&stop, true);
    assert_int_equal(pthread_join(thread, NULL), 0);
    close(fd);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, bed_begin, bed_end)
    const struct CMUnitTest tests[] = {
        TEST(importers_learn_that_they_may_ask),
        TEST(the_data_is_what_was_there),
        TEST(not_for_every_range),
        TEST(others_may_have_all_the_room),
        TEST(a_user_has_his_share),
        TEST(one_that_waits_stays_as_it_was),
        TEST(stores_go_on_meanwhile),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
