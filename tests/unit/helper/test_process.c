/* SPDX-License-Identifier: BSD-3-Clause */
/* A helper of rsmd from both sides: this program starts itself as one, and the helper says what it
 * finds, and what it can still do in its sandbox. */
#include "cases.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/packet.h"
#include "helper/process.h"
#include "helper/program.h"

#define SERVES "serves"
#define STAYS  "stays"

enum { PATIENCE_MS = 10000 };

struct report {
    int arguments, variables, descriptors, blocked;
    bool limit_raised;
    /* in the sandbox: errno values, and what is left */
    int opened, executable, plain, listed, unlisted;
    uid_t uid;
    int dumpable, no_new_privileges;
    rlim_t core;
};

/* ------------------------------------------------------------------ the helper */

static void look_around(struct report *report, int argc)
{
    sigset_t blocked;
    struct rlimit files;
    report->arguments = argc - 1;
    for (char **variable = environ; *variable != NULL; variable++)
        report->variables++;
    for (int fd = RSM_HELPER_CONTROL; fd < 256; fd++)
        report->descriptors += fcntl(fd, F_GETFD) >= 0;
    sigprocmask(SIG_SETMASK, NULL, &blocked);
    for (int number = 1; number < NSIG; number++)
        report->blocked += sigismember(&blocked, number) == 1;
    getrlimit(RLIMIT_NOFILE, &files);
    report->limit_raised = files.rlim_cur == files.rlim_max;
}

static int error_of_mapping(int rights)
{
    void *at = mmap(NULL, 4096, rights, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return at == MAP_FAILED ? errno : 0;
}

static void try_everything(struct report *report)
{
    struct rlimit core = {1, 1};
    report->opened = open("/dev/null", O_RDONLY | O_CLOEXEC) < 0 ? errno : 0;
    report->executable = error_of_mapping(PROT_READ | PROT_EXEC);
    report->plain = error_of_mapping(PROT_READ | PROT_WRITE);
    report->listed = syscall(SYS_getppid) < 0 ? errno : 0;
    report->unlisted = syscall(SYS_getpgid, 0) < 0 ? errno : 0;
    report->uid = getuid();
    report->dumpable = prctl(PR_GET_DUMPABLE, 0, 0, 0, 0);
    report->no_new_privileges = prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0);
    syscall(SYS_prlimit64, 0, RLIMIT_CORE, NULL, &core);
    report->core = core.rlim_max;
}

static int serve(int argc)
{
    static const int calls[] = {SYS_getppid, SYS_getuid, SYS_prctl, SYS_prlimit64};
    struct report report = {0};
    char byte;
    if (!rsm_helper_begin("test", "in a test"))
        return 2;
    look_around(&report, argc);
    if (!rsm_helper_enter_sandbox("no user has this name", calls, sizeof calls / sizeof calls[0]))
        return 1;
    try_everything(&report);
    if (rsm_packet_send(RSM_HELPER_CONTROL, &report, sizeof report, NULL, 0) != 0)
        return 1;
    return rsm_packet_await(RSM_HELPER_CONTROL, &byte, 1, NULL) == 0 ? 0 : 1;
}

/* A helper that rsmd's end does not end. */
static int stay(void)
{
    char ready = 1;
    (void)rsm_packet_send(RSM_HELPER_CONTROL, &ready, 1, NULL, 0);
    return sleep(PATIENCE_MS) == 0 ? 0 : 1;
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], SERVES) == 0)
        return serve(argc);
    if (argc > 1 && strcmp(argv[1], STAYS) == 0)
        return stay();
    return cases_run();
}

/* ------------------------------------------------------------------ rsmd */

static void await(int fd)
{
    struct pollfd ready = {.fd = fd, .events = POLLIN};
    assert_int_equal(poll(&ready, 1, PATIENCE_MS), 1);
}

TEST_ALONE(what_a_helper_is_started_with)
{
    struct rsm_helper helper;
    struct report report;
    sigset_t some, before;
    sigemptyset(&some);
    sigaddset(&some, SIGTERM);
    sigprocmask(SIG_BLOCK, &some, &before);
    int error = rsm_helper_start(&helper, "/proc/self/exe", SERVES);
    sigprocmask(SIG_SETMASK, &before, NULL);
    assert_int_equal(error, 0);
    await(helper.control);
    assert_int_equal(rsm_packet_receive(helper.control, &report, sizeof report, NULL, NULL),
                     sizeof report);
    assert_int_equal(report.arguments, 1);
    assert_int_equal(report.variables, 0);
    assert_int_equal(report.descriptors, 1);
    assert_int_equal(report.blocked, 0);
    assert_true(report.limit_raised);
    /* what the sandbox has taken */
    assert_int_equal(report.no_new_privileges, 1);
    assert_int_equal(report.dumpable, 0);
    assert_int_equal(report.core, 0);
    assert_int_equal(report.plain, 0);
    assert_int_equal(report.listed, 0);
    if (geteuid() == 0)
        assert_int_not_equal(report.uid, 0);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    assert_int_equal(report.opened, EPERM);
    assert_int_equal(report.executable, EPERM);
    assert_int_equal(report.unlisted, EPERM);
#endif
    assert_true(rsm_helper_end(&helper, false));
    assert_int_equal(helper.pid, 0);
}

TEST_ALONE(one_that_does_not_end_is_killed)
{
    for (int at_once = 0; at_once <= 1; at_once++) {
        struct rsm_helper helper;
        assert_int_equal(rsm_helper_start(&helper, "/proc/self/exe", STAYS), 0);
        pid_t pid = helper.pid;
        await(helper.control);
        assert_true(rsm_helper_end(&helper, at_once != 0));
        assert_int_equal(kill(pid, 0), -1);
        assert_int_equal(errno, ESRCH);
    }
}

TEST_ALONE(one_that_is_not_there)
{
    struct rsm_helper helper;
    int next = dup(0);
    close(next);
    assert_int_equal(rsm_helper_start(&helper, "/no/such/program", NULL), ENOENT);
    assert_int_equal(helper.pid, 0);
    assert_int_equal(helper.control, -1);
    assert_int_equal(helper.process, -1);
    assert_true(rsm_helper_end(&helper, true)); /* of one that never ran */
    int again = dup(0);
    assert_int_equal(again, next);
    close(again);
}

/* A program that somebody starts by hand says who starts it. */
TEST_ALONE(by_hand)
{
    int saved = dup(RSM_HELPER_CONTROL);
    int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
    assert_return_code(dup2(nothing, RSM_HELPER_CONTROL), errno);
    assert_false(rsm_helper_begin("test", "in a test"));
    if (saved >= 0) {
        dup2(saved, RSM_HELPER_CONTROL);
        close(saved);
    } else {
        close(RSM_HELPER_CONTROL);
    }
    if (nothing != RSM_HELPER_CONTROL)
        close(nothing);
}

TEST_ALONE(too_many_calls_are_refused)
{
    int calls[RSM_HELPER_CALLS_MAX + 1] = {0};
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        _exit(rsm_helper_enter_sandbox("nobody", calls, RSM_HELPER_CALLS_MAX + 1) ? 1 : 0);
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    assert_int_equal(status, 0);
#endif
}
