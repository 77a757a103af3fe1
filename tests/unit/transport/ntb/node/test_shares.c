/* SPDX-License-Identifier: BSD-3-Clause */
/* What one user may have of a bridge's pool and of its counters, and until when it is his. */
#include "two_hosts.h"

enum { ALICE = 1000, BOB = 1001, CAROL = 1002, ONE = 75, RESERVE = 5 };

#define MOST (UINT64_C(6) << 20)

static const uint64_t pool = MEMORY / 2 - NTB_CONTROL_BYTES;

static void limit(uint32_t one_percent)
{
    const struct rsm_user_share share = {.one_percent = one_percent, .reserve_percent = RESERVE};
    node_ops->limit_users(host[1].port, &share);
}

static enum rsm_status make(uid_t uid, uint64_t length, struct rsm_extent **extent)
{
    const struct rsm_extent_request request = {.length = length, .uid = uid};
    return node_ops->extent_make_for(host[1].port, &request, extent);
}

/* Bytes that the user gets in extents of @p length until he is refused. */
static uint64_t take_all(uid_t uid, uint64_t length)
{
    struct rsm_extent *extent;
    uint64_t taken = 0;
    while (make(uid, length, &extent) == RSM_ST_OK)
        taken += length;
    return taken;
}

static uint64_t whole(uint64_t bytes, uint64_t length)
{
    return bytes / length * length;
}

#define TEST(name) TEST_BETWEEN(name, begin, end)

TEST(a_user_leaves_room)
{
    const uint64_t each = UINT64_C(64) << 10;
    limit(ONE);
    assert_int_equal(take_all(ALICE, each), whole(pool * ONE / 100, each));
    assert_int_equal(make(ALICE, each, &segment.extent), RSM_ST_NO_MEMORY);
    /* The others have the rest but for the reserve, and root has that. */
    assert_true(take_all(BOB, each) > 0);
    assert_int_equal(take_all(CAROL, each), 0);
    assert_in_range(used(1), pool / 100 * (100 - RESERVE) - each,
                    pool / 100 * (100 - RESERVE) + 100);
    assert_true(take_all(0, each) > 0);
    assert_true(pool - used(1) < each);
}

/* Slots are few, too: with a pool of such extents alone nobody else would find one. */
TEST(a_user_leaves_slots)
{
    struct ntb_window *window = ntb_window_of(host[1].port);
    limit(ONE);
    window->shares.total[NTB_RANGES] = 100;
    assert_int_equal(take_all(ALICE, PAGE), ONE * PAGE);
    assert_int_equal(take_all(BOB, PAGE), (100 - RESERVE - ONE) * PAGE);
}

TEST(without_limits_and_with_others)
{
    struct rsm_extent *most;
    assert_int_equal(make(ALICE, MOST, &most), RSM_ST_OK);
    limit(50); /* who has more keeps it, and gets no more */
    assert_int_equal(make(ALICE, PAGE, &segment.extent), RSM_ST_NO_MEMORY);
    node_ops->extent_free(host[1].port, most);
    look(1);
    assert_int_equal(make(ALICE, MOST, &most), RSM_ST_NO_MEMORY);
    limit(100);
    assert_int_equal(make(ALICE, MOST, &most), RSM_ST_OK);
}

/* The other host's importer keeps the range although the exporter has freed it. */
TEST(a_range_is_its_users_until_it_is_free)
{
    const uint64_t most = whole(pool * ONE / 100, PAGE);
    struct rsm_extent *extent;
    limit(ONE);
    assert_int_equal(make(ALICE, most, &segment.extent), RSM_ST_OK);
    assert_int_equal(offer_it(READ_WRITE), RSM_ST_OK);
    node_ops->revoke(host[1].port, segment.made);
    node_ops->extent_free(host[1].port, segment.extent);
    look(1);
    assert_int_equal(used(1), most);
    assert_int_equal(make(ALICE, UINT64_C(256) << 10, &extent), RSM_ST_NO_MEMORY);
    assert_int_equal(make(BOB, UINT64_C(256) << 10, &extent), RSM_ST_OK);
    node_ops->imports->released(host[1].port, segment.made);
    look(1);
    assert_int_equal(make(ALICE, UINT64_C(256) << 10, &extent), RSM_ST_OK);
}

/* ------------------------------------------------------------------ counters */

static struct rsm_node_offer *offer_to(uint32_t uid)
{
    const struct rsm_importer who = {.node = 2, .uid = uid};
    const struct rsm_extent_piece piece = {.extent = segment.extent, .length = LENGTH};
    struct rsm_offer grant;
    struct rsm_node_offer *made;
    assert_int_equal(node_ops->offer(host[1].port, &piece, 1, READ_WRITE, &who, &grant, &made),
                     RSM_ST_OK);
    return made;
}

static bool has_counter(struct rsm_node_offer *made)
{
    return RSM_CONTAINER_OF(made, struct ntb_offer, base)->connection != NTB_NO_CONNECTION;
}

static void end_offer(struct rsm_node_offer *made)
{
    node_ops->revoke(host[1].port, made);
    node_ops->imports->released(host[1].port, made);
}

/* Without a counter the connection is as good: the daemons carry its signals. */
TEST(an_importer_leaves_counters)
{
    const unsigned most = NTB_CONNECTIONS * ONE / 100;
    unsigned counters = 0, users = 0;
    limit(ONE);
    assert_int_equal(node_ops->extent_make(host[1].port, LENGTH, &segment.extent), RSM_ST_OK);
    struct rsm_node_offer *first = offer_to(ALICE);
    assert_true(has_counter(first));
    for (unsigned i = 1; i < NTB_CONNECTIONS; i++)
        counters += has_counter(offer_to(ALICE));
    assert_int_equal(counters + 1, most);
    for (unsigned i = 0; i < NTB_CONNECTIONS; i++)
        users += has_counter(offer_to(BOB));
    assert_int_equal(users, NTB_CONNECTIONS - NTB_CONNECTIONS * RESERVE / 100 - most);
    assert_true(has_counter(offer_to(0)));
    /* Until the other host has released it. */
    node_ops->revoke(host[1].port, first);
    assert_false(has_counter(offer_to(ALICE)));
    node_ops->imports->released(host[1].port, first);
    struct rsm_node_offer *next = offer_to(ALICE);
    assert_true(has_counter(next));
    end_offer(next);
}
