/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Sessions between two hosts, which the kernel module holds for its port and nobody for
 * this one. In spirit and in its layout this is the module's (kernel/rsm_ntb/session.c), with
 * words in the pool for scratchpads.
 *
 * A side is identified by a generation, random for each start, and a sequence number, one more
 * each time that it has lost a session. Both write the pair into the other one's memory, and
 * acknowledge the pair that they read there once nothing is left of the session before. Both are
 * in session when each reads an acknowledgement of its present pair. A session ends for a side
 * as soon as the other one's pair changes, its acknowledgement changes, or its heartbeat stops;
 * that side then takes a new sequence number, so that the session ends for the other one as
 * well, whenever it looks.
 *
 * Everything read here was written by another host and is checked. Each word has a single
 * writer. Not thread-safe; time is passed in.
 */
#ifndef TESTS_IVSHMEM_SESSION_H
#define TESTS_IVSHMEM_SESSION_H

#include <stdbool.h>
#include <stdint.h>

#include "transport/ntb/common/wire.h"

enum {
    NTB_HELLO_AT = 0,
    NTB_HEARTBEAT_AT = 0x10000,
    NTB_WORDS_AT = 0x30000, /* NTB_POSTS_AT (words.h) lies between these */
    NTB_CANARY_OFFSET = 16, /**< in the hello page */
    NTB_WIRE = 1,           /**< version of this layout */
    NTB_MAGIC = 0x4e4d5352,
    NTB_UNSOUND_MAX = 3, /**< looks at words that make no sense, before the session ends */
};

/** At NTB_HELLO_AT: this host writes, the other one reads. Little-endian, as are the others. */
struct ntb_hello {
    uint32_t magic;
    uint32_t wire;
    uint32_t generation;
    uint32_t sequence;
    uint64_t canary; /**< generation << 32 | sequence; 0 without a session */
    uint64_t pool_size;
    uint64_t granule;
    uint32_t reserved;
    uint32_t node;
    uint32_t ring_offset; /**< of control rings, for versions to come; 0: none */
    uint32_t ring_size;
    uint32_t posts; /**< generation, if this side takes posts; else, and from a side that knows
                         nothing of them, anything else */
};

/** At NTB_WORDS_AT: the other host writes. */
struct ntb_words {
    uint32_t magic; /**< 0 while the others are being written */
    uint32_t wire;
    uint32_t generation;
    uint32_t sequence;
    uint32_t ack_generation; /**< 0: nothing acknowledged */
    uint32_t ack_sequence;
    uint32_t check; /**< ntb_words_check() */
};

enum ntb_session_news { NTB_SESSION_SAME, NTB_SESSION_BEGUN, NTB_SESSION_ENDED };

struct ntb_session {
    uint8_t *own;  /**< this host's pool */
    uint8_t *peer; /**< the other one's, through the window */
    uint64_t own_size, window_size;
    uint32_t node;
    bool posts; /**< this side takes them: set before the session begins */
    uint32_t timeout_ms;
    uint32_t generation, sequence;
    bool up;
    bool held;       /**< something of the session before is left: acknowledge nothing */
    bool complained; /**< of the present contents */
    uint32_t epoch;  /**< of the present or the latest session, from 1 */
    uint32_t peer_generation, peer_sequence; /**< in session */
    uint64_t peer_pool;                      /**< bytes */
    uint64_t peer_granule;
    uint32_t peer_node;
    bool peer_posts;
    uint32_t beat;      /**< the own heartbeat */
    uint32_t peer_beat; /**< the other one's, when it was last looked at */
    bool looked;        /**< peer_beat is set */
    bool heard;         /**< it has moved since */
    int64_t heard_at;   /**< ms */
    unsigned unsound;   /**< looks at the words, one after the other, that found no sense in them */
    uint32_t ack_generation, ack_sequence; /**< what is acknowledged to the other side */
    struct ntb_words written;              /**< what the other side was told last */
    bool tell;                             /**< that is new: the caller rings and clears it */
};

/**
 * Begin. Both memories have NTB_CONTROL_BYTES at least. Writes the own hello page.
 * @param generation  neither 0 nor all ones.
 * @param timeout_ms  without a heartbeat, after which the other side is taken for dead.
 */
void ntb_session_begin(struct ntb_session *session, uint32_t generation, uint32_t node,
                       uint32_t timeout_ms);
/** Look and act: to be called once in each heartbeat interval, and when the other side rings. */
enum ntb_session_news ntb_session_step(struct ntb_session *session, int64_t now_ms);
/** End the session, if there is one, from this side. */
enum ntb_session_news ntb_session_end(struct ntb_session *session);
/** The port closes: the other side sees it at once. */
void ntb_session_leave(struct ntb_session *session);

/** What the other side's canary reads as in the present session. */
static inline uint64_t ntb_session_canary(const struct ntb_session *session)
{
    return (uint64_t)session->peer_generation << 32 | session->peer_sequence;
}

/** CRC-32 of the words from generation to ack_sequence, not inverted at the end. */
uint32_t ntb_words_check(const struct ntb_words *words);
/** Copy the words out of shared memory. False: they are being written, or make no sense. */
bool ntb_words_read(const struct ntb_words *shared, struct ntb_words *words);
/** Copy a hello page out of shared memory; @p window_size is how much of the pool can be reached.
 *  NULL: it is acceptable; else what is wrong with it, in English. */
const char *ntb_hello_read(const struct ntb_hello *shared, uint32_t generation,
                           uint64_t window_size, struct ntb_hello *hello);

#endif
