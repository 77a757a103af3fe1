/* SPDX-License-Identifier: BSD-3-Clause */
#include "cases.h"
#include "transport/ntb/common/options.h"

TEST_ALONE(what_is_left_out)
{
    struct ntb_options o;
    char why[200];
    assert_true(ntb_options_parse("", &o, why, sizeof why));
    assert_int_equal(o.pool, 0);
    assert_true(o.doorbell);
    assert_true(ntb_options_parse(" ,", &o, why, sizeof why));
    assert_int_equal(o.pool, 0);
}

TEST_ALONE(all_of_them)
{
    struct ntb_options o;
    char why[200];
    assert_true(ntb_options_parse("pool=1G, pin=4M pin_from=8K,doorbell=yes", &o, why, sizeof why));
    assert_int_equal(o.pool, 1 << 30);
    assert_int_equal(o.pin, 4 << 20);
    assert_int_equal(o.pin_from, 8 << 10);
    assert_true(o.doorbell);
    assert_true(ntb_options_parse("doorbell=no", &o, why, sizeof why));
    assert_false(o.doorbell);
    assert_true(ntb_options_parse("doorbell=yes", &o, why, sizeof why));
    assert_true(o.doorbell);
}

TEST_ALONE(what_is_pinned)
{
    struct ntb_options o;
    char why[200];
    assert_true(ntb_options_parse("", &o, why, sizeof why));
    assert_true(o.pin == 0 && o.pin_from == UINT64_MAX);
    assert_true(ntb_options_parse("pin=yes", &o, why, sizeof why));
    assert_true(o.pin == UINT64_MAX && o.pin_from == UINT64_MAX);
    assert_true(ntb_options_parse("pin=64M,pin_from=0", &o, why, sizeof why));
    assert_true(o.pin == 64 << 20 && o.pin_from == 0);
    assert_true(ntb_options_parse("pin=yes,pin=no", &o, why, sizeof why));
    assert_true(o.pin == 0);
}

TEST_ALONE(what_is_wrong_is_named)
{
    static const char *const wrong[][2] = {
        {"pool", "pool"},
        {"pool=", "pool"},
        {"pool=4095", "pool"},
        {"pool=1T", "pool"},
        {"pool=-1", "pool"},
        {"timeout=600", "timeout"}, /* the kernel module decides */
        {"pin=maybe", "pin"},
        {"pin=0", "pin"},
        {"pin=yes,pin_from=x", "pin_from"},
        {"pin_from=1M", "pin_from"},
        {"doorbell=loud", "doorbell"},
        {"sausage=1", "sausage"},
    };
    struct ntb_options o;
    char why[200];
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        why[0] = '\0';
        assert_false(ntb_options_parse(wrong[i][0], &o, why, sizeof why));
        assert_non_null(strstr(why, wrong[i][1]));
    }
}
