/* SPDX-License-Identifier: BSD-3-Clause */
/* Accounts of users, without a daemon: quotas, taking and giving, users of other hosts. */
#include "base/memory_limit.h"
#include "cases.h"
#include "conf/conf.h"
#include "node/shares.h"

enum { USER = 4001, OTHER = 4002, THIRD = 4003 };

static struct rsmd_conf conf;
static struct rsmd_shares shares;

/* 1000 of everything; nobody but root is privileged, whoever runs the test. */
static int begin(void **state)
{
    rsmd_conf_defaults(&conf);
    rsmd_shares_init(&shares, &conf);
    shares.own_uid = 0;
    for (unsigned i = 0; i < RSMD_RESOURCES; i++)
        rsmd_shares_limit(&shares, (enum rsmd_resource)i, 1000);
    return 0;
}

static int end(void **state)
{
    assert_null(shares.accounts);
    assert_true(rsmd_shares_are_sound(&shares));
    return 0;
}

static struct rsmd_account *user(uid_t uid)
{
    struct rsmd_account *account = rsmd_account_of_user(&shares, uid);
    assert_non_null(account);
    return account;
}

static struct rsmd_account *remote_user(uint32_t node, uid_t uid)
{
    struct rsmd_account *account = rsmd_account_of_remote(&shares, node, uid);
    assert_non_null(account);
    return account;
}

/* Take one after the other until there is no more; how many. */
static uint64_t take_all(struct rsmd_account *account, enum rsmd_resource resource)
{
    uint64_t count = 0;
    while (rsmd_share_take(account, resource, 1))
        count++;
    assert_false(rsmd_share_fits(account, resource, 1));
    assert_true(rsmd_shares_are_sound(&shares));
    return count;
}

static void give_all(struct rsmd_account *account, enum rsmd_resource resource)
{
    rsmd_share_give(account, resource, account->used[resource]);
    rsmd_account_drop(account);
}

#define SHARES_TEST(name) TEST_BETWEEN(name, begin, end)

SHARES_TEST(one_user_never_has_all)
{
    struct rsmd_account *one = user(USER), *other = user(OTHER), *third = user(THIRD);
    struct rsmd_account *root = user(0);
    assert_int_equal(take_all(one, RSMD_SEGMENTS), 750);
    assert_int_equal(take_all(other, RSMD_SEGMENTS), 200); /* what users have without the reserve */
    assert_int_equal(take_all(third, RSMD_SEGMENTS), 0);
    assert_int_equal(take_all(root, RSMD_SEGMENTS), 50);
    assert_int_equal(take_all(third, RSMD_DESCRIPTORS), 750); /* the others are another matter */
    rsmd_share_give(one, RSMD_SEGMENTS, 10);
    assert_int_equal(take_all(third, RSMD_SEGMENTS), 10);
    give_all(one, RSMD_SEGMENTS);
    give_all(other, RSMD_SEGMENTS);
    rsmd_share_give(third, RSMD_DESCRIPTORS, 750);
    give_all(third, RSMD_SEGMENTS);
    give_all(root, RSMD_SEGMENTS);
}

SHARES_TEST(root_is_bound_by_the_total)
{
    struct rsmd_account *root = user(0), *one = user(USER);
    assert_int_equal(take_all(root, RSMD_BYTES), 1000);
    assert_int_equal(take_all(one, RSMD_BYTES), 0);
    /* What root has is not taken from what users may have, as long as there is some. */
    rsmd_share_give(root, RSMD_BYTES, 900);
    assert_int_equal(take_all(one, RSMD_BYTES), 750);
    give_all(root, RSMD_BYTES);
    give_all(one, RSMD_BYTES);
}

SHARES_TEST(amounts_are_taken_whole_or_not)
{
    struct rsmd_account *one = user(USER);
    assert_false(rsmd_share_take(one, RSMD_BYTES, 751));
    assert_false(rsmd_share_take(one, RSMD_BYTES, UINT64_MAX));
    assert_true(rsmd_share_take(one, RSMD_BYTES, 700));
    assert_false(rsmd_share_take(one, RSMD_BYTES, UINT64_MAX - 699)); /* no overflow */
    assert_false(rsmd_share_take(one, RSMD_BYTES, 51));
    assert_true(rsmd_share_take(one, RSMD_BYTES, 50));
    assert_true(rsmd_share_take(one, RSMD_BYTES, 0));
    assert_int_equal(shares.used[RSMD_BYTES], 750);
    give_all(one, RSMD_BYTES);
}

/* Small limits let a user in; nothing lets nobody in. */
SHARES_TEST(small_limits)
{
    static const struct {
        uint64_t total, users, one;
    } expected[] = {{0, 0, 0}, {1, 1, 1},  {2, 2, 1},   {3, 3, 2},
                    {4, 3, 3}, {10, 9, 7}, {40, 38, 30}};
    for (unsigned i = 0; i < sizeof expected / sizeof expected[0]; i++) {
        rsmd_shares_limit(&shares, RSMD_SEGMENTS, expected[i].total);
        assert_int_equal(shares.quota[RSMD_SEGMENTS].total, expected[i].total);
        assert_int_equal(shares.quota[RSMD_SEGMENTS].users, expected[i].users);
        assert_int_equal(shares.quota[RSMD_SEGMENTS].one, expected[i].one);
    }
}

SHARES_TEST(what_is_configured)
{
    uint64_t physical = rsmcore_memory_size();
    conf.max_user_share = 100;
    conf.max_segments = 200;
    conf.max_exported_percent = 50;
    rsmd_shares_init(&shares, &conf);
    assert_int_equal(shares.quota[RSMD_SEGMENTS].one, 190); /* the reserve stays */
    assert_in_range(shares.quota[RSMD_BYTES].total, physical / 100 * 50, physical / 100 * 51);
    conf.max_user_share = 25;
    conf.max_exported_percent = 0;
    rsmd_shares_init(&shares, &conf);
    assert_int_equal(shares.quota[RSMD_SEGMENTS].one, 50);
    assert_true(shares.quota[RSMD_BYTES].total == UINT64_MAX);
    assert_true(shares.quota[RSMD_BYTES].users == UINT64_MAX);
    assert_in_range(shares.quota[RSMD_BYTES].one, physical / 100 * 25, physical / 100 * 26);
    assert_true(shares.quota[RSMD_PINNED].total <= physical);
}

/* The user of an embedded node is the one whom its daemon runs as. */
SHARES_TEST(the_daemons_own_user_is_like_root)
{
    shares.own_uid = USER;
    struct rsmd_account *one = user(USER), *other = user(OTHER);
    assert_int_equal(take_all(one, RSMD_SEGMENTS), 1000);
    assert_int_equal(take_all(other, RSMD_SEGMENTS), 0);
    give_all(one, RSMD_SEGMENTS);
    rsmd_account_drop(other);
}

/* One program leaves descriptors to the others of its user, also where he may have everything. */
SHARES_TEST(a_connection_has_three_quarters_of_the_descriptors)
{
    shares.own_uid = USER;
    struct rsmd_account *one = rsmd_account_of_connection(&shares, USER);
    struct rsmd_account *two = rsmd_account_of_connection(&shares, USER);
    struct rsmd_account *other = rsmd_account_of_connection(&shares, OTHER);
    assert_ptr_equal(one->parent, two->parent);
    assert_int_equal(HASH_COUNT(shares.accounts), 2);
    assert_int_equal(take_all(other, RSMD_DESCRIPTORS), 750);
    assert_int_equal(take_all(one, RSMD_DESCRIPTORS), 250);
    assert_int_equal(take_all(two, RSMD_DESCRIPTORS), 0);
    give_all(other, RSMD_DESCRIPTORS);
    assert_int_equal(take_all(one, RSMD_DESCRIPTORS), 500);
    assert_int_equal(take_all(two, RSMD_DESCRIPTORS), 250);
    assert_int_equal(take_all(one, RSMD_SEGMENTS), 1000);
    rsmd_share_give(one, RSMD_SEGMENTS, 1000);
    give_all(one, RSMD_DESCRIPTORS);
    give_all(two, RSMD_DESCRIPTORS);
}

/* ------------------------------------------------------------------ other hosts */

SHARES_TEST(a_far_node_has_the_share_of_one_user)
{
    struct rsmd_account *remote[40];
    uint64_t sum = 0;
    struct rsmd_account *local = user(USER);
    /* It says that it has many users, root among them. */
    for (unsigned i = 0; i < 40; i++) {
        remote[i] = remote_user(2, i);
        uint64_t count = take_all(remote[i], RSMD_SEGMENTS);
        assert_true(count <= 562);
        sum += count;
    }
    assert_int_equal(remote[0]->used[RSMD_SEGMENTS], 562); /* 75 % of what the node may have */
    assert_int_equal(sum, 750);
    assert_int_equal(take_all(local, RSMD_SEGMENTS), 200);
    for (unsigned i = 0; i < 40; i++)
        give_all(remote[i], RSMD_SEGMENTS);
    give_all(local, RSMD_SEGMENTS);
}

SHARES_TEST(the_same_number_on_two_nodes_is_two_users)
{
    struct rsmd_account *here = user(USER), *there = remote_user(2, USER),
                        *further = remote_user(3, USER);
    assert_ptr_not_equal(here, there);
    assert_ptr_not_equal(there, further);
    assert_ptr_not_equal(there->parent, further->parent);
    assert_null(here->parent);
    assert_ptr_equal(remote_user(2, USER), there);
    rsmd_account_drop(there);
    /* That which stands for all of a node's users is no user. */
    assert_ptr_equal(remote_user(2, RSMD_ALL_USERS), there->parent);
    rsmd_account_drop(there->parent);
    rsmd_account_drop(here);
    rsmd_account_drop(there);
    rsmd_account_drop(further);
}

/* ------------------------------------------------------------------ lives of accounts */

SHARES_TEST(an_account_lives_while_it_is_needed)
{
    struct rsmd_account *one = user(USER), *remote = remote_user(2, USER);
    assert_true(rsmd_share_take(one, RSMD_BYTES, 5));
    assert_true(rsmd_share_take(remote, RSMD_BYTES, 5));
    rsmd_account_drop(one);
    rsmd_account_drop(remote);
    /* Nobody holds them, but there is something left to give back. */
    assert_int_equal(HASH_COUNT(shares.accounts), 3);
    assert_ptr_equal(user(USER), one);
    rsmd_account_drop(one);
    rsmd_share_give(one, RSMD_BYTES, 5);
    assert_int_equal(HASH_COUNT(shares.accounts), 2);
    rsmd_share_give(remote, RSMD_BYTES, 5);
    assert_null(shares.accounts);
}

SHARES_TEST(a_wrong_sum_is_noticed)
{
    struct rsmd_account *one = user(USER);
    assert_true(rsmd_share_take(one, RSMD_BYTES, 5));
    shares.used[RSMD_BYTES]++;
    assert_false(rsmd_shares_are_sound(&shares));
    shares.used[RSMD_BYTES]--;
    one->used[RSMD_BYTES]++;
    assert_false(rsmd_shares_are_sound(&shares));
    one->used[RSMD_BYTES]--;
    shares.used_by_users[RSMD_BYTES]--;
    assert_false(rsmd_shares_are_sound(&shares));
    shares.used_by_users[RSMD_BYTES]++;
    give_all(one, RSMD_BYTES);
}

/* ------------------------------------------------------------------ at random */

/* What the accounts should be, kept in the simplest way. */
enum { HOLDERS = 12, STEPS = 100000 };
static struct {
    uint32_t node;
    uid_t uid;
    struct rsmd_account *account; /* NULL: holds none */
    uint64_t used[RSMD_RESOURCES];
} model[HOLDERS];

static uint64_t model_sum(enum rsmd_resource resource, uint32_t node, bool all)
{
    uint64_t sum = 0;
    for (unsigned i = 0; i < HOLDERS; i++)
        if (all || model[i].node == node)
            sum += model[i].used[resource];
    return sum;
}

/* What an independent reading of the rules allows. */
static bool model_fits(unsigned i, enum rsmd_resource resource, uint64_t amount)
{
    const struct rsmd_quota *quota = &shares.quota[resource];
    uint64_t all = model_sum(resource, 0, true), roots = 0;
    for (unsigned k = 0; k < HOLDERS; k++)
        if (model[k].node == 0 && model[k].uid == 0)
            roots += model[k].used[resource];
    if (all + amount > quota->total)
        return false;
    if (model[i].node == 0 && model[i].uid == 0)
        return true;
    if (all - roots + amount > quota->users)
        return false;
    if (model[i].node == 0)
        return model[i].used[resource] + amount <= quota->one;
    return model[i].used[resource] + amount <= quota->one_of_node &&
           model_sum(resource, model[i].node, false) + amount <= quota->one;
}

static void random_step(unsigned *seed)
{
    unsigned i = (unsigned)rand_r(seed) % HOLDERS;
    enum rsmd_resource resource = (enum rsmd_resource)((unsigned)rand_r(seed) % RSMD_RESOURCES);
    uint64_t amount = (uint64_t)rand_r(seed) % 300;
    if (model[i].account == NULL)
        model[i].account =
            model[i].node == 0 ? user(model[i].uid) : remote_user(model[i].node, model[i].uid);
    if (rand_r(seed) % 2 == 0) {
        bool fits = model_fits(i, resource, amount);
        assert_int_equal(rsmd_share_take(model[i].account, resource, amount), fits);
        model[i].used[resource] += fits ? amount : 0;
    } else {
        if (amount > model[i].used[resource])
            amount = model[i].used[resource];
        rsmd_share_give(model[i].account, resource, amount);
        model[i].used[resource] -= amount;
    }
    if (rand_r(seed) % 8 == 0) {
        rsmd_account_drop(model[i].account);
        model[i].account = NULL;
    }
}

SHARES_TEST(random_users)
{
    unsigned seed = 20261122; /* fixed, so that a failure repeats */
    for (unsigned i = 0; i < HOLDERS; i++) {
        memset(&model[i], 0, sizeof model[i]);
        model[i].node = i % 3 == 0 ? 0 : 1 + i % 3;
        model[i].uid = i / 3 * 1000;
    }
    for (unsigned step = 0; step < STEPS; step++) {
        random_step(&seed);
        if (step % 100 != 0)
            continue;
        assert_true(rsmd_shares_are_sound(&shares));
        for (unsigned r = 0; r < RSMD_RESOURCES; r++)
            assert_int_equal(shares.used[r], model_sum((enum rsmd_resource)r, 0, true));
    }
    for (unsigned i = 0; i < HOLDERS; i++) {
        struct rsmd_account *account =
            model[i].node == 0 ? user(model[i].uid) : remote_user(model[i].node, model[i].uid);
        for (unsigned r = 0; r < RSMD_RESOURCES; r++) {
            assert_int_equal(account->used[r], model[i].used[r]);
            rsmd_share_give(account, (enum rsmd_resource)r, model[i].used[r]);
        }
        rsmd_account_drop(account);
        rsmd_account_drop(model[i].account);
    }
}
