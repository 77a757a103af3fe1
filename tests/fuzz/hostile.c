/* SPDX-License-Identifier: BSD-3-Clause */
#include "hostile.h"

#include "node/call.h"
#include "check.h"
#include "descriptors.h"
#include "node/clients.h"
#include "remote/remote.h"
#include "node/segment_ids.h"

enum { CONNECTIONS = 8, SILENCES = 1 };

struct connection {
    int socket; /* -1: free */
    uint32_t node;
    struct rsmd_client client;
};

static struct {
    char directory[64];
    int listeners[HOSTILE_NODES + 1]; /* from 1 */
    bool runs;
    struct input script;
    unsigned silences;
    int cut; /* memory that a client was given and that is to shrink; -1: none */
    struct rsmd_conf conf;
    struct rsmd_node node;
    struct connection connections[CONNECTIONS];
    struct rsm_msg request, reply;
    uint8_t incoming[RSM_PROTO_MESSAGE_MAX], outgoing[RSM_PROTO_MESSAGE_MAX + 64];
} hostile;

static void socket_path(char path[sizeof((struct sockaddr_un *)0)->sun_path], unsigned node)
{
    snprintf(path, sizeof((struct sockaddr_un *)0)->sun_path, "%s/node-%u.sock", hostile.directory,
             node);
}

static void remove_directory(void)
{
    char path[sizeof((struct sockaddr_un *)0)->sun_path];
    for (unsigned node = 1; node <= HOSTILE_NODES; node++) {
        socket_path(path, node);
        unlink(path);
    }
    rmdir(hostile.directory);
}

void hostile_prepare(void)
{
    strcpy(hostile.directory, "/tmp/rsm-fuzz-client.XXXXXX");
    CHECK(mkdtemp(hostile.directory) != NULL);
    for (unsigned node = 1; node <= HOSTILE_NODES; node++) {
        struct sockaddr_un address = {.sun_family = AF_UNIX};
        int on = 1;
        int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        socket_path(address.sun_path, node);
        CHECK(bind(fd, (struct sockaddr *)&address, sizeof address) == 0 && listen(fd, 16) == 0);
        CHECK(setsockopt(fd, SOL_SOCKET, SO_PASSCRED, &on, sizeof on) == 0);
        hostile.listeners[node] = fd;
    }
    setenv("RSM_RUNTIME_DIR", hostile.directory, 1);
    setenv("RSM_NODE", "1", 1);
    setenv("RSM_RSMD", "/nonexistent", 1); /* should it try to start another one */
    atexit(remove_directory);
    char why[256];
    struct rsmcore_runtime runtime = {.directory = "/nonexistent", .node = 1};
    rsmd_conf_defaults(&hostile.conf);
    hostile.conf.peer_timeout_ms = HOSTILE_TIMEOUT_MS;
    CHECK(rsmd_node_init(&hostile.node, 1, false, &runtime, &hostile.conf, why, sizeof why));
    for (unsigned i = 0; i < CONNECTIONS; i++)
        hostile.connections[i].socket = -1;
}

/* ------------------------------------------------------------------ lies */

/* What is sent, and how. */
struct answer {
    struct rsm_packet_fds fds; /* all of them our own */
    size_t length;
    unsigned copies;
    bool hang_up;
};

static void replace_descriptor(struct answer *answer, int with)
{
    unsigned at = answer->fds.count > 0 ? input_below(&hostile.script, answer->fds.count) : 0;
    if (at < answer->fds.count)
        close(answer->fds.fds[at]);
    else
        answer->fds.count++;
    answer->fds.fds[at] = with;
}

/* Memory as large as it should be, that can shrink, and does so before the next reply. */
static void give_what_shrinks(struct answer *answer)
{
    struct stat status;
    if (answer->fds.count == 0 || fstat(answer->fds.fds[0], &status) < 0)
        return;
    int fd = descriptor_memory((uint64_t)status.st_size, 0);
    if (hostile.cut >= 0)
        close(hostile.cut);
    hostile.cut = fcntl(fd, F_DUPFD_CLOEXEC, 3);
    close(answer->fds.fds[0]);
    answer->fds.fds[0] = fd;
}

static void change_words(struct input *in)
{
    uint32_t words[sizeof hostile.reply.u / sizeof(uint32_t)];
    memcpy(words, &hostile.reply.u, sizeof words);
    for (unsigned count = 1 + input_below(in, 4); count > 0; count--)
        words[input_u8(in) % 24u] = (uint32_t)input_number(in);
    memcpy(&hostile.reply.u, words, sizeof words);
}

/* Before it is encoded. */
static void lie_in_words(struct input *in, unsigned how, struct answer *answer)
{
    switch (how) {
    case 0:
        hostile.reply.status = (uint32_t)input_number(in);
        break;
    case 1:
    case 2:
        change_words(in);
        break;
    case 3:
        rsm_packet_fds_close(&answer->fds);
        break;
    case 4:
        replace_descriptor(answer, descriptor_make(in, hostile.listeners[1]));
        break;
    case 5:
        if (answer->fds.count < RSM_PACKET_FDS_MAX)
            answer->fds.fds[answer->fds.count++] = descriptor_make(in, hostile.listeners[1]);
        break;
    case 6:
        give_what_shrinks(answer);
        break;
    case 7:
        hostile.reply.sequence += (uint32_t)input_number(in);
        break;
    case 8:
        hostile.reply.type = RSM_MSG_REPLY | input_below(in, RSM_MSG_LAST + 2);
        break;
    case 9:
        input_bytes(in, &hostile.reply.u, 64);
        break;
    }
}

/* Afterwards. */
static void lie_in_form(struct input *in, unsigned how, struct answer *answer)
{
    switch (how) {
    case 10:
        hostile.outgoing[input_u8(in)] ^= input_u8(in);
        break;
    case 11:
        answer->length -= answer->length < 256 ? input_u8(in) % answer->length : input_u8(in);
        break;
    case 12:
        answer->length += input_below(in, 64);
        break;
    case 13:
        answer->copies = input_below(in, 4);
        if (answer->copies == 0 && hostile.silences++ >= SILENCES)
            answer->copies = 1;
        break;
    case 14:
        answer->hang_up = true;
        break;
    case 15:
        answer->length = 0;
        break;
    }
}

/* ------------------------------------------------------------------ answers */

/* The other node of this host is where this thread listens, too. */
static void tell_where(struct rsm_locate_reply *reply)
{
    reply->kind = RSM_LOCATE_SAME_HOST;
    socket_path(reply->path, 2);
}

static void ask_rsmd(struct connection *connection, struct answer *answer)
{
    struct rsmd_call call = {.node = &hostile.node,
                             .client = &connection->client,
                             .who = {.pid = getpid(), .uid = getuid(), .gid = getgid()},
                             .request = &hostile.request,
                             .reply = &hostile.reply};
    hostile.node.id = connection->node;
    rsmd_dispatch(&call);
    CHECK(!call.later);
    for (unsigned i = 0; i < call.attached.count; i++)
        answer->fds.fds[answer->fds.count++] = fcntl(call.attached.fds[i], F_DUPFD_CLOEXEC, 3);
    if (call.close_attached)
        rsm_packet_fds_close(&call.attached);
    bool elsewhere = hostile.request.type == RSM_MSG_LOCATE && hostile.request.u.locate.node == 2;
    if (elsewhere && connection->node == 1) {
        hostile.reply.status = RSM_ST_OK;
        tell_where(&hostile.reply.u.locate_reply);
    }
}

/* False: it hangs up. */
static bool answer(struct connection *connection)
{
    struct input *in = &hostile.script;
    struct answer answer = {.copies = 1};
    unsigned how = input_u8(in);
    how = how < 0xc0 ? UINT32_MAX : how % 16;
    ask_rsmd(connection, &answer);
    lie_in_words(in, how, &answer);
    answer.length = rsm_msg_encode(&hostile.reply, hostile.outgoing, RSM_PROTO_MESSAGE_MAX);
    if (answer.length > 0)
        lie_in_form(in, how, &answer);
    for (; answer.copies > 0 && !answer.hang_up; answer.copies--)
        (void)rsm_packet_send(connection->socket, hostile.outgoing, answer.length, &answer.fds, 0);
    rsm_packet_fds_close(&answer.fds);
    return !answer.hang_up;
}

static void shrink(void)
{
    if (hostile.cut < 0)
        return;
    (void)!ftruncate(hostile.cut, 0);
    close(hostile.cut);
    hostile.cut = -1;
}

/* ------------------------------------------------------------------ connections */

static void end_connection(struct connection *connection)
{
    rsmd_remote_abandon(&connection->client);
    rsmd_client_clear_until(&hostile.node, &connection->client, INT64_MAX);
    if (connection->client.greeted)
        rsmd_client_dismiss(&connection->client);
    rsmd_account_drop(connection->client.account);
    close(connection->socket);
    connection->socket = -1;
}

static void serve(struct connection *connection)
{
    struct rsm_packet_fds fds = {.count = 0};
    ssize_t length = rsm_packet_receive(connection->socket, hostile.incoming,
                                        sizeof hostile.incoming, &fds, NULL);
    if (length == -EAGAIN)
        return;
    shrink();
    bool go_on = length > 0 &&
                 rsm_msg_decode(&hostile.request, hostile.incoming, (size_t)length) == RSM_ST_OK;
    go_on = go_on && answer(connection);
    rsm_packet_fds_close(&fds);
    if (!go_on)
        end_connection(connection);
}

static void accept_from(unsigned node)
{
    int fd = accept4(hostile.listeners[node], NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    for (unsigned i = 0; fd >= 0 && i < CONNECTIONS; i++) {
        if (hostile.connections[i].socket >= 0)
            continue;
        hostile.connections[i] = (struct connection){.socket = fd, .node = node};
        hostile.connections[i].client.account =
            rsmd_account_of_connection(&hostile.node.shares, getuid());
        hostile.connections[i].client.own_descriptors = 1;
        CHECK(hostile.connections[i].client.account != NULL);
        fd = -1;
    }
    if (fd >= 0)
        close(fd);
}

bool hostile_turn(void)
{
    struct pollfd ready[HOSTILE_NODES + CONNECTIONS];
    if (!hostile.runs)
        return false;
    for (unsigned node = 1; node <= HOSTILE_NODES; node++)
        ready[node - 1] = (struct pollfd){.fd = hostile.listeners[node], .events = POLLIN};
    for (unsigned i = 0; i < CONNECTIONS; i++)
        ready[HOSTILE_NODES + i] =
            (struct pollfd){.fd = hostile.connections[i].socket, .events = POLLIN};
    hostile.runs = false; /* what the daemon itself waits for */
    int count = poll(ready, sizeof ready / sizeof ready[0], 0);
    for (unsigned i = 0; i < CONNECTIONS && count > 0; i++)
        if (ready[HOSTILE_NODES + i].revents != 0)
            serve(&hostile.connections[i]);
    for (unsigned node = 1; node <= HOSTILE_NODES && count > 0; node++)
        if (ready[node - 1].revents != 0)
            accept_from(node);
    hostile.runs = true;
    return count > 0;
}

void hostile_start(const struct input *script)
{
    hostile.script = *script;
    hostile.silences = 0;
    hostile.cut = -1;
    CHECK(rsmd_generation_table_own(hostile.node.generation_table) == RSM_ST_OK);
    hostile.node.last_id = 0;
    rsmd_segment_ids_init(&hostile.node);
    hostile.runs = true;
}

void hostile_stop(void)
{
    hostile.runs = false;
    for (unsigned i = 0; i < CONNECTIONS; i++)
        if (hostile.connections[i].socket >= 0)
            end_connection(&hostile.connections[i]);
    shrink();
    CHECK(hostile.node.exports == NULL && hostile.node.importers == NULL &&
          hostile.node.extents == NULL && hostile.node.offers == NULL);
    /* By its table each daemon is another one, and what else is in the node is as new. */
    rsmd_generation_table_free(hostile.node.generation_table);
    CHECK(rsmd_generation_table_create(&hostile.node.generation_table, false) == RSM_ST_OK);
    for (unsigned node = 1; node <= HOSTILE_NODES; node++) /* nobody is left in the backlog */
        for (int fd; (fd = accept4(hostile.listeners[node], NULL, NULL, SOCK_CLOEXEC)) >= 0;)
            close(fd);
}
