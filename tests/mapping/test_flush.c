/* SPDX-License-Identifier: BSD-3-Clause */
/* When the pages that may be stored to are flushed. The litmus tests and mapping/explore.c have what a
 * flush sends. */
#include "cases.h"

#include <string.h>

#include "mapping/space.h"

enum { PAGES = 3, PAGE_BYTES = 4096, LONGER_US = 60 /* than an interval */ };

static uint8_t remote[PAGES * PAGE_BYTES];
static _Alignas(64) uint8_t copy[sizeof remote], twins[sizeof remote];
static _Alignas(64) uint8_t buffer[(MAPPING_BUFFER_PAGES + 1) * PAGE_BYTES];
static struct mapping_page pages[PAGES];
static uint64_t clean, clean_words, stretched[MAPPING_STRETCHES][PAGE_BYTES / 64];
static uint64_t time_us;
static struct mapping_space space;

static enum rsm_status answer;

static enum rsm_status put(struct rsm_conn *conn, uint64_t offset, const void *src, size_t length)
{
    if (answer != RSM_ST_OK)
        return answer;
    memcpy(remote + offset, src, length);
    return RSM_ST_OK;
}

static enum rsm_status put_elems(struct rsm_conn *conn, uint64_t offset, const void *src,
                                 unsigned width, size_t count)
{
    return put(conn, offset, src, width * count);
}

static enum rsm_status putv(struct rsm_conn *conn, const struct rsm_transfer *vec, unsigned count,
                            unsigned *done)
{
    for (*done = 0; *done < count; ++*done)
        (void)put(conn, vec[*done].remote, vec[*done].local, vec[*done].length);
    return RSM_ST_OK;
}

static enum rsm_status get(struct rsm_conn *conn, uint64_t offset, void *dst, size_t length)
{
    memcpy(dst, remote + offset, length);
    return RSM_ST_OK;
}

static enum rsm_status nothing(struct rsm_conn *conn)
{
    return RSM_ST_OK;
}

static const struct rsm_import_ops ops = {.put = put,
                                          .put_elems = put_elems,
                                          .putv = putv,
                                          .get = get,
                                          .order = nothing,
                                          .complete = nothing,
                                          .health = nothing};
static struct rsm_conn fabric = {.ops = &ops};

static bool protect(struct mapping_space *of, uint32_t first, uint32_t count,
                    enum mapping_state state)
{
    return true;
}

static uint64_t now(void)
{
    return time_us;
}

static void woken(struct mapping_space *of)
{
}

static int set_up(void **state)
{
    memset(remote, 0, sizeof remote);
    memset(copy, 0, sizeof copy);
    memset(pages, 0, sizeof pages);
    clean = clean_words = 0;
    answer = RSM_ST_OK;
    space = (struct mapping_space){.inner = &fabric,
                                   .size = sizeof remote,
                                   .page_size = PAGE_BYTES,
                                   .page_count = PAGES,
                                   .rights = RSM_RIGHT_READ | RSM_RIGHT_WRITE,
                                   .options = mapping_options_default(),
                                   .copy = copy,
                                   .twins = twins,
                                   .buffer = buffer,
                                   .scratch = buffer + MAPPING_BUFFER_PAGES * PAGE_BYTES,
                                   .page = pages,
                                   .clean = &clean,
                                   .clean_words = &clean_words,
                                   .protect = protect,
                                   .now = now,
                                   .woken = woken,
                                   .dirty_first = MAPPING_NO_PAGE,
                                   .dirty_last = MAPPING_NO_PAGE,
                                   .streak = MAPPING_NO_PAGE,
                                   .latest = MAPPING_NO_PAGE};
    for (unsigned i = 0; i < MAPPING_STRETCHES; i++)
        space.stretches[i].bytes = stretched[i];
    assert_true(space.options.flush_us < LONGER_US);
    return 0;
}

static int tear_down(void **state)
{
    mapping_flush(&space);
    return 0;
}

#define FLUSH_TEST(name) TEST_BETWEEN(name, set_up, tear_down)

static void store(uint32_t page, size_t at, uint8_t value)
{
    assert_int_equal(pages[page].state, MAPPING_RW);
    copy[page * PAGE_BYTES + at] = value;
}

static void an_interval_passes(void)
{
    time_us += LONGER_US;
    mapping_service(&space);
}

FLUSH_TEST(what_was_changed_is_sent_after_an_interval)
{
    assert_true(mapping_promote(&space, 1));
    store(1, 7, 70);
    mapping_service(&space);
    assert_int_equal(pages[1].state, MAPPING_RW);
    an_interval_passes();
    assert_int_equal(pages[1].state, MAPPING_NONE);
    assert_int_equal(remote[PAGE_BYTES + 7], 70);
    assert_int_equal(mapping_service_due(&space), 0);
}

/* The thread that it was made RW for has not woken up yet. */
FLUSH_TEST(a_page_that_is_not_changed_is_left_for_a_while)
{
    assert_true(mapping_promote(&space, 1));
    an_interval_passes();
    an_interval_passes();
    assert_int_equal(pages[1].state, MAPPING_RW);
    assert_in_range(mapping_service_due(&space), 1, space.options.flush_us);
    store(1, PAGE_BYTES - 1, 3);
    an_interval_passes();
    assert_int_equal(pages[1].state, MAPPING_NONE);
    assert_int_equal(remote[2 * PAGE_BYTES - 1], 3);
    /* ... and not for ever: its twin grows old */
    assert_true(mapping_promote(&space, 1));
    for (unsigned i = 0; i < 5; i++)
        an_interval_passes();
    assert_int_equal(pages[1].state, MAPPING_NONE);
    assert_int_equal(space.counters.flushes, 2);
}

/* Of several, whichever it is, and wherever in the list. */
FLUSH_TEST(others_do_not_wait_for_it)
{
    for (uint32_t unchanged = 0; unchanged < PAGES; unchanged++) {
        for (uint32_t page = 0; page < PAGES; page++)
            assert_true(mapping_promote(&space, page));
        for (uint32_t page = 0; page < PAGES; page++)
            if (page != unchanged)
                store(page, unchanged, 1);
        an_interval_passes();
        for (uint32_t page = 0; page < PAGES; page++) {
            assert_int_equal(pages[page].state, page == unchanged ? MAPPING_RW : MAPPING_NONE);
            assert_int_equal(remote[page * PAGE_BYTES + unchanged], page != unchanged);
        }
        assert_int_equal(space.dirty_count, 1);
        store(unchanged, unchanged, 1);
        mapping_flush(&space); /* a barrier leaves nothing */
        assert_int_equal(pages[unchanged].state, MAPPING_NONE);
        assert_int_equal(remote[unchanged * PAGE_BYTES + unchanged], 1);
        assert_int_equal(space.dirty_first, MAPPING_NO_PAGE);
    }
}

FLUSH_TEST(a_barrier_closes_what_was_not_changed)
{
    assert_true(mapping_promote(&space, 0));
    an_interval_passes();
    assert_int_equal(pages[0].state, MAPPING_RW);
    assert_int_equal(mapping_barrier_complete(&space), RSM_ST_OK);
    assert_int_equal(pages[0].state, MAPPING_NONE);
}

/* The peer goes with the flush that comes before a long store. */
FLUSH_TEST(room_is_as_long_as_was_asked_for)
{
    const size_t length = (PAGES - 1) * PAGE_BYTES;
    assert_true(mapping_promote(&space, 0));
    store(0, 0, 1);
    answer = RSM_ST_ABORTED;
    uint8_t *room = mapping_store_room(&space, length);
    assert_true(space.dead);
    assert_true(room >= buffer && length <= (size_t)(buffer + sizeof buffer - room));
}
