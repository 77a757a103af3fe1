/* SPDX-License-Identifier: BSD-3-Clause */
#include "cmocka_all.h"
#include "transport/verbs/import/chooser.h"

enum { LARGE = 1 << 20 };

/* Gets of which a copy takes `copy` and a registration `registration`; @return registrations. */
static unsigned run(struct verbs_chooser *chooser, uint64_t length, unsigned gets, double copy,
                    double registration)
{
    unsigned registrations = 0;
    for (unsigned i = 0; i < gets; i++) {
        bool registering = verbs_chooser_ask(chooser, length);
        registrations += registering;
        verbs_chooser_tell(chooser, length, registering, registering ? registration : copy);
    }
    return registrations;
}

static void small_ones_are_copied(void **state)
{
    struct verbs_chooser chooser = {0};
    (void)state;
    assert_int_equal(run(&chooser, (1 << VERBS_CHOOSER_FROM) - 1, 1000, 10, 1), 0);
}

static void tries_both_and_keeps_the_faster(void **state)
{
    struct verbs_chooser chooser = {0};
    (void)state;
    assert_int_equal(run(&chooser, LARGE, 2 * VERBS_CHOOSER_TRIALS, 100, 50), VERBS_CHOOSER_TRIALS);
    assert_int_equal(run(&chooser, LARGE, 100, 100, 50), 100);
    struct verbs_chooser other = {0};
    run(&other, LARGE, 2 * VERBS_CHOOSER_TRIALS, 50, 100);
    assert_int_equal(run(&other, LARGE, 100, 50, 100), 0);
}

static void sizes_are_apart(void **state)
{
    struct verbs_chooser chooser = {0};
    (void)state;
    run(&chooser, LARGE, 20, 100, 50);
    run(&chooser, 64 * LARGE, 20, 50, 100);
    assert_true(verbs_chooser_ask(&chooser, LARGE));
    assert_false(verbs_chooser_ask(&chooser, 64 * LARGE));
    assert_true(verbs_chooser_ask(&chooser, 2 * LARGE - 1)); /* the same power of two */
}

static void one_disturbance_decides_nothing(void **state)
{
    struct verbs_chooser chooser = {0};
    (void)state;
    run(&chooser, LARGE, 2 * VERBS_CHOOSER_TRIALS, 100, 50);
    verbs_chooser_tell(&chooser, LARGE, true, 1000); /* somebody else had the processor */
    assert_true(verbs_chooser_ask(&chooser, LARGE));
}

static void a_changed_machine_is_found_out(void **state)
{
    struct verbs_chooser chooser = {0};
    (void)state;
    run(&chooser, LARGE, 100, 100, 50);
    run(&chooser, LARGE, 20 * VERBS_CHOOSER_AGAIN, 100, 500);
    assert_true(run(&chooser, LARGE, VERBS_CHOOSER_AGAIN, 100, 500) <= 1);
}

static void huge_sizes_have_a_place(void **state)
{
    struct verbs_chooser chooser = {0};
    (void)state;
    assert_true(verbs_chooser_class(UINT64_MAX) < VERBS_CHOOSER_SIZES);
    assert_int_equal(run(&chooser, UINT64_MAX, 2 * VERBS_CHOOSER_TRIALS, 1, 2),
                     VERBS_CHOOSER_TRIALS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_ones_are_copied),
        cmocka_unit_test(tries_both_and_keeps_the_faster),
        cmocka_unit_test(sizes_are_apart),
        cmocka_unit_test(one_disturbance_decides_nothing),
        cmocka_unit_test(a_changed_machine_is_found_out),
        cmocka_unit_test(huge_sizes_have_a_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
