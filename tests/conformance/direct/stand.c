/* SPDX-License-Identifier: BSD-3-Clause */
/* A segment, its surroundings, and who is given what of it. */
#include "base/status.h"
#include "direct.h"

enum {
    STANDS_MAX = 4,
    TICKETS_MAX = 256,
    RUN_BYTES = 1 << 20,
    GUARD_PAGES = 4,
    NODES_MEET_MS = 15000
};

static void expect_status(const char *what, enum rsm_status got)
{
    if (got != RSM_ST_OK)
        about("%s: %s", what, rsmcore_status_text(got));
    HOLDS(got == RSM_ST_OK);
}

/* Two hosts whose nodes have to find each other first. */
static void await_meeting(struct stand *stand)
{
    uint64_t deadline = direct_now_ms() + NODES_MEET_MS;
    bool met = false;
    while (!met && direct_now_ms() < deadline) {
        met = (node_count(stand->node).reached >> 2 & 1) != 0 &&
              (node_count(stand->importer).reached >> 1 & 1) != 0;
        sleep_ms(met ? 0 : 5);
    }
    APPLIES_IF(met, "the nodes of the two hosts do not find each other");
}

static void open_nodes(struct stand *stand)
{
    enum rsm_status status;
    stand->node = node_open(1, &status);
    expect_status("open of the node half", status);
    stand->facts = node_facts(stand->node);
    stand->page = stand->facts->page;
    if (!stand->facts->imports)
        return;
    stand->importer = node_open(2, &status);
    APPLIES_IF(stand->importer != NULL, "the importer's node needs a device of its own");
    await_meeting(stand);
}

static void make_extent(struct stand *stand, unsigned number)
{
    struct rsm_extent *extent = &stand->extents[number];
    expect_status("extent_make",
                  node_make(stand->node, stand->length, &stand->ids[number], extent));
    stand->memory[number] = mmap(NULL, stand->length, PROT_READ | PROT_WRITE, MAP_SHARED,
                                 extent->fd, (off_t)extent->offset);
    HOLDS(stand->memory[number] != MAP_FAILED);
    /* An importer that reads beyond its own memory must not find this by accident. */
    HOLDS(madvise(stand->memory[number], stand->length, MADV_DONTFORK) == 0);
    uint64_t *words = (uint64_t *)(void *)stand->memory[number];
    for (uint64_t i = 0; i < stand->length / sizeof *words; i++)
        words[i] = GUARD_WORD;
}

static void end_nodes(const struct stand *stand)
{
    node_kill(stand->node);
    if (stand->importer != NULL)
        node_kill(stand->importer);
}

struct stand *stand(void)
{
    static struct stand stands[STANDS_MAX];
    static unsigned count;
    HOLDS(count < STANDS_MAX);
    if (count > 0) /* there may be one such node on a host */
        end_nodes(&stands[count - 1]);
    struct stand *stand = &stands[count++];
    memset(shared, 0, sizeof *shared);
    open_nodes(stand);
    uint64_t page = stand->page, run = (RUN_BYTES + page - 1) / page * page;
    stand->length = run + GUARD_PAGES * page;
    for (unsigned i = 0; i < EXTENTS; i++)
        make_extent(stand, i);
    stand->pieces[0] = (struct piece){0, page, run};
    stand->pieces[1] = (struct piece){1, run + 2 * page, page}; /* behind the next one */
    stand->pieces[2] = (struct piece){1, page, run};
    stand->piece_count = 3;
    stand->size = 2 * run + page;
    fill(stand, 0, stand->size, SEGMENT_BYTE);
    return stand;
}

/* ---------------------------------------------------------------- memory */

static uint8_t *find(const struct stand *stand, uint64_t offset, uint64_t *run)
{
    unsigned i = 0;
    while (offset >= stand->pieces[i].length)
        offset -= stand->pieces[i++].length;
    const struct piece *piece = &stand->pieces[i];
    *run = piece->length - offset;
    return stand->memory[piece->extent] + piece->offset + offset;
}

uint8_t *at(const struct stand *stand, uint64_t offset)
{
    uint64_t run;
    return find(stand, offset, &run);
}

void fill(const struct stand *stand, uint64_t offset, uint64_t length, int byte)
{
    while (length > 0) {
        uint64_t run;
        uint8_t *memory = find(stand, offset, &run);
        run = run < length ? run : length;
        memset(memory, byte, run);
        offset += run;
        length -= run;
    }
}

static bool are(const uint8_t *memory, uint64_t length, int byte)
{
    for (uint64_t i = 0; i < length; i++)
        if (memory[i] != byte)
            return false;
    return true;
}

bool all_are(const struct stand *stand, uint64_t offset, uint64_t length, int byte)
{
    while (length > 0) {
        uint64_t run;
        const uint8_t *memory = find(stand, offset, &run);
        run = run < length ? run : length;
        if (!are(memory, run, byte))
            return false;
        offset += run;
        length -= run;
    }
    return true;
}

static bool guard(const uint8_t *memory, uint64_t length)
{
    const uint64_t *words = (const uint64_t *)(const void *)memory;
    for (uint64_t i = 0; i < length / sizeof *words; i++)
        if (words[i] != GUARD_WORD)
            return false;
    return true;
}

bool guards_are_whole(const struct stand *stand)
{
    uint64_t page = stand->page, run = stand->pieces[0].length;
    return guard(stand->memory[0], page) && guard(stand->memory[0] + page + run, 3 * page) &&
           guard(stand->memory[1], page) && guard(stand->memory[1] + page + run, page) &&
           guard(stand->memory[1] + run + 3 * page, page);
}

/* ---------------------------------------------------------------- offers */

bool can_be_cut(const struct stand *stand)
{
    return (stand->facts->caps & RSM_NODE_REACHES_HOSTS) != 0 && !stand->facts->imports;
}

static void accept_it(struct stand *stand, uint32_t rights, struct ticket *ticket)
{
    struct rsm_offer local;
    expect_status("accept of the importer's node",
                  node_accept(stand->importer, 1, stand->size, rights, &ticket->offer, &local,
                              &ticket->import));
    ticket->offer = local;
}

struct ticket *offered_to(struct stand *stand, uint32_t rights)
{
    bool hosts = (stand->facts->caps & RSM_NODE_REACHES_HOSTS) != 0;
    static struct ticket tickets[TICKETS_MAX];
    static unsigned count;
    struct rsm_node_offer made;
    HOLDS(count < TICKETS_MAX);
    struct ticket *ticket = &tickets[count++];
    expect_status("offer", node_offer(stand->node, stand->pieces, stand->piece_count, rights,
                                      hosts ? 2 : 1, &ticket->offer, &ticket->id, &made));
    HOLDS(!hosts || ticket->offer.fd_count == 0);
    HOLDS(ticket->offer.blob_len <= RSM_OFFER_MAX_BLOB);
    ticket->descriptors = made.descriptors;
    ticket->threads = made.threads;
    if (stand->importer != NULL)
        accept_it(stand, rights, ticket);
    ticket->offer.size = sizeof ticket->offer;
    ticket->offer.node = 1;
    return ticket;
}

void ticket_sent(struct ticket *ticket)
{
    for (unsigned i = 0; i < ticket->offer.fd_count; i++)
        close(ticket->offer.fds[i]);
    ticket->offer.fd_count = 0;
}

void revoked(struct stand *stand, struct ticket *ticket)
{
    node_revoke(stand->node, ticket->id);
    if (stand->importer == NULL)
        return;
    node_end_import(stand->importer, ticket->import);
    node_released(stand->node, ticket->id);
}
