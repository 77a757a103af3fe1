/* SPDX-License-Identifier: BSD-3-Clause */
/* --watch: again and again, until somebody has had enough. */
#include "party.h"
#include "process.h"
#include "run.h"

static void end_by(struct run *run, int signal)
{
    assert_int_equal(kill(run->pid, signal), 0);
    int64_t before = now_ms();
    struct outcome outcome = run_end(run);
    assert_int_equal(outcome.status, 0);
    assert_in_range(now_ms() - before, 0, 1500); /* not only when the interval is over */
    assert_string_equal(outcome.err, "");
    outcome_free(&outcome);
}

WORLD_TEST(test_blocks)
{
    struct actor *exporter = actor_start(world, 1);
    TELL_OK(exporter, offer, .length = PARTY_PAGE);
    struct run run = run_begin(world, geteuid(), "--exports --watch=1", -1);
    run_await(&run, "\n0x400000 ", 3);
    end_by(&run, SIGINT);
    run = run_begin(world, geteuid(), "--watch=3600", -1);
    run_await(&run, "rsmstat at ", 1);
    end_by(&run, SIGTERM);
}

/* Rates are there from the second picture on, and count what came in between. */
WORLD_TEST(test_rates)
{
    struct actor *exporter = actor_start(world, 1);
    struct actor *importer = actor_start(world, 1);
    TELL_OK(exporter, offer, .length = PARTY_PAGE);
    struct run run = run_begin(world, geteuid(), "--exports --watch=2", -1);
    run_await(&run, "So far: connects: 0,", 1);
    assert_null(strstr(run.seen, "Per second"));
    TELL_OK(importer, connect, .node = 1);
    run_await(&run, "So far: connects: 1,", 2);
    assert_int_equal(kill(run.pid, SIGINT), 0);
    struct outcome outcome = run_end(&run);
    const char *rate = strstr(outcome.out, "So far: connects: 1,");
    rate = strstr(rate, "\nPer second: connects: ");
    assert_non_null(rate);
    assert_true(strncmp(rate, "\nPer second: connects: 0.0", 26) != 0);
    assert_non_null(strstr(rate + 1, "\nPer second: connects: 0.0, events: 0.0\n"));
    outcome_free(&outcome);
}

WORLD_TEST(test_lines)
{
    struct actor *exporter = actor_start(world, 1);
    TELL_OK(exporter, offer, .length = PARTY_PAGE);
    struct run run = run_begin(world, geteuid(), "--json --watch=1", -1);
    run_await(&run, "\n", 2);
    assert_int_equal(kill(run.pid, SIGINT), 0);
    struct outcome outcome = run_end(&run);
    assert_int_equal(outcome.status, 0);
    for (char *line = outcome.out, *end; *line != '\0'; line = end) {
        end = strchr(line, '\n');
        assert_non_null(end);
        end++;
        json_free(parse(line, (size_t)(end - line)));
    }
    outcome_free(&outcome);
}

/* What comes and goes between two pictures shows in the second, without the daemon too. */
WORLD_TEST(test_changes)
{
    struct run run = run_begin(world, geteuid(), "--exports --watch=1", -1);
    run_await(&run, "rsmstat at ", 1);
    struct actor *exporter = actor_start(world, 1);
    TELL_OK(exporter, offer, .length = PARTY_PAGE);
    run_await(&run, "\n0x400000 ", 1);
    assert_int_equal(kill(run.pid, SIGINT), 0);
    struct outcome outcome = run_end(&run);
    assert_int_equal(outcome.status, 0);
    assert_non_null(strstr(outcome.err, "no rsmd for node 1"));
    outcome_free(&outcome);
}

/* A daemon that stops for a while: rsmstat says so, goes on, and still ends when it is told to. */
WORLD_TEST(test_stopped)
{
    struct actor *exporter = actor_start(world, 1);
    TELL_OK(exporter, offer, .length = PARTY_PAGE);
    pid_t daemon = world_daemon(world, 1);
    struct run run = run_begin(world, geteuid(), "--exports --watch=1", -1);
    run_await(&run, "\n0x400000 ", 1);
    process_freeze(daemon);
    run_await(&run, "rsmstat at ", run_count(&run, "rsmstat at ") + 3);
    process_thaw(daemon);
    run_await(&run, "\n0x400000 ", run_count(&run, "\n0x400000 ") + 1);
    process_freeze(daemon);
    run_await(&run, "rsmstat at ", run_count(&run, "rsmstat at ") + 2);
    int64_t before = now_ms();
    assert_int_equal(kill(run.pid, SIGTERM), 0);
    struct outcome outcome = run_end(&run);
    process_thaw(daemon);
    assert_int_equal(outcome.status, 0);
    assert_in_range(now_ms() - before, 0,
                    1500); /* neither the interval nor the time for an answer */
    assert_non_null(strstr(outcome.err, "node-1.sock: does not answer\n"));
    outcome_free(&outcome);
}

/* A terminal that the tool writes to; its other end. */
static struct run run_on_terminal(const struct world *world, const char *options)
{
    int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    assert_true(master >= 0 && grantpt(master) == 0 && unlockpt(master) == 0);
    int terminal = open(ptsname(master), O_RDWR | O_NOCTTY | O_CLOEXEC);
    assert_true(terminal >= 0);
    struct run run = run_begin(world, geteuid(), options, terminal);
    run.out = master;
    return run;
}

WORLD_TEST(test_terminal)
{
    struct actor *exporter = actor_start(world, 1);
    TELL_OK(exporter, offer, .length = PARTY_PAGE);
    struct run run = run_on_terminal(world, "--exports --watch=1");
    run_await(&run, "\033[H\033[2Jrsmstat at ", 2);
    end_by(&run, SIGINT);
}

/* Whether the tool uses colors, once. */
static bool has_colors(const struct world *world, bool terminal, const char *options)
{
    struct run run =
        terminal ? run_on_terminal(world, options) : run_begin(world, geteuid(), options, -1);
    struct outcome outcome = run_end(&run);
    assert_int_equal(outcome.status, 0);
    assert_non_null(strstr(outcome.out, "EXPORTED"));
    bool colors = strstr(outcome.out, "\033[1mEXPORTED\033[0m") != NULL;
    assert_true(colors || strchr(outcome.out, '\033') == NULL);
    outcome_free(&outcome);
    return colors;
}

WORLD_TEST(test_colors)
{
    struct actor *exporter = actor_start(world, 1);
    TELL_OK(exporter, offer, .length = PARTY_PAGE);
    unsetenv("NO_COLOR");
    setenv("TERM", "xterm", 1);
    assert_true(has_colors(world, true, "--exports"));
    assert_true(has_colors(world, true, "--exports --color=auto"));
    assert_false(has_colors(world, true, "--exports --color=never"));
    assert_false(has_colors(world, false, "--exports"));
    assert_false(has_colors(world, false, "--exports --color=auto"));
    assert_true(has_colors(world, false, "--exports --color=always"));
    assert_true(has_colors(world, false, "--exports --color"));
    setenv("NO_COLOR", "", 1);
    assert_true(has_colors(world, true, "--exports"));
    setenv("NO_COLOR", "1", 1);
    assert_false(has_colors(world, true, "--exports"));
    assert_true(has_colors(world, true, "--exports --color=always"));
    unsetenv("NO_COLOR");
    setenv("TERM", "dumb", 1);
    assert_false(has_colors(world, true, "--exports"));
}

/* The reader of a pipe has gone: rsmstat goes, too. */
WORLD_TEST(test_broken_pipe)
{
    int ends[2], status;
    struct actor *exporter = actor_start(world, 1);
    TELL_OK(exporter, offer, .length = PARTY_PAGE);
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    close(ends[0]);
    struct run run = run_begin(world, geteuid(), "--watch=1", ends[1]);
    assert_int_equal(child_await(run.pid, 0, RUN_MS, &status), run.pid);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGPIPE);
    close(run.err);
}
