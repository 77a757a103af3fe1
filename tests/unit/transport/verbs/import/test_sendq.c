/* SPDX-License-Identifier: BSD-3-Clause */
#include "cases.h"
#include "transport/verbs/import/sendq.h"

TEST_ALONE(completions_stand_for_all_before)
{
    struct verbs_sendq l = {0};
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

TEST_ALONE(nothing_happens_on_a_dead_connection)
{
    struct verbs_sendq l = {0};
    verbs_sendq_posted(&l, 2);
    verbs_sendq_completed(&l, 1);
    verbs_sendq_fail(&l);
    verbs_sendq_fail(&l);
    verbs_sendq_completed(&l, 2);
    assert_int_equal(l.completed, 1);
    assert_int_equal(verbs_sendq_outstanding(&l), 0);
}
