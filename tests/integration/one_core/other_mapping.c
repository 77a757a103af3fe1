/* SPDX-License-Identifier: BSD-3-Clause */
/* The mapping engine of another version: to call it would be fatal, whatever its table says. */
#include <stdlib.h>

#include "base/log.h"
#include "core/mapping.h"

static enum rsm_status wrap(struct rsm_conn *inner, uint64_t size, uint32_t rights,
                            const struct mapping_settings *configured, struct rsm_conn **wrapped)
{
    (void)inner, (void)size, (void)rights, (void)configured, (void)wrapped;
    rsm_log_error("a mapping engine of another version was called");
    abort();
}

static void acquire(struct rsm_conn *wrapped)
{
}

static bool shows(const void *address, size_t length)
{
    (void)address, (void)length;
    return false;
}

__attribute__((visibility("default"))) const struct rsm_mapping_ops rsm_mapping_ops_v1 = {
    .abi_version = RSM_MAPPING_ABI,
    .size = sizeof(struct rsm_mapping_ops),
    .wrap = wrap,
    .acquire = acquire,
    .shows = shows,
};
