/* SPDX-License-Identifier: BSD-3-Clause */
/* The entry that libFuzzer calls, and the one place where time is judged. */
#include "fuzz.h"

enum {
    ATTEMPTS = 3
}; /* a step that is slow by itself is so each time, one that was disturbed is not */

static struct {
    unsigned steps;
    int64_t longest; /* nanoseconds */
    const char *what;
} seen;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int64_t fuzz_step_begin(void)
{
    struct timespec used;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    return (int64_t)used.tv_sec * 1000000000 + used.tv_nsec;
}

void fuzz_step_end(int64_t begin, const char *what)
{
    int64_t took = fuzz_step_begin() - begin;
    seen.steps++;
    if (took <= seen.longest)
        return;
    seen.longest = took;
    seen.what = what;
}

/* Whether no step took too long. */
static bool try_input(const uint8_t *data, size_t size)
{
    seen.steps = 0;
    seen.longest = 0;
    int64_t begin = fuzz_step_begin();
    fuzz_input(data, size);
    if (seen.steps == 0)
        fuzz_step_end(begin, "the input");
    return seen.longest <= FUZZ_STEP_MAX_MS * INT64_C(1000000);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    for (int i = 0; i < ATTEMPTS; i++)
        if (try_input(data, size))
            return 0;
    fprintf(stderr, "%s takes %lld us of processor time, and may take %d ms\n", seen.what,
            (long long)seen.longest / 1000, FUZZ_STEP_MAX_MS);
    abort();
}
