/* SPDX-License-Identifier: BSD-3-Clause */
#include "samples.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

double clock_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static uint64_t next_random(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 33;
}

void samples_add(struct slice *slice, double ns)
{
    if (slice->seen == 0 || ns < slice->best)
        slice->best = ns;
    uint64_t seen = slice->seen++;
    if (seen < SLICE_SAMPLES) {
        slice->value[seen] = ns;
        return;
    }
    uint64_t place = next_random(&slice->random) % (seen + 1);
    if (place < SLICE_SAMPLES)
        slice->value[place] = ns;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double samples_quantile(double *values, size_t count, double part)
{
    qsort(values, count, sizeof *values, ascending);
    double wanted = part * (double)count;
    size_t place = (size_t)wanted;
    if ((double)place < wanted)
        place++;
    return values[place == 0 ? 0 : place - 1];
}

static size_t kept(const struct slice *slice)
{
    return slice->seen < SLICE_SAMPLES ? (size_t)slice->seen : SLICE_SAMPLES;
}

bool samples_sum(const struct samples *const all[], unsigned count, struct figure *figure)
{
    double *pool = malloc((size_t)count * REPETITIONS * SLICE_SAMPLES * sizeof *pool);
    double *medians = malloc((size_t)count * REPETITIONS * sizeof *medians);
    size_t used = 0, slices = 0;
    bool full = pool != NULL && medians != NULL && count > 0;
    *figure = (struct figure){.best = INFINITY};
    for (unsigned i = 0; full && i < count * REPETITIONS; i++) {
        const struct slice *slice = &all[i / REPETITIONS]->slice[i % REPETITIONS];
        full = slice->seen > 0;
        if (!full)
            break;
        memcpy(&pool[used], slice->value, kept(slice) * sizeof *pool);
        medians[slices++] = samples_quantile(&pool[used], kept(slice), 0.5);
        used += kept(slice);
        figure->count += slice->seen;
        if (slice->best < figure->best)
            figure->best = slice->best;
    }
    if (full) {
        figure->p99 = samples_quantile(pool, used, 0.99);
        figure->p50 = samples_quantile(medians, slices, 0.5);
        figure->spread = medians[slices - 1] / medians[0] - 1;
    }
    free(pool);
    free(medians);
    return full;
}
