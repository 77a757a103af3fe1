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

static void nothing_happens_on_a_dead_connection(void **state)
{
    struct verbs_sendq l = {0};
    (void)state;
    verbs_sendq_posted(&l, 2);
    verbs_sendq_completed(&l, 1);
    verbs_sendq_fail(&l);
    verbs_sendq_fail(&l);
    verbs_sendq_completed(&l, 2);
    assert_int_equal(l.completed, 1);
    assert_int_equal(verbs_sendq_outstanding(&l), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(completions_stand_for_all_before),
        cmocka_unit_test(nothing_happens_on_a_dead_connection),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
