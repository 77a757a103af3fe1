/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * A core without daemon and transport, for tests of the API above it: segments are a static array,
 * every function answers what the test wants, and what it was asked is recorded.
 */
#ifndef FAKE_CORE_H
#define FAKE_CORE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/controller.h"
#include "core/event.h"
#include "core/export.h"
#include "core/group.h"
#include "core/import.h"

enum { FAKE_PAGES = 4, FAKE_NODE = 7 };

/** Answers, RSM_ST_OK by default; and records. fake_reset() clears all of it. */
struct fake {
    enum rsm_status open, registration, topology, local_node;
    enum rsm_status create, publish, republish, unpublish, rebind;
    enum rsm_status connect, map, unmap;
    enum rsm_status transfer, order, complete;
    enum rsm_status post, wait, descriptor;
    struct rsmcore_import *failing; /* the transport counts a failure of it in complete() */
    enum rsm_status group;          /* what all functions of groups say */
    unsigned lacking;               /* ... and one of them adds */
    enum rsm_status earlier;        /* that a post finds of the transfers before it */

    bool created_by_other; /* rsmcore_export_is_creator() says no */
    unsigned vector_done;  /* entries that putv and getv finish before `transfer` fails them */
    const char *const *configured; /* names of controllers, ended by NULL; NULL: any */
    unsigned steals;               /* so many consumptions find that another thread was faster */
    const struct rsmcore_topology *snapshot; /* what rsmcore_topology_get() copies */

    /* records */
    unsigned opens, controllers, exports, imports, registrations;
    char name[256]; /* of the controller that was opened last */
    unsigned names_asked;
    unsigned mode;
    enum rsm_id_space space;
    uint32_t segment_id;
    uint32_t publish_flags;
    uint32_t acl_count;
    struct rsm_acl_entry acl[RSM_PROTO_ACL_MAX];
    uint32_t unpublish_flags;
    uint32_t node, rights;
    uint64_t map_offset;
    size_t map_length;
    uint32_t map_rights;
    bool map_fixed;
    unsigned posts, coalesced;
    unsigned groups;
    uint64_t group_offset;
    unsigned puts, gets, element_puts, element_gets, orders, completes, in_one;
    unsigned width;
    size_t count;
};
extern struct fake fake;

/** The bytes behind every import. */
extern uint8_t *fake_segment;
size_t fake_segment_length(void);

void fake_reset(void);
/** Cut every connection that exists. */
void fake_abort(void);
/** From now on the transport has, or has not, an operation to put and complete. */
void fake_puts_in_one(bool so);
/** A post from the other side. */
void fake_raise(struct rsmcore_event *event);
/* From now on rsmcore_event_state() says so. */
void fake_daemon_dies(struct rsmcore_event *event);
/** Events not yet consumed. */
unsigned fake_pending(struct rsmcore_event *event);

/* Injected failures of the C library: so many calls succeed, then the next one fails with that
 * errno (0: none). */
struct injection {
    int skip;
    int error;
};
extern struct injection inject_calloc, inject_poll, inject_open, inject_fdopen, inject_fd_place,
    inject_vm_read;

/** Calls of umask(2) so far. */
extern unsigned umask_calls;

#endif
