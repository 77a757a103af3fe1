/* SPDX-License-Identifier: BSD-3-Clause */
#include "state.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "cluster/cluster.h"
#include "common/tables.h"
#include "server/notify.h"

__attribute__((format(printf, 2, 3))) static void append(char text[RSMD_STATE_BYTES],
                                                         const char *format, ...)
{
    size_t used = strlen(text);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text + used, RSMD_STATE_BYTES - used, format, arguments);
    va_end(arguments);
}

void rsmd_state_text(const struct rsmd_node *node, char text[RSMD_STATE_BYTES])
{
    const struct rsmd_controller *controller;
    const struct rsmd_failed *failed;
    uint32_t links, up;
    int controllers;
    text[0] = '\0';
    append(text, "node %u", (unsigned)node->id);
    rsmd_cluster_count(node->cluster, &links, &up);
    if (links > 0)
        append(text, "; %u of %u links up", (unsigned)up, (unsigned)links);
    LL_COUNT(node->controllers, controller, controllers);
    append(text, "; controllers: %d", controllers - 1); /* without loopback */
    LL_FOREACH(node->failed, failed)
    append(text, "%s%s", failed == node->failed ? "; failed: " : ", ", failed->name);
}

void rsmd_state_report(const struct rsmd_node *node)
{
    static char reported[RSMD_STATE_BYTES]; /* there is one service manager */
    char text[RSMD_STATE_BYTES], state[RSMD_STATE_BYTES + 8];
    rsmd_state_text(node, text);
    if (strcmp(text, reported) == 0)
        return;
    memcpy(reported, text, sizeof reported);
    snprintf(state, sizeof state, "STATUS=%s", text);
    rsmd_notify_in_passing(state);
}
