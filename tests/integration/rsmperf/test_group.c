/* SPDX-License-Identifier: BSD-3-Clause */
/* Groups: every member has what was put, and what is said where one has not. */
#include "figures.h"

#include <math.h>

#include "party.h"
#include "process.h"

static const struct json_value *row_of(const struct json_value *root, size_t index,
                                       uint64_t members, uint64_t bytes)
{
    const struct json_value *row = json_element(get(root, "group", JSON_ARRAY), index);
    assert_non_null(row);
    assert_int_equal(get_number(row, "members"), members);
    assert_int_equal(get_number(row, "bytes"), bytes);
    return row;
}

static void check_row(const struct json_value *root, size_t index, uint64_t members, uint64_t bytes,
                      bool compared)
{
    static const char *const times[] = {"best_ns", "p50_ns", "p99_ns", "p9999_ns"};
    const struct json_value *row = row_of(root, index, members, bytes);
    double last = 0;
    assert_null(json_member(row, "error"));
    for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
        double ns = get_real(row, times[i]);
        assert_true(isfinite(ns) && ns > 0 && ns >= last);
        last = ns;
    }
    assert_true(get_number(row, "samples") > 0);
    assert_true(get_is_null(row, "of_one") == !compared);
    if (members == 1 && compared)
        assert_true(get_real(row, "of_one") == 1);
}

static struct run start_member(const struct world *world, unsigned node)
{
    be_node(node);
    struct run member = run_begin(world, geteuid(), "--member -s 4K", -1);
    run_await(&member, "Member of group 0x4f5246;", 1);
    be_node(1);
    return member;
}

static void stop_member(struct run *member)
{
    assert_int_equal(kill(member->pid, SIGINT), 0);
    struct outcome outcome = run_end(member);
    assert_int_equal(outcome.status, 0);
    assert_string_equal(outcome.err, "");
    outcome_free(&outcome);
}

/* One, two, and all of three, of which one is on the writer's own node. */
RSMPERF_TEST(test_members_of_this_host)
{
    be_node(1);
    struct json_value *root =
        run_json(world, geteuid(), "--members 2,1,3 --group -s 8,64K -t 5", 0);
    assert_int_equal(json_count(get(root, "group", JSON_ARRAY)), 6);
    for (unsigned i = 0; i < 6; i++)
        check_row(root, i, i / 2 + 1, i % 2 == 0 ? 8 : 65536, true);
    json_free(root);
    await_left(world, 0);
}

/* Those that other commands have started. One is too small for the larger size, the other not. */
RSMPERF_TEST(test_members_elsewhere)
{
    struct run second = start_member(world, 2), third = start_member(world, 3);
    struct json_value *root = run_json(world, geteuid(), "--group -s 8,4K -t 5", 0);
    check_row(root, 0, 2, 8, false);
    check_row(root, 1, 2, 4096, false);
    json_free(root);
    check_fails(world, "--group --members 4,5 -s 8 -t 5", 1, "the group has members already");
    root = run_json(world, geteuid(), "--group -s 8,8K -t 5", 1);
    check_row(root, 0, 2, 8, false);
    assert_non_null(strstr(get_string(row_of(root, 1, 2, 8192), "error"), "too large for every"));
    json_free(root);
    stop_member(&third);
    root = run_json(world, geteuid(), "--group -t 5", 1); /* 64 KiB are too large */
    check_row(root, 0, 1, 8, true);
    json_free(root);
    stop_member(&second);
    check_fails(world, "--group -t 5", 1, "no member was found: run 'rsmperf --member'");
}

/* A member that ends while it is written to may spoil the row of that time, and no later one. */
RSMPERF_TEST(test_member_ends)
{
    struct run second = start_member(world, 2), third = start_member(world, 3);
    struct run writer = run_begin(world, geteuid(), "--group -s 8,16,32,64 -t 500 --csv", -1);
    nanosleep(&(struct timespec){.tv_nsec = 200000000}, NULL);
    stop_member(&third);
    struct outcome outcome = run_end(&writer);
    assert_true(has_line(outcome.out, "^members,bytes,best_ns,p50_ns,p99_ns,p9999_ns,samples,"
                                      "of_one,error$"));
    assert_true(has_line(outcome.out, "^1,64,[0-9.]+,[0-9.]+,[0-9.]+,[0-9.]+,[0-9]+,1,$"));
    outcome_free(&outcome);
    stop_member(&second);
}

RSMPERF_TEST(test_refusals)
{
    be_node(1);
    check_fails(world, "--members 2", 2, "--members is for --group");
    check_fails(world, "--group --members 2,", 2, "--members: expected 1 to 16 node ids");
    check_fails(world, "--group --members 0", 2, "--members: expected 1 to 16 node ids");
    check_fails(world, "--group -i 2", 2, "--group and --member go only with");
    check_fails(world, "--member -o put", 2, "--group and --member go only with");
    check_fails(world, "--group --members 2,2 -s 8 -t 5", 1, "RSMERR_SEGID_IN_USE");
    await_left(world, 0);
}
