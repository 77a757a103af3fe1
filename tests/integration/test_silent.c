/* SPDX-License-Identifier: BSD-3-Clause */
/* A daemon that takes requests and never answers: every function of RSMAPI returns within the peer
 * time-out. Each is called by a process of its own that has had all it needs before, so that all
 * wait at the same time. */
#include "party.h"
#include "process.h"

enum {
    LENGTH = 4 * PARTY_PAGE,
    PEER_TIMEOUT = 3000, /* ms, the default */
    CALL_MAX = PEER_TIMEOUT + 2000,
};

/* What each process has. */
static struct {
    rsmapi_controller_handle_t controller;
    uint8_t *memory, *more;
    rsm_memseg_export_handle_t fresh;              /* not published */
    rsm_memseg_export_handle_t published, watched; /* the latter with a poll descriptor */
    rsm_memseg_import_handle_t idle, mapped;       /* the latter with an open barrier */
    rsm_memseg_id_t id;
    rsmapi_barrier_t barrier;
    rsm_localmemory_handle_t local;
    rsm_scat_gath_t gathered;
    rsm_iovec_t piece;
} mine;

/* ---------------------------------------------------------------- calls */

static rsmapi_access_entry_t everybody[] = {{.ae_node = 1, .ae_permission = 0666}};

static int call_topology(void)
{
    rsm_topology_t *topology = NULL;
    int error = rsm_get_interconnect_topology(&topology);
    rsm_free_interconnect_topology(topology);
    return error;
}

static int call_get_controller(void)
{
    char name[] = "sci1";
    rsmapi_controller_handle_t other = NULL;
    return rsm_get_controller(name, &other);
}

static int call_controller(void)
{
    rsmapi_controller_attr_t attr;
    rsm_memseg_id_t base;
    uint32_t length;
    int error = rsm_get_controller_attr(mine.controller, &attr);
    rsm_get_segmentid_range("silent", &base, &length);
    int last = rsm_release_controller(mine.controller);
    return error != RSM_SUCCESS ? error : last;
}

static int call_create(void)
{
    rsm_memseg_export_handle_t made = NULL;
    return rsm_memseg_export_create(mine.controller, &made, mine.more, LENGTH, 0);
}

static int call_destroy(void)
{
    return rsm_memseg_export_destroy(mine.published);
}

static int call_publish(void)
{
    rsm_memseg_id_t id = mine.id + 1000;
    return rsm_memseg_export_publish(mine.fresh, &id, everybody, 1);
}

static int call_republish(void)
{
    return rsm_memseg_export_republish(mine.published, everybody, 1);
}

static int call_unpublish(void)
{
    return rsm_memseg_export_unpublish(mine.published);
}

static int call_rebind(void)
{
    return rsm_memseg_export_rebind(mine.published, mine.more, 0, LENGTH);
}

static int call_connect(void)
{
    rsm_memseg_import_handle_t made = NULL;
    return rsm_memseg_import_connect(mine.controller, 1, mine.id, RSM_PERM_RDWR, &made);
}

static int call_disconnect(void)
{
    return rsm_memseg_import_disconnect(mine.idle);
}

static int call_map(void)
{
    void *address = NULL;
    return rsm_memseg_import_map(mine.idle, &address, RSM_MAP_NONE, RSM_PERM_RDWR, 0, LENGTH);
}

static int call_unmap(void)
{
    return rsm_memseg_import_unmap(mine.mapped);
}

static int call_local(void)
{
    rsm_localmemory_handle_t made = NULL;
    int error = rsm_create_localmemory_handle(mine.controller, &made, (caddr_t)mine.more, LENGTH);
    int last = rsm_free_localmemory_handle(mine.controller, mine.local);
    return error != RSM_SUCCESS ? error : last;
}

/* Needs no daemon. */
static int call_transfers(void)
{
    uint64_t bytes[2] = {1, 2};
    uint8_t *data = (uint8_t *)bytes;
    rsm_barrier_mode_t mode;
    int errors = rsm_memseg_import_put8(mine.mapped, 0, data, 1);
    errors |= rsm_memseg_import_put16(mine.mapped, 0, (uint16_t *)(void *)data, 1);
    errors |= rsm_memseg_import_put32(mine.mapped, 0, (uint32_t *)(void *)data, 1);
    errors |= rsm_memseg_import_put64(mine.mapped, 0, bytes, 1);
    errors |= rsm_memseg_import_put(mine.mapped, 0, data, sizeof bytes);
    errors |= rsm_memseg_import_get8(mine.mapped, 0, data, 1);
    errors |= rsm_memseg_import_get16(mine.mapped, 0, (uint16_t *)(void *)data, 1);
    errors |= rsm_memseg_import_get32(mine.mapped, 0, (uint32_t *)(void *)data, 1);
    errors |= rsm_memseg_import_get64(mine.mapped, 0, bytes, 1);
    errors |= rsm_memseg_import_get(mine.mapped, 0, data, sizeof bytes);
    errors |= rsm_memseg_import_putv(&mine.gathered);
    errors |= rsm_memseg_import_getv(&mine.gathered);
    errors |= rsm_memseg_import_order_barrier(&mine.barrier);
    errors |= rsm_memseg_import_close_barrier(&mine.barrier);
    errors |= rsm_memseg_import_open_barrier(&mine.barrier);
    errors |= rsm_memseg_import_close_barrier(&mine.barrier);
    errors |= rsm_memseg_import_destroy_barrier(&mine.barrier);
    errors |= rsm_memseg_import_init_barrier(mine.mapped, RSM_BARRIER_NODE, &mine.barrier);
    errors |= rsm_memseg_import_get_mode(mine.mapped, &mode);
    errors |= rsm_memseg_import_set_mode(mine.mapped, mode);
    return errors;
}

static int call_post_from_import(void)
{
    return rsm_intr_signal_post(mine.idle, 0);
}

static int call_post_from_export(void)
{
    return rsm_intr_signal_post(mine.published, 0);
}

static int call_wait(void)
{
    return rsm_intr_signal_wait(mine.published, 10);
}

static int call_get_pollfd(void)
{
    struct pollfd entry;
    return rsm_memseg_get_pollfd(mine.published, &entry);
}

static int call_wait_pollfd(void)
{
    struct pollfd entry = {.fd = -1};
    int error = rsm_memseg_get_pollfd(mine.watched, &entry);
    int waited = rsm_intr_signal_wait_pollfd(&entry, 1, 10, NULL);
    return error != RSM_SUCCESS ? error : waited;
}

static int call_release_pollfd(void)
{
    return rsm_memseg_release_pollfd(mine.watched);
}

static const struct {
    int (*function)(void);
    const char *names; /* of what it calls, with a blank behind each */
} calls[] = {
    {call_topology, "rsm_get_interconnect_topology "},
    {call_get_controller, "rsm_get_controller "},
    {call_controller, "rsm_get_controller_attr rsm_release_controller rsm_get_segmentid_range "},
    {call_create, "rsm_memseg_export_create "},
    {call_destroy, "rsm_memseg_export_destroy "},
    {call_publish, "rsm_memseg_export_publish "},
    {call_republish, "rsm_memseg_export_republish "},
    {call_unpublish, "rsm_memseg_export_unpublish "},
    {call_rebind, "rsm_memseg_export_rebind "},
    {call_connect, "rsm_memseg_import_connect "},
    {call_disconnect, "rsm_memseg_import_disconnect "},
    {call_map, "rsm_memseg_import_map "},
    {call_unmap, "rsm_memseg_import_unmap "},
    {call_local, "rsm_create_localmemory_handle rsm_free_localmemory_handle "},
    {call_transfers,
     "rsm_memseg_import_put8 rsm_memseg_import_put16 rsm_memseg_import_put32 "
     "rsm_memseg_import_put64 "
     "rsm_memseg_import_put rsm_memseg_import_get8 rsm_memseg_import_get16 "
     "rsm_memseg_import_get32 rsm_memseg_import_get64 rsm_memseg_import_get rsm_memseg_import_putv "
     "rsm_memseg_import_getv rsm_memseg_import_init_barrier rsm_memseg_import_open_barrier "
     "rsm_memseg_import_order_barrier rsm_memseg_import_close_barrier "
     "rsm_memseg_import_destroy_barrier rsm_memseg_import_get_mode rsm_memseg_import_set_mode "},
    {call_post_from_import, "rsm_intr_signal_post "},
    {call_post_from_export, ""},
    {call_wait, "rsm_intr_signal_wait "},
    {call_get_pollfd, "rsm_memseg_get_pollfd "},
    {call_wait_pollfd, "rsm_intr_signal_wait_pollfd "},
    {call_release_pollfd, "rsm_memseg_release_pollfd "},
};
enum { CALLS = sizeof calls / sizeof calls[0] };

/* ---------------------------------------------------------------- a process */

static int offer(rsm_memseg_export_handle_t *segment, uint8_t *memory, rsm_memseg_id_t id)
{
    NEED(rsm_memseg_export_create(mine.controller, segment, memory, LENGTH, RSM_ALLOW_REBIND) ==
         RSM_SUCCESS);
    NEED(id == 0 || rsm_memseg_export_publish(*segment, &id, everybody, 1) == RSM_SUCCESS);
    return 0;
}

/* .id: of its segments. */
static int prepare(void *bytes)
{
    const struct order *order = bytes;
    struct pollfd entry;
    void *address = NULL;
    uint8_t *memory = memory_get(MEMORY_PRIVATE, 4 * LENGTH);
    mine.controller = party_controller(NULL);
    mine.id = order->id;
    mine.more = memory_get(MEMORY_PRIVATE, LENGTH);
    NEED(memory != NULL && mine.more != NULL && mine.controller != NULL);
    NEED(offer(&mine.fresh, memory, 0) == 0);
    NEED(offer(&mine.published, memory + LENGTH, mine.id) == 0);
    NEED(offer(&mine.watched, memory + 2 * LENGTH, mine.id + 100) == 0);
    NEED(rsm_memseg_get_pollfd(mine.watched, &entry) == RSM_SUCCESS);
    NEED(rsm_memseg_import_connect(mine.controller, 1, mine.id, RSM_PERM_RDWR, &mine.idle) ==
         RSM_SUCCESS);
    NEED(rsm_memseg_import_connect(mine.controller, 1, mine.id + 100, RSM_PERM_RDWR,
                                   &mine.mapped) == RSM_SUCCESS);
    NEED(rsm_memseg_import_map(mine.mapped, &address, RSM_MAP_NONE, RSM_PERM_RDWR, 0, LENGTH) ==
         RSM_SUCCESS);
    NEED(rsm_memseg_import_init_barrier(mine.mapped, RSM_BARRIER_NODE, &mine.barrier) ==
         RSM_SUCCESS);
    NEED(rsm_memseg_import_set_mode(mine.mapped, RSM_BARRIER_MODE_EXPLICIT) == RSM_SUCCESS);
    NEED(rsm_memseg_import_open_barrier(&mine.barrier) == RSM_SUCCESS);
    NEED(rsm_create_localmemory_handle(mine.controller, &mine.local, (caddr_t)(memory + 3 * LENGTH),
                                       LENGTH) == RSM_SUCCESS);
    mine.piece = (rsm_iovec_t){
        .io_type = RSM_HANDLE_TYPE, .local = {.handle = mine.local}, .transfer_length = 8};
    mine.gathered = (rsm_scat_gath_t){.local_nodeid = 1,
                                      .io_request_count = 1,
                                      .remote_handle = mine.mapped,
                                      .iovec = &mine.piece};
    return 0;
}

/* .slot: which call; answers how long it lasted in .timeout, and its error in .flags. */
static int call_one(void *bytes)
{
    struct order *order = bytes;
    int64_t before = now_ms();
    order->flags = (uint32_t)calls[order->slot].function();
    order->timeout = (int)(now_ms() - before);
    return 0;
}

/* ---------------------------------------------------------------- tests */

WORLD_TEST(test_every_call_returns)
{
    struct actor *actor[CALLS];
    unsigned late = 0, failed = 0;
    for (int i = 0; i < CALLS; i++) {
        actor[i] = actor_start(world, 1);
        struct order order = {.id = PARTY_ID + (uint32_t)i};
        assert_int_equal(actor_run(actor[i], prepare, &order, sizeof order), 0);
    }
    pid_t daemon = world_daemon(world, 1);
    process_freeze(daemon);
    for (int i = 0; i < CALLS; i++) {
        struct order order = {.slot = i};
        actor_begin(actor[i], call_one, &order, sizeof order);
    }
    for (int i = 0; i < CALLS; i++) {
        struct order order;
        assert_int_equal(actor_end(actor[i], &order, sizeof order), 0);
        failed += order.flags != RSM_SUCCESS;
        if (order.timeout <= CALL_MAX)
            continue;
        late++;
        print_error("after %d ms: %s\n", order.timeout, calls[i].names);
    }
    process_thaw(daemon);
    assert_int_equal(late, 0);
    assert_in_range(failed, 5, CALLS); /* some have asked the daemon */
    for (int i = 0; i < CALLS; i++)
        actor_kill(actor[i]); /* what they have left is not the point here */
}

/* That the list has all there is. */
TEST_ALONE(test_every_function_is_called)
{
    char line[256], name[80];
    unsigned missing = 0, count = 0;
    FILE *header = fopen(RSMAPI_HEADER, "re");
    assert_non_null(header);
    while (fgets(line, sizeof line, header) != NULL) {
        bool called = false;
        if (sscanf(line, "int rsm_%60[a-z0-9_](", line + 128) != 1)
            continue;
        snprintf(name, sizeof name, "rsm_%s ", line + 128);
        for (int i = 0; i < CALLS && !called; i++)
            called = strstr(calls[i].names, name) != NULL;
        count++;
        missing += !called;
        if (!called)
            print_error("is not called: %s\n", name);
    }
    fclose(header);
    assert_int_equal(missing, 0);
    assert_in_range(count, 40, 100);
}
