/* SPDX-License-Identifier: BSD-3-Clause */
/* A daemon that is stopped, or lies, neither holds rsmstat up nor drives it or the terminal. */
#include <ctype.h>

#include "base/packet.h"
#include "protocol/proto.h"
#include "party.h"
#include "process.h"
#include "run.h"

enum { ANSWER_MS = 2000, SNAPSHOT_MS = 10000, SLACK_MS = 10000, LIAR_NODE = 3 };

/* ---------------------------------------------------------------- stopped */

WORLD_TEST(test_stopped)
{
    struct actor *exporter = actor_start(world, 1);
    TELL_OK(exporter, offer, .length = PARTY_PAGE);
    pid_t daemon = world_daemon(world, 1);
    process_freeze(daemon);
    struct outcome outcome = run(world, "");
    process_thaw(daemon);
    assert_int_equal(outcome.status, 1);
    assert_string_equal(outcome.out, "");
    assert_non_null(strstr(outcome.err, "node-1.sock: does not answer\n"));
    assert_in_range(outcome.ms, ANSWER_MS - 100, ANSWER_MS + SLACK_MS);
    outcome_free(&outcome);
    json_free(run_json(world, geteuid(), "", 0));
}

/* Another node's daemon is stopped: what this one knows is shown. */
WORLD_TEST(test_other_stopped)
{
    struct actor *one = actor_start(world, 1), *two = actor_start(world, 2);
    TELL_OK(one, offer, .length = PARTY_PAGE);
    TELL_OK(two, offer, .length = PARTY_PAGE);
    pid_t daemon = world_daemon(world, 2);
    process_freeze(daemon);
    struct outcome outcome = run(world, "--json");
    process_thaw(daemon);
    assert_int_equal(outcome.status, 0);
    assert_non_null(strstr(outcome.err, "imports from node 2 are not shown: "));
    assert_in_range(outcome.ms, 0, ANSWER_MS + SLACK_MS);
    struct json_value *root = parse(outcome.out, outcome.out_length);
    assert_int_equal(json_count(get(get_node(root, 1), "exports", JSON_ARRAY)), 1);
    assert_int_equal(json_count(get(get_node(root, 1), "notes", JSON_ARRAY)), 1);
    json_free(root);
    outcome_free(&outcome);
}

WORLD_TEST(test_interrupted_while_waiting)
{
    struct actor *exporter = actor_start(world, 1);
    TELL_OK(exporter, offer, .length = PARTY_PAGE);
    pid_t daemon = world_daemon(world, 1);
    process_freeze(daemon);
    struct run run = run_begin(world, geteuid(), "--watch=3600", -1);
    /* From then on a signal is something to be read. */
    for (int64_t end = now_ms() + RUN_MS;
         process_descriptors_to(run.pid, "anon_inode:[signalfd]") == 0;)
        assert_true(now_ms() < end);
    assert_int_equal(kill(run.pid, SIGINT), 0);
    struct outcome outcome = run_end(&run);
    process_thaw(daemon);
    assert_int_equal(outcome.status, 0);
    assert_string_equal(outcome.err, "");
    assert_in_range(outcome.ms, 0, ANSWER_MS - 200);
    outcome_free(&outcome);
}

/* ---------------------------------------------------------------- lying */

enum lie {
    LIE_NONE,
    LIE_HANG_UP,
    LIE_GARBAGE,
    LIE_OTHER_SEQUENCE,
    LIE_OTHER_TYPE,
    LIE_OTHER_NODE,
    LIE_REFUSE,
    LIE_SILENCE,
    LIE_DESCRIPTORS,
    LIE_ENDLESS,
    LIE_NAMES,
};

static int listener = -1;
static char listener_path[RSM_PROTO_PATH_MAX];

static int begin_lying(void *bytes)
{
    struct sockaddr_un address;
    snprintf(listener_path, sizeof listener_path, "%s/node-%d.sock", getenv("RSM_RUNTIME_DIR"),
             LIAR_NODE);
    listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    NEED(listener >= 0 && rsm_unix_address(&address, listener_path) == 0);
    NEED(bind(listener, (const struct sockaddr *)&address, sizeof address) == 0);
    NEED(listen(listener, 8) == 0);
    return 0;
}

static const char bad_name[] = "\033[31m\"\\\n\xff\xc3\x28\xed\xa0\x80\xc3\xa9\x7f";

static void answer_topology(enum lie lie, const struct rsm_msg *asked, struct rsm_topology_reply *r)
{
    static uint32_t generation;
    bool endless = lie == LIE_ENDLESS;
    *r = (struct rsm_topology_reply){.controllers = endless ? UINT32_MAX : 1};
    if (!endless && asked->u.topology.controller > 0)
        return;
    r->generation = endless ? generation++ : 1;
    strcpy(r->name, lie == LIE_NAMES ? bad_name : "sci0");
    r->total_remotes = endless ? UINT32_MAX : lie == LIE_NAMES ? 2 : 0;
    r->remote_count = endless ? RSM_PROTO_REMOTES_MAX : r->total_remotes;
    for (uint32_t i = 0; i < r->remote_count; i++) {
        /* Node 4 is said to be there, at a socket where nobody ever accepts us. */
        r->remotes[i].node = i == 0 ? 4 : UINT32_MAX;
        r->remotes[i].state = i == 0 && !endless ? 3 : UINT32_MAX;
        strcpy(r->remotes[i].name, bad_name);
    }
}

static void answer_inspect(enum lie lie, uint32_t after, struct rsm_inspect_reply *r)
{
    bool endless = lie == LIE_ENDLESS;
    *r = (struct rsm_inspect_reply){.next = endless ? after + 1 : 0,
                                    .count = endless ? RSM_PROTO_ITEMS_MAX : 1};
    memset(r->items, 0xff, r->count * sizeof r->items[0]);
    for (uint32_t i = 0; i < r->count; i++) /* more than there are, to an export that has none */
        r->items[i].acl_shown = lie == LIE_NAMES ? RSM_PROTO_ACL_SHOWN_MAX : 0;
    for (uint32_t i = 0; i < r->count; i++) {
        strcpy(r->items[i].controller, bad_name);
        snprintf(r->items[i].transport, sizeof r->items[i].transport, "%s", bad_name);
    }
}

static void answer(enum lie lie, const struct rsm_msg *asked, struct rsm_msg *msg)
{
    *msg = (struct rsm_msg){.type = asked->type | RSM_MSG_REPLY, .sequence = asked->sequence};
    if (lie == LIE_REFUSE && asked->type != RSM_MSG_HELLO)
        msg->status = RSM_ST_DENIED;
    else if (asked->type == RSM_MSG_HELLO)
        msg->u.hello_reply.node = lie == LIE_OTHER_NODE ? 9 : LIAR_NODE;
    else if (asked->type == RSM_MSG_TOPOLOGY)
        answer_topology(lie, asked, &msg->u.topology_reply);
    else if (asked->type == RSM_MSG_INSPECT)
        answer_inspect(lie, asked->u.inspect.after, &msg->u.inspect_reply);
    else if (asked->type == RSM_MSG_CONTROLLER)
        memset(&msg->u.controller_reply.attr, 0xff, sizeof msg->u.controller_reply.attr);
    if (asked->type == RSM_MSG_CONTROLLER)
        strcpy(msg->u.controller_reply.name, lie == LIE_NAMES ? bad_name : "sci0");
    if (asked->type == RSM_MSG_LOCATE) {
        msg->u.locate_reply.kind = RSM_LOCATE_SAME_HOST;
        strcpy(msg->u.locate_reply.path, listener_path);
    }
    if (lie == LIE_OTHER_SEQUENCE)
        msg->sequence++;
    if (lie == LIE_OTHER_TYPE)
        msg->type = RSM_MSG_EXTENT_FREE | RSM_MSG_REPLY;
}

static int send_answer(int socket, enum lie lie, const struct rsm_msg *msg)
{
    uint8_t buffer[RSM_PROTO_MESSAGE_MAX];
    struct rsm_packet_fds fds = {.count = 0};
    size_t length = rsm_msg_encode(msg, buffer, sizeof buffer);
    NEED(length > 0);
    if (lie == LIE_GARBAGE)
        memset(buffer, 0xa5, length);
    while (lie == LIE_DESCRIPTORS && fds.count < RSM_PACKET_FDS_MAX)
        fds.fds[fds.count++] = socket;
    int error = rsm_packet_send(socket, buffer, length, &fds, 0);
    NEED(error == 0 || error == -EPIPE || error == -ECONNRESET);
    return 0;
}

/* Serve one client with lies until it goes. */
static int lie_to_one(void *bytes)
{
    static struct rsm_msg asked, msg;
    uint8_t buffer[RSM_PROTO_MESSAGE_MAX];
    enum lie lie = *(enum lie *)bytes;
    int socket = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    NEED(socket >= 0);
    for (ssize_t length; (length = recv(socket, buffer, sizeof buffer, 0)) > 0;) {
        if (lie == LIE_HANG_UP)
            break;
        NEED(rsm_msg_decode(&asked, buffer, (size_t)length) == RSM_ST_OK);
        if (lie == LIE_SILENCE && asked.type != RSM_MSG_HELLO)
            continue;
        answer(lie, &asked, &msg);
        NEED(send_answer(socket, lie, &msg) == 0);
    }
    close(socket);
    close(listener);
    NEED(unlink(listener_path) == 0);
    return 0;
}

static struct outcome look_at_liar(struct world *world, enum lie lie, const char *options)
{
    char all[128];
    struct actor *liar = actor_start(world, 1);
    assert_int_equal(actor_run(liar, begin_lying, NULL, 0), 0);
    actor_begin(liar, lie_to_one, &lie, sizeof lie);
    snprintf(all, sizeof all, "-n %d %s", LIAR_NODE, options);
    struct outcome outcome = run(world, all);
    assert_int_equal(actor_end(liar, &lie, sizeof lie), 0);
    actor_stop(liar);
    assert_in_range(outcome.ms, 0, SNAPSHOT_MS + SLACK_MS);
    for (const char *c = outcome.err; *c != '\0'; c++)
        assert_true(*c == '\n' || isprint((unsigned char)*c));
    return outcome;
}

WORLD_TEST(test_lies)
{
    static const struct {
        enum lie lie;
        const char *said;
    } cases[] = {
        {LIE_HANG_UP, "has ended or refuses to serve us"},
        {LIE_GARBAGE, "broke the protocol"},
        {LIE_OTHER_SEQUENCE, "answers what it was not asked"},
        {LIE_OTHER_TYPE, "answers what it was not asked"},
        {LIE_OTHER_NODE, "is that of node 9, not of node 3"},
        {LIE_REFUSE, "permission denied"},
        {LIE_SILENCE, "does not answer"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct outcome outcome = look_at_liar(world, cases[i].lie, "");
        assert_int_equal(outcome.status, 1);
        assert_string_equal(outcome.out, "");
        assert_non_null(strstr(outcome.err, cases[i].said));
        outcome_free(&outcome);
    }
    struct outcome outcome = look_at_liar(world, LIE_DESCRIPTORS, "");
    assert_int_equal(outcome.status, 0);
    outcome_free(&outcome);
}

WORLD_TEST(test_endless)
{
    size_t lines = 0;
    struct outcome outcome = look_at_liar(world, LIE_ENDLESS, "--exports");
    assert_int_equal(outcome.status, 0);
    for (const char *c = outcome.out; *c != '\0'; c++)
        lines += *c == '\n';
    assert_int_equal(lines, 65536 + 6);
    outcome_free(&outcome);
    outcome = look_at_liar(world, LIE_ENDLESS, "--topology --controllers --json");
    assert_int_equal(outcome.status, 0);
    struct json_value *root = parse(outcome.out, outcome.out_length);
    const struct json_value *node = get_node(root, LIAR_NODE);
    assert_int_equal(json_count(get(node, "topology", JSON_ARRAY)), 257);
    json_free(root);
    outcome_free(&outcome);
}

WORLD_TEST(test_names)
{
    struct outcome outcome = look_at_liar(world, LIE_NAMES, "");
    assert_int_equal(outcome.status, 0);
    for (const char *c = outcome.out; *c != '\0'; c++)
        assert_true(*c == '\n' || isprint((unsigned char)*c));
    outcome_free(&outcome);
    outcome = look_at_liar(world, LIE_NAMES, "--json");
    assert_int_equal(outcome.status, 0);
    struct json_value *root = parse(outcome.out, outcome.out_length);
    const struct json_value *node = get_node(root, LIAR_NODE);
    const struct json_value *sci0 = json_element(get(node, "controllers", JSON_ARRAY), 0);
    assert_string_equal(get_string(sci0, "name"),
                        "\033[31m\"\\\n\xef\xbf\xbd\xef\xbf\xbd(\xef\xbf\xbd\xef\xbf\xbd\xef\xbf"
                        "\xbd\xc3\xa9\x7f");
    const struct json_value *import = json_element(get(node, "imports", JSON_ARRAY), 0);
    assert_int_equal(get_number(import, "length"), UINT64_MAX);
    json_free(root);
    outcome_free(&outcome);
}
