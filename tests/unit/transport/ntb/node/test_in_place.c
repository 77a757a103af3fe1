/* SPDX-License-Identifier: BSD-3-Clause */
/* Extents in place over a port that is the test's: which are made so, what the other host is
 * shown, and that nothing is left of one that fails, whichever step does. */
#include <dirent.h>

#include "base/sealed.h"
#include "fake_port.h"
#include "transport/ntb/common/wire.h"

enum { EXTENTS = 64, POOL_PAGES = 8, PIN_PAGES = 16 };
#define POOL_END (NTB_CONTROL_BYTES + POOL_PAGES * PAGE)
#define WINDOW   (POOL_END + PIN_PAGES * PAGE)

static struct ntb_window *window;

static void begin(uint64_t pin, uint64_t pin_from)
{
    const struct ntb_options options = {.pin = pin, .pin_from = pin_from};
    fake_port_begin((struct ntb_port_info){.pool_size = POOL_END,
                                           .pool_first = NTB_CONTROL_BYTES,
                                           .pin_size = PIN_PAGES * PAGE,
                                           .window_size = WINDOW,
                                           .extents_max = EXTENTS,
                                           .cuts = true});
    window = ntb_window_begin(&port.base, 1, &options);
    assert_non_null(window);
}

static struct rsm_extent *make(uint64_t pages)
{
    struct rsm_extent *extent = NULL;
    assert_int_equal(ntb_extent_make(&window->base, pages * PAGE, &extent), RSM_ST_OK);
    return extent;
}

static bool is_in_place(const struct rsm_extent *extent)
{
    bool memfd = extent->kind == RSM_EXTENT_MEMFD;
    assert_int_equal(extent->flags, memfd ? 0 : RSM_EXTENT_NOT_PINNED);
    return memfd;
}

static unsigned descriptors(void)
{
    unsigned count = 0;
    DIR *list = opendir("/proc/self/fd");
    assert_non_null(list);
    while (readdir(list) != NULL)
        count++;
    closedir(list);
    return count;
}

static void nothing_is_left(unsigned descriptors_before)
{
    assert_int_equal(window->allocator.used, 0);
    assert_int_equal(window->in_place.used, 0);
    assert_null(window->extents);
    assert_null(window->shares.accounts);
    for (uint64_t id = 1; id <= port.last_id; id++)
        assert_false(port.extents[id].live || port.extents[id].quarantined);
    assert_int_equal(descriptors(), descriptors_before);
    ntb_window_end(window);
}

TEST_ALONE(off_by_default)
{
    unsigned before = descriptors();
    struct rsm_extent *extent;
    begin(0, UINT64_MAX);
    assert_int_equal(ntb_extent_make(&window->base, (POOL_PAGES + 1) * PAGE, &extent),
                     RSM_ST_NO_MEMORY);
    assert_int_equal(port.pins, 0);
    nothing_is_left(before);
}

/* What the pool has room for lies there, the rest behind it; it is a memfd of which the pages
 * are shown. */
TEST_ALONE(what_the_pool_has_no_room_for)
{
    unsigned before = descriptors();
    begin(UINT64_MAX, UINT64_MAX);
    struct rsm_extent *small = make(2), *large = make(POOL_PAGES + 1), *next = make(POOL_PAGES - 1);
    assert_false(is_in_place(small));
    assert_true(is_in_place(large) && is_in_place(next));
    assert_true(rsm_is_sealed_memory(large->fd, large->length));
    const uint8_t *memory = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, large->fd, 0);
    assert_ptr_not_equal(memory, MAP_FAILED);
    assert_int_equal(memory[0], 0x5a);
    munmap((void *)memory, PAGE);
    assert_int_equal(port.extents[3].offset, POOL_END + (POOL_PAGES + 1) * PAGE);
    struct rsm_extent *none;
    assert_int_equal(ntb_extent_make(&window->base, 9 * PAGE, &none), RSM_ST_NO_MEMORY);
    ntb_extent_free(&window->base, large);
    assert_false(port.extents[2].pinned);
    large = make(POOL_PAGES + 1); /* the range has become free */
    ntb_extent_free(&window->base, large);
    ntb_extent_free(&window->base, small);
    ntb_extent_free(&window->base, next);
    nothing_is_left(before);
}

/* For a user who must not pin. */
TEST_ALONE(of_the_pool_alone)
{
    unsigned before = descriptors();
    struct rsm_extent *extent = NULL;
    begin(UINT64_MAX, 0);
    assert_int_equal(ntb_extent_make_not_pinned(&window->base, PAGE / 2, &extent), RSM_ST_INVALID);
    assert_int_equal(ntb_extent_make_not_pinned(&window->base, (POOL_PAGES + 1) * PAGE, &extent),
                     RSM_ST_NO_MEMORY);
    assert_int_equal(ntb_extent_make_not_pinned(&window->base, 2 * PAGE, &extent), RSM_ST_OK);
    assert_false(is_in_place(extent));
    assert_int_equal(port.pins, 0);
    ntb_extent_free(&window->base, extent);
    nothing_is_left(before);
}

TEST_ALONE(from_a_size)
{
    unsigned before = descriptors();
    begin(4 * PAGE, 2 * PAGE);
    struct rsm_extent *one = make(1), *two = make(2), *three = make(3), *more = make(2);
    assert_false(is_in_place(one));
    assert_true(is_in_place(two));
    assert_false(is_in_place(three)); /* the option leaves no room for it */
    assert_true(is_in_place(more));
    ntb_extent_free(&window->base, one);
    ntb_extent_free(&window->base, two);
    ntb_extent_free(&window->base, three);
    ntb_extent_free(&window->base, more);
    nothing_is_left(before);
}

TEST_ALONE(failures_leave_nothing)
{
    static const struct {
        enum rsm_status make_in_place, pin, expected;
    } cases[] = {
        {RSM_ST_NO_RESOURCES, RSM_ST_OK, RSM_ST_NO_RESOURCES},
        {RSM_ST_NO_MEMORY, RSM_ST_OK, RSM_ST_NO_MEMORY},
        {RSM_ST_OK, RSM_ST_NO_RESOURCES, RSM_ST_NO_RESOURCES}, /* RLIMIT_MEMLOCK */
        {RSM_ST_OK, RSM_ST_NO_MEMORY, RSM_ST_NO_MEMORY},
    };
    unsigned before = descriptors();
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct rsm_extent *extent = NULL;
        begin(UINT64_MAX, 2 * PAGE);
        port.make_in_place = cases[i].make_in_place;
        port.pin = cases[i].pin;
        assert_int_equal(ntb_extent_make(&window->base, (POOL_PAGES + 1) * PAGE, &extent),
                         RSM_ST_NO_MEMORY); /* the pool's, which was asked last */
        extent = make(2);
        assert_false(is_in_place(extent)); /* the pool has room */
        ntb_extent_free(&window->base, extent);
        window->pin_from = UINT64_MAX;
        assert_int_equal(ntb_extent_make(&window->base, (POOL_PAGES + 1) * PAGE, &extent),
                         cases[i].expected);
        nothing_is_left(before);
    }
}

/* A grant says where it lies behind the pool; its range is not used again until it is released. */
TEST_ALONE(granted_and_quarantined)
{
    unsigned before = descriptors();
    struct rsm_offer offer = {.fd_count = 0};
    struct ntb_grant grant;
    struct rsm_node_offer *made;
    const struct rsm_importer importer = {.node = PEER};
    begin(UINT64_MAX, 0);
    struct rsm_extent *extent = make(PIN_PAGES), *none;
    const struct rsm_extent_piece piece = {.extent = extent, .offset = PAGE, .length = 2 * PAGE};
    assert_int_equal(
        ntb_offer_make(&window->base, &piece, 1, RSM_RIGHT_READ, &importer, &offer, &made),
        RSM_ST_OK);
    assert_true(ntb_grant_decode(offer.blob, offer.blob_len, 2 * PAGE, WINDOW, &grant));
    assert_int_equal(grant.pieces[0].offset, POOL_END + PAGE);
    ntb_offer_revoke(&window->base, made);
    ntb_extent_free(&window->base, extent);
    assert_false(port.extents[1].pinned);
    assert_true(port.extents[1].quarantined);
    assert_int_equal(ntb_extent_make(&window->base, 9 * PAGE, &none), RSM_ST_NO_MEMORY);
    ntb_offer_released(&window->base, made);
    extent = make(9);
    assert_true(is_in_place(extent));
    ntb_extent_free(&window->base, extent);
    nothing_is_left(before);
}

/* A process of this host gets the memfd, for reading alone if that is its right. */
TEST_ALONE(shared_with_this_host)
{
    unsigned before = descriptors();
    struct ntb_ticket ticket;
    struct rsm_node_offer *made;
    const struct rsm_importer importer = {.node = 1, .local = true};
    begin(UINT64_MAX, 0);
    struct rsm_extent *extent = make(2);
    const struct rsm_extent_piece piece = {.extent = extent, .offset = PAGE, .length = PAGE};
    for (int writable = 0; writable < 2; writable++) {
        uint32_t rights = RSM_RIGHT_READ | (writable ? RSM_RIGHT_WRITE : 0);
        struct rsm_offer offer = {.fd_count = 0};
        assert_int_equal(ntb_offer_make(&window->base, &piece, 1, rights, &importer, &offer, &made),
                         RSM_ST_OK);
        assert_true(ntb_ticket_decode(&offer, PAGE, rights, &ticket));
        assert_int_equal(ticket.pieces[0].offset, PAGE);
        assert_true(rsm_is_sealed_memory(offer.fds[0], 2 * PAGE));
        void *memory =
            mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, offer.fds[0], (off_t)PAGE);
        assert_int_equal(memory != MAP_FAILED, writable);
        if (memory != MAP_FAILED)
            munmap(memory, PAGE);
        close(offer.fds[0]);
        ntb_offer_revoke(&window->base, made);
    }
    ntb_extent_free(&window->base, extent);
    nothing_is_left(before);
}

/* ------------------------------------------------------------------ shares of users */

enum { ALICE = 1000, BOB = 1001 };

static enum rsm_status make_for(uid_t uid, uint64_t pages, struct rsm_extent **extent)
{
    const struct rsm_extent_request request = {.length = pages * PAGE, .uid = uid};
    return ntb_extent_make_for(&window->base, &request, extent);
}

static void limit_users(void)
{
    const struct rsm_user_share share = {.one_percent = 50};
    ntb_window_limit_users(&window->base, &share);
}

/* Of the pool and of what lies behind it. */
TEST_ALONE(a_user_has_a_share_of_both)
{
    unsigned before = descriptors(), count = 0;
    struct rsm_extent *extents[POOL_PAGES + PIN_PAGES];
    begin(PIN_PAGES * PAGE, UINT64_MAX);
    limit_users();
    while (make_for(ALICE, 1, &extents[count]) == RSM_ST_OK)
        count++;
    assert_int_equal(window->allocator.used, POOL_PAGES / 2 * PAGE);
    assert_int_equal(window->in_place.used, PIN_PAGES / 2 * PAGE);
    assert_int_equal(make_for(BOB, 1, &extents[count]), RSM_ST_OK);
    assert_false(is_in_place(extents[count++]));
    while (count > 0)
        ntb_extent_free(&window->base, extents[--count]);
    nothing_is_left(before);
}

TEST_ALONE(failures_are_not_charged)
{
    static const struct {
        enum rsm_status make, make_in_place, pin;
    } cases[] = {{RSM_ST_NO_MEMORY, RSM_ST_NO_MEMORY, RSM_ST_OK},
                 {RSM_ST_NO_MEMORY, RSM_ST_OK, RSM_ST_NO_RESOURCES}};
    struct rsm_extent *extent;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        unsigned before = descriptors();
        begin(PIN_PAGES * PAGE, UINT64_MAX);
        limit_users();
        port.make = cases[i].make;
        port.make_in_place = cases[i].make_in_place;
        port.pin = cases[i].pin;
        assert_int_not_equal(make_for(ALICE, 1, &extent), RSM_ST_OK);
        nothing_is_left(before);
    }
}

/* Who keeps a descriptor of what was freed keeps his share of it, and no other user loses by
 * that. */
TEST_ALONE(a_kept_descriptor_is_charged)
{
    unsigned before = descriptors();
    struct rsm_extent *extent, *others;
    begin(0, UINT64_MAX);
    limit_users();
    port.kept = true;
    for (unsigned i = 0; i < POOL_PAGES / 2; i++) {
        assert_int_equal(make_for(ALICE, 1, &extent), RSM_ST_OK);
        ntb_extent_free(&window->base, extent);
    }
    assert_int_equal(make_for(ALICE, 1, &extent), RSM_ST_NO_MEMORY);
    assert_int_equal(make_for(BOB, POOL_PAGES / 2, &others), RSM_ST_OK);
    port.kept = false;
    ntb_extent_free(&window->base, others);
    fake_port_let_go(1);
    assert_int_equal(make_for(ALICE, 1, &extent), RSM_ST_OK); /* it looks what has happened */
    assert_int_equal(make_for(ALICE, 1, &others), RSM_ST_NO_MEMORY);
    ntb_extent_free(&window->base, extent);
    for (uint64_t id = 2; id <= POOL_PAGES / 2; id++)
        fake_port_let_go(id);
    ntb_window_pump(window);
    nothing_is_left(before);
}

/* Nobody knows whose it was. What an earlier daemon has left counts as some user's, and ends
 * like others. */
TEST_ALONE(what_is_inherited_is_some_users)
{
    const struct ntb_options options = {.pin_from = UINT64_MAX};
    unsigned before = descriptors();
    begin(0, UINT64_MAX);
    (void)make(3);
    ntb_window_end(window);
    window = ntb_window_begin(&port.base, 1, &options);
    assert_non_null(window);
    limit_users();
    assert_int_equal(window->shares.used[NTB_POOL], 3 * PAGE);
    assert_int_equal(window->shares.used[NTB_RANGES], 1);
    assert_true(ntb_offers_released(&window->base, PEER));
    fake_port_let_go(1);
    ntb_window_pump(window);
    nothing_is_left(before);
}
