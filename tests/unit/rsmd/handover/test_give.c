/* SPDX-License-Identifier: BSD-3-Clause */
/* A program that could not go on is not executed in the place of one that serves. */
#include "common/snapshot.h"
#include "peer.h"

static char *text(const char *constant)
{
    return (char *)(uintptr_t)constant;
}

/* A daemon whose configuration has gone since, as daemon_start() removes it; its log in a new memfd. */
static int start_logging(struct daemon *daemon)
{
    int saved = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
    int log = memfd_create("log", MFD_CLOEXEC);
    assert_true(saved >= 0 && log >= 0);
    assert_true(dup2(log, STDERR_FILENO) >= 0);
    fcntl(STDERR_FILENO, F_SETFL, O_APPEND);
    daemon_start(daemon, NULL, NULL);
    assert_true(dup2(saved, STDERR_FILENO) >= 0);
    close(saved);
    return log;
}

static bool says(int log, const char *what)
{
    char lines[4096];
    ssize_t length = pread(log, lines, sizeof lines - 1, 0);
    lines[length > 0 ? length : 0] = '\0';
    return strstr(lines, what) != NULL;
}

TEST_ALONE(bad_configuration_is_refused)
{
    struct daemon daemon;
    const struct timespec pause = {.tv_nsec = 5000000};
    int log = start_logging(&daemon);
    int socket = peer_hello(&daemon);
    uint32_t exported = publish_page(socket, 7, 0666);
    assert_int_equal(kill(daemon.pid, SIGUSR2), 0);
    for (int waited = 0; !says(log, "this rsmd goes on"); waited += 5) {
        assert_true(waited < PEER_WAIT_MS);
        nanosleep(&pause, NULL);
    }
    assert_true(says(log, "No such file")); /* the program's own words, too */
    assert_int_equal(unpublish(socket, exported, 0, NULL), RSM_ST_OK);
    close(socket);
    daemon_stop(&daemon);
    close(log);
}

static int ask_program(const char *version)
{
    char option[64];
    snprintf(option, sizeof option, "--can-take-over=%s", version);
    char *arguments[] = {text("rsmd"), text("--config=/dev/null"), option, NULL};
    return rsmd_run_to_end(arguments);
}

TEST_ALONE(versions_are_told_apart)
{
    char version[16];
    snprintf(version, sizeof version, "%d", (int)RSMD_SNAPSHOT_VERSION);
    assert_int_equal(ask_program(version), 0);
    snprintf(version, sizeof version, "%d", (int)RSMD_SNAPSHOT_VERSION + 1);
    assert_int_equal(ask_program(version), 1);
    assert_int_equal(ask_program("0"), 1);
    assert_int_equal(ask_program("x"), 1);
}
