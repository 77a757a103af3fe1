/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * What explore.c explores: an importer's three pages of 64 bytes over the real code of page states,
 * a peer that writes, and a fabric that delivers late and out of order.
 *
 * In page 0 byte 0 is the importer's and byte 1 the peer's. In page 1 byte 0 is the importer's, and
 * byte 1 is a bell: the importer rings with 1 and the peer clears. Byte 0 of page 2 is the peer's:
 * it writes that before it writes the same to page 0.
 */
#pragma once

#include "mapping/mirror.h"
#include "mapping/space.h"

enum {
    PAGE_BYTES = 64,
    PAGES = 3,
    PARCELS = 24,
    TRAIL = 60,
};
enum { OWN_0 = 0, PEER_0 = 1, OWN_1 = PAGE_BYTES, BELL = PAGE_BYTES + 1, DATA_2 = 2 * PAGE_BYTES };
enum { SEGMENT = PAGES * PAGE_BYTES };

struct parcel {
    uint64_t group;
    uint32_t offset, length;
    uint8_t bytes[PAGE_BYTES];
};

/** All of the state, so that a copy of it is a place to come back to. */
struct world {
    struct mapping_space space;
    struct mapping_page page[PAGES];
    uint64_t clean, clean_words;
    _Alignas(64) uint8_t copy[SEGMENT];
    _Alignas(64) uint8_t twins[SEGMENT];
    _Alignas(64) uint8_t buffer[(MAPPING_BUFFER_PAGES + 1) * PAGE_BYTES];
    uint64_t stretched[MAPPING_STRETCHES];
    enum mapping_state access[PAGES]; /* what the views allow */
    uint64_t time, group;
    struct mapping_mirror mirror; /* of that mode */
    uint64_t shown, stored;       /* its sets */
    uint64_t written;             /* what the kernel has noted, as another */
    uint32_t ring[PAGES];         /* of the cache */
    uint8_t holders;
    uint64_t digest[PAGES];

    uint8_t remote[SEGMENT];
    unsigned parcels;
    struct parcel parcel[PARCELS]; /* oldest first */

    uint8_t own[2];                /* last values stored to OWN_0 and OWN_1 */
    uint8_t peer, peer_seen;       /* last written to PEER_0, last loaded from there */
    uint8_t data_due;              /* what DATA_2 must have at least, because of what PEER_0 had */
    uint8_t excused;               /* what PEER_0 had in a load whose order is not promised */
    unsigned amid;                 /* that many reads go on while the peer writes, each time */
    bool flag_loaded, data_loaded; /* the program has loaded them */
    uint8_t before[256]; /* what OWN_0 was when that value was stored to OWN_1 by a trap */
    bool rung;           /* by a store that may not be lost, and not cleared since */
};

extern struct world world;

/** Names of the steps so far, and how many. */
extern const char *trail[TRAIL];
extern unsigned steps;

_Noreturn void violated(const char *what);

#define HOLDS(condition, what)                                                                     \
    do {                                                                                           \
        if (!(condition))                                                                          \
            violated(what);                                                                        \
    } while (0)

/** Begin anew. @p cached: so many pages have memory at a time; 0: all. */
void world_begin(enum mapping_mode mode, uint32_t cached);
/** Whether the fabric has reads of one moment. */
void world_has_snapshots(bool has);

bool is_mirror(void);
/** As the handler of a fault does it. @return whether the store was trapped, and carried out. */
bool store(uint32_t offset, uint8_t value);
uint8_t load(uint32_t offset);
/** The peer writes to DATA_2, and then the same to PEER_0. */
void peer_writes(void);
/** The newest write under way that may arrive does: the order least like that of sending. */
void deliver_newest(void);
/** No byte of the peer has been overwritten, and no trapped store has overtaken an earlier one. */
void check_remote(void);
