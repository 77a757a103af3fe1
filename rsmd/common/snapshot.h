/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * The format in which a daemon hands its state over to its successor: a sealed memfd of records,
 * and descriptors that the records name by number. Records are encoded field by field
 * (base/codec.h); the header has version, length and checksum, so that a successor that finds
 * damage takes nothing.
 *
 * A successor reads what an older rsmd has left, from RSMD_SNAPSHOT_OLDEST on. To add a field to a
 * record, raise RSMD_SNAPSHOT_VERSION, and walk the field only if the codec's version is at least
 * that; a successor of an older state finds 0 there. To add a kind of record, append it to
 * enum rsmd_record_type. tests/unit/rsmd/recorded has a state of each version that was released. A
 * state of a newer version is refused: `rsmd --can-take-over` says so before anything is given up.
 *
 * Records and descriptors lie in sections: the node's first, then one for each client. A section
 * begins where the table behind the records says, whatever stands in the one before, and names no
 * descriptor of another. So a section that cannot be read says nothing about the next one.
 *
 * Whoever can write the memfd is a daemon of the same node, because it reaches a successor only
 * through the service manager or from its own process. The reader still checks every length and
 * number: a defect must not make it crash or mix up descriptors.
 */
#ifndef RSMD_SNAPSHOT_H
#define RSMD_SNAPSHOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/codec.h"

enum {
    RSMD_SNAPSHOT_VERSION = 1, /* that is written */
    RSMD_SNAPSHOT_OLDEST = 1,  /* that is read */
    RSMD_SNAPSHOT_HEADER = 32, /* bytes */
    RSMD_SNAPSHOT_FDS_MAX = 1 << 20,
    RSMD_SNAPSHOT_RECORD_MAX = 16384, /* bytes of one record */
};

/** Kinds of records. A record belongs to the latest one of the kind that it is part of. */
enum rsmd_record_type {
    RSMD_SAVED_END, /* of a section; nobody writes it */
    RSMD_SAVED_NODE,
    RSMD_SAVED_CLIENT,
    RSMD_SAVED_EXTENT,    /* of a client */
    RSMD_SAVED_EXPORT,    /* of a client, after its extents */
    RSMD_SAVED_INTERRUPT, /* of a client */
    RSMD_SAVED_MESSAGE,   /* of an interrupt */
    RSMD_SAVED_IMPORT,    /* of a client, after its exports and interrupts */
    RSMD_SAVED_RECORDS,   /* of the export or import before it */
    RSMD_SAVED_ENTRY,     /* of those records */
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
    int *fds; /* by number - 1; not its own */
    uint32_t fd_count, fd_room;
    struct rsmd_section *sections;
    uint32_t section_count, section_room;
    uint32_t version; /* to write as an older rsmd does, for tests; 0: as this one */
    bool failed;      /* out of memory, or more than the format holds */
};

/** Begin a section: what is put from now on belongs to it. */
void rsmd_snapshot_section(struct rsmd_snapshot *snapshot);
/** Append a record. Failures are remembered until rsmd_snapshot_seal(). */
void rsmd_snapshot_put(struct rsmd_snapshot *snapshot, uint32_t type, rsmd_walk *walk,
                       void *record);
/** The number by which records name a descriptor; 0 for -1. */
uint32_t rsmd_snapshot_fd(struct rsmd_snapshot *snapshot, int fd);
/** Write it all into a new memfd, and seal that. -1: something failed. */
int rsmd_snapshot_seal(struct rsmd_snapshot *snapshot);
void rsmd_snapshot_free(struct rsmd_snapshot *snapshot);

struct rsmd_snapshot_reader {
    uint32_t version; /* of the writer */
    uint8_t *bytes;
    size_t length; /* of header and records */
    int *fds;      /* by number - 1; -1: missing or taken. Its own */
    uint32_t fd_count;
    struct rsmd_section *sections; /* and one that begins where the last one ends */
    uint32_t section_count;
    size_t at, end;             /* of the section that is read */
    uint32_t first_fd, end_fds; /* that it may name */
    bool bad; /* a record of it, or a number, was impossible; nothing is taken any more */
};

/**
 * Begin to read.
 * @param fds   the descriptors by number - 1, close-on-exec; -1: missing. Those that are not taken
 *              are closed in the end, and all of @p fds if this fails.
 * @return false: this is no snapshot that can be read, or there is no memory. Then *reader is as
 *         after rsmd_snapshot_reader_end(). Descriptors that are missing are no reason.
 */
bool rsmd_snapshot_open(struct rsmd_snapshot_reader *reader, int memfd, const int *fds,
                        uint32_t fd_count);
/** Read a section from its beginning, or from where rsmd_snapshot_at() was. There must be one. */
void rsmd_snapshot_enter(struct rsmd_snapshot_reader *reader, uint32_t section);
void rsmd_snapshot_enter_at(struct rsmd_snapshot_reader *reader, uint32_t section, size_t at);
/** Whether all records of the section were read, and none was bad. */
bool rsmd_snapshot_is_over(const struct rsmd_snapshot_reader *reader);
/** Leave records out, from the next one to the next of a kind that @p goes_on with or the end of
 *  the section, and read on there. A record that is not whole is the last one. */
void rsmd_snapshot_skip(struct rsmd_snapshot_reader *reader, bool (*goes_on)(uint32_t type));
/** The kind of the next record, which stays the next one. RSMD_SAVED_END: there is none. */
uint32_t rsmd_snapshot_next(const struct rsmd_snapshot_reader *reader);
/** Decode the next record, which is filled with zeros before. False: it is bad, and was left
 *  behind. */
bool rsmd_snapshot_get(struct rsmd_snapshot_reader *reader, rsmd_walk *walk, void *record,
                       size_t size);
/** Take a descriptor: it is the caller's from now on. -1 for 0. Impossible numbers make the reader
 *  bad. */
int rsmd_snapshot_take(struct rsmd_snapshot_reader *reader, uint32_t number);
void rsmd_snapshot_reader_end(struct rsmd_snapshot_reader *reader);

#endif
