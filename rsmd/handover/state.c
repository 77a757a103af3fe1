/* SPDX-License-Identifier: BSD-3-Clause */
#include "handover/state.h"

#include <stdlib.h>

#include "base/log.h"
#include "node/saved.h"
#include "server/connection.h"

struct saved_client {
    uint32_t socket, process, greeted, node, may_bring_fds;
};

static void walk_client(struct rsm_codec *c, void *record)
{
    struct saved_client *saved = record;
    rsm_codec_u32(c, &saved->socket);
    rsm_codec_u32(c, &saved->process);
    rsm_codec_count(c, &saved->greeted, 1);
    rsm_codec_count(c, &saved->node, RSM_NODE_ID_MAX);
    rsm_codec_count(c, &saved->may_bring_fds, 1);
}

static void save_connection(struct rsmd_snapshot *snapshot,
                            const struct rsmd_connection *connection)
{
    struct saved_client saved = {.socket = rsmd_snapshot_fd(snapshot, connection->socket),
                                 .greeted = connection->client.greeted,
                                 .node = connection->client.node,
                                 .may_bring_fds = connection->may_bring_fds};
    if (saved.greeted) /* of others nobody has been told */
        saved.process = rsmd_snapshot_fd(snapshot, connection->process);
    rsmd_snapshot_put(snapshot, RSMD_SAVED_CLIENT, walk_client, &saved);
    rsmd_save_client(snapshot, &connection->client);
}

void rsmd_state_save(struct rsmd_snapshot *snapshot, const struct rsmd_server *server)
{
    const struct rsmd_connection *connection;
    uint32_t number = 0;
    rsmd_save_node(snapshot, server->node);
    DL_FOREACH(server->connections, connection)
    save_connection(snapshot, connection);
    DL_FOREACH(server->connections, connection)
    rsmd_save_imports(snapshot, &connection->client, number++);
}

/* ------------------------------------------------------------------ restoring */

/* Connections by their numbers. */
struct restored {
    struct rsmd_server *server;
    struct {
        struct rsmd_connection *connection; /* NULL: it had said nothing yet */
        bool lost;
    } * clients;
    uint32_t count, room;
};

static struct rsmd_client *client_of(void *context, uint32_t number)
{
    const struct restored *restored = context;
    struct rsmd_connection *connection =
        number < restored->count ? restored->clients[number].connection : NULL;
    return connection != NULL ? &connection->client : NULL;
}

static void lose(void *context, uint32_t number)
{
    struct restored *restored = context;
    restored->clients[number].lost = true;
}

static bool need_room(struct restored *restored)
{
    if (restored->count < restored->room)
        return true;
    uint32_t room = 2 * restored->room + 16;
    void *clients = realloc(restored->clients, room * sizeof restored->clients[0]);
    if (clients == NULL)
        return false;
    restored->clients = clients;
    restored->room = room;
    return true;
}

static bool restore_client(struct rsmd_snapshot_reader *reader, struct restored *restored)
{
    struct saved_client saved;
    bool lost = false;
    if (!need_room(restored) || !rsmd_snapshot_get(reader, walk_client, &saved, sizeof saved))
        return false;
    int socket = rsmd_snapshot_take(reader, saved.socket);
    if (socket < 0)
        return false;
    struct rsmd_connection *connection = NULL;
    if (saved.greeted) {
        int process = rsmd_snapshot_take(reader, saved.process);
        connection = rsmd_connection_resume(restored->server, socket, process, saved.node,
                                            saved.may_bring_fds != 0);
        if (connection == NULL) /* what follows would have no owner */
            return false;
    } else {
        rsmd_connection_begin(restored->server, socket);
    }
    restored->clients[restored->count].connection = connection;
    restored->clients[restored->count].lost = false;
    restored->count++;
    if (connection == NULL)
        return true;
    bool whole = rsmd_restore_client(reader, restored->server->node, &connection->client, &lost);
    restored->clients[restored->count - 1].lost = lost;
    return whole;
}

static bool restore_all(struct rsmd_snapshot_reader *reader, struct restored *restored)
{
    struct rsmd_node *node = restored->server->node;
    if (!rsmd_restore_node(reader, node))
        return false;
    while (rsmd_snapshot_next(reader) == RSMD_SAVED_CLIENT)
        if (!restore_client(reader, restored))
            return false;
    return rsmd_restore_imports(reader, node, client_of, lose, restored) &&
           rsmd_snapshot_next(reader) == RSMD_SAVED_END && !reader->bad;
}

/* Those whose controllers are not there any more. */
static void end_lost(const struct restored *restored)
{
    for (uint32_t i = 0; i < restored->count; i++) {
        if (!restored->clients[i].lost)
            continue;
        struct rsmd_connection *connection = restored->clients[i].connection;
        rsm_log_warning("process %d uses a controller that is not there any more, and loses what "
                        "it has",
                        (int)connection->client.peer.pid);
        rsmd_connection_end(connection);
    }
}

bool rsmd_state_restore(struct rsmd_snapshot_reader *reader, struct rsmd_server *server)
{
    struct restored restored = {.server = server};
    bool whole = restore_all(reader, &restored);
    rsmd_generation_table_settle(server->node->generation_table);
    if (whole) {
        end_lost(&restored);
        rsm_log_info("%u clients of the previous rsmd are served on", (unsigned)restored.count);
    }
    free(restored.clients);
    while (!whole && server->connections != NULL)
        rsmd_connection_end(server->connections);
    return whole;
}
