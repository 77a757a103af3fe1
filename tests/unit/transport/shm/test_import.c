/* SPDX-License-Identifier: BSD-3-Clause */
/** @file shm: extents, transfers over a segment of several pieces, attributes, two processes. */
#include "check.h"

#include "shm_pair.h"
#include "transport/instance.h"

#define READ_WRITE (RSM_RIGHT_READ | RSM_RIGHT_WRITE)

#define CASE(test) TEST_WITH(struct shm_pair *pair, test, shm_pair_setup, shm_pair_teardown)

CASE(extents_are_sealed_and_private)
{
    int fd = pair->fds[0];
    struct stat file;
    assert_true(fd > STDERR_FILENO);
    assert_int_equal(fcntl(fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
    int wanted = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
    assert_int_equal(fcntl(fd, F_GET_SEALS) & wanted, wanted);
    assert_int_equal(fstat(fd, &file), 0);
    assert_int_equal(file.st_size, pair->extent_size);
    assert_int_equal(file.st_mode & 07777, 0400);
    assert_int_equal(ftruncate(fd, 0), -1);
    assert_int_equal(ftruncate(fd, (off_t)(2 * pair->extent_size)), -1);
    assert_int_equal(fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE), -1);
}

CASE(extents_are_sparse_and_zero)
{
    struct rsm_extent *extent;
    struct stat file;
    assert_status(pair->node->extent_make(pair->node_port, 1ull << 30, &extent), RSM_ST_OK);
    assert_int_equal(fstat(extent->fd, &file), 0);
    assert_int_equal(file.st_blocks, 0);
    pair->node->extent_free(pair->node_port, extent);
    assert_int_equal(*pair->memory[0], 0);
}

CASE(impossible_extents_are_refused)
{
    struct rsm_extent *extent;
    unsigned before = descriptors_open();
    const uint64_t lengths[] = {0, 1, pair->page - 1, pair->page + 1, 1ull << 63, UINT64_MAX};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++)
        assert_status(pair->node->extent_make(pair->node_port, lengths[i], &extent),
                      RSM_ST_INVALID);
    assert_int_equal(descriptors_open(), before);
}

CASE(attributes_are_those_of_the_machine)
{
    struct rsm_port_attr attr;
    memset(&attr, 0xff, sizeof attr);
    pair->node->attributes(pair->node_port, &attr);
    uint64_t memory = (uint64_t)sysconf(_SC_PHYS_PAGES) * pair->page;
    assert_int_equal(attr.access_sizes, 15);
    assert_int_equal(attr.atomic_sizes, 15);
    assert_int_equal(attr.page_size, pair->page);
    assert_int_equal(attr.max_segment_size, memory);
    assert_int_equal(attr.total_segment_size, memory);
    assert_int_equal(attr.max_map_size, memory);
    assert_int_equal(attr.total_map_size, memory);
    assert_true(attr.max_segments > 0);
    assert_true(attr.max_imports > 0);
    assert_int_equal(attr.hardware_address, 0);
}

CASE(put_and_get_cross_the_pieces)
{
    struct rsm_conn *conn = shm_pair_connect(pair, READ_WRITE);
    size_t size = PAIR_SEGMENT_PAGES * pair->page;
    uint8_t *out = malloc(size), *in = calloc(1, size);
    assert_non_null(out);
    assert_non_null(in);
    for (size_t i = 0; i < size; i++)
        out[i] = (uint8_t)(i * 31 + i / pair->page);
    assert_status(conn->ops->put(conn, 0, out, size), RSM_ST_OK);
    for (size_t i = 0; i < size; i++)
        assert_int_equal(*shm_pair_at(pair, i), out[i]);
    assert_status(conn->ops->get(conn, 0, in, size), RSM_ST_OK);
    assert_memory_equal(in, out, size);
    /* odd places over each boundary of pages, exporter to importer */
    for (size_t boundary = pair->page; boundary < size; boundary += pair->page) {
        *shm_pair_at(pair, boundary - 1) = 0xa5;
        *shm_pair_at(pair, boundary) = 0x5a;
        assert_status(conn->ops->get(conn, boundary - 1, in, 2), RSM_ST_OK);
        assert_int_equal(in[0], 0xa5);
        assert_int_equal(in[1], 0x5a);
    }
    /* what lies beside the segment in the same extents is untouched */
    assert_int_equal(*pair->memory[0], 0);
    assert_int_equal(pair->memory[1][pair->page], 0);
    assert_status(conn->ops->put(conn, size, out, 0), RSM_ST_OK);
    free(out);
    free(in);
    rsmcore_conn_close(conn);
}

CASE(elements_of_all_widths)
{
    struct rsm_conn *conn = shm_pair_connect(pair, READ_WRITE);
    const struct rsm_import_ops *ops = conn->ops;
    uint64_t out[32], in[32];
    for (size_t i = 0; i < 32; i++)
        out[i] = 0x0123456789abcdefull * (i + 1);
    for (unsigned width = 1; width <= 8; width *= 2) {
        size_t count = sizeof out / width;
        uint64_t offset = 2 * pair->page - 128; /* over a boundary of pieces */
        memset(in, 0, sizeof in);
        assert_status(ops->put_elems(conn, offset, out, width, count), RSM_ST_OK);
        assert_status(ops->get_elems(conn, offset, in, width, count), RSM_ST_OK);
        assert_memory_equal(in, out, sizeof in);
        assert_int_equal(*shm_pair_at(pair, offset + 200), ((uint8_t *)out)[200]);
        assert_status(ops->put_elems(conn, offset, in, width, 0), RSM_ST_OK);
    }
    assert_status(ops->put_elems(conn, 0, out, 3, 1), RSM_ST_INVALID);
    rsmcore_conn_close(conn);
}

CASE(vectors)
{
    struct rsm_conn *conn = shm_pair_connect(pair, READ_WRITE);
    char a[] = "one", b[] = "three";
    struct rsm_transfer vec[] = {{a, 0, 3}, {b, 2 * pair->page - 2, 5}, {a, 9, 0}};
    unsigned done = 0;
    assert_status(conn->ops->putv(conn, vec, 3, &done), RSM_ST_OK);
    assert_int_equal(done, 3);
    assert_int_equal(*shm_pair_at(pair, 2 * pair->page + 2), 'e');
    memset(a, 0, sizeof a), memset(b, 0, sizeof b);
    done = 0;
    assert_status(conn->ops->getv(conn, vec, 3, &done), RSM_ST_OK);
    assert_int_equal(done, 3);
    assert_string_equal(a, "one");
    assert_string_equal(b, "three");
    rsmcore_conn_close(conn);
}

CASE(without_rights_there_is_nothing_to_reach)
{
    struct rsm_offer offer;
    shm_pair_offer(pair, 0, &offer);
    assert_int_equal(offer.fd_count, 0);
    assert_int_equal(offer.blob_len, 0);
    struct rsm_conn *conn = shm_pair_connect(pair, 0);
    assert_status(conn->ops->order(conn), RSM_ST_OK);
    assert_status(conn->ops->complete(conn), RSM_ST_OK);
    assert_status(conn->ops->health(conn), RSM_ST_OK);
    rsmcore_conn_close(conn);
}

CASE(nothing_is_left_open)
{
    unsigned before = descriptors_open();
    struct rsm_conn *conns[8];
    for (int i = 0; i < 8; i++)
        conns[i] = shm_pair_connect(pair, i % 2 ? READ_WRITE : RSM_RIGHT_READ);
    assert_int_equal(descriptors_open(), before); /* not even while they live */
    for (int i = 0; i < 8; i++)
        rsmcore_conn_close(conns[i]);
    assert_int_equal(descriptors_open(), before);
}

CASE(an_importer_keeps_memory_that_was_given_up)
{
    struct rsm_extent *extent;
    struct rsm_offer offer = {0};
    struct rsm_node_offer *made;
    struct rsm_conn *conn;
    uint64_t value = 42, seen = 0;
    assert_status(pair->node->extent_make(pair->node_port, pair->page, &extent), RSM_ST_OK);
    struct rsm_extent_piece piece = {extent, 0, pair->page};
    const struct rsm_importer importer = {.node = 2};
    assert_status(
        pair->node->offer(pair->node_port, &piece, 1, READ_WRITE, &importer, &offer, &made),
        RSM_ST_OK);
    assert_status(rsmcore_conn_open(pair->port, &offer, pair->page, READ_WRITE, &conn), RSM_ST_OK);
    shm_offer_close(&offer);
    pair->node->revoke(pair->node_port, made);
    pair->node->extent_free(pair->node_port, extent);
    assert_status(conn->ops->put(conn, 8, &value, 8), RSM_ST_OK);
    assert_status(conn->ops->get(conn, 8, &seen, 8), RSM_ST_OK);
    assert_int_equal(seen, 42);
    rsmcore_conn_close(conn);
}

/* ------------------------------------------------------------------ two processes */

enum { ROUNDS = 2000, DATA_AT = 128, WORDS = 64 };

/* The importer writes a block of equal words, orders, and then counts up the flag. */
static int write_rounds(void *argument)
{
    struct shm_pair *pair = argument;
    struct rsm_conn *conn = shm_pair_connect(pair, READ_WRITE);
    const struct rsm_import_ops *ops = conn->ops;
    for (uint64_t round = 1; round <= ROUNDS; round++) {
        uint64_t words[WORDS], heard;
        for (int i = 0; i < WORDS; i++)
            words[i] = round;
        if (ops->put(conn, DATA_AT, words, sizeof words) != RSM_ST_OK ||
            ops->order(conn) != RSM_ST_OK || ops->put_elems(conn, 0, &round, 8, 1) != RSM_ST_OK)
            return 1;
        do {
            sched_yield();
            if (ops->get_elems(conn, 8, &heard, 8, 1) != RSM_ST_OK)
                return 2;
        } while (heard != round);
    }
    rsmcore_conn_close(conn);
    return 0;
}

CASE(data_come_before_the_flag_that_was_ordered_behind)
{
    _Atomic uint64_t *flag = (void *)shm_pair_at(pair, 0);
    const volatile uint64_t *words = (void *)shm_pair_at(pair, DATA_AT);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        alarm(30); /* the parent may have failed */
        _exit(write_rounds(pair));
    }
    int status;
    for (uint64_t round = 1; round <= ROUNDS; round++) {
        while (atomic_load(&flag[0]) != round) {
            sched_yield();
            if (waitpid(child, &status, WNOHANG) == child)
                fail_msg("importer ended early, status %d", status);
        }
        for (int i = 0; i < WORDS; i++)
            assert_int_equal(words[i], round);
        atomic_store(&flag[1], round);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}
