/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * The load of the soak: lines of one exporter and one importer that move verified data and counted
 * events, and what is shared between them and the supervisor that kills them.
 *
 * An exporter publishes segments one after the other, its lives. An importer connects and makes
 * rounds: it writes a header and a pattern over the whole segment, closes a barrier, posts some
 * events and waits for one; the exporter takes exactly these events, compares everything and posts.
 * So a lost event, one too many and a wrong byte all show. In between an exporter moves its segment
 * to other memory, takes it back, or forks; an importer forks, too.
 *
 * An error is right if there is a cause for it, which is noted here before it happens: the end of a
 * life, or a death. Anything else is a violation.
 */
#ifndef TESTS_SOAK_LINE_H
#define TESTS_SOAK_LINE_H

#include "system.h"

enum { LINES_MAX = 16, VIOLATIONS_MAX = 16, VIOLATION_TEXT = 256 };

/** What has happened so far. Counts of all processes together. */
enum counted {
    COUNT_ROUNDS,       /* exchanges verified at both ends */
    COUNT_GROUP_ROUNDS, /* written through a group */
    COUNT_BYTES,        /* of all, in one direction */
    COUNT_EVENTS,       /* taken */
    COUNT_CONNECTS,     /* made */
    COUNT_LIVES,        /* segments published */
    COUNT_SWAPS,        /* rebinds */
    COUNT_ABORTS,       /* that a barrier had to report, and did */
    COUNT_FORKS,
    COUNT_KILLS, /* from here on by the supervisor */
    COUNT_STOPS,
    COUNT_DAEMON_KILLS,
    COUNTS,
};

struct line {
    unsigned exporter, importer; /* nodes */
    uint32_t id;                 /* of the segment */
    bool maps;                   /* the importer stores through a mapping in every other session */
    char name[24];
    /* Of anybody that matters to the line: twice for each, before and after. Odd: it happens. */
    _Atomic uint64_t deaths;
    _Atomic int64_t exporter_death_ns; /* the last one, of the process or its daemon; 0: none */
    _Atomic int64_t daemon_death_ns;   /* the last one, of either daemon */
    _Atomic uint64_t life;             /* number of the publication; set before it is made */
    _Atomic uint64_t ending, ended;    /* numbers of the last one; before and after unpublish */
    _Atomic int64_t ended_ns;
    _Atomic uint64_t session; /* of importers, ever */
};

struct soak {
    _Atomic bool leave; /* asks all to end */
    _Atomic uint64_t counts[COUNTS];
    _Atomic uint32_t violations;
    char texts[VIOLATIONS_MAX][VIOLATION_TEXT]; /* of the first ones */
    struct line lines[LINES_MAX];
};

/** Mapped before the first process of a line is started. */
extern struct soak *soak;

/** What an actor is told. */
struct duty {
    unsigned line;
    uint64_t seed; /* not 0 */
};

/** Note something that must not be. */
void violation(const char *format, ...) __attribute__((format(printf, 1, 2)));
void count(enum counted what, uint64_t more);
int64_t soak_now_ns(void);
/** A number below @p below; moves the seed. */
uint32_t draw(uint64_t *seed, uint32_t below);

/* Functions of actors; each takes a struct duty, runs until it is to leave, and returns 0. */
int line_export(void *duty);
int line_import(void *duty);

/* ---- for the two halves */

/** Header at the beginning of the segment. The rest is a pattern of session and round. */
struct round_header {
    uint64_t session;
    uint64_t round;
    uint64_t events; /* posted in this round */
    uint64_t sum;    /* of the three above, so that a header is never taken for what it is not */
};

enum {
    SOAK_PAGE = 4096,
    SOAK_HEADER_WORDS = sizeof(struct round_header) / 8,
    SOAK_SLICE_MS = 100,
    SOAK_LOST_MS = 20000,  /* an event that takes longer is lost */
    SOAK_ABORT_MS = 10000, /* a barrier that does not tell of an end by then never does */
    SOAK_GRACE_MS = 8000,  /* after the death of a daemon, for links and names to come back */
};

uint64_t soak_word(const struct round_header *header, uint64_t index);
uint64_t soak_sum(const struct round_header *header);

/** Whether an error may be: somebody has died since @p deaths was read, or a daemon recently. */
bool line_is_troubled(const struct line *line, uint64_t deaths);

#endif
