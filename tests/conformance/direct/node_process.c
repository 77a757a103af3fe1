/* SPDX-License-Identifier: BSD-3-Clause */
/* A process that does to the node half what rsmd does, as the judge asks by packets. */
#include <dirent.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "module.h"
#include "packet.h"
#include "transport/registry.h"

enum { THINGS_MAX = 512 };

static struct {
    const struct rsm_node_ops *ops;
    struct rsm_node_port *port;
    struct rsm_extent *extents[THINGS_MAX];
    struct rsm_node_offer *offers[THINGS_MAX];
    struct rsm_node_import *imports[THINGS_MAX];
    unsigned extent_count, offer_count, import_count;
    uint64_t reached;
    uint32_t ended;
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

static void on_revoked(void *context, struct rsm_node_offer *made)
{
    (void)context, (void)made;
    own.ended++;
}

static const struct rsm_node_upcalls upcalls = {.size = sizeof upcalls,
                                                .signalled = on_signalled,
                                                .lost = on_lost,
                                                .taken = on_taken,
                                                .link_state = on_link,
                                                .node_state = on_node,
                                                .submit = on_submit,
                                                .revoked = on_revoked};

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
    packet->offer = (struct rsm_offer){.size = sizeof packet->offer, .node = 1, .address = ""};
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
    struct rsm_offer local = {.size = sizeof local, .node = packet->node, .address = ""};
    struct rsm_node_import *made = NULL;
    packet->offer.address = "";
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
                                          .ended = own.ended,
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
                                        .ends_later = own.ops->revoke_begin != NULL,
                                        .imports = own.ops->imports != NULL &&
                                                   own.ops->imports->accept != NULL};
    packet->facts.page = (uint32_t)attr.page_size;
    packet->facts.atomic_sizes = attr.atomic_sizes;
}

static void begin_to_revoke(struct rsm_node_offer *made, bool twice)
{
    if (own.ops->revoke_begin(own.port, made))
        own.ended++;
    else if (twice)
        own.ops->revoke(own.port, made);
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
    case NODE_REVOKE_BEGIN:
    case NODE_REVOKE_TWICE:
        begin_to_revoke(own.offers[packet->id], packet->request == NODE_REVOKE_TWICE);
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
    int count = packet_receive(socket, packet, fds);
    if (count < 0)
        return false;
    for (int i = 0; i < count; i++)
        close(fds[i]);
    serve_packet(packet);
    bool offers = packet->status == RSM_ST_OK &&
                  (packet->request == NODE_OFFER || packet->request == NODE_ACCEPT);
    bool extent = packet->status == RSM_ST_OK && packet->request == NODE_MAKE;
    const int *sent = offers ? packet->offer.fds : &packet->extent.fd;
    bool well = packet_send(socket, packet, sent, offers ? packet->offer.fd_count : extent);
    for (unsigned i = 0; offers && i < packet->offer.fd_count; i++)
        close(packet->offer.fds[i]);
    return well;
}

/* A sanitizer has a thread of its own as soon as there is another. It belongs to no transport. */
static void *do_nothing(void *argument)
{
    return argument;
}

static void make_a_thread(void)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, do_nothing, NULL) == 0)
        pthread_join(thread, NULL);
}

void node_serve(int socket)
{
    static struct packet packet;
    make_a_thread();
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
