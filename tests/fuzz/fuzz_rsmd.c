/* SPDX-License-Identifier: BSD-3-Clause */
/* rsmd as clients and other hosts see it: the real node, its event loop and its sockets, in this
 * process. An input is a script of clients that come, send requests with and without descriptors,
 * stop listening and go, while a node of another host sends messages. Each request is answered
 * exactly once or the client is dropped; when all have gone nothing is left: no descriptor, no
 * segment, no byte; and the next client is served as the first was. */
#include "check.h"
#include "daemon.h"
#include "descriptors.h"
#include "remote/remote.h"
#include "node/segment_ids.h"
#include "fuzz.h"
#include "requests.h"
#include "rsm/rsm_common.h"

enum {
    CLIENTS = 6,
    STEPS_MAX = 300,
    USERS = 3,
    CANARY_EVERY = 64,
};

static struct {
    struct client client[CLIENTS];
    unsigned descriptors; /* open while nobody is there; 0: not counted yet */
    unsigned inputs;
} world;

/* ------------------------------------------------------------------ clients */

/* Whoever connects is accepted in one turn of the loop and heard in the next. */
static void turn(void)
{
    for (unsigned quiet = 0; quiet < 2; quiet++) {
        daemon_turn();
        for (unsigned i = 0; i < CLIENTS; i++)
            if (client_drain(&world.client[i]))
                quiet = 0;
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
    return form == 31 ? RSM_PACKET_FDS_MAX : form - 24;
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
        rsmd_remote_message(&daemon_world.node, DAEMON_FAR_NODE, &msg);
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
        rsmd_remote_up(&daemon_world.node, DAEMON_FAR_NODE);
        break;
    case 29:
        rsmd_remote_down(&daemon_world.node, DAEMON_FAR_NODE);
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
    return daemon_world.server.connections == NULL && daemon_world.server.ending == NULL &&
           (world.descriptors == 0 || descriptors_open() == world.descriptors);
}

static void end_all(void)
{
    rsmd_remote_down(&daemon_world.node, DAEMON_FAR_NODE);
    daemon_turn_until(turn, all_answered);
    CHECK(all_answered());
    for (unsigned i = 0; i < CLIENTS; i++) {
        client_close(&world.client[i]);
        world.client[i].deaf = false;
    }
    daemon_turn_until(turn, all_gone);
    CHECK(daemon_is_empty());
    if (world.descriptors != 0)
        CHECK(descriptors_open() == world.descriptors);
    /* The same script is to see the same ids. */
    daemon_world.node.last_id = 0;
    rsmd_segment_ids_init(&daemon_world.node);
}

/* Somebody new is served. */
static void canary(void)
{
    struct client client = {.socket = -1};
    struct rsm_msg msg = {.type = RSM_MSG_HELLO, .u.hello = {1}};
    client_open(&client, 0);
    CHECK(client_ask(&client, &msg) == RSM_ST_OK);
    msg = (struct rsm_msg){
        .type = RSM_MSG_EXPORT_CREATE,
        .u.export_create = {.controller = "sci0", .length = 4096, .mode = 0666, .want_extent = 1}};
    CHECK(client_ask(&client, &msg) == RSM_ST_OK);
    struct rsm_export_create_reply made = msg.u.export_create_reply;
    msg = (struct rsm_msg){.type = RSM_MSG_EXPORT_PUBLISH,
                           .u.export_publish = {.export_id = made.export_id,
                                                .segment_id = 7,
                                                .piece_count = 1,
                                                .pieces = {{made.extent, 0, 4096}}}};
    CHECK(client_ask(&client, &msg) == RSM_ST_OK);
    msg = (struct rsm_msg){.type = RSM_MSG_IMPORT_CONNECT,
                           .u.import_connect = {.controller = "sci0",
                                                .node = 1,
                                                .space = RSM_ID_SPACE_RSMAPI,
                                                .segment_id = 7,
                                                .rights = RSM_RIGHT_READ}};
    CHECK(client_ask(&client, &msg) == RSM_ST_OK);
    msg = (struct rsm_msg){.type = RSM_MSG_EVENT_OPEN,
                           .u.event_open = {RSM_EVENT_EXPORT, made.export_id}};
    CHECK(client_ask(&client, &msg) == RSM_ST_OK);
    client_close(&client);
    end_all();
}

void fuzz_input(const uint8_t *data, size_t size)
{
    struct input in = {.at = data, .left = size};
    if (daemon_world.server.base == NULL) {
        daemon_start("");
        for (unsigned i = 0; i < CLIENTS; i++)
            world.client[i].socket = -1;
        canary();
    }
    world.descriptors = descriptors_open(); /* the fuzzer opens some itself between inputs */
    for (unsigned steps = 0; !input_ends(&in) && steps < STEPS_MAX; steps++)
        step(&in);
    end_all();
    if (++world.inputs % CANARY_EVERY == 0)
        canary();
}
