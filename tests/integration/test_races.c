/* SPDX-License-Identifier: BSD-3-Clause */
/* Many at once, and daemons that end just when somebody comes. */
#include "base/packet.h"
#include "protocol/proto.h"
#include "party.h"
#include "process.h"

enum { LENGTH = PARTY_PAGE, CROWD = 16, CYCLES = 200 };

/* ---------------------------------------------------------------- all start at the same moment */

struct arrival {
    int gate[2]; /* a pipe that is at its end when the test closes it: all may go */
    uint32_t id, node;
    pid_t daemon;
};

/* The daemon behind the node's socket. */
static pid_t serving_daemon(void)
{
    char path[RSM_PROTO_PATH_MAX];
    struct ucred who = {0};
    socklen_t length = sizeof who;
    snprintf(path, sizeof path, "%s/node-%s.sock", getenv("RSM_RUNTIME_DIR"), getenv("RSM_NODE"));
    int socket = rsm_packet_connect(path);
    if (socket < 0 || getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &who, &length) < 0)
        who.pid = -1;
    if (socket >= 0)
        close(socket);
    return who.pid;
}

/* Wait for the gate, then use the node for everything. */
static int arrive(void *bytes)
{
    struct arrival *arrival = bytes;
    struct order order = {.length = LENGTH, .id = arrival->id, .node = arrival->node};
    char byte;
    close(arrival->gate[1]);
    NEED(read(arrival->gate[0], &byte, 1) == 0);
    close(arrival->gate[0]);
    NEED(party_controller(NULL) != NULL);
    arrival->daemon = serving_daemon();
    NEED(party_offer(&order) == RSM_SUCCESS);
    order = (struct order){.length = LENGTH, .id = arrival->id, .node = arrival->node};
    NEED(party_attach(&order) == RSM_SUCCESS);
    order.value = arrival->id;
    NEED(party_poke(&order) == RSM_SUCCESS);
    NEED(*(volatile uint64_t *)(void *)party_export(0)->memory == arrival->id);
    NEED(party_detach(&order) == RSM_SUCCESS);
    return 0;
}

static void crowd_arrives(struct world *world, unsigned nodes)
{
    struct actor *actors[CROWD];
    pid_t daemons[3] = {0};
    int gate[2];
    assert_int_equal(pipe(gate), 0);
    for (unsigned i = 0; i < CROWD; i++) {
        actors[i] = actor_start(world, 1 + i % nodes);
        struct arrival arrival = {
            .gate = {gate[0], gate[1]}, .id = PARTY_ID + i, .node = actors[i]->node};
        actor_begin(actors[i], arrive, &arrival, sizeof arrival);
    }
    close(gate[0]);
    close(gate[1]);
    for (unsigned i = 0; i < CROWD; i++) {
        struct arrival arrival;
        assert_int_equal(actor_end(actors[i], &arrival, sizeof arrival), 0);
        assert_true(arrival.daemon > 0);
        if (daemons[arrival.node] == 0)
            daemons[arrival.node] = arrival.daemon;
        assert_int_equal(arrival.daemon, daemons[arrival.node]);
    }
    /* Those who lost the race go as soon as they see it. */
    int64_t deadline = now_ms() + CALL_TIMEOUT_MS;
    int status;
    while (world_daemon_count(world) > nodes && now_ms() < deadline)
        child_await(-1, 0, 100, &status);
    assert_int_equal(world_daemon_count(world), nodes);
}

WORLD_TEST(test_sixteen_at_once)
{
    crowd_arrives(world, 1);
}

WORLD_TEST(test_two_nodes_at_once)
{
    crowd_arrives(world, 2);
}

/* ---------------------------------------------------------------- the daemon's end */

/* Come, use the node, go: fork so that each one is a process of its own. */
static int come_and_go(void *bytes)
{
    const struct order *order = bytes;
    for (uint64_t i = 0; i < order->value; i++) {
        int status;
        pid_t child = fork();
        NEED(child >= 0);
        if (child == 0)
            _exit(party_controller(NULL) != NULL ? 0 : 1);
        NEED(waitpid(child, &status, 0) == child);
        NEED(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    return 0;
}

WORLD_TEST(test_quick_cycles)
{
    struct actor *actor = actor_start(world, 1);
    struct order order = {.value = CYCLES};
    assert_int_equal(party_ask(actor, come_and_go, order).result, 0);
}

/* The daemon lingers for 0 ms: every client may find one that is about to end. */
static int come_and_go_impatiently(void *bytes)
{
    NEED(setenv("RSM_RSMD", getenv("RSM_IMPATIENT_RSMD"), 1) == 0);
    return come_and_go(bytes);
}

WORLD_TEST(test_daemon_that_never_lingers)
{
    enum { VISITORS = 4 };
    struct actor *actors[VISITORS];
    struct order order = {.value = CYCLES / VISITORS};
    for (int i = 0; i < VISITORS; i++)
        actors[i] = actor_start(world, 1);
    for (int i = 0; i < VISITORS; i++)
        actor_begin(actors[i], come_and_go_impatiently, &order, sizeof order);
    for (int i = 0; i < VISITORS; i++)
        assert_int_equal(ANSWER(actors[i]), 0);
}

/* The library's own choice of a daemon ends by itself as well. */
static int open_with_usual_daemon(void *bytes)
{
    char path[512];
    snprintf(path, sizeof path, "%s/bin/rsmd", getenv("RSM_BUILD_DIR"));
    NEED(setenv("RSM_RSMD", path, 1) == 0);
    return party_open(bytes);
}

WORLD_TEST(test_usual_daemon)
{
    struct actor *actor = actor_start(world, 1);
    assert_int_equal(party_ask(actor, open_with_usual_daemon, (struct order){0}).result,
                     RSM_SUCCESS);
    pid_t daemon = world_daemon(world, 1);
    int64_t start = now_ms();
    actor_stop(actor);
    int status;
    assert_int_equal(child_await(daemon, 0, CALL_TIMEOUT_MS, &status), daemon);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    assert_true(now_ms() - start < 5000);
}

/* ---------------------------------------------------------------- everything at once */

/* Publish, unpublish, republish one id, for as many rounds as .value says. */
static int publish_over_and_over(void *bytes)
{
    const struct order *order = bytes;
    struct party_export *export_id = party_export(0);
    for (uint64_t i = 0; i < order->value; i++) {
        rsm_memseg_id_t id = order->id;
        NEED(rsm_memseg_export_publish(export_id->handle, &id, NULL, 0) == RSM_SUCCESS);
        NEED(rsm_intr_signal_post(export_id->handle, 0) == RSM_SUCCESS);
        NEED(rsm_memseg_export_republish(export_id->handle, NULL, 0) == RSM_SUCCESS);
        NEED(rsm_memseg_export_unpublish(export_id->handle) == RSM_SUCCESS);
    }
    return 0;
}

/* Connect and use it, whatever state it is in; every answer must be one that fits. */
static int import_over_and_over(void *bytes)
{
    struct order *order = bytes;
    uint64_t connected = 0;
    for (uint64_t i = 0; i < order->value; i++) {
        rsm_memseg_import_handle_t import;
        rsmapi_barrier_t barrier;
        uint64_t value = i;
        int error = rsm_memseg_import_connect(party_controller(NULL), order->node, order->id,
                                              RSM_PERM_RDWR, &import);
        NEED(error == RSM_SUCCESS || error == RSMERR_SEG_NOT_PUBLISHED ||
             error == RSMERR_INTERRUPTED);
        if (error != RSM_SUCCESS)
            continue;
        connected++;
        NEED(rsm_memseg_import_init_barrier(import, RSM_BARRIER_NODE, &barrier) == RSM_SUCCESS);
        error = rsm_memseg_import_put64(import, 0, &value, 1);
        NEED(error == RSM_SUCCESS || error == RSMERR_CONN_ABORTED);
        NEED(rsm_intr_signal_post(import, 0) == RSM_SUCCESS);
        NEED(rsm_memseg_import_disconnect(import) == RSM_SUCCESS);
    }
    order->value = connected;
    return 0;
}

WORLD_TEST(test_connect_against_unpublish)
{
    enum { IMPORTERS = 4 };
    struct actor *exporter = actor_start(world, 1), *importers[IMPORTERS];
    TELL_OK(exporter, create, .length = LENGTH);
    struct order order = {.id = PARTY_ID, .node = 1, .value = 500};
    for (unsigned i = 0; i < IMPORTERS; i++) {
        importers[i] = actor_start(world, 1 + i % 2);
        TELL_OK(importers[i], open);
        actor_begin(importers[i], import_over_and_over, &order, sizeof order);
    }
    actor_begin(exporter, publish_over_and_over, &order, sizeof order);
    for (unsigned i = 0; i < IMPORTERS; i++)
        assert_int_equal(ANSWER(importers[i]), 0);
    assert_int_equal(ANSWER(exporter), 0);
    TELL_OK(exporter, publish, .id = PARTY_ID);
    TELL_OK(importers[0], connect, .node = 1);
}
