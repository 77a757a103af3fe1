/* SPDX-License-Identifier: BSD-3-Clause */
#include "run.h"

#include <stdio.h>
#include <string.h>

enum kind {
    KIND_TIME,      /* p50 in ns, at most */
    KIND_RATIO,     /* of times to the limit's, at most */
    KIND_BANDWIDTH, /* of bandwidths to the limit's, at least */
};

struct target {
    const char *gauge;
    size_t min, max; /* bytes */
    enum kind kind;
    double value;
};

#define KIB ((size_t)1 << 10)
#define MIB ((size_t)1 << 20)

/* Both sides on this host. */
static const struct target shared_memory[] = {
    {"put", 8, 8, KIND_TIME, 20},
    {"get", 8, 8, KIND_TIME, 20},
    {"put64", 8, 8, KIND_TIME, 20},
    {"get64", 8, 8, KIND_TIME, 20},
    {"put", 4 * KIB, 4 * KIB, KIND_RATIO, 1.1},
    {"get", 4 * KIB, 4 * KIB, KIND_RATIO, 1.1},
    {"put", 64 * KIB, MIB, KIND_RATIO, 1.05},
    {"get", 64 * KIB, MIB, KIND_RATIO, 1.05},
    {"put", 64 * MIB, 64 * MIB, KIND_RATIO, 1.1},
    {"get", 64 * MIB, 64 * MIB, KIND_RATIO, 1.1},
    {"post-sleep", 0, 0, KIND_RATIO, 1.1},
    {"post-spin", 0, 0, KIND_TIME, 1000},
    {"setup", 4 * KIB, 4 * KIB, KIND_RATIO, 1.3},
    {"sci-memcpy", 64 * KIB, 64 * KIB, KIND_RATIO, 1.02},
    {"sci-store", 4 * KIB, 4 * KIB, KIND_RATIO, 1.02},
    {"sci-trigger", 0, 0, KIND_RATIO, 1.1},
    {"sci-dma", MIB, MIB, KIND_BANDWIDTH, 0.95},
};

/* Beside perftest. */
static const struct target verbs[] = {
    {"pingpong", 8, 8, KIND_RATIO, 1.1},
    {"get", 1, MIB, KIND_RATIO, 1.1},
    {"put-stream", 64 * KIB, 64 * MIB, KIND_BANDWIDTH, 0.95},
    {"get-stream", 64 * KIB, 64 * MIB, KIND_BANDWIDTH, 0.95},
    {"sci-dma-queue", 64 * KIB, 64 * MIB, KIND_BANDWIDTH, 0.95},
};

/* Beside plain TCP. */
static const struct target tcp[] = {
    {"put", 8, 8, KIND_RATIO, 1.1},
    {"get", 8, 8, KIND_RATIO, 1.1},
    {"get", 4 * KIB, 4 * KIB, KIND_RATIO, 1.1},
    {"put64-span", 8, 8, KIND_TIME, 500},
    {"put-stream", 64 * KIB, MIB, KIND_BANDWIDTH, 0.95},
    {"get-stream", 64 * KIB, MIB, KIND_BANDWIDTH, 0.95},
    {"post-sleep", 0, 0, KIND_RATIO, 1.15},
};

static void judge(const struct target *target, struct result *result)
{
    bool met = false;
    switch (target->kind) {
    case KIND_TIME:
        met = result->ours.p50 <= target->value;
        snprintf(result->target, sizeof result->target, "<= %.0f ns", target->value);
        break;
    case KIND_RATIO:
        met = result->ratio <= target->value;
        snprintf(result->target, sizeof result->target, "<= %.2f", target->value);
        break;
    case KIND_BANDWIDTH:
        met = result->ratio >= target->value;
        snprintf(result->target, sizeof result->target, ">= %.2f", target->value);
        break;
    }
    result->verdict = met ? VERDICT_MET : VERDICT_MISSED;
}

void target_judge(const struct options *options, struct result *result)
{
    const struct target *list = shared_memory;
    size_t count = sizeof shared_memory / sizeof *shared_memory;
    if (options->limit_devices_given) {
        list = verbs;
        count = sizeof verbs / sizeof *verbs;
    } else if (options->limit_tcp) {
        list = tcp;
        count = sizeof tcp / sizeof *tcp;
    }
    /* They are for one importer, and for what was compared in the same run. */
    if (options->importers > 1 || result->limit_name == NULL)
        return;
    for (size_t i = 0; i < count; i++)
        if (strcmp(list[i].gauge, result->gauge->name) == 0 && result->bytes >= list[i].min &&
            result->bytes <= list[i].max)
            judge(&list[i], result);
}
