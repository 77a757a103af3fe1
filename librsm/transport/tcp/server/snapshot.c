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

static struct tcp_snapshot *unused(struct tcp_server *server)
{
    for (struct tcp_snapshot *it = server->snapshots; it < server->snapshots + TCP_SNAPSHOTS; it++)
        if (!it->used) {
            if (it->words == NULL)
                it->words = malloc(TCP_SNAPSHOT_MAX);
            return it->words != NULL ? it : NULL;
        }
    return NULL;
}

bool tcp_snapshot_take(struct tcp_server *server, struct tcp_link *link, const uint8_t *from,
                       uint32_t length)
{
    const volatile uint64_t *memory = (const volatile uint64_t *)(const volatile void *)from;
    uint32_t words = length / sizeof *memory;
    struct tcp_snapshot *made = unused(server);
    if (made == NULL || length == 0 || (uintptr_t)from % sizeof *memory != 0 ||
        length % sizeof *memory != 0 || length > TCP_SNAPSHOT_MAX)
        return false;
    for (unsigned i = 0; i < TRIES && !made->used; i++) {
        copy(made->words, memory, words);
        rsm_fence_full();
        made->used = is_copy(made->words, memory, words);
    }
    if (!made->used)
        return false;
    link->snapshot = made;
    return true;
}

void tcp_snapshot_release(struct tcp_link *link)
{
    if (link->snapshot != NULL)
        link->snapshot->used = false;
    link->snapshot = NULL;
}

void tcp_snapshots_end(struct tcp_server *server)
{
    for (unsigned i = 0; i < TCP_SNAPSHOTS; i++) {
        free(server->snapshots[i].words);
        server->snapshots[i].words = NULL;
    }
}
