/* SPDX-License-Identifier: BSD-3-Clause */
#include "gather.h"

#include <pthread.h>
#include <stdatomic.h>

enum { THREADS_MAX = 32 };

struct round {
    const struct rsmcore_runtime *runtime;
    const uint32_t *list;
    size_t count;
    unsigned sections;
    int interrupt;
    struct snapshot **snapshots;
    atomic_size_t next;
};

/* Each thread takes the next node that nobody has taken. */
static void *take(void *argument)
{
    struct round *round = argument;
    size_t i;
    while ((i = atomic_fetch_add(&round->next, 1)) < round->count) {
        char path[RSM_PROTO_PATH_MAX];
        rsmcore_runtime_socket(round->runtime, round->list[i], path);
        round->snapshots[i] =
            snapshot_take(round->list[i], path, round->sections, round->interrupt);
    }
    return NULL;
}

bool gather(const struct rsmcore_runtime *runtime, const uint32_t *list, size_t count,
            unsigned sections, int interrupt, struct snapshot **snapshots)
{
    struct round round = {.runtime = runtime,
                          .list = list,
                          .count = count,
                          .sections = sections,
                          .interrupt = interrupt,
                          .snapshots = snapshots};
    pthread_t threads[THREADS_MAX];
    size_t started = 0;
    bool complete = true;
    while (started < THREADS_MAX && started + 1 < count &&
           pthread_create(&threads[started], NULL, take, &round) == 0)
        started++;
    take(&round); /* where there are no more threads, this one does it all */
    while (started > 0)
        pthread_join(threads[--started], NULL);
    for (size_t i = 0; i < count; i++)
        complete &= snapshots[i] != NULL;
    for (size_t i = 0; i < count && !complete; i++)
        if (snapshots[i] != NULL)
            snapshot_free(snapshots[i]);
    return complete;
}
