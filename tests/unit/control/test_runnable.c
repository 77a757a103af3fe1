/* SPDX-License-Identifier: BSD-3-Clause */
/* A daemon without a processor: it is another process, which works, sleeps, or has been stopped. */
#include "cases.h"

#include <sys/prctl.h>
#include <sys/un.h>

#include "base/clock.h"
#include "control/channel.h"
#include "control/runnable.h"

enum { TIMEOUT_MS = 200, WORK_MS = 400, STEPS_MAX = 5000 };

static pid_t daemon_pid;
static int connection = -1;

/* ------------------------------------------------------------------ the daemon */

static void work_for(int64_t ms)
{
    for (int64_t end = rsm_clock_ms() + ms; rsm_clock_ms() < end;)
        continue;
}

/* Answer each request after WORK_MS of work. */
static void answer(int socket)
{
    static uint8_t buffer[RSM_PROTO_MESSAGE_MAX];
    struct rsm_msg msg;
    ssize_t length;
    while ((length = recv(socket, buffer, sizeof buffer, 0)) > 0) {
        if (rsm_msg_decode(&msg, buffer, (size_t)length) != RSM_ST_OK)
            _exit(1);
        work_for(WORK_MS);
        msg = (struct rsm_msg){.type = msg.type | RSM_MSG_REPLY, .sequence = msg.sequence};
        size_t encoded = rsm_msg_encode(&msg, buffer, sizeof buffer);
        if (rsm_packet_send(socket, buffer, encoded, NULL, 0) != 0)
            _exit(1);
    }
    _exit(0);
}

/* SO_PEERCRED names the process that listens. */
static int listen_at(const struct sockaddr_un *address)
{
    int listener = socket(AF_UNIX, SOCK_SEQPACKET, 0);
    if (listener < 0 || bind(listener, (const struct sockaddr *)address, sizeof *address) != 0 ||
        listen(listener, 1) != 0)
        _exit(1);
    return listener;
}

static int begin(void **state)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int ready[2];
    char byte;
    (void)state;
    snprintf(address.sun_path + 1, sizeof address.sun_path - 1, "rsm-runnable-%d", (int)getpid());
    assert_int_equal(pipe(ready), 0);
    daemon_pid = fork();
    assert_true(daemon_pid >= 0);
    if (daemon_pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        int listener = listen_at(&address);
        if (write(ready[1], "", 1) != 1)
            _exit(1);
        answer(accept(listener, NULL, NULL));
    }
    close(ready[1]);
    assert_int_equal(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    connection = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    assert_int_equal(connect(connection, (struct sockaddr *)&address, sizeof address), 0);
    return 0;
}

static int end(void **state)
{
    (void)state;
    close(connection);
    kill(daemon_pid, SIGKILL);
    assert_int_equal(waitpid(daemon_pid, NULL, 0), daemon_pid);
    return 0;
}

#define TEST(name) TEST_BETWEEN(name, begin, end)

/* ------------------------------------------------------------------ cases */

static void await_state(bool runnable)
{
    for (int i = 0; rsmcore_peer_is_runnable(connection) != runnable; i++) {
        assert_true(i < STEPS_MAX);
        usleep(1000);
    }
}

static void ask(void)
{
    uint8_t buffer[RSM_PROTO_MESSAGE_MAX];
    struct rsm_msg msg = {.type = RSM_MSG_LOCATE, .sequence = 1};
    size_t length = rsm_msg_encode(&msg, buffer, sizeof buffer);
    assert_int_equal(rsm_packet_send(connection, buffer, length, NULL, 0), 0);
}

TEST(one_that_works_is)
{
    await_state(false); /* it sleeps */
    ask();
    await_state(true);
    await_state(false);
}

TEST(one_that_was_stopped_is_not)
{
    ask();
    await_state(true);
    kill(daemon_pid, SIGSTOP);
    await_state(false);
    kill(daemon_pid, SIGCONT);
    await_state(true);
}

TEST(one_that_has_ended_is_not)
{
    kill(daemon_pid, SIGKILL);
    await_state(false);
}

TEST(this_process_is_not)
{
    int ends[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends), 0);
    assert_false(rsmcore_peer_is_runnable(ends[0]));
    close(ends[0]), close(ends[1]);
    assert_false(rsmcore_peer_is_runnable(-1));
}

static enum rsm_status call(void)
{
    static struct rsmcore_channel channel;
    struct rsm_msg msg = {.type = RSM_MSG_LOCATE};
    rsmcore_channel_init(&channel, connection);
    assert_int_equal(rsmcore_channel_set_timeout(&channel, TIMEOUT_MS), RSM_ST_OK);
    enum rsm_status status = rsmcore_channel_call(&channel, &msg, NULL);
    rsmcore_channel_destroy(&channel);
    return status;
}

TEST(a_call_waits_for_one_that_works)
{
    assert_int_equal(call(), RSM_ST_OK);
}

TEST(a_call_does_not_wait_for_one_that_was_stopped)
{
    kill(daemon_pid, SIGSTOP);
    await_state(false);
    int64_t start = rsm_clock_ms();
    assert_int_equal(call(), RSM_ST_TIMEOUT);
    assert_true(rsm_clock_ms() - start >= TIMEOUT_MS);
}
