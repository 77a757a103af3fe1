/* SPDX-License-Identifier: BSD-3-Clause */
/* rsmd as it was before messages were added to version 1 of the protocol: it does not say which is the newest that it
 * knows, and takes any newer one for no message at all. Linked with --wrap. */
#include "node/generation_table.h"
#include "protocol/proto.h"

enum rsm_status __real_rsm_msg_decode(struct rsm_msg *msg, const void *buffer, size_t length);
enum rsm_status __wrap_rsm_msg_decode(struct rsm_msg *msg, const void *buffer, size_t length);
enum rsm_status __real_rsmd_generation_table_create(struct rsmd_generation_table **made,
                                                    bool lasting);
enum rsm_status __wrap_rsmd_generation_table_create(struct rsmd_generation_table **made,
                                                    bool lasting);

enum rsm_status __wrap_rsm_msg_decode(struct rsm_msg *msg, const void *buffer, size_t length)
{
    uint32_t type, sequence;
    if (rsm_msg_peek(buffer, length, &type, &sequence) &&
        (type & ~RSM_MSG_REPLY) > RSM_MSG_NEWEST_BEFORE)
        return RSM_ST_PROTOCOL;
    return __real_rsm_msg_decode(msg, buffer, length);
}

enum rsm_status __wrap_rsmd_generation_table_create(struct rsmd_generation_table **made,
                                                    bool lasting)
{
    enum rsm_status status = __real_rsmd_generation_table_create(made, lasting);
    struct rsm_generation_table *const *shared = (void *)*made; /* its first member */
    if (status == RSM_ST_OK)
        atomic_store(&(*shared)->newest, 0);
    return status;
}
