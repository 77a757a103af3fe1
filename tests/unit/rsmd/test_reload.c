/* SPDX-License-Identifier: BSD-3-Clause */
/* SIGHUP: what a changed configuration adds, what stays, and what a broken one does. */
#include <sys/random.h>

#include "peer.h"

/* A daemon whose configuration and log are kept. */
struct subject {
    struct daemon daemon;
    char option[128]; /* --config=... */
    char log[128];
    unsigned reloads;
};

static unsigned network; /* of 127.x.y.z, this test's own */

static const char *configuration_of(const struct subject *subject)
{
    return strchr(subject->option, '/');
}

static void configure(const struct subject *subject, const char *format, ...)
{
    va_list arguments;
    FILE *file = fopen(configuration_of(subject), "w");
    assert_non_null(file);
    va_start(arguments, format);
    assert_true(vfprintf(file, format, arguments) >= 0);
    va_end(arguments);
    assert_int_equal(fclose(file), 0);
}

/* configure() comes between the two. */
static void prepare(struct subject *subject)
{
    memset(subject, 0, sizeof *subject);
    directory_make(subject->daemon.directory);
    snprintf(subject->option, sizeof subject->option, "--config=%s.rsm.conf",
             subject->daemon.directory);
    snprintf(subject->log, sizeof subject->log, "%s.log", subject->daemon.directory);
}

static void start(struct subject *subject, uint32_t node)
{
    char directory[64];
    strcpy(directory, subject->daemon.directory);
    int log = open(subject->log, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0600);
    int stderr_before = dup(STDERR_FILENO);
    assert_true(log >= 0 && dup2(log, STDERR_FILENO) == STDERR_FILENO);
    daemon_log_level = "--log-level=info";
    daemon_start_in(&subject->daemon, directory, node, NULL, subject->option);
    dup2(stderr_before, STDERR_FILENO);
    close(stderr_before);
    close(log);
}

static void stop(struct subject *subject)
{
    daemon_stop(&subject->daemon);
    unlink(configuration_of(subject));
    unlink(subject->log);
}

static const char *log_of(const struct subject *subject)
{
    static char text[1 << 16];
    FILE *file = fopen(subject->log, "r");
    assert_non_null(file);
    size_t length = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    text[length] = '\0';
    return text;
}

static unsigned count(const char *text, const char *part)
{
    unsigned times = 0;
    while ((text = strstr(text, part)) != NULL) {
        times++;
        text++;
    }
    return times;
}

static void pause_a_little(int *waited)
{
    struct timespec pause = {.tv_nsec = 5000000};
    assert_true(++*waited < PEER_WAIT_MS / 5);
    nanosleep(&pause, NULL);
}

/* Have it read the configuration, and wait until it has. */
static void reload(struct subject *subject)
{
    int waited = 0;
    assert_int_equal(kill(subject->daemon.pid, SIGHUP), 0);
    subject->reloads++;
    while (count(log_of(subject), "was read again") + count(log_of(subject), "stays as it is: ") <
           subject->reloads)
        pause_a_little(&waited);
}

static void expect_log(const struct subject *subject, const char *part)
{
    if (strstr(log_of(subject), part) == NULL)
        fail_msg("expected \"%s\" in\n%s", part, log_of(subject));
}

static enum rsm_status ask_controller(int socket, const char *name)
{
    struct rsm_msg msg = {.type = RSM_MSG_CONTROLLER};
    snprintf(msg.u.controller.name, sizeof msg.u.controller.name, "%s", name);
    return ask(socket, &msg);
}

static struct rsm_failed_reply ask_failed(int socket)
{
    struct rsm_msg msg = {.type = RSM_MSG_FAILED};
    assert_int_equal(ask(socket, &msg), RSM_ST_OK);
    return msg.u.failed_reply;
}

static struct rsm_topology_reply ask_topology(int socket)
{
    struct rsm_msg msg = {.type = RSM_MSG_TOPOLOGY};
    assert_int_equal(ask(socket, &msg), RSM_ST_OK);
    return msg.u.topology_reply;
}

/* ------------------------------------------------------------------ controllers */

TEST_ALONE(a_controller_is_added)
{
    struct subject subject;
    prepare(&subject);
    configure(&subject, "[controller sci0]\ntransport = shm\n");
    start(&subject, 1);
    int client = peer_hello(&subject.daemon);
    publish_page(client, 0x123, 0600);
    assert_int_equal(ask_controller(client, "more7"), RSM_ST_NO_CONTROLLER);
    uint32_t generation = ask_topology(client).generation;
    configure(&subject,
              "[controller sci0]\ntransport = shm\n[controller more7]\ntransport = shared\n");
    reload(&subject);
    /* The client that was there uses it, and its segment is as it was. */
    assert_int_equal(ask_controller(client, "more7"), RSM_ST_OK);
    assert_int_equal(ask_topology(client).controllers, 2);
    assert_int_not_equal(ask_topology(client).generation, generation);
    struct rsm_msg msg = {.type = RSM_MSG_EXTENT_ALLOC,
                          .u.extent_alloc = {.length = (uint64_t)sysconf(_SC_PAGESIZE)}};
    strcpy(msg.u.extent_alloc.controller, "more7");
    struct rsm_packet_fds fds;
    assert_int_equal(ask_with(client, &msg, NULL, &fds), RSM_ST_OK);
    rsm_packet_fds_close(&fds);
    assert_int_equal(connect_on(client, "sci0", 1, 0x123, 6, NULL), RSM_ST_OK);
    close(client);
    stop(&subject);
}

TEST_ALONE(a_controller_that_failed_is_tried_again)
{
    struct subject subject;
    char fifo[80];
    prepare(&subject);
    snprintf(fifo, sizeof fifo, "%s.fifo", subject.daemon.directory);
    configure(&subject, "[controller late0]\ntransport = news\ndevice = %s\n", fifo);
    start(&subject, 1);
    int client = peer_hello(&subject.daemon);
    struct rsm_failed_reply failed = ask_failed(client);
    assert_int_equal(failed.total, 1);
    assert_string_equal(failed.items[0].name, "late0");
    assert_string_equal(failed.items[0].device, fifo);
    assert_in_range(failed.items[0].ago_ms, 1, 600000);
    reload(&subject);
    assert_int_equal(ask_failed(client).total, 1); /* once, however often it is tried */
    assert_int_equal(mkfifo(fifo, 0600), 0);
    reload(&subject);
    assert_int_equal(ask_failed(client).total, 0);
    assert_int_equal(ask_controller(client, "late0"), RSM_ST_OK);
    /* One that failed and is not wanted any more. */
    configure(&subject,
              "[controller late0]\ntransport = news\ndevice = %s\n"
              "[controller x0]\ntransport = news\ndevice = %s.not-there\n",
              fifo, fifo);
    reload(&subject);
    assert_int_equal(ask_failed(client).total, 1);
    configure(&subject, "[controller late0]\ntransport = news\ndevice = %s\n", fifo);
    reload(&subject);
    assert_int_equal(ask_failed(client).total, 0);
    close(client);
    stop(&subject);
    unlink(fifo);
}

/* ------------------------------------------------------------------ what stays */

TEST_ALONE(what_is_in_use_stays)
{
    struct subject subject;
    prepare(&subject);
    configure(&subject,
              "[node 1]\nhost = localhost\n[node 2]\nhost = b\nsocket = /nowhere/2\n"
              "[controller sci0]\ntransport = shm\n[controller gone3]\ntransport = shm\n");
    start(&subject, 1);
    int client = peer_hello(&subject.daemon);
    configure(
        &subject,
        "[node 1]\nhost = localhost\nsocket = /elsewhere/1\n"
        "[controller sci0]\ntransport = shared\ndevice = d\noptions = o\nadapter = 5\n"
        "[limits]\npeer-timeout-ms = 500\nmax-segments = 77\n[map]\nlend-userfaultfd = yes\n");
    reload(&subject);
    expect_log(&subject, "node 2 is not there any more");
    expect_log(&subject, "controller gone3 is not there any more");
    expect_log(&subject, "rsm.conf:1: socket of node 1 cannot change");
    expect_log(&subject, "rsm.conf:4: transport of sci0 cannot change while rsmd runs: until a "
                         "restart it stays shm");
    expect_log(&subject, "rsm.conf:4: device of sci0 cannot change");
    expect_log(&subject, "rsm.conf:4: options of sci0 cannot change");
    expect_log(&subject, "rsm.conf:4: adapter of sci0 cannot change");
    expect_log(&subject,
               "peer-timeout-ms cannot change while rsmd runs: until a restart it stays 3000");
    expect_log(&subject, "lend-userfaultfd cannot change");
    expect_log(&subject, "0 added, 9 not taken over");
    assert_int_equal(ask_controller(client, "gone3"), RSM_ST_OK);
    struct rsm_msg msg = {.type = RSM_MSG_CONTROLLER, .u.controller = {.name = "sci0"}};
    assert_int_equal(ask(client, &msg), RSM_ST_OK);
    assert_string_equal(msg.u.controller_reply.transport, "shm");
    assert_string_equal(msg.u.controller_reply.device, "");
    /* Limits do change. */
    msg = (struct rsm_msg){.type = RSM_MSG_INSPECT, .u.inspect = {.what = RSM_INSPECT_EXPORTS}};
    assert_int_equal(ask(client, &msg), RSM_ST_OK);
    assert_int_equal(msg.u.inspect_reply.segments_limit, 77);
    close(client);
    stop(&subject);
}

TEST_ALONE(a_broken_file_changes_nothing)
{
    struct subject subject;
    prepare(&subject);
    configure(&subject, "[controller sci0]\ntransport = shm\n");
    start(&subject, 1);
    int client = peer_hello(&subject.daemon);
    configure(&subject, "[controller sci0]\ntransport = shm\n[controller new1]\ntransport = shm\n"
                        "[limits]\nmax-segments = many\n");
    reload(&subject);
    expect_log(&subject, "the configuration stays as it is: ");
    expect_log(&subject, "rsm.conf:6: expected a number");
    assert_int_equal(ask_controller(client, "new1"), RSM_ST_NO_CONTROLLER);
    configure(&subject, "[controller new1]\ntransport = no-such\n");
    reload(&subject);
    assert_int_equal(ask_controller(client, "new1"), RSM_ST_NO_CONTROLLER);
    assert_int_equal(unlink(configuration_of(&subject)), 0);
    reload(&subject);
    assert_int_equal(ask_controller(client, "sci0"), RSM_ST_OK);
    if (geteuid() == 0) { /* nor one that root must not obey */
        configure(&subject, "[node 1]\nhost = localhost\naddress = 127.0.0.1\n");
        reload(&subject);
        expect_log(&subject, "expected auth = munge or tls in [cluster], or insecure = yes");
    }
    assert_int_equal(ask_topology(client).controllers, 1);
    close(client);
    stop(&subject);
}

/* ------------------------------------------------------------------ nodes */

static const char *address_of(uint32_t node)
{
    static char text[4][20];
    static unsigned next;
    char *into = text[next++ % 4];
    snprintf(into, sizeof text[0], "127.%u.%u.%u", network >> 8, network & 255, (unsigned)node);
    return into;
}

static uint32_t link_state(int socket, uint32_t node)
{
    struct rsm_msg msg = {.type = RSM_MSG_LINKS, .u.links = {.first = node}};
    assert_int_equal(ask(socket, &msg), RSM_ST_OK);
    const struct rsm_links_reply *reply = &msg.u.links_reply;
    return reply->count > 0 && reply->items[0].node == node ? reply->items[0].state : 0;
}

static void await_link(int socket, uint32_t node)
{
    int waited = 0;
    while (link_state(socket, node) != RSM_LINK_UP)
        pause_a_little(&waited);
}

#define NODES_12                                                                                   \
    "[cluster]\nauth = none\ninsecure = yes\n[node 2]\nhost = localhost\naddress = %s\n"           \
    "[node 3]\nhost = c\naddress = %s\n"

/* A node with a lower id calls this one, which had no reason to listen; one with a higher id is called. */
TEST_ALONE(nodes_are_added_and_linked)
{
    struct subject subject, lower, higher;
    char all[512];
    prepare(&subject);
    prepare(&lower);
    prepare(&higher);
    configure(&subject,
              "[cluster]\nauth = none\ninsecure = yes\n[node 2]\nhost = localhost\naddress = %s\n",
              address_of(2));
    snprintf(all, sizeof all,
             "[cluster]\nauth = none\ninsecure = yes\n[node 1]\nhost = a\naddress = %s\n"
             "[node 2]\nhost = b\naddress = %s\n[node 3]\nhost = c\naddress = %s\n",
             address_of(1), address_of(2), address_of(3));
    configure(&lower, "%s", all);
    configure(&higher, "%s", all);
    start(&subject, 2);
    start(&lower, 1);
    start(&higher, 3);
    int client = peer_hello(&subject.daemon);
    assert_int_equal(link_state(client, 1), 0);
    configure(&subject, NODES_12, address_of(2), address_of(3));
    reload(&subject);
    await_link(client, 3);
    configure(&subject, "%s", all);
    reload(&subject);
    expect_log(&subject, "node 1 is added");
    await_link(client, 1);
    assert_int_equal(link_state(client, 3), RSM_LINK_UP);
    close(client);
    stop(&subject);
    stop(&lower);
    stop(&higher);
}

/* Links that the daemon cannot begin while it runs. */
TEST_ALONE(a_node_that_cannot_be_linked)
{
    struct subject subject;
    prepare(&subject);
    configure(&subject, "[controller sci0]\ntransport = shm\n");
    start(&subject, 2);
    int client = peer_hello(&subject.daemon);
    configure(&subject, NODES_12, address_of(2), address_of(3));
    reload(&subject);
    expect_log(&subject, "node 2 cannot be added while rsmd runs: it is this node");
    expect_log(&subject, "no link to node 3 before a restart");
    assert_int_equal(link_state(client, 3), 0);
    close(client);
    stop(&subject);
}

/* An embedded daemon serves programs that know nothing of a configuration. */
TEST_ALONE(an_embedded_daemon_ignores_it)
{
    struct daemon daemon;
    daemon_start(&daemon, "[controller sci0]\ntransport = shm\n", "--embedded");
    int client = peer_hello(&daemon);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(kill(daemon.pid, SIGHUP), 0);
        assert_int_equal(ask_controller(client, "sci0"), RSM_ST_OK);
    }
    close(client);
    daemon_stop(&daemon);
}

static int begin(void **state)
{
    uint16_t random = 0;
    if (getrandom(&random, sizeof random, 0) != (ssize_t)sizeof random)
        return -1;
    network = 256u + random % 65000u; /* not 127.0.y.z, which others use */
    return setenv("RSM_MODULE_DIR", TEST_MODULES, 1);
}

TESTS_BETWEEN(begin, NULL)
