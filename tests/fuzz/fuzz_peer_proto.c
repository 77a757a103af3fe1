/* SPDX-License-Identifier: BSD-3-Clause */
/* The decoder of what other hosts send. What it accepts is within all bounds, so it can be
 * encoded, and comes out as it went in. */
#include "fuzz.h"
#include "cluster/proto.h"

void fuzz_input(const uint8_t *data, size_t size)
{
    static struct rsm_cluster_msg msg;
    static uint8_t again[RSM_CLUSTER_FRAME_MAX];
    if (rsm_cluster_decode(&msg, data, size) != RSM_ST_OK)
        return;
    if (rsm_cluster_encode(&msg, again, sizeof again) != size || memcmp(again, data, size) != 0)
        abort();
}
