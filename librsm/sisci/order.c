/* SPDX-License-Identifier: BSD-3-Clause */
#include "order.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/fence.h"

/* The connections that there are. */
static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static struct rsmcore_import **table;
static size_t count, room;

/* Nobody is at work on the table. Those who read it may take their time, and are not waited for. */
static void before_fork(void)
{
    pthread_rwlock_rdlock(&lock);
}

static void after_fork(void)
{
    pthread_rwlock_unlock(&lock);
}

/* A forked child has no connections. Whoever read the table besides is a thread of the parent. */
static void begin_anew(void)
{
    pthread_rwlock_unlock(&lock);
    pthread_rwlock_init(&lock, NULL);
    count = 0;
}

static void watch_fork(void)
{
    pthread_atfork(before_fork, after_fork, begin_anew);
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
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, watch_fork);
    pthread_rwlock_wrlock(&lock);
    bool added = make_room();
    if (added)
        table[count++] = import;
    pthread_rwlock_unlock(&lock);
    return added;
}

void sisci_order_forget(const struct rsmcore_import *import)
{
    pthread_rwlock_wrlock(&lock);
    size_t at = 0;
    while (at < count && table[at] != import)
        at++;
    if (at < count)
        table[at] = table[--count];
    pthread_rwlock_unlock(&lock);
}

/* Only what the mapping engine maps is not in order by itself. The rest may be windows of a device. */
void sisci_order_all(void)
{
    rsm_fence_full();
    rsm_fence_stores();
    if (atomic_load_explicit(&rsmcore_mapping_engine, memory_order_acquire) == NULL)
        return;
    pthread_rwlock_rdlock(&lock);
    for (size_t i = 0; i < count; i++)
        if (atomic_load_explicit(&table[i]->soft, memory_order_acquire) != NULL)
            (void)rsmcore_import_order(table[i]); /* what is lost, a sequence tells */
    pthread_rwlock_unlock(&lock);
}
