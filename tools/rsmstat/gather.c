/* SPDX-License-Identifier: BSD-3-Clause */
#include "gather.h"

#include "parallel.h"

struct round {
    const struct rsmcore_runtime *runtime;
    const uint32_t *list;
    unsigned sections;
    int interrupt;
    struct snapshot **snapshots;
};

static void look_at(void *context, size_t i)
{
    struct round *round = context;
    char path[RSM_PROTO_PATH_MAX];
    rsmcore_runtime_socket(round->runtime, round->list[i], path);
    round->snapshots[i] = snapshot_take(round->list[i], path, round->sections, round->interrupt);
}

bool gather(const struct rsmcore_runtime *runtime, const uint32_t *list, size_t count,
            unsigned sections, int interrupt, struct snapshot **snapshots)
{
    struct round round = {.runtime = runtime,
                          .list = list,
                          .sections = sections,
                          .interrupt = interrupt,
                          .snapshots = snapshots};
    bool complete = true;
    parallel_each(count, PARALLEL_MAX, look_at, &round);
    for (size_t i = 0; i < count; i++)
        complete &= snapshots[i] != NULL;
    for (size_t i = 0; i < count && !complete; i++)
        if (snapshots[i] != NULL)
            snapshot_free(snapshots[i]);
    return complete;
}
