/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * RSMAPI by remote control: what a test has its actors do.
 *
 * An actor keeps exports and imports in numbered slots. A test says
 *
 *     TELL_OK(exporter, create, .slot = 1, .length = 8192);
 *
 * and rsm_memseg_export_create() is called in that process. Verbs are functions of this file named
 * party_<verb>; each takes and returns a struct order. Their result is RSMAPI's, or -1 where the
 * verb itself could not be carried out.
 */
#ifndef TESTS_INTEGRATION_PARTY_H
#define TESTS_INTEGRATION_PARTY_H

#include "../system.h"

#include <rsmapi.h>

#include "harness.h"
#include "memory.h"

enum {
    PARTY_SLOTS = 80,
    PARTY_PAGE = 4096,
    PARTY_ID = 0x400000, /* the segment id that most tests publish */
};

/** What a verb is told, and what it answers. Unused members are 0. */
struct order {
    int result;
    int slot;
    uint32_t node;
    uint32_t id;
    uint32_t permission; /* of connect and map; 0 means both rights */
    uint32_t flags;
    enum memory_kind kind;
    int timeout; /* ms */
    size_t length;
    off_t offset;
    uint64_t value;
    void *address;
    unsigned acl_count;
    rsmapi_access_entry_t acl[20];
    const char *controller; /* a literal; NULL means sci0 */
};

struct party_export {
    rsm_memseg_export_handle_t handle;
    uint8_t *memory;
    enum memory_kind kind;
    size_t length;
};

struct party_import {
    rsm_memseg_import_handle_t handle;
    uint8_t *address; /* of the mapping */
    size_t length;
    rsmapi_barrier_t barrier;
    /* a thread that stores through the mapping */
    pthread_t thread;
    _Atomic uint64_t stored; /* last value that it has stored */
    atomic_bool storing;
};

/* In an actor: its slots and its controller. */
struct party_export *party_export(int slot);
struct party_import *party_import(int slot);
rsmapi_controller_handle_t party_controller(const char *name);

/** In the test: carry a verb out, see the whole answer. */
struct order party_ask(struct actor *actor, actor_function verb, struct order order);

#define ASK(actor, verb, ...)     party_ask((actor), party_##verb, (struct order){__VA_ARGS__})
#define TELL(actor, verb, ...)    ASK(actor, verb, __VA_ARGS__).result
#define TELL_OK(actor, verb, ...) assert_int_equal(TELL(actor, verb, __VA_ARGS__), RSM_SUCCESS)
#define TELL_GET(actor, verb, wanted, ...)                                                         \
    assert_int_equal(TELL(actor, verb, __VA_ARGS__), (wanted))
/** Begin a verb that lasts; see ANSWER(). */
#define BEGIN(actor, verb, ...)                                                                    \
    actor_begin((actor), party_##verb, &(struct order){__VA_ARGS__}, sizeof(struct order))
struct order party_answer(struct actor *actor);
#define ANSWER(actor) party_answer(actor).result

/* Verbs. Export side: memory of `kind` is got, filled by fill and looked at by check. */
int party_open(void *order); /* a controller */
int party_create(void *order);
int party_publish(void *order); /* answers .id */
int party_republish(void *order);
int party_unpublish(void *order);
int party_destroy(void *order); /* the memory stays in the slot */
int party_drop(void *order);    /* the memory too */
int party_rebind(void *order);  /* to new memory; answers the old in .address */
int party_fill(void *order);    /* with a pattern that depends on .value */
int party_check(void *order);   /* that the memory still has it: 0, or 1 */
int party_load(void *order);    /* the 8 bytes at .offset, into .value */
int party_store(void *order);
int party_post_export(void *order);
int party_wait_export(void *order);
int party_export_pollfd(void *order);
int party_release_export_pollfd(void *order);
/** create and publish as PARTY_ID (or .id), open to all users. */
int party_offer(void *order);
/** unpublish, destroy, drop. */
int party_withdraw(void *order);

/* Import side. */
int party_connect(void *order);
int party_map(void *order); /* .length 0: the whole segment, which must be .length of connect */
int party_unmap(void *order);
int party_disconnect(void *order);
int party_peek(void *order); /* load and store through the mapping */
int party_poke(void *order);
int party_init_barrier(void *order); /* .flags: type */
int party_open_barrier(void *order);
int party_order_barrier(void *order);
int party_close_barrier(void *order);
int party_destroy_barrier(void *order);
int party_set_mode(void *order); /* .flags */
int party_put64(void *order);    /* .value at .offset */
int party_get64(void *order);
int party_post_import(void *order);
int party_wait_import(void *order);
int party_import_pollfd(void *order);
int party_release_import_pollfd(void *order);
/** connect (to .node, PARTY_ID or .id), map .length bytes, init_barrier. */
int party_attach(void *order);
/** unmap, disconnect. */
int party_detach(void *order);
/** Let a thread store 1, 2, 3 ... at .offset of the mapping until it is told to stop. */
int party_start_storing(void *order);
int party_progress(void *order); /* answers .value when at least .value more was stored */
int party_stop_storing(void *order);
/** Open and close the barrier until it tells of an abort: CONN_ABORTED, or what it says after
 *  .timeout ms. */
int party_await_abort(void *order);

/** umask of the actor: .value */
int party_umask(void *order);

#endif
