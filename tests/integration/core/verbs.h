/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * The core by remote control, as any API above it uses it: what tests of the core have their actors
 * do. The same idea as party.h has for RSMAPI; an actor here uses no other API.
 */
#ifndef TESTS_INTEGRATION_CORE_VERBS_H
#define TESTS_INTEGRATION_CORE_VERBS_H

#include "harness.h"
#include "protocol/proto.h"

enum { CORE_SLOTS = 8, CORE_PAGE = 4096, CORE_ID = 0x400000, CORE_ASSIGN = 1 };

/** What a verb is told, and what it answers. Unused members are 0. */
struct core_order {
    int slot;
    uint32_t node;
    uint32_t id;
    uint32_t flags;
    int timeout; /* ms */
    size_t length;
    uint64_t offset;
    uint64_t value;
    struct rsm_record record; /* of wait_record */
};

/** Let the actor carry a verb out; its status, or -1 where the verb could not be carried out. */
int core_tell(struct actor *actor, actor_function verb, struct core_order *order);

#define TELL(actor, verb, ...) core_tell((actor), core_##verb, &(struct core_order){__VA_ARGS__})
#define TELL_GET(actor, verb, wanted, ...)                                                         \
    assert_int_equal(TELL(actor, verb, __VA_ARGS__), (wanted))
#define TELL_OK(actor, verb, ...) TELL_GET(actor, verb, RSM_ST_OK, __VA_ARGS__)
/** The 8 bytes that a verb reads. */
#define VALUE(actor, verb, ...) core_value((actor), core_##verb, &(struct core_order){__VA_ARGS__})
uint64_t core_value(struct actor *actor, actor_function verb, struct core_order *order);

int core_requests(void *order); /* .value: how many the actor has sent to daemons */

/* Exports: slots of their own. */
int core_export(void *order);    /* .length bytes of private memory, and publish them as .id */
int core_publish(void *order);   /* again, as .id */
int core_unpublish(void *order); /* .flags */
int core_destroy(void *order);   /* .flags: enum rsmcore_destroy */
int core_load(void *order);      /* .value at .offset of the memory */
int core_store(void *order);

int core_allocate(void *order); /* .length bytes that the library makes; .id: what it claims, from
                                   there with .flags CORE_ASSIGN; 0: nothing */
int core_create_empty(void *order);
int core_attach(void *order);    /* to new private memory, filled with .value at .offset */
int core_rebind(void *order);    /* to new private memory */
int core_is_mapped(void *order); /* .value: whether there is anything where the memory is */

/* States of segments that have claimed their ids: .node: adapter, .id: from, .offset: to, .flags;
 * answers .value. */
int core_move(void *order);     /* of an export */
int core_move_too(void *order); /* of an import that is attached */

/* Imports. */
int core_take_part(void *order); /* attach to .id */
int core_size(void *order);      /* .value */
int core_connect(void *order);   /* .node, .id */
int core_put(void *order);       /* .value at .offset */
int core_get(void *order);
int core_complete(void *order);
int core_disconnect(void *order);

/* Maps of the import in slot 0: slots of their own. */
int core_map(void *order); /* .length bytes at .offset; .flags: rights, 0: all; .value: where */
int core_unmap(void *order);
int core_peek(void *order); /* .value: the byte at .offset of the map */
int core_poke(void *order);
int core_map_address(void *order); /* .value: its lowest bits */
int core_free_place(void *order);  /* .value: where .length bytes are free */

/* Records: of the export or import in the slot. */
int core_record_export(void *order);
int core_record_import(void *order);
int core_wait_record(void *order);     /* of exports; .timeout ms; answers .record */
int core_wait_loss(void *order);       /* the same of imports */
int core_record_readable(void *order); /* .timeout ms; answers .value: whether the descriptor is */
int core_cancel_records(void *order);  /* while another thread waits: its status */
int core_forget_records(void *order);  /* of the export */

/* Interrupts: slots of their own, for both ends. Their data are the 8 bytes of .value, .length of
 * them. */
int core_interrupt(
    void *order); /* .flags: kind; .id: number; .node: RSM_INTERRUPT_* flags; .value: mode,
                                    0: 0666. Answers .id */
int core_remove(void *order);
int core_take(void *order);          /* .timeout; answers .value, .length */
int core_take_readable(void *order); /* .timeout; answers .value */
int core_find(void *order);          /* .node, .flags: kind, .id: number */
int core_trigger(void *order);
int core_forget(void *order);
int core_cancel_interrupt(void *order); /* while threads wait: their status */

#endif
