/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Records. An exporter that asks for them gets one when an importer connects, disconnects or is
 * lost; an importer gets one when the segment becomes unavailable or is lost. Each has a mailbox
 * (mailbox.h) for them.
 */
#ifndef RSMD_RECORDS_H
#define RSMD_RECORDS_H

#include "node/call.h"

struct rsmd_importer;
struct rsmd_mailbox;

/** Begin to keep records for a handle; *records is NULL until then. @p account is charged for them.
 *  RSM_ST_OK, also if records are kept already; RSM_ST_NO_MEMORY, RSM_ST_NO_RESOURCES. */
enum rsm_status rsmd_records_begin(struct rsmd_account *account, struct rsmd_mailbox **records);
/** Forget them all; NULL is harmless. */
void rsmd_records_end(struct rsmd_mailbox **records);

/** The record of what an importer did, for its exporter. */
struct rsm_record rsmd_record_of(const struct rsmd_importer *importer, enum rsm_record_event event);
/** Record it. */
void rsmd_record_to_exporter(struct rsmd_node *node, struct rsmd_export *exported,
                             const struct rsm_record *record);
/** Record what became of the segment, for an importer on this host. */
void rsmd_record_to_importer(struct rsmd_node *node, const struct rsmd_importer *importer,
                             enum rsm_record_event event);

#endif
