/* SPDX-License-Identifier: BSD-3-Clause */
/* Nothing is lost while threads store, load and do input and output on memory that is swapped. */
#include "support.h"

#include "hammer.h"

#define MILLISECONDS 300

struct round {
    enum hammer_memory memory;
    const char *name;
    size_t pages;
};

static void nothing_is_lost(void **state)
{
    const struct round *round = *state;
    struct hammer_result result;
    hammer(round->memory, round->pages, MILLISECONDS, &result);
    hammer_print(round->name, round->pages, &result);
    assert_int_equal(result.lost, 0);
    assert_int_equal(result.vanished, 0);
    assert_int_equal(result.backwards, 0);
    assert_int_equal(result.io_wrong, 0);
    assert_int_equal(result.import_wrong, 0);
    assert_true(result.stores > 0 && result.loads > 0 && result.io_calls > 0);
    /* Memory that userfaultfd can protect, by one that makes system calls wait too. */
    if (strcmp(rsmcore_swap_method(), "userfaultfd") == 0 &&
        (round->memory == HAMMER_PRIVATE || round->memory == HAMMER_SHARED))
        assert_int_equal(result.io_faults, 0);
}

#define ROUND(memory, name, pages)                                                                 \
    {                                                                                              \
        name " " #pages, nothing_is_lost, NULL, NULL, &(struct round)                              \
        {                                                                                          \
            memory, name, pages                                                                    \
        }                                                                                          \
    }

int main(int argc, char **argv)
{
    test_choose_method(argc, argv);
    const struct CMUnitTest tests[] = {
        ROUND(HAMMER_PRIVATE, "private", 1),   ROUND(HAMMER_PRIVATE, "private", 16),
        ROUND(HAMMER_PRIVATE, "private", 256), ROUND(HAMMER_PRIVATE, "private", 600),
        ROUND(HAMMER_SHARED, "shared", 16),    ROUND(HAMMER_SHARED, "shared", 256),
        ROUND(HAMMER_SYSV, "SysV", 16),        ROUND(HAMMER_FILE, "file", 16),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
