/* SPDX-License-Identifier: BSD-3-Clause */
#include "cases.h"
#include "transport/verbs/node/pool_classes.h"

enum { BUDGET = 4096 /* pages: 16 MiB */ };

/* Let the thread do what it would; @return how many were made. */
static unsigned settle(struct verbs_pool_classes *classes)
{
    unsigned made = 0;
    int size_class;
    for (;;) {
        switch (verbs_pool_classes_next(classes, &size_class)) {
        case VERBS_POOL_REST:
            return made;
        case VERBS_POOL_MAKE:
            verbs_pool_classes_made(classes, size_class);
            made++;
            break;
        default:
            break;
        }
        assert_true(classes->pages <= classes->budget);
        assert_true(made < 10000);
    }
}

TEST_ALONE(classes_waste_little)
{
    assert_int_equal(verbs_class_of(0), VERBS_CLASS_NONE);
    assert_int_equal(verbs_class_of(verbs_class_pages(VERBS_CLASSES - 1) + 1), VERBS_CLASS_NONE);
    for (int size_class = 0; size_class < VERBS_CLASSES; size_class++) {
        uint64_t pages = verbs_class_pages(size_class);
        assert_int_equal(verbs_class_of(pages), size_class);
        if (size_class == 0)
            continue;
        uint64_t below = verbs_class_pages(size_class - 1);
        assert_true(below < pages);
        assert_int_equal(verbs_class_of(below + 1), size_class);
        assert_true((pages - below - 1) * 5 <= pages); /* idle at most a fifth */
    }
}

TEST_ALONE(begins_with_small_ones)
{
    struct verbs_pool_classes classes;
    verbs_pool_classes_init(&classes, BUDGET);
    assert_true(settle(&classes) > 10);
    assert_true(classes.pages <= BUDGET / 4);
    assert_int_not_equal(verbs_pool_classes_take(&classes, 1), VERBS_CLASS_NONE);
    assert_int_equal(verbs_pool_classes_take(&classes, BUDGET), VERBS_CLASS_NONE);
}

TEST_ALONE(follows_demand)
{
    struct verbs_pool_classes classes;
    verbs_pool_classes_init(&classes, BUDGET);
    settle(&classes);
    assert_int_equal(verbs_pool_classes_take(&classes, 100), VERBS_CLASS_NONE);
    assert_true(settle(&classes) > 0);
    int size_class = verbs_pool_classes_take(&classes, 100);
    assert_int_not_equal(size_class, VERBS_CLASS_NONE);
    assert_true(verbs_class_pages(size_class) >= 100);
    assert_int_equal(settle(&classes), 1); /* what was taken is replaced */
}

TEST_ALONE(larger_one_will_do)
{
    struct verbs_pool_classes classes;
    verbs_pool_classes_init(&classes, BUDGET);
    verbs_pool_classes_take(&classes, 112);
    settle(&classes);
    int size_class = verbs_pool_classes_take(&classes, 90); /* its own size is 96 */
    assert_int_equal(verbs_class_pages(size_class), 112);
}

TEST_ALONE(old_sizes_give_way)
{
    struct verbs_pool_classes classes;
    verbs_pool_classes_init(&classes, BUDGET);
    for (uint64_t pages = 64; pages <= BUDGET / 2; pages *= 2) {
        for (int i = 0; i < 8; i++)
            verbs_pool_classes_take(&classes, pages);
        settle(&classes);
        assert_int_not_equal(verbs_pool_classes_take(&classes, pages), VERBS_CLASS_NONE);
        settle(&classes);
    }
    assert_true(classes.pages <= BUDGET);
}

TEST_ALONE(too_large_is_never_kept)
{
    struct verbs_pool_classes classes;
    verbs_pool_classes_init(&classes, BUDGET);
    settle(&classes);
    uint64_t before = classes.pages;
    for (int i = 0; i < 10; i++)
        assert_int_equal(verbs_pool_classes_take(&classes, BUDGET * 2), VERBS_CLASS_NONE);
    settle(&classes);
    assert_int_equal(classes.pages, before);
}

TEST_ALONE(content_after_failure)
{
    struct verbs_pool_classes classes;
    int size_class;
    verbs_pool_classes_init(&classes, BUDGET);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(verbs_pool_classes_next(&classes, &size_class), VERBS_POOL_MAKE);
        verbs_pool_classes_made(&classes, size_class);
    }
    assert_int_equal(verbs_pool_classes_next(&classes, &size_class), VERBS_POOL_MAKE);
    verbs_pool_classes_failed(&classes);
    assert_int_equal(verbs_pool_classes_next(&classes, &size_class), VERBS_POOL_REST);
    assert_int_equal(verbs_pool_classes_take(&classes, BUDGET), VERBS_CLASS_NONE);
    assert_int_equal(verbs_pool_classes_next(&classes, &size_class), VERBS_POOL_REST);
}

TEST_ALONE(no_budget_no_pool)
{
    struct verbs_pool_classes classes;
    verbs_pool_classes_init(&classes, 0);
    assert_int_equal(settle(&classes), 0);
    assert_int_equal(verbs_pool_classes_take(&classes, 1), VERBS_CLASS_NONE);
    assert_int_equal(settle(&classes), 0);
}

TEST_ALONE(any_sequence_keeps_the_books)
{
    struct verbs_pool_classes classes;
    unsigned seed = 1;
    verbs_pool_classes_init(&classes, BUDGET);
    for (int i = 0; i < 20000; i++) {
        if (rand_r(&seed) % 3 == 0)
            settle(&classes);
        verbs_pool_classes_take(&classes, 1 + (uint64_t)rand_r(&seed) % (1u << rand_r(&seed) % 14));
        uint64_t sum = 0;
        for (int size_class = 0; size_class < VERBS_CLASSES; size_class++)
            sum += classes.size_class[size_class].present * verbs_class_pages(size_class);
        assert_int_equal(sum, classes.pages);
        assert_true(sum <= BUDGET);
    }
}
