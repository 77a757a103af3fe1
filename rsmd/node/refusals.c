/* SPDX-License-Identifier: BSD-3-Clause */
#include "node/refusals.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/log.h"

enum { SENTENCE_BYTES = 256 };

__attribute__((format(printf, 2, 0))) static void log_from(struct rsmd_bucket *bucket,
                                                           const char *format, va_list arguments)
{
    char text[SENTENCE_BYTES];
    unsigned dropped;
    if (!rsmd_bucket_take(bucket, rsm_clock_ms(), &dropped))
        return;
    vsnprintf(text, sizeof text, format, arguments);
    rsm_log_info("%s", text);
    if (dropped > 0)
        rsm_log_info("%u other lines about the same user or node are not shown", dropped);
}

void rsmd_log_of_user(struct rsmd_node *node, uint32_t uid, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    log_from(rsmd_bucket_of_user(&node->complaints, uid), format, arguments);
    va_end(arguments);
}

void rsmd_log_of_node(struct rsmd_node *node, uint32_t id, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    log_from(rsmd_bucket_of_node(&node->complaints, id), format, arguments);
    va_end(arguments);
}

void rsmd_refusal_note(struct rsmd_node *node, const struct rsmd_client *client,
                       const struct rsm_msg *reply)
{
    uint32_t type = reply->type & ~RSM_MSG_REPLY;
    if (reply->status == RSM_ST_OK ||
        (type != RSM_MSG_EXPORT_CREATE && type != RSM_MSG_EXPORT_PUBLISH &&
         type != RSM_MSG_IMPORT_CONNECT))
        return;
    node->refusal = (struct rsmd_refusal){.at_ms = rsm_clock_ms(),
                                          .type = type,
                                          .status = reply->status,
                                          .pid = client->peer.pid,
                                          .uid = client->peer.uid};
}

uint64_t rsmd_ago_ms(int64_t at_ms)
{
    int64_t now = rsm_clock_ms();
    return now > at_ms ? (uint64_t)(now - at_ms) : 1;
}

struct rsm_refusal rsmd_refusal_seen(const struct rsmd_node *node, uid_t uid, bool all)
{
    const struct rsmd_refusal *refusal = &node->refusal;
    if (refusal->at_ms == 0 || (!all && refusal->uid != uid))
        return (struct rsm_refusal){.ago_ms = 0};
    return (struct rsm_refusal){.ago_ms = rsmd_ago_ms(refusal->at_ms),
                                .type = refusal->type,
                                .status = (uint32_t)refusal->status,
                                .pid = (uint32_t)refusal->pid,
                                .uid = refusal->uid};
}
