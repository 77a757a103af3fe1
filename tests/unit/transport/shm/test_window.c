/* SPDX-License-Identifier: BSD-3-Clause */
/** @file shm: map() and unmap(), anywhere in a segment of several pieces. */
#include "check.h"

#include "base/second_mapping.h"
#include "shm_pair.h"
#include "transport/instance.h"
#include "base/view.h"

#define READ_WRITE (RSM_RIGHT_READ | RSM_RIGHT_WRITE)

static bool keeping; /* views keep descriptors, as where mappings cannot be copied */

/* Every byte of [0, length) of the window is the segment's at offset, both ways. */
static void window_shows(const struct shm_pair *pair, uint8_t *window, uint64_t offset,
                         size_t length)
{
    for (size_t i = 0; i < length; i += 64) {
        *shm_pair_at(pair, offset + i) = (uint8_t)(i / 64 + 1);
        assert_int_equal(window[i], (uint8_t)(i / 64 + 1));
        window[i] = (uint8_t)(i / 64 + 101);
        assert_int_equal(*shm_pair_at(pair, offset + i), (uint8_t)(i / 64 + 101));
    }
}

#define CASE(test) TEST_WITH(struct shm_pair *pair, test, shm_pair_setup, shm_pair_teardown)

CASE(every_window_of_whole_pages)
{
    struct rsm_conn *conn = shm_pair_connect(pair, READ_WRITE);
    for (size_t first = 0; first < PAIR_SEGMENT_PAGES; first++) {
        for (size_t pages = 1; first + pages <= PAIR_SEGMENT_PAGES; pages++) {
            void *address = NULL;
            assert_status(conn->ops->map(conn, first * pair->page, pages * pair->page, READ_WRITE,
                                         false, &address),
                          RSM_ST_OK);
            window_shows(pair, address, first * pair->page, pages * pair->page);
            assert_status(conn->ops->unmap(conn, address, pages * pair->page), RSM_ST_OK);
        }
    }
    rsmcore_conn_close(conn);
}

static bool is_mapped(void *address)
{
    unsigned char resident;
    return mincore(address, 1, &resident) == 0;
}

CASE(windows_are_independent)
{
    struct rsm_conn *conn = shm_pair_connect(pair, READ_WRITE);
    uint8_t *a = NULL, *b = NULL, value = 77;
    size_t size = PAIR_SEGMENT_PAGES * pair->page;
    assert_status(conn->ops->map(conn, 0, size, READ_WRITE, false, (void **)&a), RSM_ST_OK);
    assert_status(conn->ops->map(conn, 0, size, READ_WRITE, false, (void **)&b), RSM_ST_OK);
    assert_ptr_not_equal(a, b);
    a[5] = 55;
    assert_int_equal(b[5], 55);
    assert_status(conn->ops->unmap(conn, a, size), RSM_ST_OK);
    assert_false(is_mapped(a));
    assert_int_equal(b[5], 55);
    assert_status(conn->ops->put(conn, 6, &value, 1), RSM_ST_OK);
    assert_int_equal(b[6], 77);
    rsmcore_conn_close(conn); /* the core unmaps first, but nothing here depends on it */
    assert_int_equal(b[6], 77);
    munmap(b, size);
}

CASE(the_last_page_may_be_partial)
{
    struct rsm_conn *conn = shm_pair_connect(pair, READ_WRITE);
    uint8_t *address = NULL;
    size_t length = 2 * pair->page + 1;
    assert_status(conn->ops->map(conn, pair->page, length, READ_WRITE, false, (void **)&address),
                  RSM_ST_OK);
    window_shows(pair, address, pair->page, 3 * pair->page); /* whole pages are there */
    assert_status(conn->ops->unmap(conn, address, length), RSM_ST_OK);
    for (size_t i = 0; i < 3; i++)
        assert_false(is_mapped(address + i * pair->page));
    rsmcore_conn_close(conn);
}

CASE(a_hint_is_followed_where_there_is_room)
{
    struct rsm_conn *conn = shm_pair_connect(pair, READ_WRITE);
    size_t size = PAIR_SEGMENT_PAGES * pair->page, ample = 64u << 20;
    uint8_t *room = mmap(NULL, ample, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(room, MAP_FAILED);
    uint8_t *middle = room + ample / 2; /* where the kernel would not go by itself */
    void *address = middle;
    assert_status(conn->ops->map(conn, 0, size, READ_WRITE, false, &address), RSM_ST_OK);
    assert_ptr_not_equal(address, middle); /* taken: left alone */
    assert_status(conn->ops->unmap(conn, address, size), RSM_ST_OK);
    munmap(room, ample);
    address = middle;
    assert_status(conn->ops->map(conn, 0, size, READ_WRITE, false, &address), RSM_ST_OK);
    assert_ptr_equal(address, middle);
    window_shows(pair, address, 0, size);
    assert_status(conn->ops->unmap(conn, address, size), RSM_ST_OK);
    rsmcore_conn_close(conn);
}

CASE(fixed_replaces_exactly_the_range)
{
    struct rsm_conn *conn = shm_pair_connect(pair, READ_WRITE);
    size_t size = PAIR_SEGMENT_PAGES * pair->page;
    uint8_t *room = mmap(NULL, size + 2 * pair->page, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(room, MAP_FAILED);
    memset(room, 9, size + 2 * pair->page);
    void *address = room + pair->page;
    assert_status(conn->ops->map(conn, 0, size, READ_WRITE, true, &address), RSM_ST_OK);
    assert_ptr_equal(address, room + pair->page);
    window_shows(pair, address, 0, size);
    assert_int_equal(room[pair->page - 1], 9);
    assert_int_equal(room[pair->page + size], 9);
    assert_status(conn->ops->unmap(conn, address, size), RSM_ST_OK);
    assert_int_equal(room[pair->page - 1], 9);
    assert_int_equal(room[pair->page + size], 9);
    munmap(room, pair->page);
    munmap(room + pair->page + size, pair->page);
    rsmcore_conn_close(conn);
}

/* Free, as the kernel gives it next, and with the pages of one side reserved: where the window
 * could be built by chance. The segment has several pieces. */
CASE(fixed_where_the_kernel_would_map)
{
    struct rsm_conn *conn = shm_pair_connect(pair, READ_WRITE);
    size_t size = PAIR_SEGMENT_PAGES * pair->page;
    for (size_t from = 0; from <= size; from += pair->page) {
        for (size_t to = from; to <= size; to += pair->page) {
            uint8_t *room = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
            assert_ptr_not_equal(room, MAP_FAILED);
            if (to > from)
                munmap(room + from, to - from);
            void *address = room;
            assert_status(conn->ops->map(conn, 0, size, READ_WRITE, true, &address), RSM_ST_OK);
            assert_ptr_equal(address, room);
            window_shows(pair, address, 0, size);
            assert_status(conn->ops->unmap(conn, address, size), RSM_ST_OK);
        }
    }
    rsmcore_conn_close(conn);
}

/* What put and get need stays where it is. */
CASE(a_fixed_window_does_not_replace_the_view)
{
    struct rsm_conn *conn = shm_pair_connect(pair, READ_WRITE);
    struct rsm_view view;
    struct rsm_view_piece piece = {.offset = 0, .length = 2 * pair->page};
    int fd = memfd_create("window", MFD_CLOEXEC);
    assert_true(fd >= 0 && ftruncate(fd, (off_t)(2 * pair->page)) == 0);
    assert_status(
        rsm_view_make(&view, &fd, &piece, 1, 2 * pair->page, PROT_READ | PROT_WRITE, true),
        RSM_ST_OK);
    view.base[0] = 7;
    for (int i = -1; i <= 1; i++) {
        void *address = view.base + i * (ptrdiff_t)pair->page;
        assert_status(rsm_view_map(&view, 0, 2 * pair->page, PROT_READ, true, &address),
                      RSM_ST_MAP_FAILED);
        assert_int_equal(view.base[0], 7);
        view.base[2 * pair->page - 1] = 8;
    }
    rsm_view_end(&view);
    close(fd);
    rsmcore_conn_close(conn);
}

CASE(refused_windows_change_nothing)
{
    struct rsm_conn *conn = shm_pair_connect(pair, READ_WRITE);
    const struct rsm_import_ops *ops = conn->ops;
    uint64_t page = pair->page, size = PAIR_SEGMENT_PAGES * page;
    void *address = NULL;
    assert_status(ops->map(conn, 0, 0, READ_WRITE, false, &address), RSM_ST_RANGE);
    assert_status(ops->map(conn, 0, size + 1, READ_WRITE, false, &address), RSM_ST_RANGE);
    assert_status(ops->map(conn, size, page, READ_WRITE, false, &address), RSM_ST_RANGE);
    assert_status(ops->map(conn, 0, SIZE_MAX, READ_WRITE, false, &address), RSM_ST_RANGE);
    assert_status(ops->map(conn, UINT64_MAX - page + 1, page, READ_WRITE, false, &address),
                  RSM_ST_RANGE);
    assert_status(ops->map(conn, 1, page, READ_WRITE, false, &address), RSM_ST_ALIGNMENT);
    assert_status(ops->map(conn, 0, page, READ_WRITE, true, &address), RSM_ST_MAP_FAILED);
    assert_null(address);
    uint8_t *room = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(room, MAP_FAILED);
    memset(room, 9, size);
    address = room + 1;
    assert_status(ops->map(conn, 0, page, READ_WRITE, true, &address), RSM_ST_ALIGNMENT);
    assert_ptr_equal(address, room + 1);
    address = (void *)(UINTPTR_MAX - page + 1); /* the kernel's */
    assert_status(ops->map(conn, 0, page, READ_WRITE, true, &address), RSM_ST_MAP_FAILED);
    assert_int_equal(room[0], 9);
    assert_status(ops->unmap(conn, room + 1, page), RSM_ST_INVALID);
    assert_int_equal(room[page], 9);
    munmap(room, size);
    rsmcore_conn_close(conn);
}

/* With no address space left a fixed map fails and what was there is still there. */
static int map_without_room(void *argument)
{
    struct shm_pair *pair = argument;
    struct rsm_conn *conn = shm_pair_connect(pair, READ_WRITE);
    size_t size = PAIR_SEGMENT_PAGES * pair->page;
    uint8_t *room = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (room == MAP_FAILED)
        return 1;
    memset(room, 9, size);
    const struct rlimit none = {.rlim_cur = pair->page, .rlim_max = RLIM_INFINITY};
    const struct rlimit all = {.rlim_cur = RLIM_INFINITY, .rlim_max = RLIM_INFINITY};
    if (setrlimit(RLIMIT_AS, &none) < 0)
        return 2;
    void *address = room;
    enum rsm_status status = conn->ops->map(conn, 0, size, READ_WRITE, true, &address);
    setrlimit(RLIMIT_AS, &all);
    if (status != RSM_ST_NO_MEMORY || address != room)
        return 3;
    for (size_t i = 0; i < size; i++)
        if (room[i] != 9)
            return 4;
    if (conn->ops->map(conn, 0, size, READ_WRITE, true, &address) != RSM_ST_OK || room[0] == 9)
        return 5;
    munmap(room, size);
    rsmcore_conn_close(conn);
    return 0;
}

CASE(a_fixed_window_that_fails_leaves_what_was_there)
{
    assert_int_equal(in_child(map_without_room, pair), 0);
}

static int store_to(void *address)
{
    *(volatile uint8_t *)address = 1;
    return 0;
}

static int load_from(void *address)
{
    return *(volatile uint8_t *)address & 0;
}

static void faults(int (*access)(void *), void *address)
{
    int status = in_child(access, address);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGSEGV);
}

CASE(protection_follows_the_rights)
{
    struct rsm_conn *conn = shm_pair_connect(pair, READ_WRITE);
    void *none = NULL, *read_only = NULL, *write_only = NULL;
    size_t size = PAIR_SEGMENT_PAGES * pair->page;
    assert_status(conn->ops->map(conn, 0, size, 0, false, &none), RSM_ST_OK);
    assert_status(conn->ops->map(conn, 0, size, RSM_RIGHT_READ, false, &read_only), RSM_ST_OK);
    assert_status(conn->ops->map(conn, 0, size, RSM_RIGHT_WRITE, false, &write_only), RSM_ST_OK);
    for (size_t at = 0; at < size; at += pair->page) {
        assert_int_equal(in_child(load_from, (char *)read_only + at), 0);
        assert_int_equal(in_child(store_to, (char *)write_only + at), 0);
    }
    faults(load_from, none);
    faults(store_to, read_only);
    faults(store_to, (char *)read_only + size - 1);
    conn->ops->unmap(conn, none, size);
    conn->ops->unmap(conn, read_only, size);
    conn->ops->unmap(conn, write_only, size);
    rsmcore_conn_close(conn);
}

CASE(a_connection_without_rights_maps_nothing_that_can_be_used)
{
    struct rsm_conn *conn = shm_pair_connect(pair, 0);
    void *address = NULL;
    assert_status(conn->ops->map(conn, 0, 2 * pair->page, 0, false, &address), RSM_ST_OK);
    faults(load_from, address);
    assert_status(conn->ops->map(conn, 0, 2 * pair->page, 0, true, &address), RSM_ST_OK);
    faults(store_to, address);
    assert_status(conn->ops->unmap(conn, address, 2 * pair->page), RSM_ST_OK);
    address = NULL;
    assert_status(conn->ops->map(conn, 0, pair->page, 0, true, &address), RSM_ST_MAP_FAILED);
    rsmcore_conn_close(conn);
}

/* What a connection keeps, it gives back. */
CASE(descriptors_are_kept_only_where_they_must_be)
{
    unsigned before = descriptors_open();
    struct rsm_conn *conn = shm_pair_connect(pair, READ_WRITE);
    assert_int_equal(descriptors_open(), before + (keeping ? PAIR_PIECES : 0));
    rsmcore_conn_close(conn);
    assert_int_equal(descriptors_open(), before);
}

int main(void)
{
    int failed = cases_run();
    keeping = true;
    rsm_second_mapping_refuse(true);
    return failed + cases_run();
}
