/* SPDX-License-Identifier: BSD-3-Clause */
/** @file What librsm_mapping.so offers to the library: loads and stores over a connection whose
 *  transport only has put and get. doc/architecture.md and rsm_map(7) describe it. */
#pragma once

#include "protocol/map_settings.h"
#include "rsm/transport.h"

#define RSM_MAPPING_ABI    1u
#define RSM_MAPPING_NAME   "mapping"
#define RSM_MAPPING_SYMBOL "rsm_mapping_ops_v1"

struct rsm_mapping_ops {
    uint32_t abi_version; /**< RSM_MAPPING_ABI */
    size_t size;          /**< sizeof(struct rsm_mapping_ops) */

    /**
     * Make a connection that can map out of one that cannot. It carries every other operation to
     * @p inner, the stores of its mappings in front of them, and owns @p inner: disconnect() of
     * the one disconnects the other. @p inner may be in use by other threads meanwhile.
     *
     * @p inner's transfers, order, complete and health are called from a signal handler and from
     * threads of the engine, so it has to promise RSM_CAP_FAULT_SAFE.
     *
     * @p configured is what the environment does not override. The wrapped connection has the
     * `core` of @p inner and no table of completions: the core's generic form serves both.
     *
     * @return RSM_ST_OK, RSM_ST_UNSUPPORTED (switched off, the mode is not available here, or no
     *         such promise; the log says which),
     *         RSM_ST_INVALID (an RSM_MAP_* variable), RSM_ST_NO_MEMORY, RSM_ST_NO_RESOURCES.
     */
    enum rsm_status (*wrap)(struct rsm_conn *inner, uint64_t size, uint32_t rights,
                            const struct mapping_settings *configured, struct rsm_conn **wrapped);

    /** Later loads from mappings of @p wrapped see what the segment has now. */
    void (*acquire)(struct rsm_conn *wrapped);

    /** Whether any part of the range is a mapping that the engine has made; lengths may be 0. */
    bool (*shows)(const void *address, size_t length);

    /** How the engine learns of accesses to mappings of @p wrapped. It never changes. */
    struct mapping_choice (*choice)(struct rsm_conn *wrapped);

    /** What it has not carried out exactly so far. */
    struct mapping_counts (*counts)(struct rsm_conn *wrapped);
};

/** The module's one symbol, RSM_MAPPING_SYMBOL. */
extern const struct rsm_mapping_ops rsm_mapping_ops_v1;
