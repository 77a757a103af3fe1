/* SPDX-License-Identifier: BSD-3-Clause */
#include "session.h"

#include <endian.h>
#include <stddef.h>

#include "base/fence.h"
#include "base/log.h"
#include "transport/ntb/common/status.h"
#include "words.h"

enum { GRANULE_MIN = 4096, GRANULE_MAX = 65536, NODE_MAX = 65535 };

/* ------------------------------------------------------------------ shared words */

static uint32_t get32(const uint32_t *word)
{
    return le32toh(ntb_load32(word));
}

static uint64_t get64(const uint64_t *word)
{
    return le64toh(ntb_load64(word));
}

static void set32(uint32_t *word, uint32_t value)
{
    ntb_store32(word, htole32(value));
}

static void set64(uint64_t *word, uint64_t value)
{
    ntb_store64(word, htole64(value));
}

static struct ntb_hello *hello_of(uint8_t *pool)
{
    return (struct ntb_hello *)(void *)(pool + NTB_HELLO_AT);
}

static struct ntb_words *words_of(uint8_t *pool)
{
    return (struct ntb_words *)(void *)(pool + NTB_WORDS_AT);
}

static uint32_t *heartbeat_of(uint8_t *pool)
{
    return (uint32_t *)(void *)(pool + NTB_HEARTBEAT_AT);
}

/* ------------------------------------------------------------------ reading */

uint32_t ntb_words_check(const struct ntb_words *words)
{
    const uint32_t covered[] = {words->wire, words->generation, words->sequence,
                                words->ack_generation, words->ack_sequence};
    uint32_t crc = UINT32_MAX;
    for (unsigned i = 0; i < sizeof covered / sizeof covered[0]; i++) {
        for (unsigned bit = 0; bit < 32; bit++) {
            uint32_t mix = (crc ^ covered[i] >> bit) & 1;
            crc = crc >> 1 ^ (mix != 0 ? UINT32_C(0xedb88320) : 0);
        }
    }
    return crc;
}

bool ntb_words_read(const struct ntb_words *shared, struct ntb_words *words)
{
    *words = (struct ntb_words){.magic = get32(&shared->magic),
                                .wire = get32(&shared->wire),
                                .generation = get32(&shared->generation),
                                .sequence = get32(&shared->sequence),
                                .ack_generation = get32(&shared->ack_generation),
                                .ack_sequence = get32(&shared->ack_sequence),
                                .check = get32(&shared->check)};
    return words->magic == NTB_MAGIC && words->check == ntb_words_check(words) &&
           words->generation != 0 && words->generation != UINT32_MAX;
}

const char *ntb_hello_read(const struct ntb_hello *shared, uint32_t generation,
                           uint64_t window_size, struct ntb_hello *hello)
{
    *hello = (struct ntb_hello){.magic = get32(&shared->magic),
                                .wire = get32(&shared->wire),
                                .generation = get32(&shared->generation),
                                .sequence = get32(&shared->sequence),
                                .pool_size = get64(&shared->pool_size),
                                .granule = get64(&shared->granule),
                                .node = get32(&shared->node),
                                .posts = get32(&shared->posts)};
    if (hello->magic != NTB_MAGIC)
        return "its hello page has no magic number";
    if (hello->wire != NTB_WIRE)
        return "it speaks another version";
    if (hello->generation != generation)
        return "its hello page is that of another start";
    if (hello->granule < GRANULE_MIN || hello->granule > GRANULE_MAX ||
        (hello->granule & (hello->granule - 1)) != 0)
        return "it has an impossible page size";
    if (hello->pool_size <= NTB_CONTROL_BYTES || hello->pool_size > window_size ||
        hello->pool_size % hello->granule != 0)
        return "its pool has an impossible size";
    if (hello->node == 0 || hello->node > NODE_MAX)
        return "it has an impossible node id";
    return NULL;
}

/* ------------------------------------------------------------------ writing */

static void write_canary(struct ntb_session *session)
{
    uint64_t canary = (uint64_t)session->generation << 32 | session->sequence;
    set64(&hello_of(session->own)->canary, session->up ? canary : 0);
}

static void write_hello(struct ntb_session *session)
{
    struct ntb_hello *hello = hello_of(session->own);
    set32(&hello->magic, 0);
    rsm_fence_stores();
    set32(&hello->wire, NTB_WIRE);
    set32(&hello->generation, session->generation);
    set32(&hello->sequence, session->sequence);
    set64(&hello->pool_size, session->own_size);
    set64(&hello->granule, GRANULE_MIN);
    set32(&hello->node, session->node);
    set32(&hello->ring_offset, 0);
    set32(&hello->ring_size, 0);
    set32(&hello->posts, session->posts ? session->generation : 0);
    write_canary(session);
    rsm_fence_stores();
    set32(&hello->magic, NTB_MAGIC);
}

/* Tell the other side which pair is meant, and what is acknowledged. */
static void write_words(struct ntb_session *session)
{
    struct ntb_words *shared = words_of(session->peer);
    struct ntb_words words = {.wire = NTB_WIRE,
                              .generation = session->generation,
                              .sequence = session->sequence,
                              .ack_generation = session->ack_generation,
                              .ack_sequence = session->ack_sequence};
    set32(&shared->magic, 0);
    rsm_fence_stores();
    set32(&shared->wire, words.wire);
    set32(&shared->generation, words.generation);
    set32(&shared->sequence, words.sequence);
    set32(&shared->ack_generation, words.ack_generation);
    set32(&shared->ack_sequence, words.ack_sequence);
    words.check = ntb_words_check(&words);
    set32(&shared->check, words.check);
    rsm_fence_stores();
    set32(&shared->magic, NTB_MAGIC);
    session->tell |=
        words.check != session->written.check || words.sequence != session->written.sequence;
    session->written = words;
}

/* ------------------------------------------------------------------ states */

void ntb_session_begin(struct ntb_session *session, uint32_t generation, uint32_t node,
                       uint32_t timeout_ms)
{
    session->generation = generation;
    session->sequence = 1;
    session->node = node;
    session->timeout_ms = timeout_ms;
    session->up = false;
    write_hello(session);
    write_words(session);
}

enum ntb_session_news ntb_session_end(struct ntb_session *session)
{
    if (!session->up)
        return NTB_SESSION_SAME;
    session->up = false;
    session->sequence++;
    session->ack_generation = session->ack_sequence = 0;
    /* The canary goes first: a barrier that the other side closes now must fail. */
    write_canary(session);
    set32(&hello_of(session->own)->sequence, session->sequence);
    rsm_fence_stores();
    write_words(session);
    return NTB_SESSION_ENDED;
}

void ntb_session_leave(struct ntb_session *session)
{
    (void)ntb_session_end(session);
    set32(&hello_of(session->own)->magic, 0);
    set32(&words_of(session->peer)->magic, 0);
    rsm_fence_stores();
}

/* Whether the other side's heart has beaten lately. What was there before the first look may be
 * that of a host that is long dead. */
static bool listen(struct ntb_session *session, int64_t now_ms)
{
    uint32_t beat = get32(heartbeat_of(session->own));
    if (session->looked && beat != session->peer_beat) {
        session->heard = true;
        session->heard_at = now_ms;
    }
    session->looked = true;
    session->peer_beat = beat;
    return session->heard && now_ms - session->heard_at < session->timeout_ms;
}

static bool is_same_session(const struct ntb_session *session, const struct ntb_words *words)
{
    return words->generation == session->peer_generation &&
           words->sequence == session->peer_sequence &&
           words->ack_generation == session->generation && words->ack_sequence == session->sequence;
}

static bool hello_is_acceptable(struct ntb_session *session, uint32_t generation)
{
    struct ntb_hello hello;
    const char *flaw =
        ntb_hello_read(hello_of(session->peer), generation, session->window_size, &hello);
    if (flaw == NULL && hello.node == session->node)
        flaw = "it has the node id of this host";
    if (flaw != NULL && !session->complained)
        rsm_log_error("ntb: the other host is refused: %s", flaw);
    session->complained = flaw != NULL;
    if (flaw != NULL)
        return false;
    session->peer_pool = hello.pool_size;
    session->peer_granule = hello.granule;
    session->peer_node = hello.node;
    session->peer_posts = hello.posts == generation;
    return true;
}

/* Without a session: acknowledge, and see whether the other side does. */
static enum ntb_session_news greet(struct ntb_session *session, const struct ntb_words *words)
{
    bool acceptable = !session->held && hello_is_acceptable(session, words->generation);
    uint32_t generation = acceptable ? words->generation : 0;
    uint32_t sequence = acceptable ? words->sequence : 0;
    session->ack_generation = generation;
    session->ack_sequence = sequence;
    if (!acceptable || words->ack_generation != session->generation ||
        words->ack_sequence != session->sequence)
        return NTB_SESSION_SAME;
    session->up = true;
    session->epoch++;
    session->peer_generation = generation;
    session->peer_sequence = sequence;
    write_canary(session);
    return NTB_SESSION_BEGUN;
}

enum ntb_session_news ntb_session_step(struct ntb_session *session, int64_t now_ms)
{
    struct ntb_words words;
    bool sound = ntb_words_read(words_of(session->own), &words);
    bool alive = listen(session, now_ms);
    enum ntb_session_news news = NTB_SESSION_SAME;
    /* Words that are being written are looked at the next time. Those that stay bad are written by
     * nobody who can be talked to, and the session rests on them. */
    session->unsound = sound ? 0 : session->unsound + 1;
    if (session->up && (!alive || session->unsound > NTB_UNSOUND_MAX ||
                        (sound && !is_same_session(session, &words))))
        news = ntb_session_end(session);
    else if (!session->up && sound && alive)
        news = greet(session, &words);
    set32(heartbeat_of(session->peer), ++session->beat);
    if (!session->up || news == NTB_SESSION_BEGUN)
        write_words(session);
    return news;
}
