/* SPDX-License-Identifier: BSD-3-Clause */
/* rsmd as clients and other hosts see it: the real node, its event loop and its sockets, in this
 * process. An input is a script of clients that come, send requests with and without descriptors,
 * stop listening and go, while a node of another host sends messages. Each request is answered
 * exactly once or the client is dropped; when all have gone nothing is left: no descriptor, no
 * segment, no byte; and the next client is served as the first was. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "check.h"
#include "descriptors.h"
#include "node/remote/remote.h"
#include "node/segment_ids.h"
#include "fuzz.h"
#include "requests.h"
#include "rsm/rsm_common.h"
#include "server/server.h"

enum {
    CLIENTS = 6,
    STEPS_MAX = 300,
    USERS = 3,
    FAR_NODE = 2,
    CANARY_EVERY = 64,
    TIMEOUT_S = 15, /* for what must happen; never the normal case */
};

struct client {
    int socket; /* -1: not connected */
    bool deaf;
    uint32_t sequence;
    unsigned unanswered;
};

static struct {
    struct rsmd_conf conf;
    struct rsmd_node node;
    struct rsmd_server server;
    struct sockaddr_un address;
    socklen_t address_length;
    struct client client[CLIENTS];
    unsigned descriptors; /* open while nobody is there; 0: not counted yet */
    unsigned inputs;
} world;

/* ------------------------------------------------------------------ a fabric that reaches hosts */

static struct rsmd_controller *fabric;
static struct rsm_node_ops fabric_ops;

static enum rsm_status fabric_offer(struct rsm_node_port *port,
                                    const struct rsm_extent_piece *pieces, unsigned count,
                                    uint32_t rights, const struct rsm_importer *importer,
                                    struct rsm_offer *offer, struct rsm_node_offer **made)
{
    (void)port, (void)pieces, (void)count, (void)rights, (void)importer;
    offer->fd_count = 0;
    offer->blob_len = 8;
    memset(offer->blob, 'o', offer->blob_len);
    *made = calloc(1, sizeof **made);
    return *made != NULL ? RSM_ST_OK : RSM_ST_NO_MEMORY;
}

static void fabric_revoke(struct rsm_node_port *port, struct rsm_node_offer *made)
{
    (void)port;
    free(made);
}

static bool carry(void *context, uint32_t to, const struct rsm_cluster_msg *msg)
{
    static uint8_t frame[RSM_CLUSTER_FRAME_MAX];
    (void)context;
    CHECK(to == FAR_NODE && rsm_cluster_encode(msg, frame, sizeof frame) > 0);
    return true;
}

static size_t queued(void *context, uint32_t to)
{
    (void)context, (void)to;
    return 0;
}

/* ------------------------------------------------------------------ begin */

static void start(void)
{
    static const char text[] = "[controller sci0]\ntransport = shm\n"
                               "[controller sci1]\ntransport = shm\n";
    char why[256];
    struct rsmd_conf_error error;
    struct rsmcore_runtime runtime = {.directory = "/nonexistent", .node = 1};
    CHECK(rsmd_conf_parse(&world.conf, text, sizeof text - 1, &error));
    CHECK(rsmd_node_init(&world.node, 1, false, &runtime, &world.conf, why, sizeof why));
    LL_FOREACH(world.node.controllers, fabric)
    if (strcmp(fabric->name, "sci1") == 0)
        break;
    fabric_ops = *fabric->ops;
    fabric_ops.offer = fabric_offer;
    fabric_ops.revoke = fabric_revoke;
    fabric->port->caps |= RSM_NODE_REACHES_HOSTS;
    fabric->ops = &fabric_ops;

    int listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    world.address.sun_family = AF_UNIX; /* the kernel chooses an abstract name */
    world.address_length = sizeof world.address;
    CHECK(bind(listener, (struct sockaddr *)&world.address, sizeof(sa_family_t)) == 0);
    CHECK(listen(listener, 64) == 0);
    CHECK(getsockname(listener, (struct sockaddr *)&world.address, &world.address_length) == 0);
    CHECK(rsmd_server_init(&world.server, &world.node, listener, -1));
    struct rsmd_remote_ops carrier = {.send = carry, .queued = queued};
    CHECK(rsmd_remote_start(&world.node, world.server.base, &carrier));
    for (unsigned i = 0; i < CLIENTS; i++)
        world.client[i].socket = -1;
}

/* ------------------------------------------------------------------ clients */

/* The kernel's word on who connects is that of the moment; root can be others. */
static void become(unsigned uid)
{
    if (getuid() == 0)
        CHECK(syscall(SYS_setresuid, -1, uid, -1) == 0);
}

static void client_open(struct client *client, unsigned uid)
{
    if (client->socket >= 0)
        return;
    *client = (struct client){
        .socket = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)};
    CHECK(client->socket >= 0);
    become(uid);
    int connected =
        connect(client->socket, (struct sockaddr *)&world.address, world.address_length);
    become(0);
    if (connected < 0) {
        CHECK(errno == EAGAIN);
        close(client->socket);
        client->socket = -1;
    }
}

static void client_close(struct client *client)
{
    if (client->socket >= 0)
        close(client->socket);
    client->socket = -1;
}

/* Take what has come. False: nothing had. */
static bool client_drain(struct client *client)
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

/* Whoever connects is accepted in one turn of the loop and heard in the next. */
static void turn(void)
{
    for (unsigned quiet = 0; quiet < 2; quiet++) {
        event_base_loop(world.server.base, EVLOOP_NONBLOCK);
        for (unsigned i = 0; i < CLIENTS; i++)
            if (client_drain(&world.client[i]))
                quiet = 0;
    }
}

/* Let the loop run until something is so: what is given to threads takes its time. */
static void turn_until(bool (*so)(void))
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

/* ------------------------------------------------------------------ requests */

static void client_send(struct client *client, const uint8_t *bytes, size_t length,
                        struct input *in, unsigned fd_count)
{
    struct rsm_packet_fds fds = {.count = 0};
    if (client->socket < 0)
        return;
    while (fds.count < fd_count)
        fds.fds[fds.count++] = descriptor_make(in, client->socket);
    if (rsm_packet_send(client->socket, bytes, length, &fds, input_u8(in) & 1) == 0)
        client->unanswered++;
    rsm_packet_fds_close(&fds);
}

/* Mostly none: rsmd wants none. */
static unsigned fd_count_make(struct input *in)
{
    unsigned form = input_below(in, 32);
    if (form < 24)
        return 0;
    return form == 31 ? RSM_PROTO_FDS_MAX : form - 24;
}

static void send_request(struct client *client, struct input *in)
{
    static uint8_t bytes[RSM_PROTO_MESSAGE_MAX];
    static struct rsm_msg msg;
    request_make(in, &msg);
    msg.sequence = ++client->sequence;
    size_t length = rsm_msg_encode(&msg, bytes, sizeof bytes);
    bool known = length > 0;
    if (!known) { /* a type that there is not, with no body */
        msg.type = RSM_MSG_HELLO;
        length = rsm_msg_encode(&msg, bytes, sizeof bytes);
        bytes[8] = input_u8(in);
    }
    client_send(client, bytes, length, in, fd_count_make(in));
}

static void send_bytes(struct client *client, struct input *in)
{
    static uint8_t bytes[RSM_PROTO_MESSAGE_MAX];
    unsigned form = input_u8(in);
    size_t length = input_bytes(in, bytes, form < 64 ? 0 : form);
    client_send(client, bytes, length, in, fd_count_make(in));
}

static void say_hello(struct client *client, struct input *in)
{
    uint8_t bytes[64];
    struct rsm_msg msg = {.type = RSM_MSG_HELLO, .sequence = ++client->sequence};
    msg.u.hello.node = input_below(in, 4) != 3 ? 1 : 3;
    client_send(client, bytes, rsm_msg_encode(&msg, bytes, sizeof bytes), in, 0);
}

static void from_far(struct input *in)
{
    static uint8_t frame[RSM_CLUSTER_FRAME_MAX];
    static struct rsm_cluster_msg msg;
    peer_message_make(in, &msg);
    size_t length = rsm_cluster_encode(&msg, frame, sizeof frame);
    if (length > 0 && rsm_cluster_decode(&msg, frame, length) == RSM_ST_OK)
        rsmd_remote_message(&world.node, FAR_NODE, &msg);
}

static void step(struct input *in)
{
    unsigned what = input_below(in, 32);
    struct client *client = &world.client[what < 28 ? input_below(in, CLIENTS) : 0];
    switch (what) {
    case 0:
        client_open(client, input_below(in, USERS));
        break;
    case 1:
        client_open(client, input_below(in, USERS));
        say_hello(client, in);
        break;
    case 2:
        client_close(client);
        break;
    case 3:
        client->deaf = !client->deaf;
        break;
    case 4:
        send_bytes(client, in);
        break;
    case 28:
        rsmd_remote_up(&world.node, FAR_NODE);
        break;
    case 29:
        rsmd_remote_down(&world.node, FAR_NODE);
        break;
    case 30:
        from_far(in);
        break;
    case 31:
        turn();
        break;
    default:
        if (client->socket < 0) {
            client_open(client, 0);
            say_hello(client, in);
        }
        send_request(client, in);
        turn();
    }
}

/* ------------------------------------------------------------------ what must be so */

static bool all_answered(void)
{
    for (unsigned i = 0; i < CLIENTS; i++)
        if (world.client[i].socket >= 0 && !world.client[i].deaf && world.client[i].unanswered > 0)
            return false;
    return true;
}

static bool all_gone(void)
{
    return world.server.connections == NULL && world.server.ending == NULL &&
           (world.descriptors == 0 || descriptors_open() == world.descriptors);
}

static void end_all(void)
{
    const struct rsmd_node *node = &world.node;
    rsmd_remote_down(&world.node, FAR_NODE);
    turn_until(all_answered);
    CHECK(all_answered());
    for (unsigned i = 0; i < CLIENTS; i++) {
        client_close(&world.client[i]);
        world.client[i].deaf = false;
    }
    turn_until(all_gone);
    CHECK(world.server.connections == NULL && world.server.greeted_count == 0);
    CHECK(node->client_count == 0 && node->shares.accounts == NULL &&
          rsmd_shares_are_sound(&node->shares));
    CHECK(node->extents == NULL && node->exports == NULL && node->published == NULL);
    CHECK(node->imports == NULL && node->offers == NULL);
    if (world.descriptors != 0)
        CHECK(descriptors_open() == world.descriptors);
    /* The same script is to see the same ids. */
    world.node.last_id = 0;
    rsmd_segment_ids_init(&world.node);
}

static enum rsm_status ask(struct client *client, struct rsm_msg *msg)
{
    uint8_t bytes[2048];
    struct rsm_packet_fds fds = {.count = 0};
    ssize_t got = -EAGAIN;
    msg->sequence = ++client->sequence;
    size_t length = rsm_msg_encode(msg, bytes, sizeof bytes);
    CHECK(rsm_packet_send(client->socket, bytes, length, NULL, 0) == 0);
    for (unsigned turns = 0; got == -EAGAIN && turns < 1000; turns++) {
        event_base_loop(world.server.base, EVLOOP_NONBLOCK);
        got = rsm_packet_receive(client->socket, bytes, sizeof bytes, &fds, NULL);
    }
    CHECK(got > 0 && rsm_msg_decode(msg, bytes, (size_t)got) == RSM_ST_OK);
    rsm_packet_fds_close(&fds);
    return (enum rsm_status)msg->status;
}

/* Somebody new is served. */
static void canary(void)
{
    struct client client = {.socket = -1};
    struct rsm_msg msg = {.type = RSM_MSG_HELLO, .u.hello = {1}};
    client_open(&client, 0);
    CHECK(ask(&client, &msg) == RSM_ST_OK);
    msg = (struct rsm_msg){
        .type = RSM_MSG_EXPORT_CREATE,
        .u.export_create = {.controller = "sci0", .length = 4096, .mode = 0666, .want_extent = 1}};
    CHECK(ask(&client, &msg) == RSM_ST_OK);
    struct rsm_export_create_reply made = msg.u.export_create_reply;
    msg = (struct rsm_msg){.type = RSM_MSG_EXPORT_PUBLISH,
                           .u.export_publish = {.export_id = made.export_id,
                                                .segment_id = 7,
                                                .piece_count = 1,
                                                .pieces = {{made.extent, 0, 4096}}}};
    CHECK(ask(&client, &msg) == RSM_ST_OK);
    msg = (struct rsm_msg){
        .type = RSM_MSG_IMPORT_CONNECT,
        .u.import_connect = {"sci0", 1, 7, RSM_RIGHT_READ, RSM_ID_SPACE_RSMAPI, 0}};
    CHECK(ask(&client, &msg) == RSM_ST_OK);
    msg = (struct rsm_msg){.type = RSM_MSG_EVENT_OPEN,
                           .u.event_open = {RSM_EVENT_EXPORT, made.export_id}};
    CHECK(ask(&client, &msg) == RSM_ST_OK);
    client_close(&client);
    end_all();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input in = {.at = data, .left = size};
    if (world.server.base == NULL) {
        start();
        canary();
    }
    world.descriptors = descriptors_open(); /* the fuzzer opens some itself between inputs */
    for (unsigned steps = 0; !input_ends(&in) && steps < STEPS_MAX; steps++)
        step(&in);
    end_all();
    if (++world.inputs % CANARY_EVERY == 0)
        canary();
    return 0;
}
