/* SPDX-License-Identifier: BSD-3-Clause */
#include "cases.h"
#include "transport/verbs/common/options.h"

#define DIGITS "00000000000000000000000000000000000000000000"

TEST_ALONE(defaults)
{
    static const char *const nothing[] = {"", " ", ",,", " , \t"};
    struct verbs_options o;
    char why[200];
    for (unsigned i = 0; i < sizeof nothing / sizeof nothing[0]; i++) {
        memset(&o, 0xff, sizeof o);
        assert_true(verbs_options_parse(nothing[i], 0, &o, why, sizeof why));
        assert_int_equal(o.gid, VERBS_GID_AUTO);
        assert_int_equal(o.spin_us, VERBS_SPIN_AUTO);
        assert_int_equal(o.retry, VERBS_RETRY_MAX);
        assert_int_equal(o.timeout_ms, 3000);
        assert_int_equal(o.port, 0);
        assert_true(o.register_from == VERBS_REGISTER_AUTO);
        assert_string_equal(o.address, "");
        assert_true(o.windows);
        assert_true(verbs_options_parse(nothing[i], 700, &o, why, sizeof why));
        assert_int_equal(o.timeout_ms, 700);
    }
}

TEST_ALONE(all_of_them)
{
    struct verbs_options o;
    char why[200];
    assert_true(
        verbs_options_parse("gid=3,port=7471 address=10.0.0.7, timeout=500 retry=2,spin-us=0,"
                            "inline=64,mtu=1024,pool=64M,bounce=1M,register=2G,windows=no",
                            9000, &o, why, sizeof why));
    assert_int_equal(o.gid, 3);
    assert_int_equal(o.port, 7471);
    assert_string_equal(o.address, "10.0.0.7");
    assert_int_equal(o.timeout_ms, 500);
    assert_int_equal(o.retry, 2);
    assert_int_equal(o.spin_us, 0);
    assert_int_equal(o.inline_bytes, 64);
    assert_int_equal(o.mtu, 1024);
    assert_int_equal(o.pool, 64 << 20);
    assert_int_equal(o.bounce, 1 << 20);
    assert_int_equal(o.register_from, INT64_C(2) << 30);
    assert_false(o.windows);
    assert_true(verbs_options_parse("address=2001:db8::1", 0, &o, why, sizeof why));
    assert_string_equal(o.address, "2001:db8::1");
    assert_true(verbs_options_parse("register=no", 0, &o, why, sizeof why));
    assert_true(o.register_from == VERBS_REGISTER_NEVER);
    assert_true(verbs_options_parse("register=auto", 0, &o, why, sizeof why));
    assert_true(o.register_from == VERBS_REGISTER_AUTO);
}

static uint64_t threshold_of(const char *text, bool fork_copies)
{
    struct verbs_options o;
    char why[200];
    assert_true(verbs_options_parse(text, 0, &o, why, sizeof why));
    return verbs_register_threshold(&o, fork_copies);
}

/* `auto` is what existing files say; on old kernels it must not take pages from children. */
TEST_ALONE(registration_threshold)
{
    assert_true(threshold_of("", true) == 256 * 1024);
    assert_true(threshold_of("register=auto", true) == 256 * 1024);
    assert_true(threshold_of("", false) == VERBS_REGISTER_NEVER);
    assert_true(threshold_of("register=auto", false) == VERBS_REGISTER_NEVER);
    for (int fork_copies = 0; fork_copies < 2; fork_copies++) {
        assert_true(threshold_of("register=no", fork_copies) == VERBS_REGISTER_NEVER);
        assert_true(threshold_of("register=1", fork_copies) == 1);
        assert_true(threshold_of("register=1M", fork_copies) == 1 << 20);
        assert_true(threshold_of("register=1M,register=auto", fork_copies) ==
                    threshold_of("", fork_copies));
    }
}

TEST_ALONE(refusals)
{
    static const char *const bad[] = {
        "retry=7", /* for ever, to some devices */
        "retry=-1",
        "retry=",
        "retry",
        "retry= 1",
        "retry=0x1",
        "colour=red",
        "port=65536",
        "mtu=1500",
        "mtu=8192",
        "timeout=9",
        "pool=1T",
        "pool=1KK",
        "pool=99999999999999999999",
        "pool=18446744073709551615K",
        "windows=maybe",
        "register=0",
        "register=yes",
        "register=",
        "windows=",
        "address=host",
        "address=",
        "address=10.0.0",
        "spin-us=2000000",
        "bounce=1K",
        "gid=-1",
        "=1",
        "address=1111:2222:3333:4444:5555:6666:7777:8888:9999:aaaa:bbbb",
        ("pool=" DIGITS DIGITS DIGITS DIGITS)};
    struct verbs_options o;
    for (unsigned i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        char why[200] = "";
        if (verbs_options_parse(bad[i], 0, &o, why, sizeof why))
            fail_msg("%s was accepted", bad[i]);
        assert_true(strlen(why) > 10);
    }
}

/* The formula of the InfiniBand specification: (retry + 1) * 4.096 us * 2^e. */
TEST_ALONE(timeouts_end_in_time)
{
    static const uint32_t wanted[] = {10, 50, 200, 1000, 3000, 10000, 600000};
    for (unsigned i = 0; i < sizeof wanted / sizeof wanted[0]; i++)
        for (uint32_t retry = 0; retry <= VERBS_RETRY_MAX; retry++) {
            uint8_t e = verbs_ack_timeout(wanted[i], retry);
            double ms = (retry + 1) * 0.004096 * (double)(UINT64_C(1) << e);
            assert_true(e >= 1 && e <= 31);
            assert_true(ms <= wanted[i]);
            assert_true(ms * 2 > wanted[i]);
        }
    assert_int_equal(verbs_ack_timeout(3000, 6), 16);
}
