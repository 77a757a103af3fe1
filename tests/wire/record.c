/* SPDX-License-Identifier: BSD-3-Clause */
/* wire_record DIRECTORY: hold conversations with the rsmd of this build, and write them down for
 * test_wire (wire.h describes the text). Every type of message is in them. */
#include "base/codec.h"
#include "messages.h"
#include "cluster/proto.h"
#include "rsm/rsm_common.h"
#include "trace.h"
#include "wire.h"

enum { PAGE = 4096, HEADER_FIELDS = 5, RIGHTS = RSM_RIGHT_READ | RSM_RIGHT_WRITE };

static const char *directory;
static FILE *out;
static struct daemon served;
static int sockets[128];
static uint32_t sequence;

/* ------------------------------------------------------------------ writing */

static void print_hex(const uint8_t *bytes, size_t length)
{
    fprintf(out, "    ");
    for (size_t i = 0; i < length; i++)
        fprintf(out, "%02x", bytes[i]);
}

static void print_field(const uint8_t *message, const struct trace_field *field, const char *of,
                        const char *name)
{
    print_hex(message + field->offset, field->length);
    fprintf(out, "  %s%s", name, field_mark(of, name));
    if (field->kind == TRACE_NUMBER && field->value > 9)
        fprintf(out, "  # %llu", (unsigned long long)field->value);
    if (field->kind == TRACE_STRING)
        fprintf(out, "  # \"%.*s\"", (int)field->length - 4,
                (const char *)message + field->offset + 4);
    fprintf(out, "\n");
}

static unsigned traced; /* fields of the message that have been printed */

/* Print a body, or @p part of one, of the message @p of. */
static void print_body(const uint8_t *message, const char *of, const struct body_field *field,
                       const char *part)
{
    char name[64];
    uint64_t before = 0;
    for (; field->name != NULL; field++) {
        if (field->how == IF_OK && before != RSM_ST_OK)
            return;
        uint64_t many = field->how == COUNTED  ? before
                        : field->how == IF_ANY ? before != 0
                                               : field->many;
        snprintf(name, sizeof name, "%s%s%s", part, part[0] != '\0' ? "." : "", field->name);
        for (; many > 0; many--) {
            if (field->of != NULL) {
                print_body(message, of, field->of, field->name);
                continue;
            }
            assert_true(traced < trace_count);
            before = trace_fields[traced].value;
            print_field(message, &trace_fields[traced++], of, name);
        }
    }
}

static void print_fds(const struct rsm_packet_fds *fds)
{
    char text[64];
    for (unsigned i = 0; i < fds->count; i++) {
        wire_describe_fd(fds->fds[i], text);
        fprintf(out, "%s %s", i == 0 ? "fds" : "", text);
    }
    if (fds->count > 0)
        fprintf(out, "\n");
}

static void print_control(char letter, bool sent, const uint8_t *bytes, size_t length,
                          const struct rsm_packet_fds *fds)
{
    struct rsm_msg msg;
    trace_begin(bytes);
    assert_int_equal(rsm_msg_decode(&msg, bytes, length), RSM_ST_OK);
    const struct message_fields *fields = control_message(msg.type & ~RSM_MSG_REPLY);
    static const struct body_field header[] = {
        {.name = "magic", .many = 1},  {.name = "version", .many = 1},
        {.name = "type", .many = 1},   {.name = "sequence", .many = 1},
        {.name = "status", .many = 1}, {.name = NULL}};
    assert_non_null(fields);
    traced = 0;
    fprintf(out, "%c %c %s\n", sent ? '>' : '<', letter, fields->name);
    print_body(bytes, fields->name, header, "");
    if (sent || msg.status == RSM_ST_OK)
        print_body(bytes, fields->name, sent ? fields->request : fields->reply, "");
    assert_int_equal(traced, trace_count);
    print_fds(fds);
}

static void print_peer(bool sent, const uint8_t *bytes, size_t length)
{
    struct rsm_cluster_msg msg;
    trace_begin(bytes);
    assert_int_equal(rsm_cluster_decode(&msg, bytes, length), RSM_ST_OK);
    const struct message_fields *fields = peer_message(msg.type);
    static const struct body_field header[] = {{.name = "type", .many = 1}, {.name = NULL}};
    assert_non_null(fields);
    traced = 0;
    fprintf(out, "%c %c %s\n", sent ? '>' : '<', WIRE_PEER, fields->name);
    print_body(bytes, fields->name, header, "");
    print_body(bytes, fields->name, fields->request, "");
    assert_int_equal(traced, trace_count);
}

/* ------------------------------------------------------------------ speaking */

static void connect_as(char letter)
{
    sockets[(int)letter] = wire_open(&served, letter);
    fprintf(out, "\nopen %c\n", letter);
}

static void leave(char letter)
{
    close(sockets[(int)letter]);
    fprintf(out, "\nclose %c\n", letter);
}

static void remark(const char *text)
{
    fprintf(out, "\n# %s\n", text);
}

static void ask_for(char letter, struct rsm_msg *msg, enum rsm_status expected)
{
    uint8_t bytes[WIRE_BYTES_MAX];
    struct rsm_packet_fds fds = {.count = 0};
    msg->sequence = ++sequence;
    size_t length = rsm_msg_encode(msg, bytes, sizeof bytes);
    assert_true(length > 0);
    fprintf(out, "\n");
    print_control(letter, true, bytes, length, &fds);
    wire_send(sockets[(int)letter], letter, bytes, length, NULL);
    length = wire_receive(sockets[(int)letter], letter, bytes, &fds, false);
    print_control(letter, false, bytes, length, &fds);
    wire_keep_fds(&fds);
    assert_int_equal(rsm_msg_decode(msg, bytes, length), RSM_ST_OK);
    assert_int_equal(msg->status, expected);
}

/* One request whose reply is of no further interest. */
#define ASK(letter, expected, ...)                                                                 \
    do {                                                                                           \
        struct rsm_msg msg_ = {__VA_ARGS__};                                                       \
        ask_for((letter), &msg_, (expected));                                                      \
    } while (0)

static void expect_end(char letter)
{
    uint8_t bytes[WIRE_BYTES_MAX];
    struct rsm_packet_fds fds;
    assert_int_equal(wire_receive(sockets[(int)letter], letter, bytes, &fds, true), 0);
    close(sockets[(int)letter]);
    fprintf(out, "\nend %c\n", letter);
}

static void hello(char letter)
{
    connect_as(letter);
    ASK(letter, RSM_ST_OK, .type = RSM_MSG_HELLO, .u.hello = {.node = WIRE_OWN});
}

static void tell(struct rsm_cluster_msg msg)
{
    uint8_t bytes[WIRE_BYTES_MAX];
    size_t length = rsm_cluster_encode(&msg, bytes, sizeof bytes);
    assert_true(length > 0);
    fprintf(out, "\n");
    print_peer(true, bytes, length);
    wire_send(sockets[WIRE_PEER], WIRE_PEER, bytes, length, NULL);
}

static struct rsm_cluster_msg hear(uint32_t type)
{
    uint8_t bytes[WIRE_BYTES_MAX];
    struct rsm_packet_fds fds;
    struct rsm_cluster_msg msg;
    size_t length =
        wire_receive(sockets[WIRE_PEER], WIRE_PEER, bytes, &fds, type == RSM_CLUSTER_PING);
    assert_int_equal(rsm_cluster_decode(&msg, bytes, length), RSM_ST_OK);
    assert_int_equal(msg.type, type);
    fprintf(out, "\n");
    print_peer(false, bytes, length);
    return msg;
}

static void link_up(void)
{
    struct rsm_cluster_msg msg = {.type = RSM_CLUSTER_HELLO};
    connect_as(WIRE_PEER);
    msg.u.hello = (struct rsm_cluster_hello){.magic = RSM_CLUSTER_MAGIC,
                                             .version_min = RSM_CLUSTER_VERSION_MIN,
                                             .version_max = RSM_CLUSTER_VERSION_MAX,
                                             .from = 1,
                                             .to = WIRE_OWN,
                                             .incarnation = 77};
    tell(msg);
    hear(RSM_CLUSTER_HELLO);
    tell((struct rsm_cluster_msg){.type = RSM_CLUSTER_PROOF});
    hear(RSM_CLUSTER_PROOF);
    tell((struct rsm_cluster_msg){.type = RSM_CLUSTER_PING, .u.ping.number = 5});
    hear(RSM_CLUSTER_PONG);
}

/* ------------------------------------------------------------------ conversations */

struct published {
    uint32_t export_id, extent, epoch_slot;
};

static struct published publish_as(char letter, const char *controller, uint32_t segment_id)
{
    struct rsm_msg msg = {.type = RSM_MSG_EXPORT_CREATE,
                          .u.export_create = {.length = PAGE, .mode = 0666, .want_extent = 1}};
    strcpy(msg.u.export_create.controller, controller);
    ask_for(letter, &msg, RSM_ST_OK);
    struct published made = {.export_id = msg.u.export_create_reply.export_id,
                             .extent = msg.u.export_create_reply.extent,
                             .epoch_slot = msg.u.export_create_reply.epoch_slot};
    ASK(letter, RSM_ST_OK, .type = RSM_MSG_EXPORT_PUBLISH,
        .u.export_publish = {.export_id = made.export_id,
                             .segment_id = segment_id,
                             .piece_count = 1,
                             .pieces = {{made.extent, 0, PAGE}}});
    return made;
}

static struct rsm_import_connect_reply import_as(char letter, uint32_t segment_id)
{
    struct rsm_msg msg = {.type = RSM_MSG_IMPORT_CONNECT,
                          .u.import_connect = {"sci0", WIRE_OWN, RSM_ID_SPACE_RSMAPI, segment_id,
                                               RIGHTS, 0, "shm", 3, "key"}};
    ask_for(letter, &msg, RSM_ST_OK);
    return msg.u.import_connect_reply;
}

static void greetings(void **state)
{
    hello('a');
    remark("HELLO comes once");
    ASK('a', RSM_ST_PROTOCOL, .type = RSM_MSG_HELLO, .u.hello = {.node = WIRE_OWN});
    expect_end('a');
    remark("first of all HELLO");
    connect_as('b');
    ASK('b', RSM_ST_PROTOCOL, .type = RSM_MSG_LINKS);
    expect_end('b');
}

static void look_around(void **state)
{
    hello('a');
    ASK('a', RSM_ST_OK, .type = RSM_MSG_CONTROLLER, .u.controller = {.name = "sci0"});
    ASK('a', RSM_ST_NO_CONTROLLER, .type = RSM_MSG_CONTROLLER, .u.controller = {.name = "sci9"});
    ASK('a', RSM_ST_OK, .type = RSM_MSG_CONTROLLER, .u.controller = {.unit = 1});
    ASK('a', RSM_ST_OK, .type = RSM_MSG_CONTROLLER, .u.controller = {.transport = "peek"});
    ASK('a', RSM_ST_OK, .type = RSM_MSG_TOPOLOGY, .u.topology = {0, 0});
    ASK('a', RSM_ST_OK, .type = RSM_MSG_TOPOLOGY, .u.topology = {9, 0});
    ASK('a', RSM_ST_OK, .type = RSM_MSG_LOCATE, .u.locate = {"sci0", WIRE_OWN});
    ASK('a', RSM_ST_NO_ROUTE, .type = RSM_MSG_LOCATE, .u.locate = {"sci0", 63});
    ASK('a', RSM_ST_OK, .type = RSM_MSG_NAMED, .u.named = {.name = "TWO"});
    ASK('a', RSM_ST_NOT_FOUND, .type = RSM_MSG_NAMED, .u.named = {.name = "nobody"});
    ASK('a', RSM_ST_OK, .type = RSM_MSG_TUNABLES, .u.tunables = {"sci0"});
    ASK('a', RSM_ST_NO_CONTROLLER, .type = RSM_MSG_TUNABLES, .u.tunables = {"sci9"});
    ASK('a', RSM_ST_OK, .type = RSM_MSG_LINKS, .u.links = {2});
    ASK('a', RSM_ST_OK, .type = RSM_MSG_FAILED, .u.failed = {0});
    ASK('a', RSM_ST_OK, .type = RSM_MSG_INSPECT, .u.inspect = {RSM_INSPECT_EXPORTS, 0});
    ASK('a', RSM_ST_OK, .type = RSM_MSG_SHARES, .u.shares = {.after = 0});
}

static void name_spaces(void)
{
    remark("name spaces: the same id in each, and assigned ones");
    static const struct rsm_export_publish_request names[] = {
        {.space = RSM_ID_SPACE_SISCI, .segment_id = 11},
        {.space = RSM_ID_SPACE_SISCI, .segment_id = 11, .flags = RSM_PUBLISH_ASSIGN_ID},
        {.space = RSM_ID_SPACE_RSMAPI, .flags = RSM_PUBLISH_ASSIGN_ID},
    };
    publish_as('a', "sci0", 11);
    for (unsigned i = 0; i < sizeof names / sizeof names[0]; i++) {
        struct rsm_msg msg = {.type = RSM_MSG_EXPORT_CREATE,
                              .u.export_create = {"sci0", PAGE, 0600, 1}};
        ask_for('a', &msg, RSM_ST_OK);
        struct rsm_export_publish_request publish = names[i];
        publish.export_id = msg.u.export_create_reply.export_id;
        publish.piece_count = 1;
        publish.pieces[0].extent = msg.u.export_create_reply.extent;
        publish.pieces[0].length = PAGE;
        ASK('a', RSM_ST_OK, .type = RSM_MSG_EXPORT_PUBLISH, .u.export_publish = publish);
    }
    ASK('b', RSM_ST_NOT_FOUND, .type = RSM_MSG_IMPORT_CONNECT,
        .u.import_connect = {"sci0", WIRE_OWN, RSM_ID_SPACE_RSMAPI, 12, RIGHTS});
    ASK('b', RSM_ST_OK, .type = RSM_MSG_IMPORT_CONNECT,
        .u.import_connect = {"sci0", WIRE_OWN, RSM_ID_SPACE_SISCI, 12, RIGHTS});
    ASK('a', RSM_ST_OK, .type = RSM_MSG_INSPECT, .u.inspect = {RSM_INSPECT_EXPORTS, 0});
}

/* Both processes have it. */
static void shared_segment(void)
{
    remark("a segment that claims its id, is shared, opened by who is attached, and closed");
    struct rsm_msg msg = {.type = RSM_MSG_EXPORT_CREATE,
                          .u.export_create = {.controller = "sci0",
                                              .length = PAGE,
                                              .mode = 0666,
                                              .want_extent = 1,
                                              .size = 5,
                                              .claim = RSM_CLAIM_ID,
                                              .space = RSM_ID_SPACE_SISCI,
                                              .segment_id = 14}};
    struct rsm_msg again = msg;
    ask_for('a', &msg, RSM_ST_OK);
    ask_for('a', &again, RSM_ST_ID_IN_USE);
    const struct rsm_export_create_reply claimed = msg.u.export_create_reply;
    ASK('a', RSM_ST_OK, .type = RSM_MSG_EXPORT_PUBLISH,
        .u.export_publish = {.export_id = claimed.export_id,
                             .space = RSM_ID_SPACE_SISCI,
                             .segment_id = 14,
                             .piece_count = 1,
                             .pieces = {{claimed.extent, 0, PAGE}}});
    ASK('a', RSM_ST_OK, .type = RSM_MSG_EXPORT_STATE,
        .u.export_state = {RSM_EVENT_EXPORT, claimed.export_id, 0, RSM_SEGMENT_NEW,
                           RSM_SEGMENT_READY, RSM_STATE_SHARE});
    ASK('b', RSM_ST_NOT_FOUND, .type = RSM_MSG_IMPORT_CONNECT,
        .u.import_connect = {"sci0", WIRE_OWN, RSM_ID_SPACE_SISCI, 14, RIGHTS, 0});
    msg = (struct rsm_msg){
        .type = RSM_MSG_IMPORT_CONNECT,
        .u.import_connect = {"sci0", WIRE_OWN, RSM_ID_SPACE_SISCI, 14, RIGHTS, RSM_CONNECT_ATTACH}};
    ask_for('b', &msg, RSM_ST_OK);
    ASK('b', RSM_ST_OK, .type = RSM_MSG_EXPORT_STATE,
        .u.export_state = {RSM_EVENT_IMPORT, msg.u.import_connect_reply.import, 0,
                           RSM_SEGMENT_READY, RSM_SEGMENT_OPEN, 0});
    ASK('a', RSM_ST_OK, .type = RSM_MSG_EXPORT_STATE,
        .u.export_state = {RSM_EVENT_EXPORT, claimed.export_id, 0, RSM_SEGMENT_OPEN,
                           RSM_SEGMENT_READY, RSM_STATE_NOTIFY});
}

static void segments(void **state)
{
    hello('a');
    hello('b');
    remark("an extent first, then a segment on it");
    struct rsm_msg msg = {.type = RSM_MSG_EXTENT_ALLOC, .u.extent_alloc = {"sci0", 2 * PAGE}};
    ask_for('a', &msg, RSM_ST_OK);
    uint32_t extent = msg.u.extent_alloc_reply.extent;
    msg = (struct rsm_msg){.type = RSM_MSG_EXPORT_CREATE,
                           .u.export_create = {"sci0", 2 * PAGE, 0600, 0}};
    ask_for('a', &msg, RSM_ST_OK);
    uint32_t export_id = msg.u.export_create_reply.export_id;
    ASK('a', RSM_ST_OK, .type = RSM_MSG_EXPORT_PUBLISH,
        .u.export_publish = {.export_id = export_id,
                             .segment_id = 11,
                             .acl_count = 1,
                             .acl = {{WIRE_OWN, 0666}},
                             .piece_count = 2,
                             .pieces = {{extent, 0, PAGE}, {extent, PAGE, PAGE}}});
    ASK('a', RSM_ST_BUSY, .type = RSM_MSG_EXTENT_FREE, .u.extent_free = {extent, 0});
    ASK('a', RSM_ST_OK, .type = RSM_MSG_EXTENT_OPEN, .u.extent_open = {extent});
    ASK('b', RSM_ST_NOT_FOUND, .type = RSM_MSG_EXTENT_OPEN, .u.extent_open = {extent});
    ASK('a', RSM_ST_OK, .type = RSM_MSG_EXPORT_REPUBLISH,
        .u.export_republish = {.export_id = export_id, .acl_count = 1, .acl = {{WIRE_OWN, 0600}}});
    ASK('a', RSM_ST_OK, .type = RSM_MSG_INSPECT, .u.inspect = {RSM_INSPECT_EXPORTS, 0});
    remark("a connection that ends by itself, and one that is aborted");
    struct rsm_import_connect_reply made = import_as('b', 11);
    ASK('b', RSM_ST_OK, .type = RSM_MSG_IMPORT_DISCONNECT, .u.import_disconnect = {made.import});
    made = import_as('b', 11);
    ASK('a', RSM_ST_OK, .type = RSM_MSG_EXPORT_UNPUBLISH,
        .u.export_unpublish = {export_id, RSM_UNPUBLISH_KEEP_CONNECTIONS});
    ASK('b', RSM_ST_NOT_FOUND, .type = RSM_MSG_IMPORT_CONNECT,
        .u.import_connect = {"sci0", WIRE_OWN, RSM_ID_SPACE_RSMAPI, 11, RIGHTS});
    ASK('a', RSM_ST_OK, .type = RSM_MSG_EXPORT_UNPUBLISH, .u.export_unpublish = {export_id, 0});
    fprintf(out, "\nmoved b %u\n", (unsigned)made.slot);
    ASK('a', RSM_ST_NOT_PUBLISHED, .type = RSM_MSG_EXPORT_UNPUBLISH,
        .u.export_unpublish = {export_id, 0});
    ASK('a', RSM_ST_OK, .type = RSM_MSG_EXPORT_DESTROY, .u.export_destroy = {export_id, 0});
    ASK('a', RSM_ST_OK, .type = RSM_MSG_EXTENT_FREE, .u.extent_free = {extent, 0});
    remark("a segment whose end is refused, and then put off");
    struct published other = publish_as('a', "sci0", 13);
    made = import_as('b', 13);
    ASK('a', RSM_ST_BUSY, .type = RSM_MSG_EXPORT_DESTROY,
        .u.export_destroy = {other.export_id, RSM_DESTROY_UNUSED});
    ASK('a', RSM_ST_OK, .type = RSM_MSG_EXPORT_DESTROY,
        .u.export_destroy = {other.export_id, RSM_DESTROY_DEFER});
    ASK('a', RSM_ST_OK, .type = RSM_MSG_EXTENT_FREE,
        .u.extent_free = {other.extent, RSM_EXTENT_FREE_WHEN_UNUSED});
    ASK('b', RSM_ST_OK, .type = RSM_MSG_IMPORT_DISCONNECT, .u.import_disconnect = {made.import});
    name_spaces();
    shared_segment();
    remark("the exporter's death");
    publish_as('a', "sci0", 12);
    made = import_as('b', 12);
    leave('a');
    fprintf(out, "\nmoved b %u\n", (unsigned)made.slot);
}

static void events(void **state)
{
    hello('a');
    hello('b');
    struct published made = publish_as('a', "sci0", 21);
    remark("records of who comes");
    ASK('a', RSM_ST_OK, .type = RSM_MSG_EVENT_OPEN,
        .u.event_open = {RSM_EVENT_EXPORT_RECORDS, made.export_id});
    uint32_t connection = import_as('b', 21).import;
    ASK('a', RSM_ST_OK, .type = RSM_MSG_MAILBOX_TAKE,
        .u.mailbox_take = {RSM_EVENT_EXPORT_RECORDS, made.export_id, 0});
    remark("an interrupt with data");
    struct rsm_msg msg = {.type = RSM_MSG_INTERRUPT_CREATE,
                          .u.interrupt_create = {RSM_INTERRUPT_DATA, 9573, 0, 0600}};
    ask_for('a', &msg, RSM_ST_OK);
    uint32_t interrupt = msg.u.interrupt_create_reply.interrupt;
    ASK('a', RSM_ST_OK, .type = RSM_MSG_EVENT_OPEN,
        .u.event_open = {RSM_EVENT_INTERRUPT, interrupt});
    ASK('b', RSM_ST_NOT_FOUND, .type = RSM_MSG_INTERRUPT_CONNECT,
        .u.interrupt_connect = {WIRE_OWN, RSM_INTERRUPT_PLAIN, 9573});
    ASK('b', RSM_ST_OK, .type = RSM_MSG_INTERRUPT_CONNECT,
        .u.interrupt_connect = {WIRE_OWN, RSM_INTERRUPT_DATA, 9573});
    ASK('b', RSM_ST_OK, .type = RSM_MSG_INTERRUPT_TRIGGER,
        .u.interrupt_trigger = {WIRE_OWN, RSM_INTERRUPT_DATA, 9573, interrupt, 0, 5, "hello"});
    ASK('a', RSM_ST_OK, .type = RSM_MSG_MAILBOX_TAKE,
        .u.mailbox_take = {RSM_EVENT_INTERRUPT, interrupt, 0});
    ASK('a', RSM_ST_OK, .type = RSM_MSG_INTERRUPTS, .u.interrupts = {0});
    ASK('a', RSM_ST_OK, .type = RSM_MSG_INTERRUPT_REMOVE, .u.interrupt_remove = {interrupt});
    ASK('a', RSM_ST_OK, .type = RSM_MSG_EVENT_OPEN,
        .u.event_open = {RSM_EVENT_EXPORT, made.export_id});
    ASK('b', RSM_ST_OK, .type = RSM_MSG_EVENT_OPEN, .u.event_open = {RSM_EVENT_IMPORT, connection});
    ASK('a', RSM_ST_OK, .type = RSM_MSG_EVENT_RECEIVERS,
        .u.event_receivers = {RSM_EVENT_EXPORT, made.export_id, 0});
    ASK('b', RSM_ST_OK, .type = RSM_MSG_EVENT_RECEIVERS,
        .u.event_receivers = {RSM_EVENT_IMPORT, connection, 0});
    remark("nobody polls there yet");
    ASK('b', RSM_ST_NOT_FOUND, .type = RSM_MSG_EVENT_DOORBELL,
        .u.event_doorbell = {RSM_EVENT_IMPORT, connection, 0});
    ASK('a', RSM_ST_OK, .type = RSM_MSG_EVENT_ARM,
        .u.event_arm = {RSM_EVENT_EXPORT, made.export_id, 0});
    ASK('a', RSM_ST_OK, .type = RSM_MSG_EVENT_ARM,
        .u.event_arm = {RSM_EVENT_EXPORT, made.export_id, 1});
    ASK('b', RSM_ST_OK, .type = RSM_MSG_EVENT_DOORBELL,
        .u.event_doorbell = {RSM_EVENT_IMPORT, connection, 0});
    ASK('b', RSM_ST_OK, .type = RSM_MSG_IMPORT_TRAP,
        .u.import_trap = {connection, {MAPPING_USED_SIGNAL, MAPPING_REASON_NO_PERMISSION}});
    ASK('b', RSM_ST_INVALID, .type = RSM_MSG_IMPORT_TRAP,
        .u.import_trap = {connection, {MAPPING_USED_TRAPS, MAPPING_REASON_NONE}});
    ASK('b', RSM_ST_OK, .type = RSM_MSG_IMPORT_COUNTS, .u.import_counts = {connection, {3, 2, 1}});
    ASK('b', RSM_ST_NOT_FOUND, .type = RSM_MSG_IMPORT_COUNTS, .u.import_counts = {0, {3, 2, 1}});
    ASK('b', RSM_ST_OK, .type = RSM_MSG_IMPORT_GROUP,
        .u.import_group = {connection, {7, 100, 2000, 30, 1}});
    ASK('b', RSM_ST_NOT_FOUND, .type = RSM_MSG_IMPORT_GROUP,
        .u.import_group = {0, {7, 100, 2000, 30, 1}});
    remark("what rsmstat sees of it");
    ASK('a', RSM_ST_OK, .type = RSM_MSG_INSPECT, .u.inspect = {RSM_INSPECT_EXPORTS, 0});
    ASK('a', RSM_ST_OK, .type = RSM_MSG_INSPECT, .u.inspect = {RSM_INSPECT_IMPORTS, 0});
    ASK('a', RSM_ST_OK, .type = RSM_MSG_COUNTS, .u.counts = {0});
    ASK('a', RSM_ST_OK, .type = RSM_MSG_GROUPS, .u.groups = {0});
}

static struct rsm_cluster_msg wanted(uint32_t request, uint32_t segment_id)
{
    return (struct rsm_cluster_msg){
        .type = RSM_CLUSTER_CONNECT,
        .u.connect = {
            .request = request,
            .controller = "far0",
            .segment_id = segment_id,
            .rights = RIGHTS,
            .transport = "peek",
            .asked_len = 4,
            .asked = "key",
            .who = {
                .uid = 1000, .gid = 1000, .pid = 4321, .group_count = 2, .groups = {1000, 27}}}};
}

static void other_host(void **state)
{
    link_up();
    hello('a');
    struct published made = publish_as('a', "far0", 31);
    tell(wanted(1, 31));
    struct rsm_cluster_msg msg = hear(RSM_CLUSTER_CONNECT_REPLY);
    uint32_t connection = msg.u.connect_reply.import;
    tell(wanted(2, 99));
    hear(RSM_CLUSTER_CONNECT_REPLY);
    remark("an interrupt that is not there");
    tell((struct rsm_cluster_msg){.type = RSM_CLUSTER_INTERRUPT,
                                  .u.interrupt = {.request = 9,
                                                  .kind = RSM_INTERRUPT_PLAIN,
                                                  .number = 1,
                                                  .who = {.uid = 1000, .gid = 1000}}});
    hear(RSM_CLUSTER_INTERRUPT_REPLY);
    remark("events there and back");
    ASK('a', RSM_ST_OK, .type = RSM_MSG_EVENT_OPEN,
        .u.event_open = {RSM_EVENT_EXPORT, made.export_id});
    tell((struct rsm_cluster_msg){.type = RSM_CLUSTER_EVENT,
                                  .u.event = {connection, RSM_EVENT_EXPORT, 3, 0}});
    ASK('a', RSM_ST_OK, .type = RSM_MSG_EVENT_RECEIVERS,
        .u.event_receivers = {RSM_EVENT_EXPORT, made.export_id, 0});
    remark("a connection that the importer gives up, and one that the exporter cuts");
    tell((struct rsm_cluster_msg){.type = RSM_CLUSTER_DISCONNECT, .u.disconnect = {connection, 0}});
    tell(wanted(3, 31));
    hear(RSM_CLUSTER_CONNECT_REPLY);
    ASK('a', RSM_ST_OK, .type = RSM_MSG_EXPORT_UNPUBLISH,
        .u.export_unpublish = {made.export_id,
                               RSM_UNPUBLISH_KEEP_CONNECTIONS | RSM_UNPUBLISH_NOTIFY});
    hear(RSM_CLUSTER_UNAVAILABLE);
    ASK('a', RSM_ST_OK, .type = RSM_MSG_EXPORT_UNPUBLISH,
        .u.export_unpublish = {made.export_id, 0});
    hear(RSM_CLUSTER_ABORT);
    remark("the question whether to close a link that is permanent");
    tell((struct rsm_cluster_msg){.type = RSM_CLUSTER_IDLE, .u.idle.step = RSM_CLUSTER_IDLE_ASKED});
    hear(RSM_CLUSTER_IDLE);
    remark("a message out of turn ends the link");
    tell((struct rsm_cluster_msg){.type = RSM_CLUSTER_PONG, .u.pong.number = 1000});
    expect_end(WIRE_PEER);
}

static void other_host_refused(void **state)
{
    struct rsm_cluster_msg msg = {.type = RSM_CLUSTER_HELLO};
    connect_as(WIRE_PEER);
    msg.u.hello = (struct rsm_cluster_hello){.magic = RSM_CLUSTER_MAGIC,
                                             .version_min = RSM_CLUSTER_VERSION_MAX + 7,
                                             .version_max = RSM_CLUSTER_VERSION_MAX + 8,
                                             .from = 1,
                                             .to = WIRE_OWN,
                                             .incarnation = 78};
    remark("a newer daemon that speaks none of our versions");
    tell(msg);
    hear(RSM_CLUSTER_HELLO);
    hear(RSM_CLUSTER_REFUSE);
    expect_end(WIRE_PEER);
}

/* ------------------------------------------------------------------ files */

static int begin(void **state)
{
    char path[512];
    wire_daemon_start(&served);
    sequence = 0;
    snprintf(path, sizeof path, "%s/%s.txt", directory, (const char *)*state);
    out = fopen(path, "w");
    assert_non_null(out);
    fprintf(out,
            "# %s: what rsmd " RSM_RELEASE
            " says. Written by wire_record; never edit a recording.\n"
            "protocol %u\n",
            (const char *)*state, RSM_PROTO_VERSION);
    return 0;
}

static int end(void **state)
{
    assert_int_equal(fclose(out), 0);
    wire_drop_fds();
    daemon_stop(&served);
    return 0;
}

#define RECORDING(function)                                                                        \
    {                                                                                              \
        .name = #function, .test_func = (function), .setup_func = begin, .teardown_func = end,     \
        .initial_state = (void *)(uintptr_t) #function                                             \
    }

int main(int argc, char **argv)
{
    const struct CMUnitTest recordings[] = {RECORDING(greetings),  RECORDING(look_around),
                                            RECORDING(segments),   RECORDING(events),
                                            RECORDING(other_host), RECORDING(other_host_refused)};
    if (argc != 2) {
        fprintf(stderr, "usage: wire_record DIRECTORY\n");
        return 2;
    }
    directory = argv[1];
    return cmocka_run_group_tests(recordings, NULL, NULL);
}
