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

static void one_source_has_few(void **state)
{
    struct bed *bed = *state;
    enum { MANY = TCP_STRANGERS_EACH + 4 };
    int fds[MANY];
    for (unsigned i = 0; i < MANY; i++)
        fds[i] = bed_call(bed);
    assert_int_equal(bed->server.stranger_count, TCP_STRANGERS_EACH);
    for (unsigned i = 0; i < MANY; i++) {
        bool ended = bed_reply(bed, fds[i], NULL).type == ENDED;
        assert_int_equal(ended, i < MANY - TCP_STRANGERS_EACH); /* the oldest */
        close(fds[i]);
    }
}

static void they_do_not_keep_an_importer_out(void **state)
{
    struct bed *bed = *state;
    int fds[TCP_STRANGERS_EACH];
    for (unsigned i = 0; i < TCP_STRANGERS_EACH; i++)
        fds[i] = bed_call(bed);
    bed_grant(bed, 1, RSM_RIGHT_READ);
    close(bed_connect(bed, 1, TCP_STREAM_DATA));
    for (unsigned i = 0; i < TCP_STRANGERS_EACH; i++)
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
        TEST(one_source_has_few),
        TEST(they_do_not_keep_an_importer_out),
        TEST(nor_do_they_stay),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
