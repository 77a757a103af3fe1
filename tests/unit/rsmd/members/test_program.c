/* SPDX-License-Identifier: BSD-3-Clause */
/* Programs that name the members: good ones, and those that hang, fail, chatter or leave something
 * behind. */
#include "cases.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "members/members.h"

static char directory[] = "/tmp/rsm-program-XXXXXX";
static struct rsmd_conf_members rules = {.source = RSMD_NODES_EXEC};
static struct rsmd_members members;
static char why[RSMD_MEMBERS_WHY_BYTES];

static int begin(void **state)
{
    (void)state;
    if (mkdtemp(directory) == NULL)
        return -1;
    snprintf(rules.name, sizeof rules.name, "%s/who", directory);
    return 0;
}

static int end(void **state)
{
    (void)state;
    unlink(rules.name);
    return rmdir(directory);
}

TESTS_BETWEEN(begin, end)

/* Write a shell script, and run it. */
static bool run(const char *body)
{
    FILE *file = fopen(rules.name, "w");
    assert_non_null(file);
    assert_true(fprintf(file, "#!/bin/sh\n%s\n", body) > 0);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(chmod(rules.name, 0755), 0);
    rsmd_members_free(&members);
    why[0] = '\0';
    return rsmd_members_by_program(&members, &rules, why);
}

static int forget(void **state)
{
    (void)state;
    rsmd_members_free(&members);
    return 0;
}

static unsigned descriptors(void)
{
    unsigned count = 0;
    DIR *open_ones = opendir("/proc/self/fd");
    assert_non_null(open_ones);
    while (readdir(open_ones) != NULL)
        count++;
    closedir(open_ones);
    return count;
}

TEST_BETWEEN(a_program_that_answers, NULL, forget)
{
    unsigned before = descriptors();
    assert_true(run("echo 1 a 10.0.0.1; sleep 0.1; echo 2 b 10.0.0.2; echo noise >&2"));
    assert_int_equal(members.count, 2);
    assert_string_equal(members.list[1].address, "10.0.0.2");
    assert_int_equal(descriptors(), before);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* no child is left */
}

/* It has none of rsmd's environment, standard input or descriptors. */
TEST_BETWEEN(what_a_program_has, NULL, forget)
{
    setenv("RSM_SECRET", "x", 1);
    assert_true(run("[ -z \"$RSM_SECRET\" ] && [ -n \"$PATH\" ] && [ -z \"$(cat)\" ] &&\n"
                    "[ \"$(ls /proc/self/fd | wc -l)\" -le 4 ] && echo 1 a 10.0.0.1"));
    unsetenv("RSM_SECRET");
}

TEST_BETWEEN(programs_that_fail, NULL, forget)
{
    static const struct {
        const char *body, *says;
    } programs[] = {
        {"echo 1 a 10.0.0.1; echo 'no way' >&2; exit 3", "it ended with status 3: no way"},
        {"echo 1 a 10.0.0.1; exit 1", "it ended with status 1"},
        {"kill -9 $$", "signal 9 has ended it"},
        {"echo one two", "line 1: expected ID HOST ADDRESS"},
        {"exec 2>&1; printf 'a\\033[31m' >&2; exit 1", "it ended with status 1"},
    };
    for (size_t i = 0; i < sizeof programs / sizeof programs[0]; i++) {
        assert_false(run(programs[i].body));
        assert_non_null(strstr(why, programs[i].says));
        assert_null(strchr(why, '\033'));
    }
    assert_false(run("printf '\\033[31mred\\n' >&2; exit 1"));
    assert_non_null(strstr(why, "?[31mred"));
}

TEST_BETWEEN(a_program_that_is_not_there, NULL, forget)
{
    struct rsmd_conf_members other = rules;
    strcat(other.name, "-not");
    assert_false(rsmd_members_by_program(&members, &other, why));
    assert_non_null(strstr(why, "No such file"));
}

/* Whoever may change the file would be rsmd. */
TEST_BETWEEN(a_program_that_others_may_change, NULL, forget)
{
    assert_true(run("echo 1 a 10.0.0.1"));
    assert_int_equal(chmod(rules.name, 0777), 0);
    assert_false(rsmd_members_by_program(&members, &rules, why));
    assert_non_null(strstr(why, "other users may change this program"));
}

TEST_BETWEEN(a_program_that_never_stops_printing, NULL, forget)
{
    assert_false(run("yes '# nothing' | head -c 3000000"));
    assert_non_null(strstr(why, "more than"));
}

/* A process that it leaves holds its output open, and is ended with it. */
TEST_BETWEEN(a_program_that_leaves_a_process, NULL, forget)
{
    int64_t began = rsm_clock_ms();
    char path[128], body[256];
    snprintf(path, sizeof path, "%s/pid", directory);
    snprintf(body, sizeof body, "sleep 1000 & echo $! >%s; echo 1 a 10.0.0.1", path);
    assert_true(run(body));
    assert_true(rsm_clock_ms() - began < RSMD_MEMBERS_PROGRAM_MS);
    FILE *file = fopen(path, "r");
    int left = 0;
    assert_non_null(file);
    assert_int_equal(fscanf(file, "%d", &left), 1);
    fclose(file);
    unlink(path);
    snprintf(path, sizeof path, "/proc/%d/stat", left);
    for (unsigned tries = 0; tries < 1000; tries++) { /* init has it, and reaps it */
        char stage = 'X';
        file = fopen(path, "r");
        if (file == NULL || fscanf(file, "%*d %*s %c", &stage) != 1 || stage == 'Z')
            tries = 1000;
        if (file != NULL)
            fclose(file);
        if (tries >= 1000)
            return;
        usleep(10000);
    }
    fail_msg("process %d is still there", left);
}

TEST_BETWEEN(a_program_that_hangs, NULL, forget)
{
    unsigned before = descriptors();
    assert_false(run("echo 1 a 10.0.0.1; trap '' TERM; sleep 1000"));
    assert_non_null(strstr(why, "it has not ended within 10 s"));
    assert_int_equal(descriptors(), before);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
}
