/* SPDX-License-Identifier: BSD-3-Clause */
/* A process that does to the node half what rsmd does, as the judge asks by packets. */
#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "direct.h"
#include "module.h"
#include "transport/instance.h"
#include "transport/registry_node.h"

enum { THINGS_MAX = 512, NODES_MAX = 8 };

enum request {
    NODE_OPEN,
    NODE_CLOSE,
    NODE_MAKE,
    NODE_FREE,
    NODE_OFFER,
    NODE_REVOKE,
    NODE_ACCEPT,
    NODE_END_IMPORT,
    NODE_RELEASED,
    NODE_COUNT,
};

struct packet {
    enum request request;
    enum rsm_status status;
    unsigned id;
    unsigned node;
    uint64_t length;
    uint32_t rights;
    uint32_t count;
    struct piece pieces[PIECES_MAX];
    struct rsm_offer offer;
    struct rsm_extent extent;
    struct rsm_node_offer made;
    struct node_facts facts;
    struct node_counts counts;
};

struct node {
    pid_t pid;
    int socket;
    struct node_facts facts;
};

/* ---------------------------------------------------------------- packets with descriptors */

static bool send_packet(int socket, struct packet *packet, const int *fds, unsigned count)
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

/* The number of descriptors; -1: the other side has gone. */
static int receive_packet(int socket, struct packet *packet, int *fds)
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

/* ---------------------------------------------------------------- the node's process */

static struct {
    const struct rsm_node_ops *ops;
    struct rsm_node_port *port;
    struct rsm_extent *extents[THINGS_MAX];
    struct rsm_node_offer *offers[THINGS_MAX];
    struct rsm_node_import *imports[THINGS_MAX];
    unsigned extent_count, offer_count, import_count;
    uint64_t reached;
} own;

static void on_signalled(void *context, struct rsm_node_offer *made, uint32_t count, bool coalesced)
{
    (void)context, (void)made, (void)count, (void)coalesced;
}

static void on_lost(void *context, struct rsm_node_offer *made)
{
    (void)context, (void)made; /* the judge revokes it */
}

static void on_taken(void *context, struct rsm_node_offer *made)
{
    (void)context, (void)made;
}

static void on_link(void *context, struct rsm_node_port *port, bool up)
{
    (void)context, (void)port, (void)up;
}

static void on_node(void *context, struct rsm_node_port *port, uint32_t node, bool up,
                    uint64_t epoch)
{
    (void)context, (void)port, (void)epoch;
    uint64_t bit = UINT64_C(1) << (node % 64);
    own.reached = up ? own.reached | bit : own.reached & ~bit;
}

/* This daemon has no threads: the transport does the work at once. */
static enum rsm_status on_submit(void *context, struct rsm_node_offer *made,
                                 struct rsm_node_job *job)
{
    (void)context, (void)made, (void)job;
    return RSM_ST_UNSUPPORTED;
}

static const struct rsm_node_upcalls upcalls = {.size = sizeof upcalls,
                                                .signalled = on_signalled,
                                                .lost = on_lost,
                                                .taken = on_taken,
                                                .link_state = on_link,
                                                .node_state = on_node,
                                                .submit = on_submit};

/* What a daemon of a later version passes: more than the transport knows. */
static bool attributes_overrun(struct rsm_port_attr *attr)
{
    enum { MORE = 64, MARK = 0x77 };
    struct {
        struct rsm_port_attr attr;
        uint8_t more[MORE];
    } later;
    size_t size = direct_later ? sizeof later : sizeof later.attr;
    memset(&later, 0, sizeof later);
    memset(later.more, MARK, MORE);
    later.attr.size = size;
    own.ops->attributes(own.port, &later.attr);
    bool overrun = later.attr.size != size;
    for (unsigned i = 0; i < MORE; i++)
        overrun |= later.more[i] != MARK;
    *attr = later.attr;
    return overrun;
}

static void do_make(struct packet *packet)
{
    struct rsm_extent *made;
    packet->status = own.ops->extent_make(own.port, packet->length, &made);
    if (packet->status != RSM_ST_OK)
        return;
    packet->extent = *made;
    packet->id = own.extent_count;
    own.extents[own.extent_count++] = made;
}

static struct rsm_importer importer_at(unsigned node, bool local)
{
    return (struct rsm_importer){.size = sizeof(struct rsm_importer),
                                 .node = node,
                                 .uid = getuid(),
                                 .gid = getgid(),
                                 .pid = getppid(),
                                 .local = local};
}

static void do_offer(struct packet *packet)
{
    struct rsm_extent_piece pieces[PIECES_MAX];
    struct rsm_node_offer *made = NULL;
    struct {
        struct rsm_importer importer;
        uint8_t more[64]; /* of a later version */
    } later = {.importer = importer_at(packet->node, packet->node == 1)};
    later.importer.size = direct_later ? sizeof later : sizeof later.importer;
    for (unsigned i = 0; i < packet->count; i++)
        pieces[i] = (struct rsm_extent_piece){own.extents[packet->pieces[i].extent],
                                              packet->pieces[i].offset, packet->pieces[i].length};
    packet->offer = (struct rsm_offer){.size = sizeof packet->offer, .node = 1};
    packet->status = own.ops->offer(own.port, pieces, packet->count, packet->rights,
                                    &later.importer, &packet->offer, &made);
    if (packet->status != RSM_ST_OK)
        return;
    packet->made = *made;
    packet->id = own.offer_count;
    own.offers[own.offer_count++] = made;
}

static void do_accept(struct packet *packet)
{
    struct rsm_importer importer = importer_at(2, true);
    struct rsm_offer local = {.size = sizeof local, .node = packet->node};
    struct rsm_node_import *made = NULL;
    packet->status =
        own.ops->imports->accept(own.port, packet->node, packet->length, packet->rights, &importer,
                                 &packet->offer, &local, &made);
    packet->offer = local;
    if (packet->status != RSM_ST_OK)
        return;
    packet->id = own.import_count;
    own.imports[own.import_count++] = made;
}

static void end_import(struct rsm_node_import *import)
{
    (void)own.ops->imports->revoke(own.port, import);
    own.ops->imports->close(own.port, import);
}

static const int kept_signals[] = {SIGPIPE, SIGTERM, SIGINT, SIGHUP, SIGUSR2};
enum { KEPT_SIGNALS = sizeof kept_signals / sizeof kept_signals[0] };

static void on_kept_signal(int number)
{
    (void)number;
}

static bool handlers_changed(void)
{
    sigset_t mask;
    bool changed = false;
    for (unsigned i = 0; i < KEPT_SIGNALS; i++) {
        struct sigaction action;
        sigaction(kept_signals[i], NULL, &action);
        changed |= action.sa_handler != (kept_signals[i] == SIGPIPE ? SIG_IGN : on_kept_signal);
        sigprocmask(SIG_BLOCK, NULL, &mask);
        changed |= sigismember(&mask, kept_signals[i]) == 1;
    }
    return changed;
}

/* Whether a thread blocks what a daemon has handlers for. */
static bool blocks_signals(const char *task)
{
    char path[64], line[128];
    unsigned long long blocked = ~0ULL;
    snprintf(path, sizeof path, "/proc/self/task/%s/status", task);
    FILE *file = fopen(path, "re");
    while (file != NULL && fgets(line, sizeof line, file) != NULL)
        if (strncmp(line, "SigBlk:", 7) == 0)
            blocked = strtoull(line + 7, NULL, 16);
    if (file != NULL)
        fclose(file);
    bool all = true;
    for (unsigned i = 1; i < KEPT_SIGNALS; i++) /* SIGPIPE is ignored anyway */
        all &= (blocked >> (kept_signals[i] - 1) & 1) != 0;
    return all;
}

static unsigned threads_with_signals(void)
{
    unsigned count = 0;
    char self[16];
    struct dirent *entry;
    DIR *tasks = opendir("/proc/self/task");
    snprintf(self, sizeof self, "%d", (int)getpid());
    while (tasks != NULL && (entry = readdir(tasks)) != NULL)
        if (entry->d_name[0] != '.' && strcmp(entry->d_name, self) != 0)
            count += !blocks_signals(entry->d_name);
    if (tasks != NULL)
        closedir(tasks);
    return count;
}

static void do_count(struct packet *packet)
{
    packet->counts = (struct node_counts){.descriptors = descriptors_open(),
                                          .threads = threads_running(),
                                          .threads_with_signals = threads_with_signals(),
                                          .reached = own.reached,
                                          .handlers_changed = handlers_changed()};
}

static void do_open(struct packet *packet)
{
    struct {
        struct rsm_controller_info info;
        uint8_t more[64]; /* of a later version */
    } later = {.info = *module_controller()};
    later.info.node = packet->node;
    later.info.size = direct_later ? sizeof later : sizeof later.info;
    do_count(packet);
    own.ops = rsmcore_transport_node(module_transport());
    packet->status = own.ops == NULL ? RSM_ST_UNSUPPORTED : own.ops->open(&later.info, &own.port);
    if (packet->status != RSM_ST_OK)
        return;
    own.port->ops = own.ops;
    struct rsm_port_attr attr;
    packet->facts = (struct node_facts){.attr_overrun = attributes_overrun(&attr),
                                        .caps = own.port->caps,
                                        .imports = own.ops->imports != NULL &&
                                                   own.ops->imports->accept != NULL};
    packet->facts.page = (uint32_t)attr.page_size;
    packet->facts.atomic_sizes = attr.atomic_sizes;
}

static void serve_packet(struct packet *packet)
{
    packet->status = RSM_ST_OK;
    switch (packet->request) {
    case NODE_OPEN:
        do_open(packet);
        break;
    case NODE_CLOSE:
        own.ops->close(own.port);
        own.port = NULL;
        break;
    case NODE_MAKE:
        do_make(packet);
        break;
    case NODE_FREE:
        own.ops->extent_free(own.port, own.extents[packet->id]);
        break;
    case NODE_OFFER:
        do_offer(packet);
        break;
    case NODE_REVOKE:
        own.ops->revoke(own.port, own.offers[packet->id]);
        break;
    case NODE_ACCEPT:
        do_accept(packet);
        break;
    case NODE_END_IMPORT:
        end_import(own.imports[packet->id]);
        break;
    case NODE_RELEASED:
        own.ops->imports->released(own.port, own.offers[packet->id]);
        break;
    case NODE_COUNT:
        do_count(packet);
        break;
    }
}

/* One packet and its answer; false: the judge has gone. */
static bool serve_judge(int socket, struct packet *packet)
{
    int fds[RSM_OFFER_MAX_FDS];
    int count = receive_packet(socket, packet, fds);
    if (count < 0)
        return false;
    for (int i = 0; i < count; i++)
        close(fds[i]);
    serve_packet(packet);
    bool offers = packet->status == RSM_ST_OK &&
                  (packet->request == NODE_OFFER || packet->request == NODE_ACCEPT);
    bool extent = packet->status == RSM_ST_OK && packet->request == NODE_MAKE;
    const int *sent = offers ? packet->offer.fds : &packet->extent.fd;
    bool well = send_packet(socket, packet, sent, offers ? packet->offer.fd_count : extent);
    for (unsigned i = 0; offers && i < packet->offer.fd_count; i++)
        close(packet->offer.fds[i]);
    return well;
}

__attribute__((noreturn)) static void be_node(int socket)
{
    static struct packet packet;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (unsigned i = 0; i < KEPT_SIGNALS; i++)
        signal(kept_signals[i], kept_signals[i] == SIGPIPE ? SIG_IGN : on_kept_signal);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    for (;;) {
        int event_fd = own.port != NULL ? own.ops->event_fd(own.port) : -1;
        struct pollfd ready[2] = {{.fd = socket, .events = POLLIN},
                                  {.fd = event_fd, .events = POLLIN}};
        if (poll(ready, 2, -1) < 0)
            continue;
        if (event_fd >= 0 && ready[1].revents != 0)
            own.ops->dispatch(own.port, &upcalls, NULL);
        if (ready[0].revents != 0 && !serve_judge(socket, &packet))
            _exit(0);
    }
}

/* ---------------------------------------------------------------- the judge's side */

/* The number of descriptors that came with the answer. */
static unsigned ask(struct node *node, struct packet *packet, int *fds)
{
    int count = -1;
    struct pollfd ready = {.fd = node->socket, .events = POLLIN};
    if (send_packet(node->socket, packet, NULL, 0) && poll(&ready, 1, PATIENCE_MS) == 1)
        count = receive_packet(node->socket, packet, fds);
    if (count < 0)
        about("request %u", (unsigned)packet->request);
    expect_holds(__FILE__, __LINE__, "the node half's process answers", count >= 0);
    return (unsigned)count;
}

static void ask_of(struct node *node, enum request request, unsigned id)
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
        be_node(sockets[1]);
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
