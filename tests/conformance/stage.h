/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * The test's own process: the side it takes, and the objects that most tests begin with. What does
 * not go as it should fails the test. Handles made here need not be given back.
 *
 * Peers (peer.h) are started before the test's own first call of RSMAPI.
 */
#ifndef TESTS_CONFORMANCE_STAGE_H
#define TESTS_CONFORMANCE_STAGE_H

#include "peer.h"
#include "sides.h"
#include "suite.h"

bool on_loopback(void); /* the controller is loopback */
/* Whether the transport itself, and not the mapping engine, has mapped what is there. */
bool mapping_is_direct(const void *address);

/** rsm_memseg_import_map(), where the controller can; else the test does not apply. What is refused
 *  for another reason is refused in any case. */
int import_map(rsm_memseg_import_handle_t handle, void **address, rsm_attribute_t attributes,
               rsm_permission_t rights, off_t offset, size_t length);

/** An importer without privilege: where the suite runs as root another user, else this one. Serves
 *  all users in the former case. Before everything else. */
struct actor *unprivileged_importer(void);

/** The controller under test, and loopback. Opened once. */
rsmapi_controller_handle_t controller(void);
rsmapi_controller_handle_t loopback(void);
/** rsm_get_controller() of a string that is not modified. */
int get_controller(const char *name, rsmapi_controller_handle_t *handle);
/** The same, some times if need be: a daemon has three seconds to answer, which on a machine with
 *  other work may be few. */
int get_controller_at_last(const char *name, rsmapi_controller_handle_t *handle);

/** Fresh memory, all zero. */
uint8_t *pages(size_t count);

/** An export segment over memory; published by the second, under that id, to both nodes. */
rsm_memseg_export_handle_t created(void *memory, size_t length, uint_t flags);
void publish(rsm_memseg_export_handle_t segment, rsm_memseg_id_t id);
/** Both at once: SEGMENT_ID over `count` pages of memory. */
rsm_memseg_export_handle_t published(void *memory, size_t count);

/** Be the importer; a peer is the exporter and has published SEGMENT_ID with so many pages. */
struct actor *offered(size_t count);
/** Connect to SEGMENT_ID of the exporter's node. RSM_PERM_RDWR and the like. */
rsm_memseg_import_handle_t connected(rsm_permission_t rights);
/** The same as a call to be judged. */
int connect_to(rsm_memseg_id_t id, rsm_permission_t rights, rsm_memseg_import_handle_t *handle);
/** Map so many bytes of it with all rights, from the start. */
uint8_t *mapped(rsm_memseg_import_handle_t handle, size_t length);
/** Initialise a barrier. */
rsmapi_barrier_t *barrier_of(rsm_memseg_import_handle_t handle);
/** On return what was stored through the mapping is in the segment. */
void await_arrival(rsm_memseg_import_handle_t handle);
/** Connected with all rights, with a barrier initialised. */
rsm_memseg_import_handle_t ready(void);
/** Wait until the connection is known to be aborted. */
void await_abort(rsm_memseg_import_handle_t handle);

/** Let the exporter unpublish, and the importer's host hear of it: the same moment on one host. */
void unpublish_and_tell(struct actor *exporter, rsm_memseg_import_handle_t handle);

/** Run a function in a forked child; its result, 0 to 255. A child that crashes fails the test. */
int in_child(int (*function)(void *argument), void *argument);

/** The 4 bytes and the 8 bytes at an address, which another process may change. */
uint32_t load32(const void *address);
uint64_t load64(const void *address);
void store64(void *address, uint64_t value);

#endif
