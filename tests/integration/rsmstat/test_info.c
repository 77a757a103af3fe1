/* SPDX-License-Identifier: BSD-3-Clause */
/* rsminfo shows what there is, and what is missing, whoever asks. */
#include <regex.h>

#include "party.h"
#include "process.h"
#include "run.h"
#include "shared_node.h"

enum { OTHER_UID = 65533 };

static void expect_line(const char *text, const char *pattern)
{
    regex_t regex;
    assert_int_equal(regcomp(&regex, pattern, REG_EXTENDED | REG_NEWLINE | REG_NOSUB), 0);
    int result = regexec(&regex, text, 0, NULL, 0);
    regfree(&regex);
    if (result != 0)
        fail_msg("no line %s in\n%s", pattern, text);
}

static int info_setup(void **state)
{
    return shared_node_setup_with(state, "; not shown\n[controller sci0]\ntransport = shm\n"
                                         "[controller away0]\ntransport = ntb\n"
                                         "device = /dev/rsm_ntb-away\n");
}

static void expect_host(const char *out)
{
    expect_line(out, "^time +20[0-9-]+ [0-9:]+ [+-][0-9]{4}$");
    expect_line(out, "^rsminfo +[0-9.]+, built by ");
    expect_line(out, "^librsm +.*/librsm\\.so\\.2$");
    expect_line(out, "^modules +/");
    expect_line(out, "^ +ntb: loads$");
    expect_line(out, "^kernel +Linux [0-9]");
    expect_line(out, "^userfaultfd +of this user alone: ");
    expect_line(out, "^PAGEMAP_SCAN +(yes|no|.*denied.*)$");
    expect_line(out, "^memfd +sealing: yes");
    expect_line(out, "^memlock +");
    expect_line(out, "^descriptors +[0-9]+, at most ");
    expect_line(out, "^RDMA");
    expect_line(out, "^NTB");
}

TEST_WITH(struct world *world, test_node, info_setup, shared_node_teardown)
{
    setenv("RSM_NODEE", "3", 1);
    for (int other = 0; other <= 1; other++) {
        struct outcome outcome = run_as(world, other ? OTHER_UID : geteuid(), "");
        assert_int_equal(outcome.status, 0);
        assert_string_equal(outcome.err, "");
        expect_host(outcome.out);
        expect_line(outcome.out, "^environment +.*RSM_");
        expect_line(outcome.out, "^WARNING +the environment variable RSM_NODEE is not one");
        expect_line(outcome.out, "^node +1 in /tmp/.*, configured$");
        expect_line(outcome.out, "^rsmd +[0-9]+ of user .*, system$");
        expect_line(outcome.out, "^ +.*--config=/tmp/rsm-shared-");
        expect_line(outcome.out, "^controllers +sci0: shm$");
        expect_line(outcome.out, "^ +away0: FAILED at 20[0-9-]+ [0-9:]+, ago: [0-9]+[sm]: ntb: "
                                 "cannot open /dev/rsm_ntb-away ");
        expect_line(outcome.out, "^rsm.conf +/tmp/rsm-shared-.*: not there$"); /* any more */
        expect_line(outcome.out, "^refusal +none that this user may see$");
        outcome_free(&outcome);
    }
    unsetenv("RSM_NODEE");
}

/* The user who was refused is told, and root; others are not. */
SHARED_NODE_TEST(test_refusal)
{
    static const char refused[] = "^refusal +the last one at 20[0-9-]+ [0-9:]+, ago: [0-9]+[sm]: "
                                  "connect by process [0-9]+ of user .*: ";
    struct actor *importer = actor_start_as(world, 1, UNPRIVILEGED_UID);
    if (!build_is_reachable()) {
        print_message("not run: other users cannot get at the programs of this build\n");
        skip();
    }
    assert_int_not_equal(TELL(importer, connect, .node = 1, .id = PARTY_ID + 77), RSM_SUCCESS);
    for (int other = 0; other <= 2; other++) {
        uid_t uid = other == 0 ? 0 : other == 1 ? UNPRIVILEGED_UID : OTHER_UID;
        struct outcome outcome = run_as(world, uid, "");
        expect_line(outcome.out, uid == OTHER_UID ? "^refusal +none that" : refused);
        outcome_free(&outcome);
    }
}

WORLD_TEST(test_no_daemon)
{
    struct outcome outcome = run(world, "--node 2");
    assert_int_equal(outcome.status, 0);
    expect_host(outcome.out);
    expect_line(outcome.out, "^rsmd +no rsmd for node 2 at ");
    outcome_free(&outcome);
    setenv("RSM_NODE", "x", 1);
    outcome = run(world, "");
    unsetenv("RSM_NODE");
    assert_int_equal(outcome.status, 0);
    expect_line(outcome.out, "^ERROR +RSM_NODE=x is not a node id");
    outcome_free(&outcome);
}

WORLD_TEST(test_usage)
{
    struct outcome outcome = run(world, "--nothing");
    assert_int_equal(outcome.status, 2);
    outcome_free(&outcome);
    outcome = run(world, "-n x"); /* it is nobody's environment that is wrong */
    assert_int_equal(outcome.status, 2);
    assert_string_equal(outcome.out, "");
    outcome_free(&outcome);
    outcome = run(world, "word");
    assert_int_equal(outcome.status, 2);
    outcome_free(&outcome);
    outcome = run(world, "--version");
    assert_int_equal(outcome.status, 0);
    assert_int_equal(strncmp(outcome.out, "rsminfo (librsm) ", 17), 0);
    outcome_free(&outcome);
}

int main(void)
{
    run_program = "rsminfo";
    return cases_run();
}
