/* SPDX-License-Identifier: BSD-3-Clause */
#include "users.h"

#include "client.h"
#include "rsm/rsm_common.h"

int need_root(void **state)
{
    page = (uint64_t)sysconf(_SC_PAGESIZE);
    if (geteuid() == 0)
        return 0;
    print_message("needs root, for several users\n");
    exit(77);
}

/* ------------------------------------------------------------------ users */

/* What follows is done as that user; by be(0) as root again. */
void be(uid_t uid)
{
    assert_int_equal(setresuid(0, 0, 0), 0);
    if (uid != 0)
        assert_int_equal(setresuid(uid, uid, 0), 0);
}

/* Connect although very many do. */
int connect_patiently(const struct daemon *daemon)
{
    const struct timespec pause = {.tv_nsec = 1000000};
    int fd;
    for (int waited = 0; (fd = rsm_packet_connect(daemon->socket)) < 0; waited++) {
        assert_int_equal(errno, EAGAIN);
        assert_true(waited < PEER_WAIT_MS);
        nanosleep(&pause, NULL);
    }
    return fd;
}

/* Say HELLO on a connection: the status, or -1: the daemon hung up. */
int greet(int fd)
{
    int status = client_hello(fd, 1, PEER_WAIT_MS);
    assert_true(status >= 0 || status == CLIENT_HUNG_UP);
    return status;
}

int hello_as(const struct daemon *daemon, uid_t uid)
{
    be(uid);
    int fd = connect_patiently(daemon);
    assert_int_equal(greet(fd), RSM_ST_OK);
    be(0);
    return fd;
}

enum rsm_status alloc(int fd, uint64_t length)
{
    struct rsm_packet_fds fds;
    struct rsm_msg msg = {.type = RSM_MSG_EXTENT_ALLOC,
                          .u.extent_alloc = {.controller = "sci0", .length = length}};
    enum rsm_status status = ask_with(fd, &msg, NULL, &fds);
    rsm_packet_fds_close(&fds);
    return status;
}

enum rsm_status create(int fd, uint32_t want_extent)
{
    struct rsm_packet_fds fds;
    struct rsm_msg msg = {
        .type = RSM_MSG_EXPORT_CREATE,
        .u.export_create = {
            .controller = "sci0", .length = page, .mode = 0600, .want_extent = want_extent}};
    enum rsm_status status = ask_with(fd, &msg, NULL, &fds);
    rsm_packet_fds_close(&fds);
    return status;
}

/* ------------------------------------------------------------------ daemons */

/* A daemon that may have so many descriptors. */
void start_with_files(struct daemon *daemon, const char *configuration, unsigned files)
{
    daemon_files = files;
    daemon_start(daemon, configuration, NULL);
    daemon_files = 0;
}

struct rsm_shares_reply look_after(int fd, uint64_t after)
{
    struct rsm_msg msg = {.type = RSM_MSG_SHARES, .u.shares = {.after = after}};
    assert_int_equal(ask(fd, &msg), RSM_ST_OK);
    return msg.u.shares_reply;
}

struct rsm_shares_reply look(int fd)
{
    return look_after(fd, 0);
}
