/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Nobody waits for a stranger: while other users do their worst, a request and a new connection, of a
 * user and of root, are answered before the daemon has worked for 100 ms.
 *
 * The event loop runs in this process, one round at a time, and before each round the attackers do all
 * that they can. So no scheduler decides who comes when, and the test is the same on a loaded machine. A wait is the
 * processor time of all rounds from when the request is in the daemon's socket until the reply is there. A round
 * cannot sleep where it would not be counted: it waits for nothing (EVLOOP_NONBLOCK), and
 * integration.file_locks judges calls that block.
 */
#include "cases.h"

#include <sys/syscall.h>

#include "common/steps.h"
#include "daemon.h"
#include "fuzz.h"
#include "rsm/rsm_common.h"

enum {
    GREEDY = 4001,
    GREEDY_TOO = 4002,
    MODEST = 4003,
    MS = 1000000,
    BAR_MS = 100,
    GIVE_UP_MS = 1000, /* who has not been served by then never is */
    FILES = 20000,
    SAMPLES = 2,
    SILENT = 600, /* connections that somebody keeps without a word */
    ASKERS = 64,
    CONNECTIONS = 4000, /* of one segment */
    LEAVERS = 1000,
    SEGMENT = 9,
    LENGTH = 4096,
};

/* ------------------------------------------------------------------ the daemon's time */

static int64_t worked; /* of the rounds since this was set to 0 */

int64_t fuzz_step_begin(void)
{
    return rsmd_processor_ns();
}

void fuzz_step_end(int64_t begin, const char *what)
{
    worked += rsmd_processor_ns() - begin;
}

/* ------------------------------------------------------------------ those who do their worst */

struct attack {
    const char *name;
    void (*prepare)(void); /* before somebody comes who waits */
    void (*worst)(void);   /* before each round */
};

static void do_nothing(void)
{
}

/* What follows is done as that user. */
static void be(uid_t uid)
{
    assert_int_equal(syscall(SYS_setresuid, -1, uid, -1), 0);
}

/* A connection of one of the two in turn, or -1: no more fit into the backlog. */
static int call_in(void)
{
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    assert_true(fd >= 0);
    if (connect(fd, (struct sockaddr *)&daemon_world.address, daemon_world.address_length) == 0)
        return fd;
    close(fd);
    return -1;
}

static void send_on(int fd, const struct rsm_msg *msg)
{
    uint8_t bytes[2048];
    size_t length = rsm_msg_encode(msg, bytes, sizeof bytes);
    (void)rsm_packet_send(fd, bytes, length, NULL, 0);
}

static void fill_the_backlog(void (*with)(int fd))
{
    static unsigned round;
    be(++round % 2 == 0 ? GREEDY : GREEDY_TOO);
    for (int fd; (fd = call_in()) >= 0;)
        with(fd);
    be(0);
}

static void say_nothing_and_close(int fd)
{
    close(fd);
}

static void connect_and_close(void)
{
    fill_the_backlog(say_nothing_and_close);
}

static void greet_and_close(int fd)
{
    send_on(fd, &(struct rsm_msg){.type = RSM_MSG_HELLO, .u.hello = {1}});
    close(fd);
}

static void connect_greet_and_close(void)
{
    fill_the_backlog(greet_and_close);
}

static void babble_and_close(int fd)
{
    (void)send(fd, "what is this", 12, MSG_NOSIGNAL);
    close(fd);
}

static void connect_babble_and_close(void)
{
    fill_the_backlog(babble_and_close);
}

static int silent[SILENT];

static void stay(int fd)
{
    static unsigned next;
    if (silent[next % SILENT] > 0)
        close(silent[next % SILENT]);
    silent[next++ % SILENT] = fd;
}

static void connect_and_be_silent(void)
{
    fill_the_backlog(stay);
}

static void end_silence(void)
{
    for (unsigned i = 0; i < SILENT; i++)
        if (silent[i] > 0)
            close(silent[i]);
    memset(silent, 0, sizeof silent);
}

static struct client askers[ASKERS];

static void greet(struct client *client, uid_t uid)
{
    struct rsm_msg msg = {.type = RSM_MSG_HELLO, .u.hello = {1}};
    client->socket = -1;
    client_open(client, uid);
    assert_int_equal(client_ask(client, &msg), RSM_ST_OK);
}

static void bring_askers(void)
{
    for (unsigned i = 0; i < ASKERS; i++)
        if (askers[i].socket <= 0)
            greet(&askers[i], i % 2 == 0 ? GREEDY : GREEDY_TOO);
}

/* As much as their sockets take. */
static void ask_without_end(void)
{
    uint8_t bytes[2048];
    struct rsm_msg msg = {.type = RSM_MSG_INSPECT, .u.inspect = {.what = RSM_INSPECT_EXPORTS}};
    size_t length = rsm_msg_encode(&msg, bytes, sizeof bytes);
    for (unsigned i = 0; i < ASKERS; i++) {
        while (client_drain(&askers[i]))
            continue;
        while (rsm_packet_send(askers[i].socket, bytes, length, NULL, 0) == 0)
            askers[i].unanswered++;
    }
}

static void end_askers(void)
{
    for (unsigned i = 0; i < ASKERS; i++)
        if (askers[i].socket > 0)
            client_close(&askers[i]);
    memset(askers, 0, sizeof askers);
}

/* ------------------------------------------------------------------ who has much, and gives it up */

static struct client exporter = {.socket = -1}, importer = {.socket = -1};

static void must(struct client *client, struct rsm_msg *msg)
{
    assert_int_equal(client_ask(client, msg), RSM_ST_OK);
}

static bool is_left_alone(void)
{
    return daemon_world.node.exports == NULL && daemon_world.node.importers == NULL &&
           daemon_world.server.ending == NULL;
}

static void scatter(void)
{
    client_close(&exporter);
    client_close(&importer);
    daemon_turn_until(daemon_turn, is_left_alone);
    assert_true(is_left_alone());
}

/* A segment with a crowd of connections; its export's id. */
static uint32_t gather(void)
{
    scatter();
    greet(&exporter, GREEDY);
    greet(&importer, GREEDY);
    struct rsm_msg msg = {
        .type = RSM_MSG_EXPORT_CREATE,
        .u.export_create = {
            .controller = "sci0", .length = LENGTH, .mode = 0666, .want_extent = 1}};
    must(&exporter, &msg);
    struct rsm_export_create_reply made = msg.u.export_create_reply;
    msg = (struct rsm_msg){.type = RSM_MSG_EXPORT_PUBLISH,
                           .u.export_publish = {.export_id = made.export_id,
                                                .segment_id = SEGMENT,
                                                .piece_count = 1,
                                                .pieces = {{made.extent, 0, LENGTH}}}};
    must(&exporter, &msg);
    for (unsigned i = 0; i < CONNECTIONS; i++) {
        msg = (struct rsm_msg){
            .type = RSM_MSG_IMPORT_CONNECT,
            .u.import_connect = {
                .controller = "sci0", .node = 1, .segment_id = SEGMENT, .rights = RSM_RIGHT_READ}};
        must(&importer, &msg);
    }
    return made.export_id;
}

static void unpublish_for_a_crowd(void)
{
    uint32_t id = gather();
    send_on(
        exporter.socket,
        &(struct rsm_msg){.type = RSM_MSG_EXPORT_UNPUBLISH,
                          .u.export_unpublish = {.export_id = id, .flags = RSM_UNPUBLISH_NOTIFY}});
}

static void destroy_with_a_crowd(void)
{
    uint32_t id = gather();
    send_on(exporter.socket, &(struct rsm_msg){.type = RSM_MSG_EXPORT_DESTROY,
                                               .u.export_destroy = {.export_id = id, .flags = 0}});
}

static void importer_dies_with_a_crowd(void)
{
    (void)gather();
    client_close(&importer);
}

static void all_leave_at_once(void)
{
    static struct client leavers[LEAVERS];
    unsigned count = 0;
    struct rsm_msg msg;
    do {
        leavers[count].socket = -1;
        client_open(&leavers[count], GREEDY);
        msg = (struct rsm_msg){.type = RSM_MSG_HELLO, .u.hello = {1}};
    } while (client_ask(&leavers[count], &msg) == RSM_ST_OK && ++count < LEAVERS);
    assert_true(count > LEAVERS / 4);
    for (unsigned i = 0; i <= count && i < LEAVERS; i++)
        client_close(&leavers[i]);
}

/* ------------------------------------------------------------------ those who wait */

static void send_from(struct client *client, const struct rsm_msg *msg)
{
    send_on(client->socket, msg);
    client->unanswered++;
}

/* Have rounds until the client is answered: the time that they took. */
static int64_t await_answer(const struct attack *attack, struct client *client, const char *what)
{
    worked = 0;
    while (!client_drain(client)) {
        attack->worst();
        daemon_turn();
        if (worked > (int64_t)GIVE_UP_MS * MS)
            fail_msg("%s: %s is not answered", attack->name, what);
    }
    assert_true(client->socket >= 0);
    return worked;
}

static int64_t wait_with_request(const struct attack *attack, struct client *client)
{
    attack->prepare();
    attack->worst();
    daemon_turn();
    send_from(client, &(struct rsm_msg){.type = RSM_MSG_INTERRUPTS});
    return await_answer(attack, client, "a request");
}

/* Who comes finds room in the backlog, behind all others; and if there is none, none either in the
 * round after. */
static int64_t wait_with_connection(const struct attack *attack, uid_t uid)
{
    struct client client = {.socket = -1};
    attack->prepare();
    attack->worst();
    for (unsigned rounds = 0; client.socket < 0; rounds++) {
        assert_in_range(rounds, 0, 10);
        daemon_turn();
        client_open(&client, uid);
    }
    send_from(&client, &(struct rsm_msg){.type = RSM_MSG_HELLO, .u.hello = {1}});
    int64_t took = await_answer(attack, &client, "a new connection");
    client_close(&client);
    return took;
}

static int64_t more(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static void nobody_waits(const struct attack *attack, uid_t uid)
{
    int64_t request = 0, connection = 0;
    struct client there = {.socket = -1};
    greet(&there, uid);
    for (unsigned i = 0; i < SAMPLES; i++) {
        request = more(request, wait_with_request(attack, &there));
        connection = more(connection, wait_with_connection(attack, uid));
    }
    print_message("%s, user %u: a request %.1f ms, a new connection %.1f ms\n", attack->name,
                  (unsigned)uid, (double)request / MS, (double)connection / MS);
    client_close(&there);
    scatter();
    assert_in_range(request, 0, (int64_t)BAR_MS * MS);
    assert_in_range(connection, 0, (int64_t)BAR_MS * MS);
}

static void nobody_waits_during(const struct attack *attack)
{
    nobody_waits(attack, MODEST);
    nobody_waits(attack, 0);
    end_silence();
    end_askers();
    daemon_turn_until(daemon_turn, daemon_is_empty);
    assert_true(daemon_is_empty());
}

#define ATTACK(test, before, each)                                                                 \
    TEST_ALONE(test)                                                                               \
    {                                                                                              \
        nobody_waits_during(&(struct attack){#test, before, each});                                \
    }

ATTACK(others_connect_and_close, do_nothing, connect_and_close)
ATTACK(others_greet_and_close, do_nothing, connect_greet_and_close)
ATTACK(others_babble_and_close, do_nothing, connect_babble_and_close)
ATTACK(others_connect_and_are_silent, do_nothing, connect_and_be_silent)
ATTACK(others_ask_without_end, bring_askers, ask_without_end)
ATTACK(somebody_unpublishes_for_a_crowd, unpublish_for_a_crowd, do_nothing)
ATTACK(somebody_destroys_with_a_crowd, destroy_with_a_crowd, do_nothing)
ATTACK(somebody_dies_with_a_crowd, importer_dies_with_a_crowd, do_nothing)
ATTACK(somebody_ends_all_that_he_has, all_leave_at_once, do_nothing)

static int start(void **state)
{
    struct rlimit limit = {.rlim_cur = FILES, .rlim_max = FILES};
    program_needs_root();
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
    daemon_start("");
    return 0;
}

TESTS_BETWEEN(start, NULL)
