/* SPDX-License-Identifier: BSD-3-Clause */
#include "handover/internal.h"

#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/log.h"
#include "node/saved.h"
#include "server/connection.h"

static void save_connection(struct rsmd_snapshot *snapshot,
                            const struct rsmd_connection *connection)
{
    rsmd_snapshot_section(snapshot);
    struct rsmd_saved_client saved = {.socket = rsmd_snapshot_fd(snapshot, connection->socket),
                                      .pid = (uint32_t)connection->client.peer.pid,
                                      .greeted = connection->client.greeted,
                                      .node = connection->client.node,
                                      .may_bring_fds = connection->may_bring_fds};
    if (saved.greeted) /* others have no client yet */
        saved.process = rsmd_snapshot_fd(snapshot, connection->process);
    rsmd_saved_put(snapshot, RSMD_SAVED_CLIENT, &saved);
    rsmd_save_client(snapshot, &connection->client);
    rsmd_save_imports(snapshot, &connection->client);
}

static int has_more(const void *one, const void *other)
{
    const struct rsmd_client *a = &(*(struct rsmd_connection *const *)one)->client;
    const struct rsmd_client *b = &(*(struct rsmd_connection *const *)other)->client;
    uint64_t first = a->account->used[RSMD_DESCRIPTORS],
             second = b->account->used[RSMD_DESCRIPTORS];
    return (first > second) - (first < second);
}

/* Save those with the fewest descriptors first: without room for all, those with most are left
 * out. */
static void save_connections(struct rsmd_snapshot *snapshot, const struct rsmd_server *server)
{
    struct rsmd_connection *connection, **sorted;
    size_t count = 0, at = 0;
    DL_COUNT(server->connections, connection, count);
    sorted = calloc(count + 1, sizeof *sorted);
    if (sorted == NULL) {
        snapshot->failed = true;
        return;
    }
    DL_FOREACH(server->connections, connection)
    sorted[at++] = connection;
    qsort(sorted, count, sizeof *sorted, has_more);
    for (at = 0; at < count; at++)
        save_connection(snapshot, sorted[at]);
    free(sorted);
}

void rsmd_state_save(struct rsmd_snapshot *snapshot, const struct rsmd_server *server)
{
    rsmd_save_node(snapshot, server->node);
    save_connections(snapshot, server);
}

/* ------------------------------------------------------------------ restoring */

/* A client to resume. Its section is the one after its number. */
struct resumed {
    struct rsmd_connection *connection; /* NULL: it had not sent HELLO, or was not resumed */
    const char *lost;                   /* why it was not resumed */
    pid_t pid;                          /* 0: not known */
    size_t imports;                     /* their place in the state */
};

/* Make a substitute for a client whose connection cannot be resumed: it gets what the client had,
 * so that others see that end. NULL: no memory, or no descriptor. */
static struct rsmd_connection *stand_in(struct rsmd_server *server)
{
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) < 0)
        return NULL;
    close(ends[1]);
    return rsmd_connection_resume(server, ends[0], -1, server->node->id, false);
}

/* Resume the connection of a client. NULL: it failed, with the reason. */
static struct rsmd_connection *resume(struct rsmd_snapshot_reader *reader,
                                      struct rsmd_server *server,
                                      const struct rsmd_saved_client *saved, const char **why)
{
    int socket = rsmd_snapshot_take(reader, saved->socket);
    int process = rsmd_snapshot_take(reader, saved->process);
    if (socket < 0 || reader->bad) {
        *why = "a descriptor of its is missing";
        if (socket >= 0)
            close(socket);
        if (process >= 0)
            close(process);
        return NULL;
    }
    *why = "its connection cannot be resumed";
    return rsmd_connection_resume(server, socket, process, saved->node, saved->may_bring_fds != 0);
}

/* Resume a connection that had not sent HELLO, and has nothing. */
static void resume_silent(struct rsmd_snapshot_reader *reader, struct rsmd_server *server,
                          const struct rsmd_saved_client *saved, struct resumed *client)
{
    int socket = rsmd_snapshot_take(reader, saved->socket);
    if (socket >= 0)
        rsmd_connection_begin(server, socket);
    else
        client->lost = "its socket is missing";
}

static bool is_anything(uint32_t type)
{
    return type != RSMD_SAVED_CLIENT;
}

static void restore_client(struct rsmd_snapshot_reader *reader, struct rsmd_server *server,
                           struct resumed *client)
{
    struct rsmd_saved_client saved;
    const char *why = "its state cannot be read";
    bool read = rsmd_saved_get(reader, RSMD_SAVED_CLIENT, &saved);
    client->pid = read ? (pid_t)saved.pid : 0;
    if (read && !saved.greeted) {
        resume_silent(reader, server, &saved, client);
        return;
    }
    client->connection = read ? resume(reader, server, &saved, &why) : NULL;
    if (client->connection == NULL) {
        rsmd_snapshot_skip(reader, is_anything);
        client->lost = why;
        client->connection = stand_in(server);
        if (client->connection == NULL)
            return;
        client->connection->client.lost = why;
    }
    rsmd_restore_client(reader, server->node, &client->connection->client);
    client->imports = reader->at;
}

/* A client that cannot be resumed ends as if its process had ended. */
static bool end_if_lost(struct resumed *client, uint32_t number)
{
    struct rsmd_connection *connection = client->connection;
    const char *why = connection != NULL ? connection->client.lost : client->lost;
    if (why == NULL)
        return false;
    rsm_log_warning("client %u, process %d, cannot be served on, and loses what it has: %s",
                    (unsigned)number, (int)client->pid, why);
    if (connection != NULL)
        rsmd_connection_end(connection);
    return true;
}

bool rsmd_state_restore(struct rsmd_snapshot_reader *reader, struct rsmd_server *server)
{
    struct rsmd_node *node = server->node;
    uint32_t count = reader->section_count - 1, lost = 0;
    struct resumed *clients = calloc((size_t)count + 1, sizeof *clients);
    bool whole = clients != NULL && rsmd_restore_node(reader, node);
    for (uint32_t i = 0; whole && i < count; i++) {
        rsmd_snapshot_enter(reader, i + 1);
        restore_client(reader, server, &clients[i]);
    }
    for (uint32_t i = 0; whole && i < count; i++) {
        if (clients[i].connection == NULL)
            continue;
        rsmd_snapshot_enter_at(reader, i + 1, clients[i].imports);
        rsmd_restore_imports(reader, node, &clients[i].connection->client);
    }
    rsmd_generation_table_settle(node->generation_table);
    for (uint32_t i = 0; whole && i < count; i++)
        lost += end_if_lost(&clients[i], i + 1);
    rsmd_restore_settle(node);
    if (whole)
        rsm_log_info("%u clients of the previous rsmd are served on", (unsigned)(count - lost));
    free(clients);
    return whole;
}
