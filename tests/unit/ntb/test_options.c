/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "cmocka_all.h"
#include "transport/ntb/common/options.h"

static void what_is_left_out(void **state)
{
    struct ntb_options o;
    char why[200];
    (void)state;
    assert_true(ntb_options_parse("", 0, &o, why, sizeof why));
    assert_int_equal(o.pool, 0);
    assert_int_equal(o.timeout_ms, 3000);
    assert_int_equal(o.heartbeat_ms, 100);
    assert_true(ntb_options_parse(" ,", 300, &o, why, sizeof why));
    assert_int_equal(o.timeout_ms, 300);
    assert_int_equal(o.heartbeat_ms, 50);
}

static void all_of_them(void **state)
{
    struct ntb_options o;
    char why[200];
    (void)state;
    assert_true(
        ntb_options_parse("pool=1G, timeout=600 heartbeat=30,wait=0", 9, &o, why, sizeof why));
    assert_int_equal(o.pool, 1 << 30);
    assert_int_equal(o.timeout_ms, 600);
    assert_int_equal(o.heartbeat_ms, 30);
    assert_int_equal(o.wait_ms, 0);
    assert_true(o.doorbell);
    assert_true(ntb_options_parse("doorbell=no", 9, &o, why, sizeof why));
    assert_false(o.doorbell);
    assert_true(ntb_options_parse("doorbell=yes", 9, &o, why, sizeof why));
    assert_true(o.doorbell);
}

static void what_is_pinned(void **state)
{
    struct ntb_options o;
    char why[200];
    (void)state;
    assert_true(ntb_options_parse("", 0, &o, why, sizeof why));
    assert_true(o.pin == 0 && o.pin_from == UINT64_MAX);
    assert_true(ntb_options_parse("pin=yes", 0, &o, why, sizeof why));
    assert_true(o.pin == UINT64_MAX && o.pin_from == UINT64_MAX);
    assert_true(ntb_options_parse("pin=64M,pin_from=0", 0, &o, why, sizeof why));
    assert_true(o.pin == 64 << 20 && o.pin_from == 0);
    assert_true(ntb_options_parse("pin=yes,pin=no", 0, &o, why, sizeof why));
    assert_true(o.pin == 0);
}

static void what_is_wrong_is_named(void **state)
{
    static const char *const wrong[][2] = {
        {"pool", "pool"},
        {"pool=", "pool"},
        {"pool=4095", "pool"},
        {"pool=1T", "pool"},
        {"pool=-1", "pool"},
        {"timeout=9", "timeout"},
        {"timeout=600001", "timeout"},
        {"heartbeat=0", "heartbeat"},
        {"wait=x", "wait"},
        {"pin=maybe", "pin"},
        {"pin=0", "pin"},
        {"pin=yes,pin_from=x", "pin_from"},
        {"pin_from=1M", "pin_from"},
        {"doorbell=loud", "doorbell"},
        {"sausage=1", "sausage"},
        {"timeout=50,heartbeat=50", "heartbeat"},
    };
    struct ntb_options o;
    char why[200];
    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        why[0] = '\0';
        assert_false(ntb_options_parse(wrong[i][0], 0, &o, why, sizeof why));
        assert_non_null(strstr(why, wrong[i][1]));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_left_out),
        cmocka_unit_test(all_of_them),
        cmocka_unit_test(what_is_pinned),
        cmocka_unit_test(what_is_wrong_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
