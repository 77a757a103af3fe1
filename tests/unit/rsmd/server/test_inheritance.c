/* SPDX-License-Identifier: BSD-3-Clause */
/* An embedded daemon is started by any program of its user. What was set for that program does not
 * hold for the daemon, which serves others, too. */
#include "peer.h"

enum { SMALL = 4096, LARGE = 1 << 20 };

/* ------------------------------------------------------------------ resource limits */

/* None of them hinders this process while the daemon starts. */
static const struct {
    int resource;
    rlim_t soft;
} lowered[] = {{RLIMIT_FSIZE, SMALL},
               {RLIMIT_CPU, 3600},
               {RLIMIT_MEMLOCK, 0},
               {RLIMIT_NOFILE, 64},
               {RLIMIT_RTTIME, 1000000}};
enum { LOWERED = sizeof lowered / sizeof lowered[0] };
static struct rlimit normal[LOWERED];

static int lower_limits(void **state)
{
    bool good = true;
    for (int i = 0; i < LOWERED; i++) {
        good = good && getrlimit(lowered[i].resource, &normal[i]) == 0;
        const struct rlimit limit = {.rlim_cur = lowered[i].soft, .rlim_max = normal[i].rlim_max};
        good = good && setrlimit(lowered[i].resource, &limit) == 0;
    }
    return good ? 0 : -1;
}

static int restore_limits(void **state)
{
    bool good = true;
    for (int i = 0; i < LOWERED; i++)
        good = setrlimit(lowered[i].resource, &normal[i]) == 0 && good;
    return good ? 0 : -1;
}

TEST_BETWEEN(soft_limits_are_raised, lower_limits, restore_limits)
{
    struct rlimit now;
    struct daemon daemon;
    daemon_start(&daemon, NULL, "--embedded");
    for (int i = 0; i < LOWERED; i++) {
        assert_int_equal(prlimit(daemon.pid, lowered[i].resource, NULL, &now), 0);
        assert_true(now.rlim_cur == normal[i].rlim_max && now.rlim_max == normal[i].rlim_max);
    }
    int socket = peer_hello(&daemon);
    make_extent(socket, LARGE);
    close(socket);
    assert_int_equal(wait_exit(daemon.pid), 0);
    directory_remove(daemon.directory);
}

/* A limit that cannot be raised is an error of the request, and not the end of all connections. */
TEST_ALONE(a_hard_limit_of_file_size_ends_nobody)
{
    static const rlim_t limits[] = {0, 1, SMALL, LARGE - 1};
    struct daemon daemon;
    for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++) {
        daemon_start(&daemon, NULL, NULL);
        struct rlimit limit = {limits[i], limits[i]};
        int socket = peer_hello(&daemon);
        publish_page(socket, 5, 0600);
        assert_int_equal(prlimit(daemon.pid, RLIMIT_FSIZE, &limit, NULL), 0);
        struct rsm_msg msg = {.type = RSM_MSG_EXTENT_ALLOC,
                              .u.extent_alloc = {.controller = "sci0", .length = LARGE}};
        assert_int_equal(ask(socket, &msg), RSM_ST_NO_MEMORY);
        assert_int_equal(connect_on(socket, "sci0", 1, 5, RSM_RIGHT_READ, NULL), RSM_ST_OK);
        close(socket);
        daemon_stop(&daemon);
    }
}

/* Processor time that is over is told every second by SIGXCPU. */
TEST_ALONE(signals_of_limits_end_nobody)
{
    static const int signals[] = {SIGXFSZ, SIGXCPU, SIGPIPE, SIGHUP};
    struct daemon daemon;
    daemon_start(&daemon, NULL, NULL);
    for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++) {
        assert_int_equal(kill(daemon.pid, signals[i]), 0);
        close(peer_hello(&daemon));
    }
    daemon_stop(&daemon);
}

/* ------------------------------------------------------------------ signals, schedule */

/* A line of /proc/PID/status: a number in hexadecimal. */
static unsigned long status_bits(pid_t pid, const char *name)
{
    char path[64], line[256];
    unsigned long bits = 0;
    bool found = false;
    snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    while (!found && fgets(line, sizeof line, file) != NULL)
        if (strncmp(line, name, strlen(name)) == 0 && line[strlen(name)] == ':') {
            bits = strtoul(line + strlen(name) + 1, NULL, 16);
            found = true;
        }
    fclose(file);
    assert_true(found);
    return bits;
}

static unsigned long bit(int number)
{
    return 1ul << (number - 1);
}

/* A program that ignores and blocks what would end a daemon: its daemon ends all the same. */
TEST_ALONE(signals_are_those_of_a_daemon)
{
    struct daemon daemon;
    sigset_t blocked, before;
    sigfillset(&blocked);
    sigprocmask(SIG_SETMASK, &blocked, &before);
    signal(SIGTERM, SIG_IGN);
    signal(SIGUSR1, SIG_IGN);
    daemon_start(&daemon, NULL, "--embedded");
    signal(SIGTERM, SIG_DFL);
    signal(SIGUSR1, SIG_DFL);
    sigprocmask(SIG_SETMASK, &before, NULL);
    unsigned long ignored = bit(SIGPIPE) | bit(SIGHUP) | bit(SIGXFSZ) | bit(SIGXCPU);
    assert_int_equal(status_bits(daemon.pid, "SigIgn"), ignored);
    assert_int_equal(status_bits(daemon.pid, "SigBlk"), bit(SIGTERM) | bit(SIGINT));
    daemon_stop(&daemon);
}

TEST_ALONE(the_processor_of_a_program_is_not_the_daemons)
{
    struct daemon daemon;
    cpu_set_t before, one, now;
    assert_int_equal(sched_getaffinity(0, sizeof before, &before), 0);
    if (CPU_COUNT(&before) < 2) {
        print_message("not run: this process has one processor alone\n");
        skip();
    }
    CPU_ZERO(&one);
    CPU_SET((size_t)sched_getcpu(), &one);
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    daemon_start(&daemon, NULL, "--embedded");
    assert_int_equal(sched_setaffinity(0, sizeof before, &before), 0);
    assert_int_equal(sched_getaffinity(daemon.pid, sizeof now, &now), 0);
    assert_true(CPU_COUNT(&now) >= CPU_COUNT(&before));
    assert_int_equal(sched_getscheduler(daemon.pid), SCHED_OTHER);
    daemon_stop(&daemon);
}

/* One that real-time programs start would else wait for the processor, or keep it. */
TEST_ALONE(the_policy_of_a_program_is_not_the_daemons)
{
    struct daemon daemon;
    struct sched_param most = {.sched_priority = 1}, ordinary = {.sched_priority = 0};
    if (sched_setscheduler(0, SCHED_FIFO, &most) < 0) {
        print_message("not run: this process may not have a real-time policy\n");
        skip();
    }
    daemon_start(&daemon, NULL, "--embedded");
    assert_int_equal(sched_setscheduler(0, SCHED_OTHER, &ordinary), 0);
    assert_int_equal(sched_getscheduler(daemon.pid), SCHED_OTHER);
    daemon_stop(&daemon);
}
