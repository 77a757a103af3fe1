/* SPDX-License-Identifier: BSD-3-Clause */
#include "run.h"

#include "agent.h"
#include "harness.h"
#include "process.h"
#include "stage.h"

enum { TEST_TIMEOUT_MS = 180000, ORPHAN_TIMEOUT_MS = 5000, SHOWN_BYTES = 1 << 16 };

/* Written by the test's process, read by this one when that has ended. */
static struct verdict {
    bool given;
    enum outcome outcome;
    char reason[REASON_BYTES];
} * verdict;

static const struct conformance_test *current;

/* ---------------------------------------------------------------- the test's process */

static void give_verdict(enum outcome outcome, const char *reason)
{
    verdict->given = true;
    verdict->outcome = outcome;
    snprintf(verdict->reason, sizeof verdict->reason, "%s", reason);
}

void does_not_apply(const char *reason)
{
    give_verdict(OUTCOME_DOES_NOT_APPLY, reason);
    skip();
    abort(); /* skip() leaves the test; the compiler does not know */
}

static void carry_out(void **state)
{
    static const int caught_by_cmocka[] = {SIGFPE, SIGILL, SIGSEGV, SIGBUS, SIGSYS};
    for (size_t i = 0; i < sizeof caught_by_cmocka / sizeof caught_by_cmocka[0]; i++)
        signal(caught_by_cmocka[i], SIG_DFL);
    if (!current->direct)
        stage_open();
    current->run();
    give_verdict(OUTCOME_PASSED, "");
}

static int clear_stage(void **state)
{
    if (!current->direct)
        stage_clear();
    return 0;
}

__attribute__((noreturn)) static void be_test(struct world *world, int log)
{
    const struct CMUnitTest only[] = {cmocka_unit_test_teardown(carry_out, clear_stage)};
    setpgid(0, 0);
    dup2(log, STDOUT_FILENO);
    dup2(log, STDERR_FILENO);
    setvbuf(stdout, NULL, _IONBF, 0);
    if (!current->direct)
        stage_set(world);
    exit(cmocka_run_group_tests_name(current->name, only, NULL, NULL) == 0 ? 0 : 1);
}

/* ---------------------------------------------------------------- this process */

static void show(int log)
{
    static char text[SHOWN_BYTES];
    ssize_t length = pread(log, text, sizeof text, 0);
    fflush(stdout);
    if (length > 0 && write(STDOUT_FILENO, text, (size_t)length) != length)
        perror("conformance");
}

/* How the process ended; NULL if as it should. */
static const char *bad_end(pid_t pid, int status, char *text, size_t size)
{
    if (pid == 0)
        snprintf(text, size, "hangs");
    else if (WIFSIGNALED(status))
        snprintf(text, size, "killed by %s", strsignal(WTERMSIG(status)));
    else if (WEXITSTATUS(status) != 0)
        snprintf(text, size, "exit status %d", WEXITSTATUS(status));
    else if (!verdict->given)
        snprintf(text, size, "ended amid the test");
    else
        return NULL;
    return text;
}

static enum outcome conclude(pid_t ended, int status, char *reason)
{
    bool failed = bad_end(ended, status, reason, REASON_BYTES) != NULL;
    if (failed && verdict->given && verdict->outcome == OUTCOME_FAILED)
        strcpy(reason, verdict->reason);
    if (failed)
        return OUTCOME_FAILED;
    strcpy(reason, verdict->reason);
    return verdict->outcome;
}

static enum outcome run_in_world(struct world *world, int log, char *reason)
{
    int status = 0;
    fflush(NULL);
    pid_t pid = fork();
    if (pid < 0) {
        snprintf(reason, REASON_BYTES, "no process: %m");
        return OUTCOME_FAILED;
    }
    if (pid == 0)
        be_test(world, log);
    setpgid(pid, pid);
    pid_t ended = child_await(pid, 0, TEST_TIMEOUT_MS, &status);
    enum outcome outcome = conclude(ended, status, reason);
    if (outcome == OUTCOME_FAILED)
        kill(-pid, SIGKILL); /* all that it started, stopped or not */
    if (ended == 0)
        child_await(pid, 0, TEST_TIMEOUT_MS, &status);
    return outcome;
}

static enum outcome run_with_agent(struct world *world, int log, char *reason)
{
    if (!agent_begin()) {
        snprintf(reason, REASON_BYTES, "the agent on the other machine does not begin");
        return OUTCOME_FAILED;
    }
    enum outcome outcome = run_in_world(world, log, reason);
    if (!agent_end(outcome == OUTCOME_FAILED) && outcome != OUTCOME_FAILED) {
        outcome = OUTCOME_FAILED;
        snprintf(reason, REASON_BYTES, "left something behind on the other machine");
    }
    return outcome;
}

/* What the test begins with: daemons and runtime directories, or none. */
static bool set_up(void **state)
{
    if (!current->direct)
        return world_setup(state) == 0;
    children_watch();
    return true;
}

static enum outcome run_in(struct world *world, int log, char *reason)
{
    if (current->direct)
        return run_in_world(NULL, log, reason);
    stage_split(world);
    return two_machines() ? run_with_agent(world, log, reason) : run_in_world(world, log, reason);
}

/* The processes of a direct check end with the one that started them; this one has adopted them. */
static bool tear_down(void **state)
{
    int status;
    if (!current->direct)
        return world_teardown(state) == 0;
    while (child_await(-1, 0, ORPHAN_TIMEOUT_MS, &status) > 0)
        continue;
    return true;
}

enum outcome conformance_run(const struct conformance_test *test, char *reason)
{
    void *state = NULL;
    int log = memfd_create("conformance", MFD_CLOEXEC);
    if (verdict == NULL)
        verdict =
            mmap(NULL, sizeof *verdict, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    current = test;
    if (log < 0 || verdict == MAP_FAILED || !set_up(&state)) {
        snprintf(reason, REASON_BYTES, "could not be set up: %m");
        return OUTCOME_FAILED;
    }
    *verdict = (struct verdict){.given = false};
    enum outcome outcome = run_in(state, log, reason);
    if (!tear_down(&state) && outcome != OUTCOME_FAILED) {
        outcome = OUTCOME_FAILED;
        snprintf(reason, REASON_BYTES, "left something behind");
    }
    if (outcome == OUTCOME_FAILED)
        show(log);
    close(log);
    return outcome;
}

/* ---------------------------------------------------------------- expectations */

static char subject[REASON_BYTES / 2];

void about(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(subject, sizeof subject, format, arguments);
    va_end(arguments);
}

__attribute__((noreturn)) static void fail_at(const char *file, int line, const char *what)
{
    const char *name = strrchr(file, '/');
    char reason[REASON_BYTES];
    snprintf(reason, sizeof reason, "%s:%d: %s%s%s", name != NULL ? name + 1 : file, line, subject,
             subject[0] != '\0' ? ": " : "", what);
    give_verdict(OUTCOME_FAILED, reason);
    fail();
    abort(); /* fail() leaves the test; the compiler does not know */
}

void expect_code(const char *file, int line, const char *call, int got, int wanted)
{
    if (got == wanted)
        return;
    char what[REASON_BYTES], name[32];
    snprintf(name, sizeof name, "%s", code_name(got));
    snprintf(what, sizeof what, "%s, not %s: %.80s", name, code_name(wanted), call);
    fail_at(file, line, what);
}

void expect_either(const char *file, int line, const char *call, int got, int first, int second)
{
    if (got != first)
        expect_code(file, line, call, got, second);
}

void expect_holds(const char *file, int line, const char *what, bool holds)
{
    if (!holds)
        fail_at(file, line, what);
}
