/* SPDX-License-Identifier: BSD-3-Clause */
/* TCP connections that have shown no token: few, and not for long. */
#include "../bed.h"
#include "cases.h"

enum { ENDED = 255 };

static void a_stranger_may_say_one_thing(void **state)
{
    struct bed *bed = *state;
    int fd = bed_call(bed);
    assert_int_equal(bed->server.stranger_count, 1);
    bed_send(fd, (struct tcp_frame){.type = TCP_FLUSH}, "012345678901234567890123456789012", 32);
    assert_int_equal(bed_reply(bed, fd, NULL).type, ENDED);
    assert_int_equal(bed->server.stranger_count, 0);
    close(fd);
}

static void the_oldest_gives_way(void **state)
{
    struct bed *bed = *state;
    enum { MANY = BED_STRANGERS + 4 };
    int fds[MANY];
    for (unsigned i = 0; i < MANY; i++)
        fds[i] = bed_call(bed);
    assert_int_equal(bed->server.stranger_count, BED_STRANGERS);
    for (unsigned i = 0; i < MANY; i++) {
        bool ended = bed_reply(bed, fds[i], NULL).type == ENDED;
        assert_int_equal(ended, i < MANY - BED_STRANGERS);
        close(fds[i]);
    }
    bed_turn(bed);
    assert_int_equal(bed->server.stranger_count, 0);
    assert_null(bed->server.sources);
}

/* However many come, and from several sources: those of a source that has few stay. */
static void of_the_source_that_has_most(void **state)
{
    struct bed *bed = *state;
    enum { SOURCES = 4, CALLS = 3 * BED_STRANGERS };
    int fds[CALLS], first = bed_call_from(bed, 9), second = bed_call_from(bed, 9);
    bed_grant(bed, 1, RSM_RIGHT_READ);
    for (unsigned i = 0; i < CALLS; i++)
        fds[i] = bed_call_from(bed, (uint8_t)(1 + i % SOURCES));
    assert_int_equal(bed->server.stranger_count, BED_STRANGERS);
    assert_int_equal(bed_reply(bed, first, NULL).type, 0);
    bed_hello(second, 1, TCP_STREAM_DATA, 1);
    assert_int_equal(bed_reply(bed, second, NULL).type, TCP_DONE);
    assert_int_equal(bed->server.stranger_count, BED_STRANGERS - 1);
    for (unsigned i = 0; i < CALLS; i++)
        close(fds[i]);
    close(first);
    close(second);
}

static void they_do_not_keep_an_importer_out(void **state)
{
    struct bed *bed = *state;
    int fds[BED_STRANGERS];
    for (unsigned i = 0; i < BED_STRANGERS; i++)
        fds[i] = bed_call(bed);
    bed_grant(bed, 1, RSM_RIGHT_READ);
    close(bed_connect(bed, 1, TCP_STREAM_DATA));
    for (unsigned i = 0; i < BED_STRANGERS; i++)
        close(fds[i]);
}

static void nor_do_they_stay(void **state)
{
    struct bed *bed = *state;
    int fd = bed_call(bed);
    bed->server.timeout_ns = 0;
    assert_int_equal(bed_reply(bed, fd, NULL).type, ENDED);
    assert_int_equal(bed->server.stranger_count, 0);
    close(fd);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, bed_begin, bed_end)
    const struct CMUnitTest tests[] = {
        TEST(a_stranger_may_say_one_thing),
        TEST(the_oldest_gives_way),
        TEST(of_the_source_that_has_most),
        TEST(they_do_not_keep_an_importer_out),
        TEST(nor_do_they_stay),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
