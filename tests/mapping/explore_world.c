/* SPDX-License-Identifier: BSD-3-Clause */
#include "explore_world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct world world;
const char *trail[TRAIL];
unsigned steps;

_Noreturn void violated(const char *what)
{
    fprintf(stderr, "violated: %s\n", what);
    for (unsigned i = 0; i < steps; i++)
        fprintf(stderr, "  %s\n", trail[i]);
    exit(1);
}

/* ---------------------------------------------------------------- the fabric */

void check_remote(void)
{
    HOLDS(world.remote[PEER_0] == world.peer && world.remote[DATA_2] == world.peer,
          "a byte of the peer was overwritten");
    HOLDS(world.remote[OWN_0] >= world.before[world.remote[OWN_1]],
          "a trapped store overtook an earlier one");
}

static void deliver(unsigned which)
{
    const struct parcel parcel = world.parcel[which];
    memcpy(world.remote + parcel.offset, parcel.bytes, parcel.length);
    world.parcels--;
    memmove(&world.parcel[which], &world.parcel[which + 1],
            (world.parcels - which) * sizeof world.parcel[0]);
    check_remote();
}

static bool may_go(unsigned which)
{
    const struct parcel *it = &world.parcel[which];
    for (unsigned i = 0; i < which; i++) {
        const struct parcel *other = &world.parcel[i];
        if (other->group < it->group ||
            (other->offset < it->offset + it->length && it->offset < other->offset + other->length))
            return false;
    }
    return true;
}

void deliver_newest(void)
{
    for (unsigned i = world.parcels; i-- > 0;)
        if (may_go(i)) {
            deliver(i);
            return;
        }
}

static enum rsm_status fabric_put(struct rsm_conn *conn, uint64_t offset, const void *src,
                                  size_t length)
{
    if (world.parcels == PARCELS)
        deliver(0);
    struct parcel *parcel = &world.parcel[world.parcels++];
    parcel->group = world.group;
    parcel->offset = (uint32_t)offset;
    parcel->length = (uint32_t)length;
    memcpy(parcel->bytes, src, length);
    return RSM_ST_OK;
}

static enum rsm_status fabric_put_elems(struct rsm_conn *conn, uint64_t offset, const void *src,
                                        unsigned width, size_t count)
{
    return fabric_put(conn, offset, src, width * count);
}

static enum rsm_status fabric_putv(struct rsm_conn *conn, const struct rsm_transfer *vec,
                                   unsigned count, unsigned *done)
{
    for (*done = 0; *done < count; ++*done)
        (void)fabric_put(conn, vec[*done].remote, vec[*done].local, vec[*done].length);
    return RSM_ST_OK;
}

void peer_writes(void)
{
    world.remote[DATA_2] = ++world.peer;
    world.remote[PEER_0] = world.peer;
}

/* From the end to the beginning, which is the worse order where PEER_0 says that there is DATA_2.
 * Another thread's open barrier comes as a page is read: what is shown afterwards may be older. */
static enum rsm_status fabric_get(struct rsm_conn *conn, uint64_t offset, void *dst, size_t length)
{
    size_t first = length < PAGE_BYTES ? length : PAGE_BYTES;
    HOLDS(!mapping_shows_nothing(&world.space), "a barrier passes a page that is being read");
    memcpy((uint8_t *)dst + first, world.remote + offset + first, length - first);
    if (world.amid > 0) {
        world.amid--;
        peer_writes();
    }
    memcpy(dst, world.remote + offset, first);
    return RSM_ST_OK;
}

/* A read of one moment is not possible each time: then it is as above, and says so. */
static enum rsm_status fabric_get_snapshot(struct rsm_conn *conn, uint64_t offset, void *dst,
                                           size_t length, bool *snapshot)
{
    *snapshot = world.amid % 2 == 0;
    if (!*snapshot)
        return fabric_get(conn, offset, dst, length);
    HOLDS(!mapping_shows_nothing(&world.space), "a barrier passes a page that is being read");
    if (world.amid > 0) {
        world.amid--;
        peer_writes();
    }
    memcpy(dst, world.remote + offset, length);
    return RSM_ST_OK;
}

static enum rsm_status fabric_order(struct rsm_conn *conn)
{
    world.group++;
    return RSM_ST_OK;
}

static enum rsm_status fabric_complete(struct rsm_conn *conn)
{
    while (world.parcels > 0)
        deliver(0);
    return RSM_ST_OK;
}

static enum rsm_status fabric_health(struct rsm_conn *conn)
{
    return RSM_ST_OK;
}

static struct rsm_import_ops fabric_ops = {.put = fabric_put,
                                           .get = fabric_get,
                                           .put_elems = fabric_put_elems,
                                           .putv = fabric_putv,
                                           .order = fabric_order,
                                           .complete = fabric_complete,
                                           .health = fabric_health};
static struct rsm_conn fabric = {.ops = &fabric_ops};

void world_has_snapshots(bool has)
{
    fabric_ops.get_snapshot = has ? fabric_get_snapshot : NULL;
}

/* ---------------------------------------------------------------- the machine */

static bool protect(struct mapping_space *space, uint32_t first, uint32_t count,
                    enum mapping_state state)
{
    for (uint32_t page = first; page < first + count; page++)
        world.access[page] = state;
    return true;
}

static uint64_t now(void)
{
    return world.time;
}

static void woken(struct mapping_space *space)
{
}

/* Who looks at what has been given back finds what was never there. */
static void release_pages(struct mapping_space *space, uint32_t first, uint32_t count)
{
    for (uint32_t page = first; page < first + count; page++)
        HOLDS(world.access[page] == MAPPING_NONE && !world.page[page].known,
              "a page in use has lost its memory");
    memset(world.copy + first * PAGE_BYTES, 0xee, count * PAGE_BYTES);
    memset(world.twins + first * PAGE_BYTES, 0xee, count * PAGE_BYTES);
}

static void release_entries(struct mapping_space *space, uint32_t first, uint32_t count)
{
    memset(&world.page[first], 0, count * sizeof world.page[0]);
}

bool is_mirror(void)
{
    return world.space.mirror != NULL;
}

static void look(struct mapping_space *space)
{
    for (uint32_t page = 0; page < PAGES; page++)
        if (world.written >> page & 1)
            mapping_mirror_note(space, page, 1);
    world.written = 0;
}

bool store(uint32_t offset, uint8_t value)
{
    uint32_t page = offset / PAGE_BYTES;
    if (is_mirror()) {
        world.copy[offset] = value;
        world.written |= UINT64_C(1) << page;
        return false;
    }
    bool trapped = world.access[page] != MAPPING_RW;
    bool passing = trapped && mapping_is_passing(&world.space, page);
    bool decoded = trapped && !mapping_prefers_twin(&world.space, page, offset % PAGE_BYTES, 1, 1);
    HOLDS(!passing || !decoded, "a store is taken for that of a copy");
    if (decoded) {
        mapping_store(&world.space, offset, &value, 1);
        return true;
    }
    if (trapped)
        HOLDS(mapping_promote(&world.space, page), "a page could not be stored to");
    world.copy[offset] = value;
    return false;
}

uint8_t load(uint32_t offset)
{
    uint32_t page = offset / PAGE_BYTES;
    if (world.access[page] == MAPPING_NONE && !is_mirror())
        HOLDS(mapping_load(&world.space, page), "a page could not be loaded");
    return world.copy[offset];
}

void world_begin(enum mapping_mode mode, uint32_t cached)
{
    memset(&world, 0, sizeof world);
    struct mapping_space *space = &world.space;
    space->inner = &fabric;
    space->size = SEGMENT;
    space->page_size = PAGE_BYTES;
    space->page_count = PAGES;
    space->rights = RSM_RIGHT_READ | RSM_RIGHT_WRITE;
    space->options = mapping_options_default();
    space->options.mode = mode;
    space->options.threshold = 2;
    space->copy = world.copy;
    space->twins = world.twins;
    space->buffer = world.buffer;
    space->scratch = world.buffer + MAPPING_BUFFER_PAGES * PAGE_BYTES;
    space->page = world.page;
    space->clean = &world.clean;
    space->clean_words = &world.clean_words;
    space->protect = protect;
    space->now = now;
    space->woken = woken;
    space->release_pages = release_pages;
    space->release_entries = release_entries;
    space->cache = (struct mapping_cache){
        .limit = cached, .ring = world.ring, .holders = &world.holders, .digest = world.digest};
    space->dirty_first = space->dirty_last = space->streak = MAPPING_NO_PAGE;
    space->latest = MAPPING_NO_PAGE;
    for (unsigned i = 0; i < MAPPING_STRETCHES; i++)
        space->stretches[i].bytes = &world.stretched[i];
    for (uint32_t page = 0; page < PAGES; page++) { /* streams that are well under way */
        bool down = page == PAGES - 1;
        space->streams[page] = (struct mapping_stream){
            .first = page + down, .next = page + down, .window = PAGES, .steps = 2, .down = down};
    }
    steps = 0;
    if (mode != MAPPING_MIRROR)
        return;
    world.mirror =
        (struct mapping_mirror){.shown = &world.shown, .stored = &world.stored, .look = look};
    space->mirror = &world.mirror;
    for (uint32_t page = 0; page < PAGES;)
        page = mapping_mirror_show(space, page, PAGES);
}
