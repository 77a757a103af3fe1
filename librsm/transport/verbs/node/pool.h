/* SPDX-License-Identifier: BSD-3-Clause */
/** @file The extents of a node's port: shareable memory that is registered with the device, made
 *  ahead of need by a thread of its own, because registering takes long and rsmd serves everybody
 *  from one.
 *
 *  An extent that has been handed out is never handed out again: the process that had its
 *  descriptor may still have it mapped. */
#pragma once

#include <infiniband/verbs.h>
#include <stdint.h>

#include "rsm/transport.h"
#include "transport/verbs/common/device.h"
#include "transport/verbs/node/pool_classes.h"

struct verbs_extent {
    struct rsm_extent base;
    uint8_t *bytes;
    uint64_t length; /**< bytes of memory, which may be more than its exporter has */
    struct ibv_mr *mr;
    struct verbs_extent *next; /**< in the pool or on its way out */
};

static inline struct verbs_extent *verbs_extent_of(struct rsm_extent *extent)
{
    return RSM_CONTAINER_OF(extent, struct verbs_extent, base);
}

/** What has happened since open, for logs, tests and benchmarks. */
struct verbs_pool_counts {
    uint64_t served;  /**< extents from the pool */
    uint64_t missed;  /**< extents registered while the caller waited */
    uint64_t adopted; /**< memory of another transport, likewise */
    uint64_t pages;   /**< registered and free now */
};

struct verbs_pool;

/** @param access  IBV_ACCESS_* of the registrations.
 *  @return NULL if the thread cannot be started. */
struct verbs_pool *verbs_pool_open(const struct verbs_device *device, struct ibv_pd *pd,
                                   unsigned access, uint64_t budget);
/** All extents have been given back. */
void verbs_pool_close(struct verbs_pool *pool);

/* Any thread may call these. */

/** RSM_ST_BUSY: none is ready, one would have to be registered. */
enum rsm_status verbs_pool_get_ready(struct verbs_pool *pool, uint64_t length,
                                     struct verbs_extent **extent);
/** One that is ready, or that is registered now. */
enum rsm_status verbs_pool_get(struct verbs_pool *pool, uint64_t length,
                               struct verbs_extent **extent);
enum rsm_status verbs_pool_adopt(struct verbs_pool *pool, int fd, uint64_t length,
                                 struct verbs_extent **extent);
/** Give an extent up. A small one (RSM_EXTENT_SMALL) is left to the pool's thread, so that this
 *  takes no time; of another one the memory is free when this returns. */
void verbs_pool_put(struct verbs_pool *pool, struct verbs_extent *extent);

void verbs_pool_count(struct verbs_pool *pool, struct verbs_pool_counts *counts);
/** Wait until the thread has nothing to do; for tests and benchmarks. */
void verbs_pool_settle(struct verbs_pool *pool);
