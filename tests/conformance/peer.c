/* SPDX-License-Identifier: BSD-3-Clause */
#include "peer.h"

#include <grp.h>
#include <sys/prctl.h>

#include "process.h"
#include "stage.h"
#include "suite.h"

enum { ABORT_TIMEOUT_MS = 20000 };

static struct {
    rsm_memseg_export_handle_t handle;
    uint8_t *memory, *old_memory;
    size_t length;
} exports[PEER_SLOTS];

static struct {
    rsm_memseg_import_handle_t handle;
    uint8_t *address;
    rsmapi_barrier_t barrier;
} imports[PEER_SLOTS];

/* What the slot of an order is. */
#define EXPORT (exports[order->slot])
#define IMPORT (imports[order->slot])

static rsmapi_controller_handle_t controller_of(const struct order *order)
{
    static rsmapi_controller_handle_t opened[2];
    char name[MAXNAMELEN];
    rsmapi_controller_handle_t *which = &opened[order->loopback];
    snprintf(name, sizeof name, "%s", order->loopback ? "loopback" : options.controller);
    if (*which == NULL && get_controller_at_last(name, which) != RSM_SUCCESS)
        *which = NULL;
    return *which;
}

unsigned both_nodes(rsmapi_access_entry_t acl[2], rsm_permission_t permission)
{
    acl[0] = (rsmapi_access_entry_t){options.importer_node, permission};
    acl[1] = (rsmapi_access_entry_t){options.exporter_node, permission};
    return options.importer_node == options.exporter_node ? 1 : 2;
}

/* ---------------------------------------------------------------- the process itself */

/* Other users' processes are not dumpable, and then even the leak checker cannot look. */
static int do_USER(struct order *order)
{
    gid_t group = order->group;
    NEED(setgroups(order->group != 0 ? 1 : 0, &group) == 0);
    NEED(setresgid(order->gid, order->gid, order->gid) == 0);
    NEED(setresuid(order->uid, order->uid, order->uid) == 0);
    NEED(prctl(PR_SET_DUMPABLE, 1) == 0);
    return 0;
}

static int do_UMASK(struct order *order)
{
    umask((mode_t)order->value);
    return 0;
}

static int do_EXIT(struct order *order)
{
    _exit(0);
}

static int do_EXEC(struct order *order)
{
    execlp("sleep", "sleep", "3600", (char *)NULL);
    return ANSWER_FAILED;
}

/* ---------------------------------------------------------------- export side */

static int make_memory(const struct order *order)
{
    EXPORT.length = order->pages * PAGE;
    EXPORT.memory =
        mmap(NULL, EXPORT.length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return EXPORT.memory != MAP_FAILED ? 0 : ANSWER_FAILED;
}

static int export_memory(const struct order *order)
{
    return rsm_memseg_export_create(controller_of(order), &EXPORT.handle, EXPORT.memory,
                                    EXPORT.length, order->flags);
}

static int do_CREATE(struct order *order)
{
    NEED(make_memory(order) == 0);
    return export_memory(order);
}

static int do_PUBLISH(struct order *order)
{
    if (order->id == 0)
        order->id = SEGMENT_ID;
    return rsm_memseg_export_publish(EXPORT.handle, &order->id, order->acl, order->acl_count);
}

static int publish_to_both(struct order *order)
{
    if (order->acl_count == 0)
        order->acl_count = both_nodes(order->acl, 0666);
    return do_PUBLISH(order);
}

static int do_OFFER(struct order *order)
{
    int error = do_CREATE(order);
    return error == RSM_SUCCESS ? publish_to_both(order) : error;
}

static int do_OFFER_PIECES(struct order *order)
{
    static rsm_memseg_export_handle_t half; /* it ends with the process */
    NEED(make_memory(order) == 0);
    int error =
        rsm_memseg_export_create(controller_of(order), &half, EXPORT.memory + EXPORT.length / 2,
                                 EXPORT.length / 2, order->flags);
    if (error == RSM_SUCCESS)
        error = export_memory(order);
    return error == RSM_SUCCESS ? publish_to_both(order) : error;
}

static int do_REPUBLISH(struct order *order)
{
    return rsm_memseg_export_republish(EXPORT.handle, order->acl, order->acl_count);
}

static int do_UNPUBLISH(struct order *order)
{
    return rsm_memseg_export_unpublish(EXPORT.handle);
}

static int do_DESTROY(struct order *order)
{
    return rsm_memseg_export_destroy(EXPORT.handle);
}

static int do_REBIND(struct order *order)
{
    uint8_t *memory =
        mmap(NULL, EXPORT.length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    NEED(memory != MAP_FAILED);
    EXPORT.old_memory = EXPORT.memory;
    EXPORT.memory = memory;
    return rsm_memseg_export_rebind(EXPORT.handle, memory, 0, EXPORT.length);
}

static volatile uint64_t *word(void *memory, int64_t offset)
{
    return (volatile uint64_t *)(void *)((uint8_t *)memory + offset);
}

static int do_LOAD(struct order *order)
{
    order->value = *word(EXPORT.memory, order->offset);
    return 0;
}

static int do_LOAD_OLD(struct order *order)
{
    order->value = *word(EXPORT.old_memory, order->offset);
    return 0;
}

static int do_STORE(struct order *order)
{
    *word(EXPORT.memory, order->offset) = order->value;
    return 0;
}

static int do_FREE(struct order *order)
{
    return munmap(EXPORT.memory, EXPORT.length);
}

static int do_POST(struct order *order)
{
    return rsm_intr_signal_post(EXPORT.handle, order->flags);
}

static int do_WAIT(struct order *order)
{
    return rsm_intr_signal_wait(EXPORT.handle, order->timeout);
}

/* ---------------------------------------------------------------- import side */

static rsm_permission_t rights_of(const struct order *order)
{
    if (order->rights == NO_RIGHTS)
        return 0;
    return order->rights != 0 ? order->rights : RSM_PERM_RDWR;
}

static int do_CONNECT(struct order *order)
{
    uint32_t id = order->id != 0 ? order->id : SEGMENT_ID;
    IMPORT.handle = (rsm_memseg_import_handle_t)-1;
    int error = rsm_memseg_import_connect(controller_of(order), options.exporter_node, id,
                                          rights_of(order), &IMPORT.handle);
    NEED((error == RSM_SUCCESS) == (IMPORT.handle != NULL));
    return error;
}

static int do_MAP(struct order *order)
{
    void *address = NULL;
    int error = rsm_memseg_import_map(IMPORT.handle, &address, RSM_MAP_NONE, rights_of(order),
                                      order->offset, order->pages * PAGE);
    IMPORT.address = address;
    return error;
}

static int do_UNMAP(struct order *order)
{
    return rsm_memseg_import_unmap(IMPORT.handle);
}

static int do_DISCONNECT(struct order *order)
{
    return rsm_memseg_import_disconnect(IMPORT.handle);
}

static int do_PEEK(struct order *order)
{
    order->value = *word(IMPORT.address, order->offset);
    return 0;
}

static int do_POKE(struct order *order)
{
    *word(IMPORT.address, order->offset) = order->value;
    return 0;
}

/* Ended by an order, for how many stores there are in a time depends on who makes them. */
static struct {
    pthread_t thread;
    volatile uint64_t *at;
    _Atomic uint64_t last, enough;
} storm;

static void *store_all_the_time(void *unused)
{
    for (uint64_t value = 1; value <= atomic_load(&storm.enough); value++) {
        *storm.at = value;
        atomic_store(&storm.last, value);
    }
    return NULL;
}

static int do_STORM(struct order *order)
{
    storm.at = word(IMPORT.address, order->offset);
    atomic_store(&storm.last, 0);
    atomic_store(&storm.enough, UINT64_MAX);
    NEED(pthread_create(&storm.thread, NULL, store_all_the_time, NULL) == 0);
    return 0;
}

static int do_END_STORM(struct order *order)
{
    atomic_store(&storm.enough, order->value);
    NEED(pthread_join(storm.thread, NULL) == 0);
    order->value = atomic_load(&storm.last);
    return 0;
}

static int do_BARRIER(struct order *order)
{
    return rsm_memseg_import_init_barrier(IMPORT.handle, RSM_BARRIER_SEGMENT, &IMPORT.barrier);
}

static int do_OPEN(struct order *order)
{
    return rsm_memseg_import_open_barrier(&IMPORT.barrier);
}

static int do_CLOSE(struct order *order)
{
    return rsm_memseg_import_close_barrier(&IMPORT.barrier);
}

static int do_PUT(struct order *order)
{
    return rsm_memseg_import_put64(IMPORT.handle, order->offset, &order->value, 1);
}

static int do_GET(struct order *order)
{
    return rsm_memseg_import_get64(IMPORT.handle, order->offset, &order->value, 1);
}

static int do_POST_IMPORT(struct order *order)
{
    return rsm_intr_signal_post(IMPORT.handle, order->flags);
}

static int do_WAIT_IMPORT(struct order *order)
{
    return rsm_intr_signal_wait(IMPORT.handle, order->timeout);
}

static int do_AWAIT_ABORT(struct order *order)
{
    int64_t deadline = now_ms() + ABORT_TIMEOUT_MS;
    int error;
    do {
        NEED(do_OPEN(order) == RSM_SUCCESS);
        error = do_CLOSE(order);
    } while (error == RSM_SUCCESS && now_ms() < deadline);
    return error;
}

static int do_ATTACH(struct order *order)
{
    int error = do_CONNECT(order);
    if (error == RSM_SUCCESS)
        error = do_MAP(order);
    return error == RSM_SUCCESS ? do_BARRIER(order) : error;
}

/* ---------------------------------------------------------------- orders */

static int carry_out(void *bytes)
{
    static int (*const verbs[VERBS])(struct order *) = {
#define VERB(name) [VERB_##name] = do_##name,
        EACH_VERB(VERB)
#undef VERB
    };
    struct order *order = bytes;
    NEED((unsigned)order->verb < VERBS && order->slot >= 0 && order->slot < PEER_SLOTS);
    return verbs[order->verb](order);
}

void peer_begin(struct actor *peer, struct order order)
{
    actor_begin(peer, carry_out, &order, sizeof order);
}

struct order peer_answer(struct actor *peer)
{
    struct order order;
    order.result = actor_end(peer, &order, sizeof order);
    if ((order.verb == VERB_MAP || order.verb == VERB_ATTACH) && !order.loopback)
        order.result = judge_map(order.result);
    return order;
}

struct order peer_ask(struct actor *peer, struct order order)
{
    peer_begin(peer, order);
    return peer_answer(peer);
}
