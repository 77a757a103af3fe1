/* SPDX-License-Identifier: BSD-3-Clause */
/* rsm-tcpd as a process: its rights, its end, and that it is started again. The test is rsmd and the
 * importers. */
#include <sys/prctl.h>

#include "base/clock.h"
#include "cases.h"
#include "transport/entry.h"
#include "transport/tcp/node/port.h"

#define NODE   (&rsm_transport_node_ops_v1)
#define IMPORT (&rsm_transport_import_ops_v1)

enum { SECOND_MS = 1000, PATIENCE_MS = 10000, MADE_MAX = 4 };

struct host {
    struct rsm_node_port *port;
    struct rsm_port *import;
    struct rsm_extent *extent;
    struct rsm_node_offer *made;
    struct rsm_conn *conn;
};

static struct rsm_node_offer *lost[MADE_MAX];
static unsigned lost_count;

static void on_lost(void *context, struct rsm_node_offer *made)
{
    (void)context;
    assert_true(lost_count < MADE_MAX);
    lost[lost_count++] = made;
}

static struct rsm_node_offer *revoked;

static void on_revoked(void *context, struct rsm_node_offer *made)
{
    (void)context;
    revoked = made;
}

static const struct rsm_node_upcalls upcalls = {
    .size = sizeof upcalls, .lost = on_lost, .revoked = on_revoked};

static void dispatch_for(struct host *host, int ms)
{
    struct pollfd ready = {.fd = NODE->event_fd(host->port), .events = POLLIN};
    if (poll(&ready, 1, ms) == 1)
        NODE->dispatch(host->port, &upcalls, NULL);
}

/* A segment of a page, and an importer that has connected to it. */
static enum rsm_status join(struct host *host)
{
    struct rsm_extent_piece piece = {host->extent, 0, host->extent->length};
    const struct rsm_importer importer = {.size = sizeof importer, .node = 2};
    struct rsm_offer offer = {.size = sizeof offer, .node = 1, .address = ""};
    enum rsm_status status = NODE->offer(host->port, &piece, 1, RSM_RIGHT_READ | RSM_RIGHT_WRITE,
                                         &importer, &offer, &host->made);
    if (status != RSM_ST_OK)
        return status;
    status = IMPORT->connect(host->import, &offer, host->extent->length, 6, &host->conn);
    if (status != RSM_ST_OK)
        NODE->revoke(host->port, host->made);
    return status;
}

static void begin(struct host *host)
{
    const struct rsm_controller_info info = {.size = sizeof info,
                                             .name = "sci0",
                                             .device = "",
                                             .options = "server=" TEST_SERVER,
                                             .peer_timeout_ms = PATIENCE_MS,
                                             .address = ""};
    assert_int_equal(NODE->open(&info, &host->port), RSM_ST_OK);
    assert_int_equal(IMPORT->open(&info, &host->import), RSM_ST_OK);
    assert_int_equal(NODE->extent_make(host->port, (uint64_t)sysconf(_SC_PAGESIZE), &host->extent),
                     RSM_ST_OK);
    assert_int_equal(join(host), RSM_ST_OK);
}

static void end(struct host *host)
{
    IMPORT->disconnect(host->conn);
    IMPORT->close(host->import);
    NODE->revoke(host->port, host->made);
    NODE->extent_free(host->port, host->extent);
    NODE->close(host->port);
}

static pid_t helper_of(const struct host *host)
{
    return tcp_node_port_of(host->port)->helper.pid;
}

static bool works(struct rsm_conn *conn)
{
    uint64_t word = 1;
    return IMPORT->put_complete(conn, 0, &word, sizeof word) == RSM_ST_OK &&
           rsm_conn_failures(conn) == 0;
}

static void await_lost(struct host *host, unsigned count, int64_t within_ms)
{
    int64_t deadline = rsm_deadline(within_ms);
    while (lost_count < count && !rsm_deadline_has_passed(deadline))
        dispatch_for(host, rsm_deadline_left_ms(deadline));
    assert_int_equal(lost_count, count);
}

static void its_death_ends_its_connections_alone(void **state)
{
    struct host hosts[2];
    (void)state;
    begin(&hosts[0]);
    begin(&hosts[1]);
    assert_true(works(hosts[0].conn) && works(hosts[1].conn));
    lost_count = 0;
    pid_t before = helper_of(&hosts[0]);
    kill(before, SIGKILL);
    await_lost(&hosts[0], 1, SECOND_MS);
    assert_ptr_equal(lost[0], hosts[0].made);
    assert_false(works(hosts[0].conn));
    assert_int_equal(IMPORT->health(hosts[0].conn), RSM_ST_ABORTED);
    assert_true(works(hosts[1].conn));
    IMPORT->disconnect(hosts[0].conn);
    NODE->revoke(hosts[0].port, hosts[0].made);
    int64_t deadline = rsm_deadline(PATIENCE_MS);
    while (join(&hosts[0]) != RSM_ST_OK) {
        assert_false(rsm_deadline_has_passed(deadline));
        dispatch_for(&hosts[0], 100);
    }
    assert_int_not_equal(helper_of(&hosts[0]), before);
    assert_true(works(hosts[0].conn));
    end(&hosts[0]);
    end(&hosts[1]);
}

/* rsmd's loop waits for a second at most. */
static void it_is_killed_if_it_does_not_answer(void **state)
{
    struct host host;
    (void)state;
    begin(&host);
    lost_count = 0;
    pid_t before = helper_of(&host);
    kill(before, SIGSTOP);
    int64_t deadline = rsm_deadline(3 * SECOND_MS);
    NODE->revoke(host.port, host.made);
    assert_false(rsm_deadline_has_passed(deadline));
    assert_int_equal(kill(before, 0), -1);
    assert_false(works(host.conn));
    IMPORT->disconnect(host.conn);
    deadline = rsm_deadline(PATIENCE_MS);
    while (join(&host) != RSM_ST_OK) {
        assert_false(rsm_deadline_has_passed(deadline));
        dispatch_for(&host, 100);
    }
    end(&host);
}

static void await_revoked(struct host *host)
{
    const struct rsm_node_offer *made = host->made;
    int64_t deadline = rsm_deadline(PATIENCE_MS);
    while (revoked == NULL && !rsm_deadline_has_passed(deadline))
        dispatch_for(host, 100);
    assert_ptr_equal(revoked, made);
}

static void a_revoke_may_end_later(void **state)
{
    struct host host;
    (void)state;
    begin(&host);
    lost_count = 0;
    revoked = NULL;
    kill(helper_of(&host), SIGSTOP);
    assert_false(NODE->revoke_begin(host.port, host.made));
    dispatch_for(&host, 100);
    assert_null(revoked);
    kill(helper_of(&host), SIGCONT);
    await_revoked(&host);
    assert_int_equal(lost_count, 0);
    assert_false(works(host.conn));
    IMPORT->disconnect(host.conn);
    assert_int_equal(join(&host), RSM_ST_OK);
    end(&host);
}

/* Also more of them than fit into the socket, if rsm-tcpd has stopped, and if it dies then. */
static void many_revokes_end_with_the_process(void **state)
{
    enum { MANY = 600 };
    struct host host;
    static struct rsm_node_offer *made[MANY];
    (void)state;
    begin(&host);
    struct rsm_node_offer *kept = host.made;
    for (unsigned i = 0; i < MANY; i++) {
        struct rsm_conn *first = host.conn;
        assert_int_equal(join(&host), RSM_ST_OK);
        made[i] = host.made;
        IMPORT->disconnect(host.conn);
        host.conn = first;
        dispatch_for(&host, 0);
        lost_count = 0;
    }
    kill(helper_of(&host), SIGSTOP);
    for (unsigned i = 0; i < MANY; i++)
        (void)NODE->revoke_begin(host.port, made[i]);
    assert_true(tcp_node_port_of(host.port)->full);
    kill(helper_of(&host), SIGKILL);
    unsigned count = 0;
    int64_t deadline = rsm_deadline(PATIENCE_MS);
    while (HASH_COUNT(tcp_node_port_of(host.port)->offers) > 1) {
        assert_false(rsm_deadline_has_passed(deadline));
        revoked = NULL;
        lost_count = 0;
        count++;
        dispatch_for(&host, 100);
    }
    assert_true(count > 0);
    IMPORT->disconnect(host.conn);
    IMPORT->close(host.import);
    NODE->revoke(host.port, kept);
    NODE->extent_free(host.port, host.extent);
    NODE->close(host.port);
}

/* Its segments stay; connections, which ended with its rsm-tcpd, are reported. */
static void a_predecessors_extents_are_taken(void **state)
{
    struct host host;
    struct rsm_extent *extent;
    struct rsm_node_offer *made;
    const struct rsm_importer importer = {.size = sizeof importer, .node = 2};
    (void)state;
    begin(&host);
    lost_count = 0;
    int fd = fcntl(host.extent->fd, F_DUPFD_CLOEXEC, 3);
    assert_int_equal(NODE->extent_take(host.port, fd, host.extent->length + 1, &extent),
                     RSM_ST_INVALID);
    assert_int_equal(NODE->extent_take(host.port, fd, host.extent->length, &extent), RSM_ST_OK);
    assert_true(extent->kind == RSM_EXTENT_MEMFD && extent->fd == fd);
    struct rsm_extent_piece piece = {extent, 0, extent->length};
    assert_int_equal(NODE->offer_take(host.port, &piece, 1, RSM_RIGHT_READ, &importer, &made),
                     RSM_ST_OK);
    await_lost(&host, 1, SECOND_MS);
    assert_ptr_equal(lost[0], made);
    assert_true(NODE->revoke_begin(host.port, made));
    NODE->extent_free(host.port, extent);
    assert_true(works(host.conn));
    end(&host);
}

static unsigned long field_of(pid_t pid, const char *name, int base)
{
    char path[64], line[256];
    unsigned long value = 0;
    snprintf(path, sizeof path, "/proc/%d/status", pid);
    FILE *file = fopen(path, "re");
    assert_non_null(file);
    while (fgets(line, sizeof line, file) != NULL)
        if (strncmp(line, name, strlen(name)) == 0)
            value = strtoul(line + strlen(name), NULL, base);
    fclose(file);
    return value;
}

static void it_has_given_up_what_it_does_not_need(void **state)
{
    struct host host;
    (void)state;
    begin(&host);
    pid_t pid = helper_of(&host);
    assert_int_equal(field_of(pid, "NoNewPrivs:", 10), 1);
    assert_true(geteuid() != 0 || field_of(pid, "Uid:", 10) != 0);
    assert_int_equal(field_of(pid, "CapEff:", 16), 0);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    assert_int_equal(field_of(pid, "Seccomp:", 10), 2);
#endif
    end(&host);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(its_death_ends_its_connections_alone),
        cmocka_unit_test(it_is_killed_if_it_does_not_answer),
        cmocka_unit_test(a_revoke_may_end_later),
        cmocka_unit_test(many_revokes_end_with_the_process),
        cmocka_unit_test(a_predecessors_extents_are_taken),
        cmocka_unit_test(it_has_given_up_what_it_does_not_need),
    };
    signal(SIGPIPE, SIG_IGN);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
