/* SPDX-License-Identifier: BSD-3-Clause */
/* The members of the last time: whose they must be, and where they are taken. */
#include "cases.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "members/members.h"

static char directory[] = "/tmp/rsm-kept-XXXXXX";
static char path[64];
static const struct rsmd_conf_members rules = {.source = RSMD_NODES_EXEC,
                                               .name = "/no/such/program"};

static int begin(void **state)
{
    (void)state;
    if (mkdtemp(directory) == NULL)
        return -1;
    snprintf(path, sizeof path, "%s/members", directory);
    return 0;
}

static int end(void **state)
{
    (void)state;
    unlink(path);
    return rmdir(directory);
}

TESTS_BETWEEN(begin, end)

static void keep(const char *text)
{
    struct rsmd_members members = {.list = NULL};
    char why[RSMD_MEMBERS_WHY_BYTES];
    assert_true(rsmd_members_read(&members, &rules, text, strlen(text), why));
    rsmd_members_keep(directory, &rules, &members);
    rsmd_members_free(&members);
}

static unsigned kept(const struct rsmd_conf_members *by)
{
    struct rsmd_members members = {.list = NULL};
    bool there = rsmd_members_kept(directory, by, &members);
    unsigned count = members.count;
    assert_int_equal(there, count > 0);
    rsmd_members_free(&members);
    return count;
}

TEST_ALONE(what_is_kept)
{
    assert_int_equal(kept(&rules), 0);
    keep("1 a 10.0.0.1\n2 b [fe80::2]:99\n");
    assert_int_equal(kept(&rules), 2);
    keep("1 a 10.0.0.1\n");
    assert_int_equal(kept(&rules), 1);
}

TEST_ALONE(another_source)
{
    struct rsmd_conf_members other = rules;
    keep("1 a 10.0.0.1\n");
    other.prefix = 16;
    assert_int_equal(kept(&other), 0);
    other = rules;
    other.source = RSMD_NODES_DNS;
    assert_int_equal(kept(&other), 0);
    other = rules;
    strcat(other.name, "s");
    assert_int_equal(kept(&other), 0);
}

/* Whoever may write the file decides who is a member. */
TEST_ALONE(files_that_others_may_write)
{
    keep("1 a 10.0.0.1\n");
    assert_int_equal(chmod(path, 0664), 0);
    assert_int_equal(kept(&rules), 0);
    assert_int_equal(chmod(path, 0646), 0);
    assert_int_equal(kept(&rules), 0);
    keep("1 a 10.0.0.1\n");
    assert_int_equal(kept(&rules), 1);
    char elsewhere[80];
    snprintf(elsewhere, sizeof elsewhere, "%s.other", path);
    assert_int_equal(rename(path, elsewhere), 0);
    assert_int_equal(symlink(elsewhere, path), 0);
    assert_int_equal(kept(&rules), 0);
    unlink(path);
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_int_equal(kept(&rules), 0);
    unlink(path);
    unlink(elsewhere);
}

TEST_ALONE(damaged_files)
{
    keep("1 a 10.0.0.1\n");
    int fd = open(path, O_WRONLY | O_APPEND);
    assert_true(fd >= 0 && write(fd, "1 b 10.0.0.2\n", 13) == 13);
    close(fd);
    assert_int_equal(kept(&rules), 0); /* node 1 twice */
}

/* The source does not answer at the start. */
TEST_ALONE(a_start_without_the_source)
{
    struct rsmd_members members;
    char why[RSMD_MEMBERS_WHY_BYTES];
    unlink(path);
    assert_false(rsmd_members_first(directory, &rules, &members, why));
    assert_non_null(strstr(why, "exec:/no/such/program: No such file"));
    keep("1 a 10.0.0.1\n");
    assert_true(rsmd_members_first(directory, &rules, &members, why));
    assert_non_null(strstr(why, "those of the last time"));
    assert_int_equal(members.ttl_s, RSMD_MEMBERS_RETRY_S); /* it is asked again soon */
    rsmd_members_free(&members);
}
