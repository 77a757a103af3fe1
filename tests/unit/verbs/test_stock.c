/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>

#include "cmocka_all.h"
#include "transport/verbs/node/stock.h"

enum { BUDGET = 4096 /* pages: 16 MiB */ };

/* Let the thread do what it would; @return how many were made. */
static unsigned settle(struct verbs_stock *stock)
{
    unsigned made = 0;
    int class;
    for (;;) {
        switch (verbs_stock_next(stock, &class)) {
        case VERBS_STOCK_REST:
            return made;
        case VERBS_STOCK_MAKE:
            verbs_stock_made(stock, class);
            made++;
            break;
        default:
            break;
        }
        assert_true(stock->pages <= stock->budget);
        assert_true(made < 10000);
    }
}

static void classes_waste_little(void **state)
{
    (void)state;
    assert_int_equal(verbs_class_of(0), VERBS_CLASS_NONE);
    assert_int_equal(verbs_class_of(verbs_class_pages(VERBS_CLASSES - 1) + 1), VERBS_CLASS_NONE);
    for (int class = 0; class < VERBS_CLASSES; class ++) {
        uint64_t pages = verbs_class_pages(class);
        assert_int_equal(verbs_class_of(pages), class);
        if (class == 0)
            continue;
        uint64_t below = verbs_class_pages(class - 1);
        assert_true(below < pages);
        assert_int_equal(verbs_class_of(below + 1), class);
        assert_true((pages - below - 1) * 5 <= pages); /* idle at most a fifth */
    }
}

static void begins_with_small_ones(void **state)
{
    struct verbs_stock stock;
    (void)state;
    verbs_stock_init(&stock, BUDGET);
    assert_true(settle(&stock) > 10);
    assert_true(stock.pages <= BUDGET / 4);
    assert_int_not_equal(verbs_stock_take(&stock, 1), VERBS_CLASS_NONE);
    assert_int_equal(verbs_stock_take(&stock, BUDGET), VERBS_CLASS_NONE);
}

static void follows_demand(void **state)
{
    struct verbs_stock stock;
    (void)state;
    verbs_stock_init(&stock, BUDGET);
    settle(&stock);
    assert_int_equal(verbs_stock_take(&stock, 100), VERBS_CLASS_NONE);
    assert_true(settle(&stock) > 0);
    int class = verbs_stock_take(&stock, 100);
    assert_int_not_equal(class, VERBS_CLASS_NONE);
    assert_true(verbs_class_pages(class) >= 100);
    assert_int_equal(settle(&stock), 1); /* what was taken is replaced */
}

static void larger_one_will_do(void **state)
{
    struct verbs_stock stock;
    (void)state;
    verbs_stock_init(&stock, BUDGET);
    verbs_stock_take(&stock, 112);
    settle(&stock);
    int class = verbs_stock_take(&stock, 90); /* its own size is 96 */
    assert_int_equal(verbs_class_pages(class), 112);
}

static void old_sizes_give_way(void **state)
{
    struct verbs_stock stock;
    (void)state;
    verbs_stock_init(&stock, BUDGET);
    for (uint64_t pages = 64; pages <= BUDGET / 2; pages *= 2) {
        for (int i = 0; i < 8; i++)
            verbs_stock_take(&stock, pages);
        settle(&stock);
        assert_int_not_equal(verbs_stock_take(&stock, pages), VERBS_CLASS_NONE);
        settle(&stock);
    }
    assert_true(stock.pages <= BUDGET);
}

static void too_large_is_never_kept(void **state)
{
    struct verbs_stock stock;
    (void)state;
    verbs_stock_init(&stock, BUDGET);
    settle(&stock);
    uint64_t before = stock.pages;
    for (int i = 0; i < 10; i++)
        assert_int_equal(verbs_stock_take(&stock, BUDGET * 2), VERBS_CLASS_NONE);
    settle(&stock);
    assert_int_equal(stock.pages, before);
}

static void content_after_failure(void **state)
{
    struct verbs_stock stock;
    int class;
    (void)state;
    verbs_stock_init(&stock, BUDGET);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(verbs_stock_next(&stock, &class), VERBS_STOCK_MAKE);
        verbs_stock_made(&stock, class);
    }
    assert_int_equal(verbs_stock_next(&stock, &class), VERBS_STOCK_MAKE);
    verbs_stock_failed(&stock);
    assert_int_equal(verbs_stock_next(&stock, &class), VERBS_STOCK_REST);
    assert_int_equal(verbs_stock_take(&stock, BUDGET), VERBS_CLASS_NONE);
    assert_int_equal(verbs_stock_next(&stock, &class), VERBS_STOCK_REST);
}

static void no_budget_no_pool(void **state)
{
    struct verbs_stock stock;
    (void)state;
    verbs_stock_init(&stock, 0);
    assert_int_equal(settle(&stock), 0);
    assert_int_equal(verbs_stock_take(&stock, 1), VERBS_CLASS_NONE);
    assert_int_equal(settle(&stock), 0);
}

static void any_sequence_keeps_the_books(void **state)
{
    struct verbs_stock stock;
    unsigned seed = 1;
    (void)state;
    verbs_stock_init(&stock, BUDGET);
    for (int i = 0; i < 20000; i++) {
        if (rand_r(&seed) % 3 == 0)
            settle(&stock);
        verbs_stock_take(&stock, 1 + (uint64_t)rand_r(&seed) % (1u << rand_r(&seed) % 14));
        uint64_t sum = 0;
        for (int class = 0; class < VERBS_CLASSES; class ++)
            sum += stock.class[class].present * verbs_class_pages(class);
        assert_int_equal(sum, stock.pages);
        assert_true(sum <= BUDGET);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(classes_waste_little),
        cmocka_unit_test(begins_with_small_ones),
        cmocka_unit_test(follows_demand),
        cmocka_unit_test(larger_one_will_do),
        cmocka_unit_test(old_sizes_give_way),
        cmocka_unit_test(too_large_is_never_kept),
        cmocka_unit_test(content_after_failure),
        cmocka_unit_test(no_budget_no_pool),
        cmocka_unit_test(any_sequence_keeps_the_books),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
