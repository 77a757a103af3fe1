/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads of one moment: the range is copied, and compared with its copy until it has not changed
 * since. What could not be copied so is sent as it is, and the importer finds out by itself. */
#include <stdlib.h>

#include "base/elements.h"
#include "base/fence.h"
#include "transport/tcp/server/server.h"

enum { TRIES = 3 };

/* Words in one piece: other processes store to the memory meanwhile. */
RACES_BY_DESIGN static void copy(uint64_t *to, const volatile uint64_t *from, uint32_t words)
{
    for (uint32_t i = 0; i < words; i++)
        to[i] = from[i];
}

RACES_BY_DESIGN static bool is_copy(const uint64_t *of, const volatile uint64_t *memory,
                                    uint32_t words)
{
    uint64_t differs = 0;
    for (uint32_t i = 0; i < words; i++)
        differs |= of[i] ^ memory[i];
    return differs == 0;
}

/* A free one, if this user has not got his share. */
static struct tcp_snapshot *unused(struct tcp_server *server, const struct tcp_grant *grant)
{
    struct tcp_snapshot *found = NULL;
    unsigned same = 0;
    for (struct tcp_snapshot *it = server->snapshots; it < server->snapshots + TCP_SNAPSHOTS; it++)
        if (it->grant == NULL)
            found = it;
        else
            same += it->grant->node == grant->node && it->grant->uid == grant->uid;
    if (found == NULL || same >= TCP_SNAPSHOTS_USER)
        return NULL;
    if (found->words == NULL)
        found->words = malloc(TCP_SNAPSHOT_MAX);
    return found->words != NULL ? found : NULL;
}

bool tcp_snapshot_take(struct tcp_server *server, struct tcp_link *link, uint32_t length,
                       int64_t *budget)
{
    const volatile uint64_t *memory =
        (const volatile uint64_t *)(const volatile void *)link->out_data;
    uint32_t words = length / sizeof *memory;
    bool whole = false;
    if (length == 0 || length > TCP_SNAPSHOT_MAX || length % sizeof *memory != 0 ||
        (uintptr_t)link->out_data % sizeof *memory != 0)
        return false;
    struct tcp_snapshot *made = unused(server, link->grant);
    for (unsigned i = 0; made != NULL && !whole && i<TRIES && * budget> 0; i++) {
        copy(made->words, memory, words);
        rsm_fence_full();
        whole = is_copy(made->words, memory, words);
        *budget -= length;
    }
    if (!whole)
        return false;
    made->grant = link->grant;
    link->snapshot = made;
    link->out_data = (const uint8_t *)made->words;
    return true;
}

void tcp_snapshot_release(struct tcp_link *link)
{
    if (link->snapshot != NULL)
        link->snapshot->grant = NULL;
    link->snapshot = NULL;
}

void tcp_snapshots_end(struct tcp_server *server)
{
    for (unsigned i = 0; i < TCP_SNAPSHOTS; i++) {
        free(server->snapshots[i].words);
        server->snapshots[i].words = NULL;
    }
}
