/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * The pages of one software-mapped connection: which are present here, which may be stored to, and
 * how they go to and come from the remote segment. This part uses neither signals nor threads;
 * callers hold the space's lock. doc/architecture.md has the decisions behind them.
 *
 * A page is
 *  - NONE: not accessible. Its old contents are only a guess at the present ones.
 *  - RO: loads go to the local copy, which is refreshed now and then; stores are trapped.
 *  - RW: stores go to the local copy. The next flush sends what differs from the twin, and the page
 *    becomes NONE. The twin is read when the page becomes RW, whatever was cached before: a store
 *    of the value that the peer has just overwritten must be seen as a change.
 *
 * In mirror mode all pages are NONE here: see mirror.h.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/fence.h"
#include "mapping/lock.h"
#include "mapping/options.h"
#include "rsm/transport.h"

enum mapping_state { MAPPING_NONE, MAPPING_RO, MAPPING_RW };

/** What the program has stored to a page before the stretch of now. */
enum mapping_past {
    MAPPING_PAST_NONE,
    MAPPING_PAST_PARTS, /**< some of it */
    MAPPING_PAST_WHOLE, /**< all of it, in one go */
};

#define MAPPING_NO_PAGE UINT32_MAX

struct mapping_mirror; /* mirror.h */

struct mapping_page {
    uint64_t posted;       /* number of the last write that was posted to it */
    uint64_t stored_lines; /* 64ths of the page that own stores went to since it was known */
    uint64_t since;        /* us: became RW, or was last read */
    uint32_t epoch;        /* of the space, at the first of `stores` */
    uint32_t past_epoch;   /* of the space, at the last of the page's past */
    uint32_t next;         /* RW: the page that became RW next */
    uint16_t stores;       /* trapped ones of its stretch, as long as NONE or RO */
    uint16_t sent_from;    /* first and last byte in the page that the last flush sent */
    uint16_t sent_last;
    uint8_t state;     /* enum mapping_state */
    uint8_t refreshes; /* in a row, as long as RO */
    uint8_t past;      /* enum mapping_past */
    bool known;        /* the copy had the segment's contents once */
    bool unseen;       /* a change came into it with its twin: it counts at the next load */
    bool two_way;      /* the peer writes what we write: no twin because of many stores */
    bool cut_short;    /* a flush took its twin away, and sent something */
    uint8_t ahead;     /* as long as RO: read with so many others, one of which was loaded from */
    bool held;         /* it has memory, or may have: it is in the ring of the cache */
    uint8_t renewed;   /* RW: how often it was left so because it had not been changed */
} __attribute__((aligned(64)));

enum { MAPPING_STRETCHES = 8 };

/** What a copy operation has stored to a page, as far as it was seen. */
struct mapping_stretch {
    uint32_t page;
    uint32_t count;    /* bytes that it has; 0: this one is unused */
    uint32_t from, to; /* they are in [from, to) */
    uint64_t used;
    uint64_t *bytes; /* a bit for each byte of the page */
};

enum { MAPPING_STREAMS = 4 };

/** Loads that go upward or downward, page after page. */
struct mapping_stream {
    uint32_t from, end;   /* what was read ahead and may still be RO lies in [from, end) */
    uint32_t first, next; /* [first, next) were read last */
    uint32_t window;      /* pages to read at once */
    uint32_t limit;       /* more take too long to read; 0: that has not been seen */
    uint32_t steps;       /* in its direction, up to 2 */
    bool down;
    uint64_t used;
};

enum { MAPPING_LOOPS = 16 };

/** How loops fared that were carried out by the engine (loop_stores.c). */
struct mapping_loops {
    struct mapping_loop *state; /**< what it takes for that; NULL: it is not possible here */
    struct mapping_loop_tries {
        uint8_t shorts; /**< runs in a row that were not worth their fault */
        uint8_t skip;   /**< do not try the next ones */
        bool good;      /**< the last run had several stores */
    } tries[MAPPING_LOOPS];
    uint64_t from, to; /**< what the last run, or the last trapped store, has stored to */
    bool cut;          /**< it ended at an instruction that is not known */
    uint32_t window;   /**< pages that it had room for, if it took them all */
    bool pay;          /**< the last run was worth its fault */
};

/** Pages that have memory (cache.c). */
struct mapping_cache {
    uint32_t limit;        /**< so many at most; 0: all, and there is nothing below */
    uint32_t first, count; /**< of the ring */
    uint32_t *ring;        /**< pages, the one first that has had memory longest */
    uint8_t *holders;      /**< such pages, of each 64 */
    uint64_t *digest;      /**< of what a page had that has lost its memory */
};

/** What happened. Changed under the lock. */
struct mapping_counters {
    uint64_t traps;         /**< faults in views */
    uint64_t loads;         /**< pages that became RO; in mirror mode, that were read to be shown */
    uint64_t stores;        /**< puts of what was stored by instructions that were carried out */
    uint64_t promotions;    /**< pages that became RW */
    uint64_t flushes;       /**< of one or more RW pages, or pages that were stored to */
    uint64_t flushed_pages; /**< all of theirs */
    uint64_t runs;          /**< writes that flushes made of them */
    uint64_t two_way_pages; /**< pages where both sides were seen to write the same lines */
    uint64_t refreshes;     /**< of RO pages, in place; in mirror mode, of pages */
};

/** Stores let through so far, as struct mapping_counts has them. Read without the lock. */
struct mapping_let_through {
    _Atomic uint64_t unknown, blocked, by_calls;
};

struct mapping_space {
    struct mapping_lock lock;
    struct rsm_conn *inner; /* the transport's connection */
    uint64_t size;          /* bytes of the segment */
    size_t page_size;       /* bytes */
    uint32_t page_count;
    uint32_t rights; /* RSM_RIGHT_* */
    struct mapping_options options;

    uint8_t *copy;             /* page_count pages */
    uint8_t *shown;            /* what the views show of pages that are RO or RW; NULL: the copy */
    uint8_t *twins;            /* as many, populated where pages are RW */
    uint8_t *buffer;           /* MAPPING_BUFFER_PAGES pages that the transport reads and writes */
    uint8_t *scratch;          /* a page, for a snapshot, or for stores that go nowhere */
    struct mapping_page *page; /* page_count entries */
    uint64_t *clean;           /* bit per page: it is RO */
    uint64_t *clean_words;     /* bit per word of that: it is not 0 */

    struct mapping_stretch stretches[MAPPING_STRETCHES];
    uint64_t stretch_turn;
    uint32_t latest; /* page with the last decoded store */
    uint32_t passed; /* pages that the copy has gone through which goes on there */

    struct mapping_stream streams[MAPPING_STREAMS];
    uint64_t stream_turn;

    struct mapping_loops loops;
    struct mapping_cache cache;

    struct mapping_mirror *mirror; /* of that mode, else NULL */

    /** Make the views of a run of pages inaccessible, readable or writable; on return no thread
     *  stores where it must not. False: the kernel refused. */
    bool (*protect)(struct mapping_space *space, uint32_t first, uint32_t count,
                    enum mapping_state state);
    uint64_t (*now)(void);                      /* us, from any point in time */
    void (*woken)(struct mapping_space *space); /* the first page has become RO or RW */
    /** Copy and twin of pages that are NONE are not needed, nor entries of the table, from a
     *  multiple of 64 on: they are zero when they are used again. */
    void (*release_pages)(struct mapping_space *space, uint32_t first, uint32_t count);
    void (*release_entries)(struct mapping_space *space, uint32_t first, uint32_t count);

    _Atomic uint32_t clean_count, dirty_count; /* changed under the lock */
    atomic_bool opening;           /* a page is accessible that they do not count yet; the same */
    atomic_bool reading;           /* a page is being read that they do not count yet; the same */
    uint32_t clean_from, clean_to; /* no bit of `clean` is set outside */
    uint32_t dirty_first, dirty_last;    /* the list of RW pages, oldest first */
    uint32_t streak;                     /* the page that became RW last */
    uint64_t streak_since;               /* us */
    _Atomic uint32_t epoch;              /* moves with every barrier */
    uint64_t posted, ordered, completed; /* numbers of writes */
    size_t buffer_used;
    bool dead; /* the peer has gone: the copies are just memory */
    struct mapping_counters counters;
    struct mapping_let_through let_through;
    _Atomic uint64_t evicted; /* pages that have lost their memory to others; the same */
};

#define MAPPING_BUFFER_PAGES 256u

/**
 * What the caller has stored to or loaded from a view comes before what it loads next.
 *
 * A thread that got at a page did so after the page was made accessible, and `opening` is set
 * before that: the kernel's locks are between the two. But the load of `opening` must not be
 * carried out before the access to the view has found the page accessible. An x86 processor retires
 * loads in program order and repeats those whose value has changed meanwhile; arm64 lets a load
 * pass an earlier store, and its translation, unless there is a fence.
 */
static inline void mapping_accesses_done(void)
{
#if !defined(__x86_64__)
    rsm_fence_full();
#endif
}

/** Whether no page is accessible that has been stored to since it was. Without the lock: what other
 *  threads store at this moment may be missed, what the caller has stored is not. */
static inline bool mapping_has_no_stores(const struct mapping_space *space)
{
    mapping_accesses_done();
    return space->mirror == NULL && !atomic_load(&space->opening) &&
           atomic_load(&space->dirty_count) == 0;
}

/** Whether the views show nothing, and will show nothing that was read before this call. Without
 *  the lock. `reading` comes first: a page that is read after it was looked at is new enough, and
 *  while one is read the counts may pass through 0. */
static inline bool mapping_shows_nothing(const struct mapping_space *space)
{
    mapping_accesses_done();
    return !atomic_load(&space->reading) && mapping_has_no_stores(space) &&
           atomic_load(&space->clean_count) == 0;
}

/** Whether pages can be read from the segment at all. */
static inline bool mapping_may_read(const struct mapping_space *space)
{
    return (space->rights & RSM_RIGHT_READ) != 0;
}

/** Page that an offset lies in. */
static inline uint32_t mapping_page_of(const struct mapping_space *space, uint64_t offset)
{
    return (uint32_t)(offset / space->page_size);
}

/** Bytes of the page that belong to the segment; all but the last have all. */
static inline size_t mapping_page_bytes(const struct mapping_space *space, uint32_t page)
{
    uint64_t left = space->size - (uint64_t)page * space->page_size;
    return left < space->page_size ? (size_t)left : space->page_size;
}

static inline uint8_t *mapping_copy_of(const struct mapping_space *space, uint32_t page)
{
    return space->copy + (size_t)page * space->page_size;
}

/** What the views show of a page that is RO or RW. Not to be touched as long as it is NONE. */
static inline uint8_t *mapping_shown_of(const struct mapping_space *space, uint32_t page)
{
    uint8_t *shown = space->shown != NULL ? space->shown : space->copy;
    return shown + (size_t)page * space->page_size;
}

static inline uint8_t *mapping_twin_of(const struct mapping_space *space, uint32_t page)
{
    return space->twins + (size_t)page * space->page_size;
}

/* ---- pages.c */

/** The page becomes at least RO. False: it may not be read, or the kernel refused. */
bool mapping_load(struct mapping_space *space, uint32_t page);
/** The page becomes RW. False as above. */
bool mapping_promote(struct mapping_space *space, uint32_t page);
/** Give the views the access that the page's state allows, where a fault says they have it not. */
bool mapping_reassert(struct mapping_space *space, uint32_t page);

/* ---- clean.c */

/** The first bit of a set that is not 0, in [from, end); end: there is none. */
uint32_t mapping_next_bit(const uint64_t *set, uint32_t from, uint32_t end);
/** The page has become RO, or is not any more. */
void mapping_clean_add(struct mapping_space *space, uint32_t page);
void mapping_clean_remove(struct mapping_space *space, uint32_t page);
/** Lowest RO page from @p from on and before @p end, or MAPPING_NO_PAGE. */
uint32_t mapping_next_clean(const struct mapping_space *space, uint32_t from, uint32_t end);

/* ---- cache.c */

/** How many pages can get memory at once, 1 at least. */
uint32_t mapping_cache_max(const struct mapping_space *space);
/** So many pages are about to get memory: others lose theirs if need be. RW pages may become
 *  NONE. */
void mapping_cache_room(struct mapping_space *space, uint32_t first, uint32_t count);
/** Whether a page had other contents than these when it lost its memory. */
bool mapping_cache_differs(const struct mapping_space *space, uint32_t page, const uint8_t *fresh);
/** What it had then is forgotten. */
void mapping_cache_forget(struct mapping_space *space, uint32_t page);
/** Forget all pages, which are NONE, with what the table has of them. False: nothing is bounded
 *  here, and nothing has been done. */
bool mapping_cache_clear(struct mapping_space *space);

/* ---- ahead.c */

/** Pages that are read together because the program loads from one of them. */
struct mapping_readahead {
    uint32_t first, count;
    uint32_t wanted; /* that one */
};

/** What to read for a load from @p page, which is NONE: itself, and NONE pages beside it. */
struct mapping_readahead mapping_ahead(struct mapping_space *space, uint32_t page);
/** So long it took to read the pages that were asked for last: microseconds. */
void mapping_ahead_took(struct mapping_space *space, uint64_t us);
/** The pages that were read ahead become NONE. */
void mapping_ahead_drop(struct mapping_space *space);
/** The end of the RO pages from @p page on that were read together. */
uint32_t mapping_ahead_end(const struct mapping_space *space, uint32_t page);
/** How long an RO page stays before it is read again, or taken away: microseconds. Those that are
 *  read together stay longer, because the program needs its time for them. */
uint64_t mapping_ahead_stay(const struct mapping_space *space, uint32_t page);

/* ---- prefer.c */

/** Whether a decoded store to [at, at + length) of the page should make it RW instead of being
 * sent by itself; counts it as @p weight stores (1 or more). */
bool mapping_prefers_twin(struct mapping_space *space, uint32_t page, size_t at, size_t length,
                          unsigned weight);
/** An instruction has stored to [offset, offset + length): counts what it has stored to other pages
 *  than the first, of which mapping_prefers_twin() was asked. */
void mapping_prefer_copied(struct mapping_space *space, uint64_t offset, size_t length);
/** Whether the next store to the page, whatever it is, is that of a copy which comes from the page
 * beside it: mapping_prefers_twin() will say so. */
bool mapping_is_passing(struct mapping_space *space, uint32_t page);
/** Whether a copy that comes to the page beside it may go through it as through pages with twins.
 */
bool mapping_prefer_passes(struct mapping_space *space, uint32_t page);
/** A copy has stored to [from, to), upward or @p down, behind the first store, of which
 *  mapping_prefers_twin() was asked; it goes on there. */
void mapping_prefer_looped(struct mapping_space *space, uint64_t from, uint64_t to, bool down);
/** The page's twin was compared and has gone. */
void mapping_prefer_flushed(struct mapping_space *space, uint32_t page);
void mapping_prefer_forget(struct mapping_space *space, uint32_t page);

/* ---- pages.c again */

/** Do a decoded store of at most a page: to the local copies of its pages, if there are any, and to
 *  the segment, after all earlier stores. [offset, offset + length) is inside the segment. */
void mapping_store(struct mapping_space *space, uint64_t offset, const void *bytes, size_t length);
/** The same in two steps: room for the bytes, to be filled at once, and the store of what is there.
 *  @p length is at most half of the buffer. */
uint8_t *mapping_store_room(struct mapping_space *space, size_t length);
void mapping_store_from(struct mapping_space *space, uint64_t offset, const uint8_t *room,
                        size_t length);
/** Read an RO page again; after 32 times in a row it becomes NONE instead. */
void mapping_refresh(struct mapping_space *space, uint32_t page);
/** All RO pages of the run become NONE. */
void mapping_drop_clean(struct mapping_space *space, uint32_t first, uint32_t count);
/** Make the views of a run inaccessible, whatever it takes. RO pages elsewhere may become NONE. */
void mapping_close(struct mapping_space *space, uint32_t first, uint32_t count);
/** The copies' bytes in [offset, offset + length) have changed: the views show them. */
void mapping_show(struct mapping_space *space, uint64_t offset, size_t length);
/** Own stores went to these bytes of the page. */
void mapping_note_stored(struct mapping_space *space, uint32_t page, size_t from, size_t length);
/** What the copies have is forgotten, all pages are NONE. Flush before. */
void mapping_forget(struct mapping_space *space);

/* ---- flush.c */

/** Send what changed in RW pages, in the order in which they became RW; they become NONE. In mirror
 *  mode what changed anywhere. */
void mapping_flush(struct mapping_space *space);
/** The same for those pages that have been RW for that long; those that became so later stay, and
 *  for a while those that have not been changed. */
void mapping_flush_older(struct mapping_space *space, uint64_t age_us);

/* ---- wire.c: everything that reaches the transport */

/** Count a failure of what no call of the program has asked for. */
void mapping_fail(struct mapping_space *space, enum rsm_status status);
/** Fetch pages from the segment, own writes to them included. @p into is part of the buffer; all
 * that is being sent from there has been. *snapshot: they are of one moment; NULL: they need not
 * be. */
enum rsm_status mapping_fetch(struct mapping_space *space, uint32_t first, uint32_t count,
                              uint8_t *into, bool *snapshot);
/** Room for @p length bytes (at most a page) that stays as it is until it has been sent. */
uint8_t *mapping_buffer(struct mapping_space *space, size_t length);
/** Send pieces out of the buffer; they may arrive in any order. */
enum rsm_status mapping_send(struct mapping_space *space, const struct rsm_transfer *vec,
                             unsigned count);
/** Order: what has been sent so far arrives before what is sent later. */
void mapping_order(struct mapping_space *space);
/** Wait for what has been sent. Failures are counted. */
void mapping_settle(struct mapping_space *space);
/** A write to [offset, offset + length) has been posted. */
void mapping_note_posted(struct mapping_space *space, uint64_t offset, size_t length);

/* ---- runs.c */

enum { MAPPING_RUNS = 64 };

/** What is collected before it is sent. Zeroed but for the space it is empty. */
struct mapping_runs {
    struct mapping_space *space;
    struct rsm_transfer piece[MAPPING_RUNS];
    unsigned count;
    bool failed;
};

/** Collect what @p copy, which is the page at some moment, has different from its twin. False:
 *  nothing. */
bool mapping_runs_add(struct mapping_runs *runs, uint32_t page, const uint8_t *copy);
/** Send what has been collected. */
void mapping_runs_send(struct mapping_runs *runs);

/* ---- memory.c */

/** Make copy, twins, tables and buffer of a zeroed space whose page_size and page_count are set.
 *  *fd is what views of the copy are mapped from. After a failure too: mapping_memory_free(). */
enum rsm_status mapping_memory_make(struct mapping_space *space, int *fd);

/** Give the views memory of their own instead of the copy, before there are any. */
enum rsm_status mapping_memory_separate(struct mapping_space *space);

/** @p inherited: this is a forked child, which has not got the copy. */
void mapping_memory_free(struct mapping_space *space, int fd, bool inherited);

/** Have copy and twins of these pages at once, not page by page as they are touched. False: there
 * is not enough memory. */
bool mapping_memory_populate(const struct mapping_space *space, uint32_t first, uint32_t count);

/** Nothing is known of any page: the kernel may have their memory back. */
void mapping_memory_trim(struct mapping_space *space);

/** Bound the pages that have memory to what @p bytes are enough for, with all that goes with them.
 *  Before the first page is used. */
enum rsm_status mapping_memory_bound(struct mapping_space *space, uint64_t bytes);

/** The tables of the cache and that of the pages are zero. */
void mapping_memory_clear_tables(struct mapping_space *space);

/** release_pages() and release_entries() of a space. */
void mapping_memory_release_pages(struct mapping_space *space, uint32_t first, uint32_t count);
void mapping_memory_release_entries(struct mapping_space *space, uint32_t first, uint32_t count);

/* ---- barrier.c: what calls and the service thread do with a space */

/** Before and after the transport's put to [offset, offset + length), length not 0; and before its
 *  get. The transfer itself is without the lock: it touches the program's memory, which may
 *  fault. */
void mapping_before_put(struct mapping_space *space, uint64_t offset, size_t length);
void mapping_after_put(struct mapping_space *space, uint64_t offset, size_t length);
void mapping_before_get(struct mapping_space *space);

/** order() and complete() of the vtable for stores too. */
enum rsm_status mapping_barrier_order(struct mapping_space *space);
enum rsm_status mapping_barrier_complete(struct mapping_space *space);

/** Later loads see what the segment has now. In mirror mode only when all pages have been reread.
 */
void mapping_acquire(struct mapping_space *space);
/** In mirror mode: some pages from @p from to before @p end are what the segment has now. Returns
 *  where to go on; @p end or more: nowhere. In others there is nothing to do. */
uint32_t mapping_reread(struct mapping_space *space, uint32_t from, uint32_t end);

/** Flush what has been dirty for long enough. */
void mapping_service(struct mapping_space *space);
/** Microseconds until mapping_service() has something to flush; 0: nothing is dirty. */
uint32_t mapping_service_due(const struct mapping_space *space);
/** Refresh the first RO page from @p from on if it is due; returns where to go on, or
 *  MAPPING_NO_PAGE. */
uint32_t mapping_service_next(struct mapping_space *space, uint32_t from);
