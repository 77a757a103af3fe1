/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * TCP connections that have shown no token yet, in the order of their arrival and by their source.
 * One more than there may be makes another one go, of the source that has the most: a caller who
 * calls often from few addresses pushes out his own calls alone.
 */
#include <stdlib.h>

#include "transport/tcp/server/server.h"

struct tcp_source {
    UT_hash_handle hh;
    struct in6_addr address;
    unsigned count;
    struct tcp_link *strangers;     /* the oldest first */
    struct tcp_source *prev, *next; /* among those with as many */
};

/* The count of a source is another one. */
static void recount(struct tcp_server *server, struct tcp_source *source, unsigned count)
{
    if (source->count > 0)
        DL_DELETE(server->by_count[source->count], source);
    source->count = count;
    if (count > 0)
        DL_APPEND(server->by_count[count], source);
    if (count > server->largest)
        server->largest = count;
    while (server->largest > 0 && server->by_count[server->largest] == NULL)
        server->largest--;
}

static struct tcp_source *source_at(struct tcp_server *server, const struct in6_addr *address)
{
    struct tcp_source *source;
    HASH_FIND(hh, server->sources, address, sizeof *address, source);
    if (source != NULL)
        return source;
    source = calloc(1, sizeof *source);
    if (source == NULL)
        return NULL;
    source->address = *address;
    HASH_ADD(hh, server->sources, address, sizeof source->address, source);
    if (source->hh.tbl != NULL)
        return source;
    free(source);
    return NULL;
}

bool tcp_stranger_add(struct tcp_server *server, struct tcp_link *link,
                      const struct in6_addr *address)
{
    link->source = source_at(server, address);
    if (link->source == NULL)
        return false;
    DL_APPEND2(link->source->strangers, link, source_prev, source_next);
    DL_APPEND(server->strangers, link);
    server->stranger_count++;
    recount(server, link->source, link->source->count + 1);
    return true;
}

void tcp_stranger_remove(struct tcp_server *server, struct tcp_link *link)
{
    struct tcp_source *source = link->source;
    DL_DELETE2(source->strangers, link, source_prev, source_next);
    DL_DELETE(server->strangers, link);
    server->stranger_count--;
    recount(server, source, source->count - 1);
    link->source = NULL;
    if (source->count > 0)
        return;
    HASH_DELETE(hh, server->sources, source);
    free(source);
}

bool tcp_stranger_gives_way(struct tcp_server *server)
{
    if (server->largest == 0)
        return false;
    tcp_link_end(server, server->by_count[server->largest]->strangers);
    return true;
}
