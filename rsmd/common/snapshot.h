/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * The format in which a daemon hands its state over to its successor: a sealed memfd of records,
 * and descriptors that the records name by number. Records are encoded field by field
 * (base/codec.h); the header has version, length and checksum, so that a successor restores nothing
 * of a damaged one.
 *
 * A successor reads what an older rsmd has left, from RSMD_SNAPSHOT_OLDEST on. To add a field to a
 * record, raise RSMD_SNAPSHOT_VERSION, and walk the field only if the codec's version is at least
 * that; a successor of an older state finds 0 there. To add a kind of record, append it to enum
 * rsmd_record_type. tests/unit/rsmd/recorded has a state of each version that was released. A state
 * of a newer version is refused: `rsmd --can-take-over` checks that before the daemon gives
 * anything up.
 *
 * Records and descriptors lie in sections: the node's first, then one for each client. The table
 * after the records has the beginning of each section, whatever the one before contains, and a
 * section names no descriptor of another. So an unreadable section does not affect the next one.
 *
 * The memfd was written by a daemon of the same node: it reaches a successor only through the
 * service manager or within the process. The reader still checks every length and number: a defect
 * must not make it crash or mix up descriptors.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/codec.h"

enum {
    RSMD_SNAPSHOT_VERSION = 2, /* the version written */
    RSMD_SNAPSHOT_OLDEST = 1,  /* the oldest version read */
    RSMD_SNAPSHOT_HEADER = 32, /* bytes */
    RSMD_SNAPSHOT_FDS_MAX = 1 << 20,
    RSMD_SNAPSHOT_RECORD_MAX = 16384, /* bytes of one record */
};

/** Kinds of records. A record belongs to the latest one of the kind that it is part of. */
enum rsmd_record_type {
    RSMD_SAVED_END, /* of a section; never written */
    RSMD_SAVED_NODE,
    RSMD_SAVED_CLIENT,
    RSMD_SAVED_EXTENT,    /* of a client */
    RSMD_SAVED_EXPORT,    /* of a client, after its extents */
    RSMD_SAVED_INTERRUPT, /* of a client */
    RSMD_SAVED_IMPORT,    /* of a client, after its exports and interrupts */
    RSMD_SAVED_MAILBOX,   /* of the export, import or interrupt before it */
    RSMD_SAVED_ENTRY,     /* of that mailbox */
};

/** Describes a record for either direction. */
typedef void rsmd_walk(struct rsm_codec *codec, void *record);

/** Where a section begins. */
struct rsmd_section {
    uint32_t at;       /* of the records' bytes */
    uint32_t first_fd; /* number - 1 */
};

struct rsmd_snapshot {
    uint8_t *bytes;
    size_t length, room;
    int *fds; /* by number - 1; not owned */
    uint32_t fd_count, fd_room;
    struct rsmd_section *sections;
    uint32_t section_count, section_room;
    uint32_t version; /* to write as an older rsmd, for tests; 0: as this one */
    bool failed;      /* out of memory, or more than the format holds */
};

/** Begin a section, which records put from now on belong to. */
void rsmd_snapshot_section(struct rsmd_snapshot *snapshot);
/** Append a record. Failures are remembered until rsmd_snapshot_seal(). */
void rsmd_snapshot_put(struct rsmd_snapshot *snapshot, uint32_t type, rsmd_walk *walk,
                       void *record);
/** The number by which records name a descriptor; 0 for -1. */
uint32_t rsmd_snapshot_fd(struct rsmd_snapshot *snapshot, int fd);
/** Write all into a new memfd, and seal it. -1: a failure, also an earlier one. */
int rsmd_snapshot_seal(struct rsmd_snapshot *snapshot);
void rsmd_snapshot_free(struct rsmd_snapshot *snapshot);

struct rsmd_snapshot_reader {
    uint32_t version; /* of the writer */
    uint8_t *bytes;
    size_t length; /* of header and records */
    int *fds;      /* by number - 1; -1: missing or taken. Owned */
    uint32_t fd_count;
    struct rsmd_section *sections; /* and one more, for the end of the last */
    uint32_t section_count;
    size_t at, end;             /* of the current section */
    uint32_t first_fd, end_fds; /* descriptors that it may name */
    bool bad; /* one of its records or numbers was impossible; nothing more is taken */
};

/**
 * Begin to read.
 * @param fds   the descriptors by number - 1, close-on-exec; -1: missing. Those that are not taken
 *              are closed at the end; all of them if this fails.
 * @return false: this is no snapshot that can be read, or there is no memory. Then *reader is as
 *         after rsmd_snapshot_reader_end(). Missing descriptors are no failure.
 */
bool rsmd_snapshot_open(struct rsmd_snapshot_reader *reader, int memfd, const int *fds,
                        uint32_t fd_count);
/** Read a section from its beginning, or from where rsmd_snapshot_at() was. There must be one. */
void rsmd_snapshot_enter(struct rsmd_snapshot_reader *reader, uint32_t section);
void rsmd_snapshot_enter_at(struct rsmd_snapshot_reader *reader, uint32_t section, size_t at);
/** Whether all records of the section were read, and none was bad. */
bool rsmd_snapshot_is_over(const struct rsmd_snapshot_reader *reader);
/** Skip records, up to the next of a kind for which @p goes_on returns true, or to the end of the
 *  section. A truncated record is the last one. */
void rsmd_snapshot_skip(struct rsmd_snapshot_reader *reader, bool (*goes_on)(uint32_t type));
/** Peek at the kind of the next record. RSMD_SAVED_END: there is none. */
uint32_t rsmd_snapshot_next(const struct rsmd_snapshot_reader *reader);
/** Decode the next record into @p record, which is zeroed before. False: it is bad, and skipped. */
bool rsmd_snapshot_get(struct rsmd_snapshot_reader *reader, rsmd_walk *walk, void *record,
                       size_t size);
/** Take a descriptor, which the caller owns then. -1 for number 0. An impossible number makes the
 *  reader bad. */
int rsmd_snapshot_take(struct rsmd_snapshot_reader *reader, uint32_t number);
void rsmd_snapshot_reader_end(struct rsmd_snapshot_reader *reader);
