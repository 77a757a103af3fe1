/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * The writing side of the generation table (protocol/sharedmem.h): slots that clients watch, and
 * the word in which the kernel marks rsmd's death. One thread alone uses a table.
 */
#ifndef RSMD_GENERATION_TABLE_H
#define RSMD_GENERATION_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "protocol/sharedmem.h"
#include "rsm/transport.h"

struct rsmd_generation_table;

/** Make a table, all slots free. @p lasting: a successor of the daemon may take it over. No seal
 *  prevents writing then, so a process of the daemon's user can forge it; that process could also
 *  end the daemon. RSM_ST_NO_MEMORY, RSM_ST_NO_RESOURCES. */
enum rsm_status rsmd_generation_table_create(struct rsmd_generation_table **made, bool lasting);

/** The descriptor for the successor, which the table keeps. -1: it is no lasting table. */
int rsmd_generation_table_lasting_fd(const struct rsmd_generation_table *table);

/**
 * Take over a predecessor's table, with the slots' values. No slot is free until
 * rsmd_generation_table_settle().
 * @param fd  a lasting table's descriptor; on success it is the table's.
 * @return RSM_ST_INVALID: it is something else; RSM_ST_NO_MEMORY, RSM_ST_NO_RESOURCES.
 */
enum rsm_status rsmd_generation_table_take_over(int fd, struct rsmd_generation_table **made);
/** Claim a slot that was in use. False: there is no such slot, or it is claimed already. */
bool rsmd_generation_table_claim(struct rsmd_generation_table *table, uint32_t slot);
/** Free all slots that were not claimed. Their values change: clients that watch one learn that its
 *  segment or connection has ended. */
void rsmd_generation_table_settle(struct rsmd_generation_table *table);

/** Give up the `alive` word without a mark: a successor will own it. Called by the owning
 *  thread. */
void rsmd_generation_table_leave(struct rsmd_generation_table *table);

/** Mark the table's owner as gone and give it up; NULL is harmless. */
void rsmd_generation_table_free(struct rsmd_generation_table *table);

/** Make the calling thread the owner of the `alive` word: from now on the kernel sets
 *  RSM_GENERATION_TABLE_OWNER_DIED there when this thread ends, however it ends. Replaces the
 * thread's robust list, so the process must not use robust mutexes. Not inherited by fork. */
enum rsm_status rsmd_generation_table_own(struct rsmd_generation_table *table);

/** A read-only descriptor for clients; it stays the table's. */
int rsmd_generation_table_fd(const struct rsmd_generation_table *table);

/** Take a slot. Its value differs from those of earlier holders. 0: all are taken. */
uint32_t rsmd_generation_table_take(struct rsmd_generation_table *table);

/** Give a slot back, and change its value. */
void rsmd_generation_table_release(struct rsmd_generation_table *table, uint32_t slot);

/** Change a slot's value. Clients that remember the old one learn of the change. */
void rsmd_generation_table_advance(struct rsmd_generation_table *table, uint32_t slot);

uint32_t rsmd_generation_table_value(const struct rsmd_generation_table *table, uint32_t slot);

#endif
