/* SPDX-License-Identifier: BSD-3-Clause */
#include "parallel.h"

#include <pthread.h>
#include <stdatomic.h>

struct round {
    void (*act)(void *context, size_t i);
    void *context;
    size_t count;
    atomic_size_t next;
};

/* Each thread takes the next free one. */
static void *take(void *argument)
{
    struct round *round = argument;
    size_t i;
    while ((i = atomic_fetch_add(&round->next, 1)) < round->count)
        round->act(round->context, i);
    return NULL;
}

void parallel_each(size_t count, unsigned threads, void (*act)(void *context, size_t i),
                   void *context)
{
    struct round round = {.act = act, .context = context, .count = count};
    pthread_t others[PARALLEL_MAX - 1];
    size_t started = 0;
    while (started < PARALLEL_MAX - 1 && started + 1 < threads && started + 1 < count &&
           pthread_create(&others[started], NULL, take, &round) == 0)
        started++;
    take(&round); /* where there are no more threads, this one does it all */
    while (started > 0)
        pthread_join(others[--started], NULL);
}
