/* SPDX-License-Identifier: BSD-3-Clause */
#include "node/access.h"
#include "cases.h"

enum { R = RSM_RIGHT_READ, W = RSM_RIGHT_WRITE, RW = R | W, OWN = 1 };

static enum rsm_status check(uint32_t node, uint32_t permission, bool loopback)
{
    struct rsm_acl_entry entry = {.node = node, .permission = permission};
    return rsmd_access_check_list(&entry, 1, loopback, OWN);
}

TEST_ALONE(list_lengths)
{
    struct rsm_acl_entry acl[RSM_PROTO_ACL_MAX + 1];
    for (unsigned i = 0; i < RSM_PROTO_ACL_MAX + 1; i++)
        acl[i] = (struct rsm_acl_entry){.node = OWN, .permission = 0600};
    assert_int_equal(rsmd_access_check_list(acl, 0, true, OWN), RSM_ST_OK);
    assert_int_equal(rsmd_access_check_list(acl, 1, true, OWN), RSM_ST_OK);
    assert_int_equal(rsmd_access_check_list(acl, 2, true, OWN), RSM_ST_BAD_RIGHTS);
    assert_int_equal(rsmd_access_check_list(acl, 64, false, OWN), RSM_ST_OK);
    assert_int_equal(rsmd_access_check_list(acl, 65, false, OWN), RSM_ST_BAD_RIGHTS);
}

TEST_ALONE(list_entries)
{
    assert_int_equal(check(0, 0666, false), RSM_ST_OK);
    assert_int_equal(check(65535, 0666, false), RSM_ST_OK);
    assert_int_equal(check(65536, 0666, false), RSM_ST_BAD_RIGHTS);
    assert_int_equal(check(UINT32_MAX, 0666, false), RSM_ST_BAD_RIGHTS);
    assert_int_equal(check(2, 0667, false), RSM_ST_BAD_RIGHTS);
    assert_int_equal(check(2, 0700, false), RSM_ST_BAD_RIGHTS);
    assert_int_equal(check(2, 0577, false), RSM_ST_OK);
    assert_int_equal(check(2, 0, false), RSM_ST_OK);
    assert_int_equal(check(OWN, 0666, true), RSM_ST_OK);
    assert_int_equal(check(2, 0666, true), RSM_ST_BAD_RIGHTS);
    assert_int_equal(check(0, 0666, true), RSM_ST_BAD_RIGHTS);
}

/* Owner of the segment: 100, group 200. */
static const gid_t groups[] = {5, 200};
static const struct rsmd_identity owner = {.uid = 100, .gid = 7};
static const struct rsmd_identity owner_in_group = {.uid = 100, .gid = 200};
static const struct rsmd_identity member = {.uid = 101, .gid = 200};
static const struct rsmd_identity supplementary = {
    .uid = 102, .gid = 7, .groups = groups, .group_count = 2};
static const struct rsmd_identity other = {
    .uid = 103, .gid = 7, .groups = groups, .group_count = 1};
static const struct rsmd_identity root = {.uid = 0, .gid = 0};

static const struct {
    uint32_t mode;
    const struct rsmd_identity *who;
    uint32_t granted; /* the rights that may be asked for */
} modes[] = {
    {0600, &owner, RW},        {0600, &member, 0},         {0600, &supplementary, 0},
    {0600, &other, 0},         {0644, &owner, RW},         {0644, &member, R},
    {0644, &other, R},         {0666, &owner, RW},         {0666, &member, RW},
    {0666, &other, RW},        {0060, &owner, 0},          {0060, &owner_in_group, 0},
    {0060, &member, RW},       {0060, &supplementary, RW}, {0060, &other, 0},
    {0006, &owner, 0},         {0006, &member, 0},         {0006, &supplementary, 0},
    {0006, &other, RW},        {0400, &owner, R},          {0200, &owner, W},
    {0777, &other, RW},        {0111, &owner, 0},          {0000, &owner, 0},
    {0000, &root, RW},         {0400, &root, RW},          {0020, &member, W},
    {0040, &supplementary, R}, {0577, &owner, R},          {0577, &member, RW},
};

static void expect_rights(const struct rsmd_access *access, uint32_t node,
                          const struct rsmd_identity *who, uint32_t granted)
{
    static const uint32_t wanted[] = {0, R, W, RW};
    for (unsigned i = 0; i < 4; i++) {
        enum rsm_status expected = (wanted[i] & ~granted) == 0 ? RSM_ST_OK : RSM_ST_DENIED;
        assert_int_equal(rsmd_access_decide(access, node, who, wanted[i]), expected);
    }
}

TEST_ALONE(users_without_list)
{
    for (unsigned i = 0; i < sizeof modes / sizeof modes[0]; i++) {
        struct rsmd_access access = {.uid = 100, .gid = 200, .mode = modes[i].mode};
        expect_rights(&access, OWN, modes[i].who, modes[i].granted);
        expect_rights(&access, 64, modes[i].who, modes[i].granted);
    }
}

TEST_ALONE(users_with_list)
{
    for (unsigned i = 0; i < sizeof modes / sizeof modes[0]; i++) {
        struct rsmd_access access = {.uid = 100,
                                     .gid = 200,
                                     .mode = 0, /* a list replaces it */
                                     .acl_count = 1,
                                     .acl = {{.node = 3, .permission = modes[i].mode}}};
        expect_rights(&access, 3, modes[i].who, modes[i].granted);
        assert_int_equal(rsmd_access_decide(&access, 4, modes[i].who, 0), RSM_ST_NOT_TO_NODE);
    }
}

TEST_ALONE(nodes_of_a_list)
{
    struct rsmd_access access = {.uid = 100,
                                 .gid = 200,
                                 .mode = 0666,
                                 .acl_count = 3,
                                 .acl = {{2, 0400}, {2, 0600}, {3, 0}}};
    /* The own node is not implied; root is no exception to the list of nodes. */
    assert_int_equal(rsmd_access_decide(&access, OWN, &owner, R), RSM_ST_NOT_TO_NODE);
    assert_int_equal(rsmd_access_decide(&access, OWN, &root, R), RSM_ST_NOT_TO_NODE);
    /* The first entry of a node counts. */
    assert_int_equal(rsmd_access_decide(&access, 2, &owner, R), RSM_ST_OK);
    assert_int_equal(rsmd_access_decide(&access, 2, &owner, RW), RSM_ST_DENIED);
    /* Permission 0: a connection without rights alone. */
    assert_int_equal(rsmd_access_decide(&access, 3, &owner, 0), RSM_ST_OK);
    assert_int_equal(rsmd_access_decide(&access, 3, &owner, R), RSM_ST_DENIED);
    /* The node is looked at before the rights. */
    assert_int_equal(rsmd_access_decide(&access, 9, &owner, 1), RSM_ST_NOT_TO_NODE);
}

TEST_ALONE(rights_that_do_not_exist)
{
    struct rsmd_access access = {.uid = 100, .gid = 200, .mode = 0777};
    assert_int_equal(rsmd_access_decide(&access, OWN, &owner, 1), RSM_ST_DENIED);
    assert_int_equal(rsmd_access_decide(&access, OWN, &owner, 8 | R), RSM_ST_DENIED);
    assert_int_equal(rsmd_access_decide(&access, OWN, &root, 1), RSM_ST_DENIED);
}

TEST_ALONE(users_of_a_daemon)
{
    assert_int_equal(rsmd_access_service(100, 100), RSMD_SERVICE_ALL);
    assert_int_equal(rsmd_access_service(100, 0), RSMD_SERVICE_LOOK);
    assert_int_equal(rsmd_access_service(100, 101), RSMD_SERVICE_NONE);
    assert_int_equal(rsmd_access_service(0, 0), RSMD_SERVICE_ALL);
    assert_int_equal(rsmd_access_service(0, 100), RSMD_SERVICE_NONE);
}
