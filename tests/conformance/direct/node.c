/* SPDX-License-Identifier: BSD-3-Clause */
/* The judge's side of the processes that run the node half. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "packet.h"

enum { NODES_MAX = 8, ANSWER_MS = 12000 };

struct node {
    pid_t pid;
    int socket;
    struct node_facts facts;
};

/* ---------------------------------------------------------------- packets with descriptors */

bool packet_send(int socket, struct packet *packet, const int *fds, unsigned count)
{
    union {
        struct cmsghdr head;
        char bytes[CMSG_SPACE(sizeof(int) * RSM_OFFER_MAX_FDS)];
    } control;
    struct iovec part = {packet, sizeof *packet};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    if (count > 0) {
        memset(&control, 0, sizeof control);
        message.msg_control = &control;
        message.msg_controllen = CMSG_SPACE(sizeof(int) * count);
        control.head.cmsg_level = SOL_SOCKET;
        control.head.cmsg_type = SCM_RIGHTS;
        control.head.cmsg_len = CMSG_LEN(sizeof(int) * count);
        memcpy(CMSG_DATA(&control.head), fds, sizeof(int) * count);
    }
    ssize_t sent;
    do
        sent = sendmsg(socket, &message, MSG_NOSIGNAL);
    while (sent < 0 && errno == EINTR);
    return sent == (ssize_t)sizeof *packet;
}

int packet_receive(int socket, struct packet *packet, int *fds)
{
    union {
        struct cmsghdr head;
        char bytes[CMSG_SPACE(sizeof(int) * RSM_OFFER_MAX_FDS)];
    } control;
    struct iovec part = {packet, sizeof *packet};
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = &control,
                             .msg_controllen = sizeof control};
    ssize_t got;
    do
        got = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
    while (got < 0 && errno == EINTR);
    if (got != (ssize_t)sizeof *packet)
        return -1;
    struct cmsghdr *head = CMSG_FIRSTHDR(&message);
    if (head == NULL || head->cmsg_type != SCM_RIGHTS)
        return 0;
    size_t bytes = head->cmsg_len - CMSG_LEN(0);
    memcpy(fds, CMSG_DATA(head), bytes);
    return (int)(bytes / sizeof(int));
}

/* ---------------------------------------------------------------- the judge's side */

/* The number of descriptors that came with the answer. */
static unsigned ask(struct node *node, struct packet *packet, int *fds)
{
    int count = -1;
    struct pollfd ready = {.fd = node->socket, .events = POLLIN};
    if (packet_send(node->socket, packet, NULL, 0) && poll(&ready, 1, ANSWER_MS) == 1)
        count = packet_receive(node->socket, packet, fds);
    if (count < 0)
        about("request %u", (unsigned)packet->request);
    expect_holds(__FILE__, __LINE__, "the node half's process answers", count >= 0);
    return (unsigned)count;
}

static void ask_of(struct node *node, enum node_request request, unsigned id)
{
    struct packet packet = {.request = request, .id = id};
    int fds[RSM_OFFER_MAX_FDS];
    (void)ask(node, &packet, fds);
}

struct node *node_open(unsigned number, enum rsm_status *status)
{
    static struct node nodes[NODES_MAX];
    static unsigned count;
    int sockets[2], fds[RSM_OFFER_MAX_FDS];
    HOLDS(count < NODES_MAX);
    struct node *node = &nodes[count++];
    HOLDS(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) == 0);
    node->pid = fork();
    HOLDS(node->pid >= 0);
    if (node->pid == 0) {
        close(sockets[0]);
        node_serve(sockets[1]);
    }
    close(sockets[1]);
    node->socket = sockets[0];
    struct packet packet = {.request = NODE_OPEN, .node = number};
    (void)ask(node, &packet, fds);
    *status = packet.status;
    node->facts = packet.facts;
    node->facts.before_open = packet.counts;
    return packet.status == RSM_ST_OK ? node : NULL;
}

const struct node_facts *node_facts(const struct node *node)
{
    return &node->facts;
}

enum rsm_status node_make(struct node *node, uint64_t length, unsigned *id,
                          struct rsm_extent *extent)
{
    struct packet packet = {.request = NODE_MAKE, .length = length};
    int fds[RSM_OFFER_MAX_FDS];
    unsigned count = ask(node, &packet, fds);
    if (packet.status != RSM_ST_OK)
        return packet.status;
    HOLDS(count == 1);
    *id = packet.id;
    *extent = packet.extent;
    extent->fd = fds[0];
    return RSM_ST_OK;
}

void node_free(struct node *node, unsigned id)
{
    ask_of(node, NODE_FREE, id);
}

/* Descriptors of an answer are those of the offer in it. */
static void take_offer(const struct packet *packet, const int *fds, unsigned count,
                       struct rsm_offer *offer)
{
    HOLDS(count == packet->offer.fd_count);
    *offer = packet->offer;
    memcpy(offer->fds, fds, count * sizeof fds[0]);
}

enum rsm_status node_offer(struct node *node, const struct piece *pieces, unsigned count,
                           uint32_t rights, unsigned importer, struct rsm_offer *offer,
                           unsigned *id, struct rsm_node_offer *made)
{
    struct packet packet = {
        .request = NODE_OFFER, .node = importer, .rights = rights, .count = count};
    int fds[RSM_OFFER_MAX_FDS];
    memcpy(packet.pieces, pieces, count * sizeof pieces[0]);
    unsigned taken = ask(node, &packet, fds);
    if (packet.status != RSM_ST_OK)
        return packet.status;
    take_offer(&packet, fds, taken, offer);
    *id = packet.id;
    *made = packet.made;
    return RSM_ST_OK;
}

void node_revoke(struct node *node, unsigned id)
{
    ask_of(node, NODE_REVOKE, id);
}

void node_revoke_begin(struct node *node, unsigned id)
{
    ask_of(node, NODE_REVOKE_BEGIN, id);
}

void node_revoke_twice(struct node *node, unsigned id)
{
    ask_of(node, NODE_REVOKE_TWICE, id);
}

enum rsm_status node_accept(struct node *node, unsigned exporter, uint64_t size, uint32_t rights,
                            const struct rsm_offer *offer, struct rsm_offer *local, unsigned *id)
{
    struct packet packet = {.request = NODE_ACCEPT,
                            .node = exporter,
                            .length = size,
                            .rights = rights,
                            .offer = *offer};
    int fds[RSM_OFFER_MAX_FDS];
    unsigned taken = ask(node, &packet, fds);
    if (packet.status != RSM_ST_OK)
        return packet.status;
    take_offer(&packet, fds, taken, local);
    *id = packet.id;
    return RSM_ST_OK;
}

void node_end_import(struct node *node, unsigned id)
{
    ask_of(node, NODE_END_IMPORT, id);
}

void node_released(struct node *node, unsigned id)
{
    ask_of(node, NODE_RELEASED, id);
}

struct node_counts node_count(struct node *node)
{
    struct packet packet = {.request = NODE_COUNT};
    int fds[RSM_OFFER_MAX_FDS];
    (void)ask(node, &packet, fds);
    return packet.counts;
}

void node_close_port(struct node *node)
{
    ask_of(node, NODE_CLOSE, 0);
}

void node_kill(struct node *node)
{
    kill(node->pid, SIGKILL);
    waitpid(node->pid, NULL, 0);
    close(node->socket);
}
