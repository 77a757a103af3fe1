/* SPDX-License-Identifier: BSD-3-Clause */
#include "cases.h"

#include "base/looks.h"

/* The number of looks behind @p events events, of which each @p th look finds something. 0: none. */
static unsigned looks_of(struct rsm_looks *looks, unsigned events, unsigned found, unsigned of)
{
    unsigned count = 0;
    for (unsigned i = 0; i < events; i++) {
        if (!rsm_looks_pay(looks))
            continue;
        if (count++ % of < found)
            rsm_looks_found(looks);
        else
            rsm_looks_missed(looks);
    }
    return count;
}

TEST_ALONE(looks_that_find_something_go_on)
{
    struct rsm_looks looks = {.debt = 0};
    assert_int_equal(looks_of(&looks, 10000, 1, 1), 10000);
    assert_int_equal(looks_of(&looks, 10000, 2, 3), 10000);
}

TEST_ALONE(looks_in_vain_become_rare)
{
    struct rsm_looks looks = {.debt = 0};
    assert_in_range(looks_of(&looks, 6500, 0, 1), 100, 110); /* one of 65 */
    assert_in_range(looks_of(&looks, 6500, 1, 2), 100, 310);
}

TEST_ALONE(they_begin_again_where_they_pay_again)
{
    struct rsm_looks looks = {.debt = 0};
    (void)looks_of(&looks, 1000, 0, 1);
    (void)looks_of(&looks, RSM_LOOKS_PAUSE, 1, 1);
    assert_int_equal(looks_of(&looks, 1000, 1, 1), 1000);
}
