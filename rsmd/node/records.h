/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Records: who connected to a segment, disconnected or was lost, for exporters that ask; and what
 * became of the segment, for importers that ask. Each of them has a mailbox (mailbox.h) for them.
 */
#ifndef RSMD_RECORDS_H
#define RSMD_RECORDS_H

#include "node/call.h"

struct rsmd_importer;
struct rsmd_mailbox;

/** Keep records for a handle from now on; *records is NULL until then. @p account pays for them.
 *  RSM_ST_OK, also if that is so already; RSM_ST_NO_MEMORY, RSM_ST_NO_RESOURCES. */
enum rsm_status rsmd_records_begin(struct rsmd_account *account, struct rsmd_mailbox **records);
/** Forget them all; NULL is harmless. */
void rsmd_records_end(struct rsmd_mailbox **records);

/** Note what an importer did, for its exporter. */
void rsmd_record_to_exporter(struct rsmd_node *node, struct rsmd_export *exported,
                             enum rsm_record_event event, const struct rsmd_importer *importer);
/** Note what became of the segment, for an importer that is a process here. */
void rsmd_record_to_importer(struct rsmd_node *node, const struct rsmd_importer *importer,
                             enum rsm_record_event event);

#endif
