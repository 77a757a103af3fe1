/* SPDX-License-Identifier: BSD-3-Clause */
/* rsmd with 20 000 objects that hang together: connections of one segment, records that nobody has
 * fetched, segments of one client, interrupts under one number, connections of another host. An input
 * names the crowd, and is then a script of requests to it. No turn of the event loop takes long,
 * whatever is asked for; a bystander is served all the time; in the end everything can be given up. */
#include "check.h"
#include "daemon.h"
#include "descriptors.h"
#include "fuzz.h"
#include "node/call.h"
#include "remote/remote.h"
#include "node/segment_ids.h"
#include "requests.h"
#include "rsm/rsm_common.h"
#include "server/connection.h"

enum {
    OBJECTS = 20000,
    DESCRIPTORS = 80000, /* the daemon keeps one for each counter */
    STEPS_MAX = 24,
    LENGTH = 4096,
    NUMBER = 5, /* of the segment, and of the interrupts */
    EXPORTER = 0,
    IMPORTER = 1,
    BYSTANDER = 2,
    CLIENTS = 3,
};

enum kind { CONNECTIONS, RECORDS, SEGMENTS, INTERRUPTS, REMOTE_CONNECTIONS, SHARED, KINDS };

static struct {
    struct client client[CLIENTS];
    struct rsmd_client *of[CLIENTS]; /* in the daemon */
    bool stands;                     /* the crowd of the former input is untouched */
    enum kind kind;
    struct rsm_export_create_reply made; /* the segment */
    uint32_t space;                      /* of its id */
    uint32_t import;                     /* the latest of them */
    uint32_t interrupts[2];              /* the first, by which all are triggered, and the latest */
    uint64_t used[RSMD_RESOURCES];       /* when it stood */
    unsigned descriptors;
} crowd;

/* ------------------------------------------------------------------ a crowd */

/* Without a socket: the crowd is not what is tried here. */
static enum rsm_status make(unsigned who, struct rsm_msg *msg)
{
    static struct rsm_msg reply;
    struct rsmd_client *client = crowd.of[who];
    struct rsmd_call call = {.node = &daemon_world.node,
                             .client = client,
                             .who = client->peer,
                             .request = msg,
                             .reply = &reply};
    rsm_msg_begin(&reply, msg->type | RSM_MSG_REPLY);
    rsmd_dispatch(&call);
    CHECK(!call.later);
    if (call.close_attached)
        rsm_packet_fds_close(&call.attached);
    *msg = reply;
    return (enum rsm_status)reply.status;
}

static void must(unsigned who, struct rsm_msg *msg)
{
    CHECK(make(who, msg) == RSM_ST_OK);
}

static struct rsm_msg opening(uint32_t end, uint32_t id)
{
    return (struct rsm_msg){.type = RSM_MSG_EVENT_OPEN, .u.event_open = {end, id}};
}

static struct rsm_msg connecting(uint32_t flags)
{
    return (struct rsm_msg){.type = RSM_MSG_IMPORT_CONNECT,
                            .u.import_connect = {.controller = "sci1",
                                                 .node = 1,
                                                 .space = crowd.space,
                                                 .segment_id = NUMBER,
                                                 .rights = RSM_RIGHT_READ,
                                                 .flags = flags}};
}

/* Have it opened to others, and the importer attached to it. */
static void share_segment(void)
{
    struct rsm_msg msg = {.type = RSM_MSG_EXPORT_STATE,
                          .u.export_state = {RSM_EVENT_EXPORT, crowd.made.export_id, 0,
                                             RSM_SEGMENT_NEW, RSM_SEGMENT_OPEN, RSM_STATE_SHARE}};
    must(EXPORTER, &msg);
    msg = connecting(RSM_CONNECT_ATTACH);
    must(IMPORTER, &msg);
}

static void make_segment(void)
{
    bool shared = crowd.kind == SHARED;
    crowd.space = shared ? RSM_ID_SPACE_SISCI : RSM_ID_SPACE_RSMAPI;
    struct rsm_msg msg = {.type = RSM_MSG_EXPORT_CREATE,
                          .u.export_create = {.controller = "sci1",
                                              .length = LENGTH,
                                              .mode = 0666,
                                              .want_extent = 1,
                                              .claim = shared ? RSM_CLAIM_ID : RSM_CLAIM_NONE,
                                              .space = crowd.space,
                                              .segment_id = shared ? NUMBER : 0}};
    must(EXPORTER, &msg);
    crowd.made = msg.u.export_create_reply;
    if (crowd.kind == RECORDS) {
        msg = opening(RSM_EVENT_EXPORT_RECORDS, crowd.made.export_id);
        must(EXPORTER, &msg);
    }
    msg = (struct rsm_msg){.type = RSM_MSG_EXPORT_PUBLISH,
                           .u.export_publish = {.export_id = crowd.made.export_id,
                                                .segment_id = NUMBER,
                                                .space = crowd.space,
                                                .piece_count = 1,
                                                .pieces = {{crowd.made.extent, 0, LENGTH}}}};
    must(EXPORTER, &msg);
    if (shared)
        share_segment();
}

static bool make_connection(void)
{
    struct rsm_msg msg = connecting(0);
    if (make(IMPORTER, &msg) != RSM_ST_OK)
        return false;
    crowd.import = msg.u.import_connect_reply.import;
    return true;
}

/* With records of its own, too: what its exporter does with the segment is told to each. */
static bool make_recorded_connection(void)
{
    if (!make_connection())
        return false;
    struct rsm_msg msg = opening(RSM_EVENT_IMPORT_RECORDS, crowd.import);
    return make(IMPORTER, &msg) == RSM_ST_OK;
}

static bool make_export(void)
{
    struct rsm_msg msg = {
        .type = RSM_MSG_EXPORT_CREATE,
        .u.export_create = {.controller = "sci1", .length = LENGTH, .mode = 0666}};
    if (make(EXPORTER, &msg) != RSM_ST_OK)
        return false;
    msg = (struct rsm_msg){.type = RSM_MSG_EXPORT_PUBLISH,
                           .u.export_publish = {.export_id = msg.u.export_create_reply.export_id,
                                                .flags = RSM_PUBLISH_ASSIGN_ID,
                                                .piece_count = 1,
                                                .pieces = {{crowd.made.extent, 0, LENGTH}}}};
    must(EXPORTER, &msg);
    return true;
}

static bool make_interrupt(void)
{
    struct rsm_msg msg = {.type = RSM_MSG_INTERRUPT_CREATE,
                          .u.interrupt_create = {.kind = RSM_INTERRUPT_PLAIN,
                                                 .number = NUMBER,
                                                 .flags = RSM_INTERRUPT_SHARED,
                                                 .mode = 0666}};
    if (make(EXPORTER, &msg) != RSM_ST_OK)
        return false;
    uint32_t id = msg.u.interrupt_create_reply.interrupt;
    msg = opening(RSM_EVENT_INTERRUPT, id);
    if (make(EXPORTER, &msg) != RSM_ST_OK) { /* all that are triggered have a counter */
        msg = (struct rsm_msg){.type = RSM_MSG_INTERRUPT_REMOVE, .u.interrupt_remove = {id}};
        must(EXPORTER, &msg);
        return false;
    }
    if (crowd.interrupts[0] == 0)
        crowd.interrupts[0] = id;
    crowd.interrupts[1] = id;
    return true;
}

static bool make_far_connection(void)
{
    static struct rsm_cluster_msg msg;
    uint32_t before = daemon_world.node.shares.used[RSMD_SEGMENTS] & UINT32_MAX;
    msg = (struct rsm_cluster_msg){.type = RSM_CLUSTER_CONNECT};
    strcpy(msg.u.connect.controller, "sci1");
    msg.u.connect.request = before;
    msg.u.connect.segment_id = NUMBER;
    msg.u.connect.rights = RSM_RIGHT_READ;
    rsmd_remote_message(&daemon_world.node, DAEMON_FAR_NODE, &msg);
    return daemon_world.node.shares.used[RSMD_SEGMENTS] > before;
}

/* Root may have more than it was given. */
static void raise_descriptors(void)
{
    struct rlimit limit = {.rlim_cur = DESCRIPTORS, .rlim_max = DESCRIPTORS};
    if (setrlimit(RLIMIT_NOFILE, &limit) == 0 || getrlimit(RLIMIT_NOFILE, &limit) < 0)
        return;
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
}

/* As many as there may be. */
static void gather(enum kind kind, unsigned objects)
{
    static bool (*const makes[KINDS])(void) = {make_connection,     make_recorded_connection,
                                               make_export,         make_interrupt,
                                               make_far_connection, make_connection};
    crowd.kind = kind;
    for (unsigned i = 0; i < CLIENTS; i++) {
        struct rsm_msg msg = {.type = RSM_MSG_HELLO, .u.hello = {1}};
        crowd.client[i].socket = -1;
        client_open(&crowd.client[i], 0);
        CHECK(client_ask(&crowd.client[i], &msg) == RSM_ST_OK);
        crowd.of[i] = &daemon_world.server.connections->prev->client;
    }
    rsmd_remote_up(&daemon_world.node, DAEMON_FAR_NODE);
    crowd.interrupts[0] = 0;
    make_segment();
    unsigned count = 0;
    while (count < objects && makes[kind]())
        count++;
    CHECK(count > 0);
    memcpy(crowd.used, daemon_world.node.shares.used, sizeof crowd.used);
}

/* ------------------------------------------------------------------ what is asked of it */

static void turn(void)
{
    for (unsigned quiet = 0; quiet < 2; quiet++) {
        daemon_turn();
        for (unsigned i = 0; i < BYSTANDER; i++)
            if (client_drain(&crowd.client[i]))
                quiet = 0;
    }
}

static void send_to(struct client *client, struct rsm_msg *msg)
{
    static uint8_t bytes[RSM_PROTO_MESSAGE_MAX];
    msg->sequence = ++client->sequence;
    size_t length = rsm_msg_encode(msg, bytes, sizeof bytes);
    if (client->socket < 0 || length == 0)
        return;
    if (rsm_packet_send(client->socket, bytes, length, NULL, 0) == 0)
        client->unanswered++;
}

static void ask_of_segment(struct rsm_msg *msg, struct input *in)
{
    uint32_t id = crowd.made.export_id + input_below(in, 4);
    switch (input_below(in, 5)) {
    case 0:
        msg->type = RSM_MSG_EXPORT_DESTROY;
        msg->u.export_destroy = (struct rsm_export_destroy_request){id, input_below(in, 2)};
        return;
    case 1:
        msg->type = RSM_MSG_EXPORT_UNPUBLISH;
        msg->u.export_unpublish =
            (struct rsm_export_unpublish_request){.export_id = id, .flags = input_below(in, 4)};
        return;
    case 2:
        msg->type = RSM_MSG_EXPORT_REPUBLISH;
        msg->u.export_republish.export_id = id;
        return;
    case 3:
        msg->type = RSM_MSG_MAILBOX_TAKE;
        msg->u.mailbox_take =
            (struct rsm_mailbox_take_request){RSM_EVENT_EXPORT_RECORDS, id, input_below(in, 64)};
        return;
    default:
        msg->type = RSM_MSG_EVENT_RECEIVERS;
        msg->u.event_receivers =
            (struct rsm_event_receivers_request){RSM_EVENT_EXPORT, id, (uint32_t)input_number(in)};
    }
}

static void ask_of_interrupts(struct rsm_msg *msg, struct input *in)
{
    uint32_t id = crowd.interrupts[input_below(in, 2)];
    switch (input_below(in, 3)) {
    case 0:
        msg->type = RSM_MSG_INTERRUPT_TRIGGER;
        msg->u.interrupt_trigger = (struct rsm_interrupt_trigger_request){
            .node = 1, .kind = RSM_INTERRUPT_PLAIN, .number = NUMBER, .interrupt = id};
        return;
    case 1:
        msg->type = RSM_MSG_INTERRUPT_REMOVE;
        msg->u.interrupt_remove.interrupt = id;
        return;
    default:
        msg->type = RSM_MSG_INTERRUPT_CREATE;
        msg->u.interrupt_create = (struct rsm_interrupt_create_request){RSM_INTERRUPT_PLAIN, NUMBER,
                                                                        input_below(in, 4), 0666};
    }
}

static void ask_of_connection(struct rsm_msg *msg, struct input *in)
{
    switch (input_below(in, 3)) {
    case 0:
        msg->type = RSM_MSG_IMPORT_DISCONNECT;
        msg->u.import_disconnect.import = crowd.import - input_below(in, 3);
        return;
    case 1:
        msg->type = RSM_MSG_IMPORT_CONNECT;
        msg->u.import_connect = (struct rsm_import_connect_request){.controller = "sci1",
                                                                    .node = 1,
                                                                    .space = crowd.space,
                                                                    .segment_id = NUMBER,
                                                                    .rights = RSM_RIGHT_READ,
                                                                    .flags = input_below(in, 2)};
        return;
    default:
        msg->type = RSM_MSG_INSPECT;
        msg->u.inspect =
            (struct rsm_inspect_request){1 + input_below(in, 2), (uint32_t)input_number(in)};
    }
}

static void from_far(struct input *in)
{
    static uint8_t frame[RSM_CLUSTER_FRAME_MAX];
    static struct rsm_cluster_msg msg;
    peer_message_make(in, &msg);
    size_t length = rsm_cluster_encode(&msg, frame, sizeof frame);
    if (length == 0 || rsm_cluster_decode(&msg, frame, length) != RSM_ST_OK)
        return;
    int64_t begin = fuzz_step_begin();
    rsmd_remote_message(&daemon_world.node, DAEMON_FAR_NODE, &msg);
    fuzz_step_end(begin, "a message of another host");
}

static void far_goes(void)
{
    int64_t begin = fuzz_step_begin();
    rsmd_remote_down(&daemon_world.node, DAEMON_FAR_NODE);
    fuzz_step_end(begin, "the end of a link");
}

static void step(struct input *in)
{
    static struct rsm_msg msg;
    struct client *client = &crowd.client[input_below(in, BYSTANDER)];
    memset(&msg, 0, sizeof msg);
    switch (input_below(in, 8)) {
    case 0:
    case 1:
        ask_of_segment(&msg, in);
        break;
    case 2:
        ask_of_interrupts(&msg, in);
        break;
    case 3:
        ask_of_connection(&msg, in);
        break;
    case 4:
        client_close(client);
        turn();
        return;
    case 5:
        from_far(in);
        turn();
        return;
    case 6:
        if (input_below(in, 4) == 0)
            far_goes();
        else
            rsmd_remote_up(&daemon_world.node, DAEMON_FAR_NODE);
        turn();
        return;
    default:
        request_make(in, &msg);
    }
    send_to(client, &msg);
    turn();
}

static void serve_bystander(void)
{
    struct rsm_msg msg = {.type = RSM_MSG_SHARES};
    CHECK(client_ask(&crowd.client[BYSTANDER], &msg) != RSM_ST_PROTOCOL);
}

/* ------------------------------------------------------------------ an input */

static bool all_gone(void)
{
    return daemon_is_empty() && (crowd.descriptors == 0 || crowd.descriptors == descriptors_open());
}

static void scatter(void)
{
    far_goes();
    for (unsigned i = 0; i < CLIENTS; i++)
        client_close(&crowd.client[i]);
    daemon_turn_until(turn, all_gone);
    CHECK(daemon_is_empty());
    CHECK(crowd.descriptors == 0 || crowd.descriptors == descriptors_open());
    daemon_world.node.last_id = 0;
    rsmd_segment_ids_init(&daemon_world.node);
}

static bool is_untouched(void)
{
    return memcmp(crowd.used, daemon_world.node.shares.used, sizeof crowd.used) == 0;
}

void fuzz_input(const uint8_t *data, size_t size)
{
    struct input in = {.at = data, .left = size};
    enum kind kind = (enum kind)input_below(&in, KINDS);
    if (daemon_world.server.base == NULL) {
        raise_descriptors();
        daemon_start("");
        gather(CONNECTIONS, 1); /* what the daemon keeps from then on */
        scatter();
    }
    if (crowd.stands && crowd.kind != kind)
        scatter();
    if (!crowd.stands || crowd.kind != kind) {
        crowd.descriptors = descriptors_open();
        gather(kind, OBJECTS);
    }
    for (unsigned steps = 0; !input_ends(&in) && steps < STEPS_MAX; steps++) {
        step(&in);
        serve_bystander();
    }
    crowd.stands = is_untouched();
    if (!crowd.stands)
        scatter();
}
