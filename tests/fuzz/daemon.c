/* SPDX-License-Identifier: BSD-3-Clause */
#include "daemon.h"

#include <sys/syscall.h>

#include "check.h"
#include "loop.h"
#include "remote/remote.h"
#include "rsm/rsm_common.h"
#include "server/instance_lock.h"

enum { TIMEOUT_S = 15 }; /* for what must happen; never the normal case */

struct daemon daemon_world;

/* ------------------------------------------------------------------ a fabric that reaches hosts */

static struct rsmd_controller *fabric;
static struct rsm_node_ops fabric_ops;

static enum rsm_status fabric_offer(struct rsm_node_port *port,
                                    const struct rsm_extent_piece *pieces, unsigned count,
                                    uint32_t rights, const struct rsm_importer *importer,
                                    struct rsm_offer *offer, struct rsm_node_offer **made)
{
    (void)port, (void)pieces, (void)count, (void)rights;
    CHECK(importer->request_len <= RSM_REQUEST_MAX);
    CHECK((importer->request_len > 0) == (importer->request != NULL));
    offer->fd_count = 0;
    offer->blob_len = 8;
    memset(offer->blob, 'o', offer->blob_len);
    if (importer->request_len > 0) { /* all of it is there */
        memcpy(offer->blob + offer->blob_len, importer->request, importer->request_len);
        offer->blob_len += importer->request_len;
    }
    *made = calloc(1, sizeof **made);
    return *made != NULL ? RSM_ST_OK : RSM_ST_NO_MEMORY;
}

static void fabric_revoke(struct rsm_node_port *port, struct rsm_node_offer *made)
{
    free(made);
}

static bool carry(void *context, uint32_t to, const struct rsm_cluster_msg *msg)
{
    static uint8_t frame[RSM_CLUSTER_FRAME_MAX];
    CHECK(to == DAEMON_FAR_NODE && rsm_cluster_encode(msg, frame, sizeof frame) > 0);
    return true;
}

static size_t queued(void *context, uint32_t to)
{
    (void)context, (void)to;
    return 0;
}

/* ------------------------------------------------------------------ the daemon */

void daemon_start(const char *limits)
{
    char text[256], why[256];
    struct rsmd_conf_error error;
    struct rsmcore_runtime runtime = {.directory = "/nonexistent", .node = 1};
    int length = snprintf(text, sizeof text,
                          "[controller sci0]\ntransport = shm\n"
                          "[controller sci1]\ntransport = shm\n%s",
                          limits);
    CHECK(rsmd_conf_parse(&daemon_world.conf, text, (size_t)length, &error));
    CHECK(rsmd_node_init(&daemon_world.node, 1, false, &runtime, &daemon_world.conf, why,
                         sizeof why));
    LL_FOREACH(daemon_world.node.controllers, fabric)
    if (strcmp(fabric->name, "sci1") == 0)
        break;
    fabric_ops = *fabric->ops;
    fabric_ops.offer = fabric_offer;
    fabric_ops.revoke = fabric_revoke;
    fabric->port->caps |= RSM_NODE_REACHES_HOSTS;
    fabric->ops = &fabric_ops;

    int listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    daemon_world.address.sun_family = AF_UNIX; /* the kernel chooses an abstract name */
    daemon_world.address_length = sizeof daemon_world.address;
    CHECK(bind(listener, (struct sockaddr *)&daemon_world.address, sizeof(sa_family_t)) == 0);
    CHECK(listen(listener, RSMD_BACKLOG) == 0);
    CHECK(getsockname(listener, (struct sockaddr *)&daemon_world.address,
                      &daemon_world.address_length) == 0);
    CHECK(rsmd_server_init(&daemon_world.server, &daemon_world.node, listener, -1));
    struct rsmd_remote_ops carrier = {.send = carry, .queued = queued};
    CHECK(rsmd_remote_start(&daemon_world.node, daemon_world.server.base, &carrier));
}

void daemon_turn(void)
{
    loop_turn(daemon_world.server.base);
}

void daemon_turn_until(void (*turn)(void), bool (*so)(void))
{
    const struct timespec moment = {.tv_nsec = 100000};
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    time_t end = now.tv_sec + TIMEOUT_S;
    for (turn(); !so() && now.tv_sec < end; turn()) {
        nanosleep(&moment, NULL);
        clock_gettime(CLOCK_MONOTONIC, &now);
    }
}

bool daemon_is_empty(void)
{
    const struct rsmd_node *node = &daemon_world.node;
    return daemon_world.server.connections == NULL && daemon_world.server.ending == NULL &&
           daemon_world.server.greeted_count == 0 && node->client_count == 0 &&
           node->shares.accounts == NULL && rsmd_shares_are_sound(&node->shares) &&
           node->extents == NULL && node->exports == NULL && node->published == NULL &&
           node->importers == NULL && node->offers == NULL && node->interrupts_by_number == NULL;
}

/* ------------------------------------------------------------------ clients */

/* The kernel's word on who connects is that of the moment; root can be others. */
static void become(unsigned uid)
{
    if (getuid() == 0)
        CHECK(syscall(SYS_setresuid, -1, uid, -1) == 0);
}

void client_open(struct client *client, unsigned uid)
{
    if (client->socket >= 0)
        return;
    *client = (struct client){
        .socket = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)};
    CHECK(client->socket >= 0);
    become(uid);
    int connected = connect(client->socket, (struct sockaddr *)&daemon_world.address,
                            daemon_world.address_length);
    become(0);
    if (connected < 0) {
        CHECK(errno == EAGAIN);
        close(client->socket);
        client->socket = -1;
    }
}

void client_close(struct client *client)
{
    if (client->socket >= 0)
        close(client->socket);
    client->socket = -1;
}

bool client_drain(struct client *client)
{
    static uint8_t bytes[RSM_PROTO_MESSAGE_MAX];
    static struct rsm_msg reply;
    struct rsm_packet_fds fds;
    if (client->socket < 0 || client->deaf)
        return false;
    ssize_t length = rsm_packet_receive(client->socket, bytes, sizeof bytes, &fds, NULL);
    if (length == -EAGAIN)
        return false;
    if (length <= 0) {
        client_close(client);
        return true;
    }
    CHECK(rsm_msg_decode(&reply, bytes, (size_t)length) == RSM_ST_OK ||
          reply.status != RSM_ST_OK); /* the reply to a request of an unknown type has no form */
    CHECK((reply.type & RSM_MSG_REPLY) != 0);
    CHECK(client->unanswered > 0);
    client->unanswered--;
    rsm_packet_fds_close(&fds);
    return true;
}

enum rsm_status client_ask(struct client *client, struct rsm_msg *msg)
{
    uint8_t bytes[2048];
    struct rsm_packet_fds fds = {.count = 0};
    ssize_t got = -EAGAIN;
    msg->sequence = ++client->sequence;
    size_t length = rsm_msg_encode(msg, bytes, sizeof bytes);
    CHECK(rsm_packet_send(client->socket, bytes, length, NULL, 0) == 0);
    for (unsigned turns = 0; got == -EAGAIN && turns < 1000; turns++) {
        daemon_turn();
        got = rsm_packet_receive(client->socket, bytes, sizeof bytes, &fds, NULL);
    }
    CHECK(got > 0 && rsm_msg_decode(msg, bytes, (size_t)got) == RSM_ST_OK);
    rsm_packet_fds_close(&fds);
    return (enum rsm_status)msg->status;
}
