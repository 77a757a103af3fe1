/* SPDX-License-Identifier: BSD-3-Clause */
/** @file shm: copies by vectors, and the lengths at which transfers change from one way to another.
 */
#include "check.h"

#include "shm_pair.h"
#include "transport/shm/copy.h"

enum { ROOM = 128, LEAST = 256, MOST = 4096 + 200 };

static uint8_t from[MOST + 2 * ROOM], to[MOST + 2 * ROOM];

static uint8_t byte_at(size_t i)
{
    return (uint8_t)(i * 131 + (i >> 8) * 17 + 1);
}

static void fill(void)
{
    for (size_t i = 0; i < sizeof from; i++)
        from[i] = byte_at(i);
    memset(to, 0, sizeof to);
}

static bool is_all(const uint8_t *bytes, size_t count, uint8_t value)
{
    for (size_t i = 0; i < count; i++)
        if (bytes[i] != value)
            return false;
    return true;
}

/* Nothing but the target has changed, and all of it has. */
static void expect_copied(size_t target, size_t source, size_t length)
{
    shm_copy_by_vectors(to + target, from + source, length);
    bool right = memcmp(to + target, from + source, length) == 0 && is_all(to, target, 0) &&
                 is_all(to + target + length, sizeof to - target - length, 0);
    if (!right)
        print_error("%zu bytes from %zu to %zu\n", length, source, target);
    assert_true(right);
    memset(to + target, 0, length);
}

TEST_ALONE(every_length_and_alignment)
{
    if (!shm_vectors_work()) {
        puts("this processor has no AVX");
        skip();
    }
    fill();
    for (size_t length = LEAST; length <= LEAST + 300; length++)
        for (size_t target = 0; target <= 33; target += 3)
            expect_copied(target, 5, length);
    for (size_t target = 0; target <= 64; target++)
        for (size_t source = 0; source <= 64; source += 7)
            expect_copied(target, source, 4096);
    for (size_t length = 4096 - 40; length <= MOST; length++)
        expect_copied(17, 40, length);
}

/* ------------------------------------------------------------------ through the transport */

enum { SEGMENT = SHM_VECTORS_MAX + 65536 };

/* A connection to a segment that is larger than any border. */
static struct rsm_conn *connect_large(struct shm_pair *pair, struct rsm_extent **extent,
                                      struct rsm_node_offer **made)
{
    struct rsm_offer offer;
    struct rsm_conn *conn;
    const struct rsm_importer importer = {.node = 2, .local = true};
    const uint32_t rights = RSM_RIGHT_READ | RSM_RIGHT_WRITE;
    assert_int_equal(pair->node->extent_make(pair->node_port, SEGMENT, extent), RSM_ST_OK);
    struct rsm_extent_piece piece = {.extent = *extent, .length = SEGMENT};
    assert_int_equal(pair->node->offer(pair->node_port, &piece, 1, rights, &importer, &offer, made),
                     RSM_ST_OK);
    assert_int_equal(pair->import->connect(pair->port, &offer, SEGMENT, rights, &conn), RSM_ST_OK);
    shm_offer_close(&offer);
    return conn;
}

static void there_and_back(const struct rsm_import_ops *ops, struct rsm_conn *conn, size_t shift,
                           size_t length)
{
    static uint8_t out[SEGMENT], back[SEGMENT];
    for (size_t i = 0; i < length + 8; i++)
        out[i] = byte_at(i);
    memset(back, 0, length + 8);
    assert_int_equal(ops->put(conn, shift, out + 1, length), RSM_ST_OK);
    assert_int_equal(ops->get(conn, shift, back + 3, length), RSM_ST_OK);
    assert_memory_equal(back + 3, out + 1, length);
    assert_int_equal(back[2], 0);
    assert_int_equal(back[3 + length], 0);
    /* The same by vectors of transfers. */
    unsigned done = 0;
    const struct rsm_transfer there = {.local = out + 2, .remote = shift, .length = length};
    const struct rsm_transfer home = {.local = back, .remote = shift, .length = length};
    assert_int_equal(ops->putv(conn, &there, 1, &done), RSM_ST_OK);
    assert_int_equal(ops->getv(conn, &home, 1, &done), RSM_ST_OK);
    assert_memory_equal(back, out + 2, length);
}

/* Around the borders, from and to addresses of every alignment. */
TEST_WITH(struct shm_pair *pair, transfers_at_the_borders, shm_pair_setup, shm_pair_teardown)
{
    static const size_t borders[] = {SHM_VECTORS_MIN, 4096, SHM_VECTORS_MAX};
    struct rsm_extent *extent;
    struct rsm_node_offer *made;
    struct rsm_conn *conn = connect_large(pair, &extent, &made);
    for (size_t b = 0; b < sizeof borders / sizeof borders[0]; b++)
        for (size_t length = borders[b] - 1; length <= borders[b] + 1; length++)
            for (size_t shift = 0; shift < 16; shift += 5)
                there_and_back(pair->import, conn, shift, length);
    pair->import->disconnect(conn);
    pair->node->revoke(pair->node_port, made);
    pair->node->extent_free(pair->node_port, extent);
}
