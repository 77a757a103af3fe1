/* SPDX-License-Identifier: BSD-3-Clause */
/* The longest step of an event loop: what is long is seen, and what is short costs no system call. */
#include "cases.h"

#include "common/steps.h"

enum { US = 1000, MS = 1000 * US, ROUNDS = 20000 };

static void work_for(int64_t ns)
{
    for (int64_t end = rsmd_processor_ns() + ns; rsmd_processor_ns() < end;)
        continue;
}

TEST_ALONE(a_long_step_among_short_ones_is_seen)
{
    struct rsmd_steps steps = {.longest_ns = 0};
    rsmd_steps_begin(&steps);
    for (unsigned i = 0; i < 1000; i++) {
        work_for(i == 500 ? 20 * MS : 10 * US);
        rsmd_steps_next(&steps);
    }
    assert_in_range(steps.longest_ns, 20 * MS, 22 * MS);
}

/* Time asleep is not work. */
TEST_ALONE(short_steps_do_not_add_up)
{
    struct rsmd_steps steps = {.longest_ns = 0};
    const struct timespec pause = {.tv_nsec = 5 * MS};
    rsmd_steps_begin(&steps);
    for (unsigned i = 0; i < 5000; i++) {
        work_for(10 * US);
        if (i % 100 == 0)
            nanosleep(&pause, NULL);
        rsmd_steps_next(&steps);
    }
    assert_in_range(steps.longest_ns, 10 * US, 2 * MS);
}

TEST_ALONE(short_steps_are_not_read_one_by_one)
{
    struct rsmd_steps steps = {.longest_ns = 0};
    unsigned read = 0;
    rsmd_steps_begin(&steps);
    int64_t begun = rsm_clock_ns();
    for (unsigned i = 0; i < ROUNDS; i++) {
        int64_t before = steps.read_at_ns;
        rsmd_steps_next(&steps);
        read += steps.read_at_ns != before;
    }
    int64_t took = rsm_clock_ns() - begun;
    assert_in_range(read, 0, took / RSMD_STEPS_UNREAD_NS + 1);
}
