/* SPDX-License-Identifier: BSD-3-Clause */
#include "order.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/cancel.h"
#include "base/fence.h"
#include "base/fork.h"

/* The connections that there are. A thread that reads the table may take its time, for which
 * fork(2) does not wait: it takes `changes`, inside the writer's lock. */
static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static struct rsmcore_import **table;
static size_t count, room;

/* A forked child has no connections. A thread that was using the table is the parent's. */
static void begin_anew(void)
{
    pthread_rwlock_init(&lock, NULL);
    count = 0;
}

RSMCORE_FORK_PART(changes, RSMCORE_FORK_CONNECTIONS, begin_anew);

static void begin_change(void)
{
    pthread_rwlock_wrlock(&lock);
    rsmcore_fork_lock(&changes);
}

static void end_change(void)
{
    rsmcore_fork_unlock(&changes);
    pthread_rwlock_unlock(&lock);
}

static bool make_room(void)
{
    if (count < room)
        return true;
    size_t more = room != 0 ? room * 2 : 16;
    struct rsmcore_import **grown = realloc(table, more * sizeof(struct rsmcore_import *));
    if (grown == NULL)
        return false;
    table = grown;
    room = more;
    return true;
}

bool sisci_order_add(struct rsmcore_import *import)
{
    begin_change();
    bool added = make_room();
    if (added)
        table[count++] = import;
    end_change();
    return added;
}

void sisci_order_forget(const struct rsmcore_import *import)
{
    begin_change();
    size_t at = 0;
    while (at < count && table[at] != import)
        at++;
    if (at < count)
        table[at] = table[--count];
    end_change();
}

/* Only what the mapping engine maps is not in order by itself. The rest may be windows of a
 * device. */
void sisci_order_all(void)
{
    rsm_fence_full();
    rsm_fence_stores();
    if (atomic_load_explicit(&rsmcore_mapping_engine, memory_order_acquire) == NULL)
        return;
    RSM_UNCANCELLABLE; /* transports may have cancellation points */
    pthread_rwlock_rdlock(&lock);
    for (size_t i = 0; i < count; i++)
        if (atomic_load_explicit(&table[i]->soft, memory_order_acquire) != NULL)
            (void)rsmcore_import_order(table[i]); /* a sequence reports what is lost */
    pthread_rwlock_unlock(&lock);
}
