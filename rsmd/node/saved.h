/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * A node's state in the records of a snapshot (common/snapshot.h): written by a daemon that is
 * about to be replaced, read by its successor. Links to other hosts, and all that used them, have
 * ended before. The server saves the clients' sockets.
 *
 * Functions that restore one thing return false if its record is impossible or memory is out. What
 * they have made until then is consistent, and ends with its client, which cannot be resumed
 * (`lost` of struct rsmd_client). The rest of what that client has is restored nevertheless, so
 * that processes connected with it see its end.
 */
#ifndef RSMD_SAVED_H
#define RSMD_SAVED_H

#include "common/snapshot.h"
#include "node/node.h"

#include "protocol/bodies_declare.h"
#include "node/saved.def"
#include "protocol/bodies_end.h"

/** Whether everything of a client's can be handed over: its transports take part. */
bool rsmd_saved_all_of(const struct rsmd_client *client);

/** Counters of the node. */
void rsmd_save_node(struct rsmd_snapshot *snapshot, const struct rsmd_node *node);
/** False also: it is the state of another node. */
bool rsmd_restore_node(struct rsmd_snapshot_reader *reader, struct rsmd_node *node);

/** Extents, exports and interrupts. */
void rsmd_save_client(struct rsmd_snapshot *snapshot, const struct rsmd_client *client);
/** Read them, until an import comes or the section ends. Marks a client that cannot be resumed. */
void rsmd_restore_client(struct rsmd_snapshot_reader *reader, struct rsmd_node *node,
                         struct rsmd_client *client);

/** A client's imports, which come last. */
void rsmd_save_imports(struct rsmd_snapshot *snapshot, const struct rsmd_client *client);
/** Read them, until the section ends, when all clients' exports are there. */
void rsmd_restore_imports(struct rsmd_snapshot_reader *reader, struct rsmd_node *node,
                          struct rsmd_client *client);
/** Finish the restoration, after the generation table is settled. Exports that their exporters have
 *  ended are freed, unless importers are still connected, and exporters fetch the list of receivers
 *  again. */
void rsmd_restore_settle(struct rsmd_node *node);

/* ------------------------------------------------------------------ shared by its parts */

/** Append a record of that type. */
void rsmd_saved_put(struct rsmd_snapshot *snapshot, enum rsmd_record_type type, void *record);
/** Read the next record if it is of that type. False: it is not, or it is bad, and skipped. */
bool rsmd_saved_get(struct rsmd_snapshot_reader *reader, enum rsmd_record_type type, void *record);

/** The controller of that name. NULL: there is none, or its transport cannot restore anything. */
struct rsmd_controller *rsmd_saved_controller(const struct rsmd_node *node, const char *name);
/** The same for a client, which cannot be resumed without it. */
struct rsmd_controller *rsmd_saved_controller_of(const struct rsmd_node *node,
                                                 struct rsmd_client *client, const char *name);

/** Mark the client as one that cannot be resumed, and continue at the next record of that kind. */
void rsmd_saved_is_damaged(struct rsmd_snapshot_reader *reader, struct rsmd_client *client,
                           bool (*goes_on)(uint32_t type));

/** @p pieces may be NULL. */
void rsmd_save_pieces(struct rsmd_saved_pieces *saved, const struct rsmd_pieces *pieces);
/** The list, of extents of the client. NULL: impossible, empty, or no memory. */
struct rsmd_pieces *rsmd_restore_pieces(const struct rsmd_node *node,
                                        const struct rsmd_client *client,
                                        const struct rsmd_saved_pieces *saved);

void rsmd_save_extent(struct rsmd_snapshot *snapshot, const struct rsmd_extent *extent);
/** Restore the one that comes next. */
bool rsmd_restore_extent(struct rsmd_snapshot_reader *reader, struct rsmd_node *node,
                         struct rsmd_client *client);

void rsmd_save_export(struct rsmd_snapshot *snapshot, const struct rsmd_export *exported);
/** Restore the one that comes next. */
bool rsmd_restore_export(struct rsmd_snapshot_reader *reader, struct rsmd_node *node,
                         struct rsmd_client *client);

struct rsmd_saved_events rsmd_save_events(struct rsmd_snapshot *snapshot,
                                          const struct rsmd_events *events);
/** Charges the account with the descriptors. */
bool rsmd_restore_events(struct rsmd_snapshot_reader *reader, struct rsmd_account *account,
                         const struct rsmd_saved_events *saved, struct rsmd_events *events);

/** A mailbox; NULL is harmless. */
void rsmd_save_mailbox(struct rsmd_snapshot *snapshot, const struct rsmd_mailbox *mailbox);
/** Restore the one that comes next, into an empty one. */
bool rsmd_restore_mailbox(struct rsmd_snapshot_reader *reader, struct rsmd_mailbox *mailbox);
/** Restore the records of a handle if they come next. */
bool rsmd_restore_records(struct rsmd_snapshot_reader *reader, struct rsmd_account *account,
                          struct rsmd_mailbox **records);

void rsmd_save_interrupts(struct rsmd_snapshot *snapshot, const struct rsmd_client *client);
/** Restore the one that comes next. */
bool rsmd_restore_interrupt(struct rsmd_snapshot_reader *reader, struct rsmd_node *node,
                            struct rsmd_client *client);

#endif
