/* SPDX-License-Identifier: BSD-3-Clause */
/* What the NTB transport reads of the other host and of the daemon. The first byte chooses: grants,
 * tickets, or a session with a host that writes what it likes over the session's words while it
 * goes on. What is accepted lies in the segment and in the pool; a session is agreed on only with an
 * acceptable host, and both hosts agree on it. */
#include "base/log.h"
#include "fuzz.h"
#include "transport/ntb/common/wire.h"
#include "session.h"

#define POOL (NTB_CONTROL_BYTES + UINT64_C(0x10000))

static void check(bool holds)
{
    if (!holds)
        abort();
}

static void try_grant(const uint8_t *data, size_t size)
{
    uint8_t again[RSM_OFFER_MAX_BLOB];
    struct ntb_grant grant;
    uint64_t segment, sum = 0;
    if (size < sizeof segment || size - sizeof segment > sizeof again)
        return;
    memcpy(&segment, data, sizeof segment);
    data += sizeof segment;
    size -= sizeof segment;
    if (!ntb_grant_decode(data, (uint32_t)size, segment, POOL, &grant))
        return;
    for (uint32_t i = 0; i < grant.count; i++) {
        const struct ntb_grant_piece *piece = &grant.pieces[i];
        check(piece->length > 0 && piece->offset >= NTB_CONTROL_BYTES && piece->offset < POOL &&
              piece->length <= POOL - piece->offset);
        sum += piece->length;
    }
    check(grant.count == 0 || sum == segment);
    check(grant.connection == NTB_NO_CONNECTION ||
          (grant.connection < NTB_CONNECTIONS && grant.count > 0));
    check(ntb_grant_encode(&grant, again) == size && memcmp(again, data, size) == 0);
}

static void try_ticket(const uint8_t *data, size_t size)
{
    static struct rsm_offer offer;
    struct ntb_ticket ticket;
    uint64_t segment, sum = 0;
    if (size < sizeof segment + 2 || size - sizeof segment - 2 > sizeof offer.blob)
        return;
    memcpy(&segment, data, sizeof segment);
    offer.fd_count = data[sizeof segment];
    uint32_t rights = data[sizeof segment + 1] & (RSM_RIGHT_READ | RSM_RIGHT_WRITE);
    offer.blob_len = (uint32_t)(size - sizeof segment - 2);
    memcpy(offer.blob, data + sizeof segment + 2, offer.blob_len);
    if (!ntb_ticket_decode(&offer, segment, rights, &ticket))
        return;
    unsigned others = ntb_ticket_fds_before(&ticket) + ticket.post_fds;
    check(rights == 0 || ticket.count + others == offer.fd_count);
    for (uint32_t i = 0; i < ticket.count; i++) {
        check(ticket.pieces[i].length <= INT64_MAX - ticket.pieces[i].offset);
        sum += ticket.pieces[i].length;
    }
    check(rights == 0 || sum == segment);
    check(ticket.post_fds <= NTB_POST_FDS_MAX);
    check((ticket.flags & NTB_TICKET_POSTS) != 0
              ? ticket.count > 0 && (ticket.flags & NTB_TICKET_LOCAL) == 0
              : ticket.post_fds == 0 && ticket.post_word == 0);
}

static void run(struct ntb_session *sides, int64_t *now, unsigned steps)
{
    for (unsigned i = 0; i < steps; i++) {
        *now += 50;
        for (unsigned side = 0; side < 2; side++)
            (void)ntb_session_step(&sides[side], *now);
    }
}

/* Each step: where, and what is written there. */
static void try_session(const uint8_t *data, size_t size)
{
    static uint8_t pool[2][POOL];
    struct ntb_session sides[2];
    int64_t now = 0;
    memset(pool, 0, sizeof pool);
    for (uint32_t i = 0; i < 2; i++) {
        sides[i] = (struct ntb_session){
            .own = pool[i], .peer = pool[1 - i], .own_size = POOL, .window_size = POOL};
        ntb_session_begin(&sides[i], 100 + i, i + 1, 300);
    }
    run(sides, &now, 4);
    check(sides[0].up && sides[1].up);
    for (; size >= 3; data += 3, size -= 3) {
        static const unsigned places[] = {NTB_HELLO_AT, NTB_WORDS_AT, NTB_HEARTBEAT_AT};
        uint8_t *area = pool[data[0] & 1] + places[data[0] / 2 % 3];
        area[data[1] % sizeof(struct ntb_hello)] = data[2];
        (void)ntb_session_step(&sides[data[0] >> 7], now += data[0] & 0x40);
        for (unsigned i = 0; i < 2; i++)
            check(!sides[i].up ||
                  (sides[i].peer_pool > NTB_CONTROL_BYTES && sides[i].peer_pool <= POOL &&
                   sides[i].peer_node != 0 && sides[i].peer_generation != 0));
    }
}

void fuzz_input(const uint8_t *data, size_t size)
{
    if (size == 0)
        return;
    switch (data[0] % 3) {
    case 0:
        try_grant(data + 1, size - 1);
        break;
    case 1:
        try_ticket(data + 1, size - 1);
        break;
    default:
        try_session(data + 1, size - 1);
    }
}
