/* SPDX-License-Identifier: BSD-3-Clause */
#include "cmocka_all.h"
#include "transport/verbs/import/sendq.h"

static void completions_stand_for_all_before(void **state)
{
    struct verbs_sendq l = {0};
    (void)state;
    assert_int_equal(verbs_sendq_posted(&l, 3), 3);
    assert_int_equal(verbs_sendq_outstanding(&l), 3);
    verbs_sendq_completed(&l, 2);
    assert_int_equal(verbs_sendq_outstanding(&l), 1);
    verbs_sendq_completed(&l, 1); /* never back */
    assert_int_equal(verbs_sendq_outstanding(&l), 1);
    verbs_sendq_completed(&l, 99); /* never beyond what was posted */
    assert_int_equal(verbs_sendq_outstanding(&l), 0);
    assert_int_equal(l.completed, 3);
}

static void a_lost_put_is_told_once(void **state)
{
    struct verbs_sendq l = {0};
    (void)state;
    verbs_sendq_report_success(&l, verbs_sendq_posted(&l, 1));
    verbs_sendq_fail(&l);
    assert_true(verbs_sendq_take_error(&l));
    assert_false(verbs_sendq_take_error(&l));
    verbs_sendq_fail(&l); /* a second reason is not a second loss */
    assert_false(verbs_sendq_take_error(&l));
    verbs_sendq_completed(&l, 1); /* nothing happens on a dead connection */
    assert_int_equal(l.completed, 0);
    assert_int_equal(verbs_sendq_outstanding(&l), 0);
}

static void what_arrived_is_not_lost(void **state)
{
    struct verbs_sendq l = {0};
    (void)state;
    verbs_sendq_report_success(&l, verbs_sendq_posted(&l, 2));
    verbs_sendq_completed(&l, 2);
    verbs_sendq_posted(&l, 1); /* a get, whose caller waits and is told by its return */
    verbs_sendq_fail(&l);
    assert_false(verbs_sendq_take_error(&l));
}

static void death_between_post_and_return(void **state)
{
    struct verbs_sendq l = {0};
    (void)state;
    uint64_t number = verbs_sendq_posted(&l, 1);
    verbs_sendq_fail(&l);
    verbs_sendq_report_success(&l, number);
    assert_true(verbs_sendq_take_error(&l));
}

static void an_early_one_lost_behind_a_waiter(void **state)
{
    struct verbs_sendq l = {0};
    (void)state;
    verbs_sendq_posted(&l, 1);
    verbs_sendq_report_success(&l, verbs_sendq_posted(&l, 1));
    verbs_sendq_completed(&l, 1);
    verbs_sendq_fail(&l);
    assert_true(verbs_sendq_take_error(&l));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(completions_stand_for_all_before),
        cmocka_unit_test(a_lost_put_is_told_once),
        cmocka_unit_test(what_arrived_is_not_lost),
        cmocka_unit_test(death_between_post_and_return),
        cmocka_unit_test(an_early_one_lost_behind_a_waiter),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
