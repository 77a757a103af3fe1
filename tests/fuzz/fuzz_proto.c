/* SPDX-License-Identifier: BSD-3-Clause */
/* The control protocol's decoder. What it accepts is within all bounds, so it can be encoded, and
 * comes out as it went in. */
#include "protocol/proto.h"
#include "fuzz.h"

void fuzz_input(const uint8_t *data, size_t size)
{
    static struct rsm_msg msg;
    static uint8_t again[RSM_PROTO_MESSAGE_MAX];
    if (rsm_msg_decode(&msg, data, size) != RSM_ST_OK)
        return;
    if (rsm_msg_encode(&msg, again, sizeof again) != size || memcmp(again, data, size) != 0)
        abort();
}
