/* SPDX-License-Identifier: BSD-3-Clause */
/* Finding the own node's daemon when that is slow, silent or not there; the test is the daemon. */
#include "cases.h"

#include "control/control.h"
#include "base/log.h"
#include "base/packet.h"
#include "protocol/runtime.h"

enum {
    HANG_MS = 60000,
    SHORT_MS = 300,
    SECONDS = 2000, /* ms */
    TICK_MS = 10,
    NEVER = -1,
    LATE_MS = 3300, /* longer than the peer time-out, within which other calls are answered */
};

static char directory[] = "/tmp/rsm-link-XXXXXX";
static char socket_path[128], lock_path[128], program[128], mark[128];

static int64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void pause_ms(int ms)
{
    poll(NULL, 0, ms);
}

/* ------------------------------------------------------------------ a daemon */

static struct {
    pthread_t thread;
    int listener;
    int connection;
    struct rsm_generation_table *table;
    int table_fd;
    int hang_ups;      /* that many connections are taken and closed */
    int delay_ms;      /* of the greeting, NEVER: there is none */
    int starts_before; /* it listens when the program was started so often, NEVER: somebody else
                          lets it */
    _Atomic int64_t listening; /* since when, where somebody else did */
    atomic_int accepted;
    atomic_bool ended;
} fake;

static int starts(void)
{
    struct stat status;
    return stat(mark, &status) < 0 ? 0 : (int)status.st_size;
}

static void make_table(void)
{
    fake.table_fd = memfd_create("table", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    assert_true(fake.table_fd >= 0);
    assert_int_equal(ftruncate(fake.table_fd, sizeof(struct rsm_generation_table)), 0);
    assert_int_equal(fcntl(fake.table_fd, F_ADD_SEALS, F_SEAL_SHRINK), 0);
    fake.table =
        mmap(NULL, sizeof *fake.table, PROT_READ | PROT_WRITE, MAP_SHARED, fake.table_fd, 0);
    assert_true(fake.table != MAP_FAILED);
    fake.table->magic = RSM_GENERATION_TABLE_MAGIC;
    fake.table->version = RSM_GENERATION_TABLE_VERSION;
    fake.table->slots = RSM_GENERATION_TABLE_SLOTS;
}

static bool listens(void)
{
    struct sockaddr_un address;
    return rsm_unix_address(&address, socket_path) == 0 &&
           bind(fake.listener, (const struct sockaddr *)&address, sizeof address) == 0 &&
           listen(fake.listener, 8) == 0;
}

/* The next connection, or -1 when it is over. */
static int next_connection(void)
{
    struct pollfd readable = {.fd = fake.listener, .events = POLLIN};
    while (!fake.ended)
        if (poll(&readable, 1, TICK_MS) == 1) {
            fake.accepted++;
            return accept4(fake.listener, NULL, NULL, SOCK_CLOEXEC);
        }
    return -1;
}

static void greet(void)
{
    static uint8_t buffer[RSM_PROTO_MESSAGE_MAX];
    struct rsm_msg msg;
    struct rsm_packet_fds fds = {.count = 1, .fds = {fake.table_fd}};
    struct pollfd readable = {.fd = fake.connection, .events = POLLIN};
    poll(&readable, 1, HANG_MS);
    ssize_t length = rsm_packet_receive(fake.connection, buffer, sizeof buffer, NULL, NULL);
    if (length <= 0 || rsm_msg_decode(&msg, buffer, (size_t)length) != RSM_ST_OK)
        return;
    struct rsm_msg reply = {.type = RSM_MSG_HELLO | RSM_MSG_REPLY,
                            .sequence = msg.sequence,
                            .u.hello_reply = {.node = 1, .peer_timeout_ms = 3000}};
    size_t size = rsm_msg_encode(&reply, buffer, sizeof buffer);
    rsm_packet_send(fake.connection, buffer, size, &fds, 0);
}

static void *serve(void *unused)
{
    while (!fake.ended && starts() < fake.starts_before)
        pause_ms(TICK_MS);
    while (!fake.ended && fake.starts_before == NEVER && fake.listening == 0)
        pause_ms(TICK_MS);
    if (fake.starts_before > 0 && !listens())
        return unused;
    for (int i = 0; i < fake.hang_ups; i++)
        close(next_connection());
    fake.connection = next_connection();
    for (int waited = 0; waited < fake.delay_ms && !fake.ended; waited += TICK_MS)
        pause_ms(TICK_MS);
    if (fake.connection >= 0 && fake.delay_ms >= 0)
        greet();
    while (!fake.ended)
        pause_ms(TICK_MS);
    return unused;
}

static void daemon_begins(void)
{
    make_table();
    fake.listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    assert_true(fake.listener >= 0);
    assert_true(fake.starts_before != 0 || listens());
    assert_int_equal(pthread_create(&fake.thread, NULL, serve, NULL), 0);
}

static int end(void **state)
{
    unlink(lock_path);
    if (fake.table == NULL)
        return 0;
    fake.ended = true;
    pthread_join(fake.thread, NULL);
    atomic_store(&fake.table->alive, RSM_GENERATION_TABLE_OWNER_DIED); /* as the kernel says it */
    munmap(fake.table, sizeof *fake.table);
    close(fake.table_fd);
    close(fake.listener);
    if (fake.connection >= 0)
        close(fake.connection);
    unlink(socket_path);
    return 0;
}

/* ------------------------------------------------------------------ what is started for one */

/* Each start leaves a character in a file. */
static void program_does(const char *what)
{
    FILE *script = fopen(program, "we");
    assert_non_null(script);
    fprintf(script, "#!/bin/sh\nprintf x >>'%s'\n%s\n", mark, what);
    assert_int_equal(fclose(script), 0);
    assert_int_equal(chmod(program, 0700), 0);
}

static int begin(void **state)
{
    memset(&fake, 0, sizeof fake);
    fake.connection = -1;
    unlink(mark);
    rsmcore_control_local_max_ms = HANG_MS;
    return 0;
}

static void expect_link(void)
{
    struct rsmcore_control *control;
    assert_int_equal(rsmcore_control_local(&control), RSM_ST_OK);
    assert_int_equal(rsmcore_control_node(control), 1);
    rsmcore_control_release(control);
}

static void expect_none(void)
{
    struct rsmcore_control *control;
    int64_t began = now_ms();
    assert_int_equal(rsmcore_control_local(&control), RSM_ST_UNREACHABLE);
    assert_true(now_ms() - began < HANG_MS / 2);
}

/* ------------------------------------------------------------------ tests */

#define LINK_TEST(name) TEST_BETWEEN(name, begin, end)

/* A daemon that is slow is waited for, and neither asked twice nor joined by another. */
LINK_TEST(late_greeting)
{
    program_does("exit 1");
    fake.delay_ms = LATE_MS;
    daemon_begins();
    expect_link();
    assert_int_equal(fake.accepted, 1);
    assert_int_equal(starts(), 0);
}

LINK_TEST(no_greeting)
{
    program_does("exit 1");
    fake.delay_ms = NEVER;
    daemon_begins();
    rsmcore_control_local_max_ms = SHORT_MS;
    expect_none();
    assert_int_equal(starts(), 0);
}

LINK_TEST(hang_ups)
{
    program_does("exit 1");
    fake.hang_ups = 3;
    daemon_begins();
    expect_link();
    assert_int_equal(fake.accepted, 4);
    assert_int_equal(starts(), 0);
}

/* Started ones say that there is a daemon: then one is waited for, however long it takes. */
LINK_TEST(slow_winner)
{
    program_does("printf B >&3");
    fake.starts_before = 12; /* of those that say nothing so many are too many */
    daemon_begins();
    expect_link();
}

LINK_TEST(no_winner)
{
    program_does("printf B >&3");
    rsmcore_control_local_max_ms = SHORT_MS;
    expect_none();
}

/* It takes no more than some starts to see that this is no daemon. */
LINK_TEST(no_daemon)
{
    program_does("exit 0");
    expect_none();
    assert_in_range(starts(), 2, 20);
}

/* What was started and has not answered when the time is over is still the only one. It may begin later
 * than that. */
LINK_TEST(slow_start)
{
    program_does("while [ -e \"${0%program}mark\" ]; do sleep 0.05; done");
    rsmcore_control_local_max_ms = SHORT_MS;
    expect_none();
    for (int64_t until = now_ms() + HANG_MS; starts() == 0;) {
        assert_true(now_ms() < until);
        pause_ms(TICK_MS);
    }
    assert_int_equal(starts(), 1);
}

LINK_TEST(bad_start)
{
    program_does("echo no luck >&3");
    expect_none();
    assert_int_equal(starts(), 1);
}

static void reserve_node(void)
{
    FILE *file = fopen(lock_path, "we");
    assert_non_null(file);
    assert_true(fputs(RSMCORE_CONFIGURED, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static char last_words[1024];

static void on_log(enum rsmcore_log_level level, const char *text)
{
    snprintf(last_words, sizeof last_words, "%s", text);
}

/* A configured daemon is waited for and not replaced; the log says what may be done about it. */
LINK_TEST(configured_and_not_there)
{
    program_does("exit 1");
    reserve_node();
    rsmcore_control_local_max_ms = SHORT_MS;
    rsmcore_log_to(on_log, RSMCORE_LOG_ERROR);
    int64_t began = now_ms();
    expect_none();
    rsmcore_log_to(NULL, RSMCORE_LOG_ERROR);
    assert_true(now_ms() - began >= SHORT_MS);
    assert_int_equal(starts(), 0);
    assert_non_null(strstr(last_words, "node 1"));
    assert_non_null(strstr(last_words, lock_path));
}

static void *start_listening_later(void *unused)
{
    pause_ms(SHORT_MS);
    assert_true(listens());
    fake.listening = now_ms(); /* last: the daemon polls the socket from now on */
    return unused;
}

LINK_TEST(configured_and_restarted)
{
    pthread_t later;
    program_does("exit 1");
    reserve_node();
    fake.starts_before = NEVER;
    daemon_begins();
    assert_int_equal(pthread_create(&later, NULL, start_listening_later, NULL), 0);
    expect_link();
    int64_t took = now_ms() - fake.listening;
    print_message("    found %d ms after it listened\n", (int)took);
    assert_true(took < HANG_MS / 4);
    pthread_join(later, NULL);
    assert_int_equal(starts(), 0);
}

static atomic_int looks_ended;

static void *look(void *status)
{
    struct rsmcore_control *control;
    *(enum rsm_status *)status = rsmcore_control_local(&control);
    looks_ended++;
    return NULL;
}

/* Threads that look at the same time wait as long as one does, not one behind the other.
 * @return whether this thread, which needs no daemon and forks, was done before any of them. */
static bool many_look(void)
{
    enum { THREADS = 8 };
    pthread_t threads[THREADS];
    enum rsm_status outcomes[THREADS];
    int status;
    looks_ended = 0;
    int64_t began = now_ms();
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, look, &outcomes[i]), 0);
    pause_ms(SHORT_MS);
    assert_null(rsmcore_control_known(1));
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        _exit(rsmcore_control_known(1) == NULL ? 0 : 1);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    bool before = looks_ended == 0;
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(outcomes[i], RSM_ST_UNREACHABLE);
    }
    assert_true(now_ms() - began < (THREADS - 1) * SECONDS);
    return before;
}

/* Who needs no daemon, as who forks, does not wait for those who look for one. A machine that stalls may
 * hide that once. */
LINK_TEST(many_look_at_once)
{
    program_does("exit 1");
    reserve_node();
    rsmcore_control_local_max_ms = SECONDS;
    for (int tries = 1; !many_look(); tries++)
        assert_true(tries < 5);
}

static int prepare(void **state)
{
    if (mkdtemp(directory) == NULL)
        return -1;
    snprintf(socket_path, sizeof socket_path, "%s/node-1.sock", directory);
    snprintf(lock_path, sizeof lock_path, "%s/node-1.lock", directory);
    snprintf(program, sizeof program, "%s/program", directory);
    snprintf(mark, sizeof mark, "%s/mark", directory);
    unsetenv("RSM_NODE");
    unsetenv("RSM_LOG");
    return setenv("RSM_RUNTIME_DIR", directory, 1) | setenv("RSM_RSMD", program, 1);
}

static int clean(void **state)
{
    unlink(mark);
    unlink(program);
    return rmdir(directory);
}

TESTS_BETWEEN(prepare, clean)
