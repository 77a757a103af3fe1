/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Making, finding and unmaking what clients own. Nothing here decides who may.
 */
#ifndef RSMD_REGISTRY_H
#define RSMD_REGISTRY_H

#include "node/node.h"

/** Whether something of this node has that number; 0 is never free. */
bool rsmd_id_in_use(const struct rsmd_node *node, uint32_t id);
/** A number that nothing of this node has. */
uint32_t rsmd_new_id(struct rsmd_node *node);

/** Own objects by id; NULL if there is none or it is another client's. */
struct rsmd_export *rsmd_client_export(const struct rsmd_node *node,
                                       const struct rsmd_client *client, uint32_t id);
struct rsmd_import *rsmd_client_import(const struct rsmd_node *node,
                                       const struct rsmd_client *client, uint32_t id);

/** A list of up to @p most pieces that holds its extents; the caller has the first reference. NULL:
 * no memory. */
struct rsmd_pieces *rsmd_pieces_make(uint32_t most);
void rsmd_pieces_add(struct rsmd_pieces *pieces, struct rsmd_extent *extent, uint64_t offset,
                     uint64_t length);
struct rsmd_pieces *rsmd_pieces_hold(struct rsmd_pieces *pieces);
void rsmd_pieces_drop(struct rsmd_pieces *pieces);
/** Whether another process may have any of it mapped. */
bool rsmd_pieces_offered(const struct rsmd_pieces *pieces);
void rsmd_pieces_mark_offered(struct rsmd_pieces *pieces);

/** An export with length, rights and owner yet to be filled in. RSM_ST_NO_RESOURCES: the
 *  client's account may have no more segments. */
enum rsm_status rsmd_export_make(struct rsmd_node *node, struct rsmd_client *client,
                                 struct rsmd_controller *controller, struct rsmd_export **made);
/** Whether it has connections, or others are attached to it. */
bool rsmd_export_is_used(const struct rsmd_export *exported);
/** Cut the first of those; of one that has ended nothing else happens. */
void rsmd_export_cut_first(struct rsmd_node *node, struct rsmd_export *exported);
/** Give its name up although its exporter has not: he has gone. */
void rsmd_export_unname(struct rsmd_node *node, struct rsmd_export *exported);
/** Enter it under that name, until it is withdrawn or, if it has claimed the name, freed. False: no
 *  memory. */
bool rsmd_export_name(struct rsmd_node *node, struct rsmd_export *exported,
                      const struct rsmd_segment_name *name);
/** End the publication: the segment id is free unless it is claimed. Connections are left alone. */
void rsmd_export_withdraw(struct rsmd_node *node, struct rsmd_export *exported);
/** Withdraw, and let the client have it no more; its connections are to be cut. */
void rsmd_export_destroy(struct rsmd_node *node, struct rsmd_export *exported);
/** Withdraw when nobody is attached any more, and free when the last connection has gone; the client
 *  has it no more. */
void rsmd_export_defer(struct rsmd_node *node, struct rsmd_export *exported);
/** A connection has parted from its export, or the exporter has ended it. What the exporter has left
 *  behind stays open until the last one who is attached has gone; the last connection takes the rest. Who
 *  has to be told is in the turns of @p client. */
void rsmd_export_settle(struct rsmd_node *node, struct rsmd_client *client,
                        struct rsmd_export *exported);
/** Withdraw, abort and free. */
void rsmd_export_free(struct rsmd_node *node, struct rsmd_export *exported);

/** A connection of @p importer to @p exported, whose epoch slot moves. The offer that a port of @p by
 *  has made belongs to it from then on, unless this fails: RSM_ST_NO_RESOURCES where @p account,
 * the importer's, may have no more segments, RSM_ST_NO_MEMORY. */
enum rsm_status rsmd_import_make(struct rsmd_node *node, struct rsmd_client *client,
                                 struct rsmd_account *account, const struct rsm_importer *importer,
                                 struct rsmd_export *exported, struct rsmd_controller *by,
                                 struct rsm_node_offer *offer, bool attached,
                                 struct rsmd_import **made);
/** Connect an import of the daemon's predecessor with its export again, by the offer that is in
 *  `made`. False: no memory. */
bool rsmd_import_rejoin(struct rsmd_node *node, struct rsmd_import *import,
                        struct rsmd_export *exported, struct rsmd_controller *by);
/** The part of a connection to an export of another host that is here: it has a slot, a client and
 *  nothing else yet. Fails like rsmd_import_make(). */
enum rsm_status rsmd_import_make_remote(struct rsmd_node *node, struct rsmd_client *client,
                                        struct rsmd_controller *controller,
                                        struct rsmd_import **made);
/** The live connection that a port with news made this offer for, or NULL. */
struct rsmd_import *rsmd_import_offered(const struct rsmd_node *node,
                                        const struct rsm_node_offer *made);
/** Part it from its export, if that has not happened yet. Its client keeps the handle, unless that
 *  stands for another host: then it is freed. */
void rsmd_import_abort(struct rsmd_node *node, struct rsmd_import *import);
/** Disconnect if still connected, and free. */
void rsmd_import_free(struct rsmd_node *node, struct rsmd_import *import);

/** Charge a client that says HELLO with its connection. False: its user has as many as he may. */
bool rsmd_client_admit(const struct rsmd_client *client);
/** Charge one that has said HELLO to the daemon's predecessor. */
void rsmd_client_resume(const struct rsmd_client *client);
/** Give that back: the connection has ended. */
void rsmd_client_dismiss(const struct rsmd_client *client);

/** Whether a user, other than its own, has a connection to the export. */
bool rsmd_export_has_guest(const struct rsmd_node *node, const struct rsmd_export *exported,
                           uid_t uid);

/** Free all that a client has. */
void rsmd_client_clear(struct rsmd_node *node, struct rsmd_client *client);
/** Free what a client has, but no longer than until the clock shows @p until (clock.h; INT64_MAX:
 *  as long as it takes), yet something. True: it has nothing any more. */
bool rsmd_client_clear_until(struct rsmd_node *node, struct rsmd_client *client, int64_t until);
/** Whether it has nothing. Threads may be at what it had: see its `jobs`. */
bool rsmd_client_is_clear(const struct rsmd_client *client);
/** A thread's job on its behalf is over; the last thing that whoever is told of that does, because
 *  the client may be gone afterwards. */
void rsmd_client_job_over(struct rsmd_client *client);

#endif
