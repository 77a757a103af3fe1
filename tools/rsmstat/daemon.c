/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/clock.h"
#include "daemon.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/packet.h"
#include "base/status.h"
#include "protocol/trust.h"
#include "rsm/rsm_common.h"

enum { ANSWER_MS = 2000 };

/* Wait until there is something to receive. NULL, or why there is not. */
static const char *await_answer(const struct daemon *daemon)
{
    struct pollfd wait[] = {{.fd = daemon->socket, .events = POLLIN},
                            {.fd = daemon->interrupt, .events = POLLIN}};
    int64_t until = rsm_deadline(ANSWER_MS);
    if (until > daemon->deadline)
        until = daemon->deadline;
    for (;;) {
        int ready = poll(wait, 2, rsm_deadline_left_ms(until));
        if (ready < 0 && errno == EINTR)
            continue;
        if (ready < 0)
            return strerror(errno);
        if (wait[1].revents != 0)
            return "interrupted";
        return ready > 0 ? NULL : "does not answer";
    }
}

/* Receive the answer to the request in hand. NULL, or why it is none. */
static const char *receive(struct daemon *daemon, uint32_t type, struct rsm_msg *msg,
                           struct rsm_packet_fds *fds)
{
    uint8_t buffer[RSM_PROTO_MESSAGE_MAX];
    struct rsm_packet_sender sender;
    const char *why = await_answer(daemon);
    if (why != NULL)
        return why;
    ssize_t length = rsm_packet_receive(daemon->socket, buffer, sizeof buffer, fds, &sender);
    if (length == 0 || length == -ECONNRESET)
        return "has ended or refuses to serve us";
    if (length < 0)
        return strerror((int)-length);
    enum rsm_status decoded = rsm_msg_decode(msg, buffer, (size_t)length);
    if (decoded != RSM_ST_OK)
        return rsmcore_status_text(decoded);
    if (msg->type != (type | RSM_MSG_REPLY) || msg->sequence != daemon->sequence)
        return "answers what it was not asked";
    daemon->pid = sender.pid;
    daemon->uid = sender.uid;
    return NULL;
}

static bool ask(struct daemon *daemon, struct rsm_msg *msg, struct rsm_packet_fds *fds, char *why,
                size_t why_size)
{
    uint8_t buffer[RSM_PROTO_MESSAGE_MAX];
    uint32_t type = msg->type;
    const char *wrong;
    msg->sequence = ++daemon->sequence;
    size_t length = rsm_msg_encode(msg, buffer, sizeof buffer);
    int error = length > 0 ? rsm_packet_send(daemon->socket, buffer, length, NULL, 1) : -EMSGSIZE;
    /* What it said before it hung up is worth more than that it did. */
    if (error != 0 && error != -EPIPE && error != -ECONNRESET)
        wrong = strerror(-error);
    else
        wrong = receive(daemon, type, msg, fds);
    if (wrong == NULL)
        return true;
    snprintf(why, why_size, "rsmd at %s: %s", daemon->path, wrong);
    return false;
}

bool daemon_ask(struct daemon *daemon, struct rsm_msg *msg, char *why, size_t why_size)
{
    return ask(daemon, msg, NULL, why, why_size);
}

bool daemon_knows(const struct daemon *daemon, uint32_t type)
{
    return daemon->table != NULL && rsm_generation_table_knows(daemon->table, type);
}

static bool greet(struct daemon *daemon, uint32_t node, uint32_t as, char *why, size_t why_size)
{
    struct rsm_msg msg = {.type = RSM_MSG_HELLO, .u.hello = {.node = as}};
    struct rsm_packet_fds fds = {.count = 0};
    bool answered = ask(daemon, &msg, &fds, why, why_size);
    if (answered && fds.count == 1)
        daemon->table = rsm_generation_table_map(fds.fds[0]);
    rsm_packet_fds_close(&fds);
    if (!answered)
        return false;
    if (msg.status != RSM_ST_OK) {
        snprintf(why, why_size, "rsmd at %s refuses us: %s", daemon->path,
                 rsmcore_status_text((enum rsm_status)msg.status));
        return false;
    }
    daemon->hello = msg.u.hello_reply;
    if (daemon->hello.node == node)
        return true;
    snprintf(why, why_size, "rsmd at %s is that of node %u, not of node %u", daemon->path,
             (unsigned)daemon->hello.node, (unsigned)node);
    return false;
}

bool daemon_open(struct daemon *daemon, const char *path, uint32_t node, uint32_t as,
                 int64_t deadline, int interrupt, char *why, size_t why_size)
{
    int on = 1;
    *daemon = (struct daemon){.deadline = deadline, .interrupt = interrupt};
    snprintf(daemon->path, sizeof daemon->path, "%s", path);
    daemon->socket = rsmcore_trust_connect(path);
    if (daemon->socket < 0) {
        bool absent = errno == ENOENT || errno == ECONNREFUSED || errno == ENOTDIR;
        snprintf(why, why_size, "no rsmd for node %u at %s%s%s", (unsigned)node, path,
                 absent ? "" : ": ",
                 absent            ? ""
                 : errno == EAGAIN ? "does not answer"
                                   : strerror(errno));
        return false;
    }
    /* Then the kernel says who answers. */
    setsockopt(daemon->socket, SOL_SOCKET, SO_PASSCRED, &on, sizeof on);
    if (greet(daemon, node, as, why, why_size))
        return true;
    daemon_close(daemon);
    return false;
}

bool daemon_has_gone(const char *path)
{
    int fd = rsmcore_trust_connect(path);
    if (fd >= 0)
        close(fd);
    return fd < 0 && (errno == ENOENT || errno == ECONNREFUSED || errno == ENOTDIR);
}

void daemon_close(struct daemon *daemon)
{
    if (daemon->table != NULL)
        munmap((void *)(uintptr_t)daemon->table, sizeof *daemon->table);
    daemon->table = NULL;
    close(daemon->socket);
    daemon->socket = -1;
}
