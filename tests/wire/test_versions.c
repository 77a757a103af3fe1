/* SPDX-License-Identifier: BSD-3-Clause */
/* A library and a daemon of different versions of the control protocol: built twice, once as the
 * older and once as the newer of the two (CMakeLists.txt). Every call says at once that they do not
 * fit, the log says who is of which version, and nobody starts another daemon in the place of the
 * one there. */
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "control/control.h"
#include "base/log.h"
#include "rsm/rsmapi.h"
#include "tests/unit/rsmd/peer.h"

enum { AT_ONCE_MS = 5000 }; /* of a call that would wait ten seconds for a daemon */

static char logged[4096];

static void keep(enum rsmcore_log_level level, const char *text)
{
    strncat(logged, text, sizeof logged - strlen(logged) - 1);
}

static int64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

TEST_ALONE(calls_say_so)
{
    char name[] = "sci0";
    struct daemon daemon;
    struct rsmcore_control *control = NULL;
    rsmapi_controller_handle_t controller;
    daemon_start(&daemon, NULL, NULL);
    assert_int_equal(setenv("RSM_RUNTIME_DIR", daemon.directory, 1), 0);
    assert_int_equal(setenv("RSM_NODE", "1", 1), 0);
    rsmcore_log_to(keep, RSMCORE_LOG_DEBUG);

    int64_t start = now_ms();
    assert_int_equal(rsmcore_control_local(&control), RSM_ST_VERSION);
    assert_int_equal(rsm_get_controller(name, &controller), RSMERR_BAD_LIBRARY_VERSION);
    assert_in_range(now_ms() - start, 0, AT_ONCE_MS);
    assert_non_null(strstr(logged, "another version"));

    rsmcore_log_to(NULL, RSMCORE_LOG_ERROR);
    daemon_stop(&daemon);
}

/* What the header is does not depend on the version; what is said in it does. */
TEST_ALONE(the_daemon_says_version_and_hangs_up)
{
    struct daemon daemon;
    uint8_t bytes[RSM_PROTO_MESSAGE_MAX];
    uint32_t type = 0, sequence = 0;
    struct rsm_msg msg = {.type = RSM_MSG_HELLO, .sequence = 5, .u.hello = {1}};
    daemon_start(&daemon, NULL, NULL);
    int socket = peer_connect(&daemon);
    size_t length = rsm_msg_encode(&msg, bytes, sizeof bytes);
    assert_int_equal(rsm_packet_send(socket, bytes, length, NULL, 1), 0);
    assert_int_equal(rsm_packet_await_for(socket, PEER_WAIT_MS), 0);
    ssize_t got = rsm_packet_await(socket, bytes, sizeof bytes, NULL);
    assert_int_equal(got, RSM_PROTO_HEADER);
    assert_true(rsm_msg_peek(bytes, (size_t)got, &type, &sequence));
    assert_int_equal(type, RSM_MSG_HELLO | RSM_MSG_REPLY);
    assert_int_equal(sequence, 5);
    assert_int_equal(rsm_msg_version(bytes, (size_t)got), 3 - RSM_PROTO_VERSION);
    assert_int_equal(rsm_msg_decode(&msg, bytes, (size_t)got), RSM_ST_VERSION);
    uint32_t status;
    memcpy(&status, bytes + 16, sizeof status);
    assert_int_equal(status, RSM_ST_VERSION);
    expect_hangup(socket);
    daemon_stop(&daemon);
}
