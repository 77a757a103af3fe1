/* SPDX-License-Identifier: BSD-3-Clause */
#include "hosts.h"

#include "node/clients.h"
#include "node/revokes.h"

struct message {
    uint32_t from, to;
    size_t length;
    uint8_t bytes[RSM_CLUSTER_FRAME_MAX];
    struct message *next;
};

enum { CELLS_MAX = 512 };

struct hosts hosts;
static struct message *first, **last = &first;
static struct rsm_event_counter *cells[CELLS_MAX];
static unsigned cell_count;

/* ------------------------------------------------------------------ a transport */

/* As the real one, but for offers, which carry a text and as many descriptors as the test wants. */
static const struct rsm_node_ops *real;
static struct rsm_node_ops fake;

/* Those that importers of other hosts have, if they are to be released. */
struct fake_made {
    struct rsm_node_offer base;
    bool remote;
    uint32_t node; /* the importer's */
    bool revoked;
    bool ending;
    struct fake_made *next;
};
static struct fake_made *held;
static struct fake_made *ending; /* the oldest first */

static enum rsm_status fake_offer(struct rsm_node_port *port, const struct rsm_extent_piece *pieces,
                                  unsigned count, uint32_t rights,
                                  const struct rsm_importer *importer, struct rsm_offer *offer,
                                  struct rsm_node_offer **made)
{
    (void)pieces, (void)count, (void)rights;
    assert_string_equal(offer->address, "");
    offer->blob_len = (uint32_t)snprintf((char *)offer->blob, sizeof offer->blob, "for node %u",
                                         (unsigned)importer->node);
    if (importer->request_len > 0)
        offer->blob_len += (uint32_t)snprintf(
            (char *)offer->blob + offer->blob_len, sizeof offer->blob - offer->blob_len, ": %.*s",
            (int)importer->request_len, (const char *)importer->request);
    while (offer->fd_count < hosts.descriptors)
        offer->fds[offer->fd_count++] = open("/dev/null", O_RDONLY | O_CLOEXEC);
    struct fake_made *fresh = calloc(1, sizeof *fresh);
    if (fresh == NULL)
        return RSM_ST_NO_MEMORY;
    fresh->remote = !importer->local && fake.imports != NULL;
    fresh->node = importer->node;
    fresh->base.port = port;
    fresh->base.descriptors = hosts.keeps_descriptors;
    fresh->base.threads = hosts.keeps_threads;
    *made = &fresh->base;
    return RSM_ST_OK;
}

static void fake_revoke(struct rsm_node_port *port, struct rsm_node_offer *made)
{
    struct fake_made *gone = RSM_CONTAINER_OF(made, struct fake_made, base);
    hosts.revokes++;
    if (gone->ending) {
        LL_DELETE(ending, gone);
        hosts.ending--;
    }
    if (!gone->remote) {
        free(gone);
        return;
    }
    gone->revoked = true;
    LL_PREPEND(held, gone);
    hosts.held++;
}

static bool fake_revoke_begin(struct rsm_node_port *port, struct rsm_node_offer *made)
{
    struct fake_made *gone = RSM_CONTAINER_OF(made, struct fake_made, base);
    (void)port;
    hosts.begun++;
    usleep(hosts.begin_us);
    if (hosts.ends_at_once) {
        free(gone);
        return true;
    }
    gone->ending = true;
    LL_APPEND(ending, gone);
    hosts.ending++;
    return false;
}

void transport_ends_later(void)
{
    for (uint32_t id = 1; id <= HOSTS; id++) {
        struct rsmd_controller *controller;
        LL_FOREACH(hosts.node[id].controllers, controller)
        {
            controller->event_fd = 1000; /* it has events, which the test reports */
        }
    }
    fake.revoke_begin = fake_revoke_begin;
}

void offers_end(uint32_t node, unsigned count)
{
    while (count-- > 0) {
        struct fake_made *gone = ending;
        assert_non_null(gone);
        rsmd_revoked(&hosts.node[node], &gone->base);
        LL_DELETE(ending, gone);
        hosts.ending--;
        free(gone);
    }
}

static enum rsm_status fake_accept(struct rsm_node_port *port, uint32_t exporter, uint64_t size,
                                   uint32_t rights, const struct rsm_importer *importer,
                                   const struct rsm_offer *offer, struct rsm_offer *local,
                                   struct rsm_node_import **made)
{
    (void)size, (void)rights;
    assert_true(importer->local);
    assert_string_equal(local->address, offer->address);
    snprintf(hosts.told_address, sizeof hosts.told_address, "%s", offer->address);
    if (hosts.accept_status != RSM_ST_OK)
        return hosts.accept_status;
    local->blob_len =
        (uint32_t)snprintf((char *)local->blob, sizeof local->blob, "%.*s of %u",
                           (int)offer->blob_len, (const char *)offer->blob, (unsigned)exporter);
    local->fds[local->fd_count++] = open("/dev/null", O_RDONLY | O_CLOEXEC);
    *made = calloc(1, sizeof **made);
    assert_non_null(*made);
    (*made)->port = port;
    hosts.entries++;
    return RSM_ST_OK;
}

static bool fake_import_revoke(struct rsm_node_port *port, struct rsm_node_import *made)
{
    (void)port, (void)made;
    hosts.cut_entries++;
    return hosts.cuts;
}

static void fake_import_close(struct rsm_node_port *port, struct rsm_node_import *made)
{
    hosts.entries--;
    free(made);
}

static void fake_released(struct rsm_node_port *port, struct rsm_node_offer *made)
{
    struct fake_made *gone = RSM_CONTAINER_OF(made, struct fake_made, base);
    assert_true(gone->revoked);
    LL_DELETE(held, gone);
    hosts.held--;
    free(gone);
}

static bool fake_all_released(struct rsm_node_port *port, uint32_t node)
{
    struct fake_made *gone, *next;
    if (!hosts.cuts)
        return false;
    LL_FOREACH_SAFE(held, gone, next)
    {
        if (gone->node == node)
            fake_released(port, &gone->base);
    }
    return true;
}

static const struct rsm_node_import_ops fake_imports = {.size = sizeof fake_imports,
                                                        .accept = fake_accept,
                                                        .revoke = fake_import_revoke,
                                                        .close = fake_import_close,
                                                        .released = fake_released,
                                                        .all_released = fake_all_released};

void transport_accepts(void)
{
    fake.imports = &fake_imports;
}

static enum rsm_status fake_send(struct rsm_node_port *port, struct rsm_node_offer *made,
                                 const struct rsm_signals *signals)
{
    (void)port, (void)made;
    if (!hosts.fabric)
        return RSM_ST_UNSUPPORTED;
    hosts.fabric_sends++;
    hosts.sent = *signals;
    return RSM_ST_OK;
}

static bool fake_arrived(struct rsm_node_port *port, struct rsm_node_offer *made)
{
    (void)port, (void)made;
    return hosts.arrived;
}

static void fake_collect(struct rsm_node_port *port, struct rsm_node_offer *made,
                         struct rsm_signals *posted)
{
    (void)port, (void)made;
    *posted = hosts.posted;
    hosts.posted = (struct rsm_signals){.count = 0};
}

static const struct rsm_node_signal_ops fake_signals = {.size = sizeof fake_signals,
                                                        .send = fake_send,
                                                        .arrived = fake_arrived,
                                                        .collect = fake_collect};

static void replace_transport(struct rsmd_node *node)
{
    struct rsmd_controller *controller;
    LL_FOREACH(node->controllers, controller)
    {
        real = controller->ops;
        fake = *real;
        fake.offer = fake_offer;
        fake.revoke = fake_revoke;
        fake.signals = &fake_signals;
        controller->port->caps |= RSM_NODE_REACHES_HOSTS;
        controller->ops = controller->port->ops = &fake;
    }
}

void transport_pins(void)
{
    for (uint32_t id = 1; id <= HOSTS; id++) {
        struct rsmd_controller *controller;
        LL_FOREACH(hosts.node[id].controllers, controller)
        {
            controller->port->caps |= RSM_NODE_EXTENTS_PINNED;
        }
    }
}

static enum rsm_status make_not_pinned(struct rsm_node_port *port, uint64_t length,
                                       struct rsm_extent **extent)
{
    enum rsm_status status = real->extent_make(port, length, extent);
    if (status == RSM_ST_OK)
        (*extent)->flags |= RSM_EXTENT_NOT_PINNED;
    return status;
}

void transport_does_without_pinning(bool always)
{
    fake.extent_make_not_pinned = make_not_pinned;
    fake.extent_make = fake.extent_make_now = always ? make_not_pinned : real->extent_make;
}

static uid_t one_with_room;
uint32_t told_one_percent;

static void tell_percent(struct rsm_node_port *port, const struct rsm_user_share *share)
{
    told_one_percent = share->one_percent;
}

static enum rsm_status make_for(struct rsm_node_port *port,
                                const struct rsm_extent_request *request,
                                struct rsm_extent **extent)
{
    return request->uid == one_with_room ? real->extent_make(port, request->length, extent)
                                         : RSM_ST_NO_MEMORY;
}

void transport_has_room_for(uid_t uid)
{
    one_with_room = uid;
    fake.limit_users = tell_percent;
    fake.extent_make_for = make_for;
}

/* ------------------------------------------------------------------ messages */

static uint32_t node_id(const void *context)
{
    return ((const struct rsmd_node *)context)->id;
}

/* A host may ask for a node that the test does not have. */
static bool linked(const void *context, uint32_t to)
{
    return to <= HOSTS && hosts.link[node_id(context)][to];
}

static bool carry(void *context, uint32_t to, const struct rsm_cluster_msg *msg)
{
    uint32_t from = node_id(context);
    if (!linked(context, to))
        return false;
    struct message *message = calloc(1, sizeof *message);
    assert_non_null(message);
    message->from = from;
    message->to = to;
    message->length = rsm_cluster_encode(msg, message->bytes, sizeof message->bytes);
    assert_true(message->length > 0);
    *last = message;
    last = &message->next;
    return true;
}

static size_t queued(void *context, uint32_t to)
{
    (void)context, (void)to;
    return hosts.queued;
}

static enum rsmd_link_use need(void *context, uint32_t to)
{
    if (linked(context, to) && !hosts.closing)
        return RSMD_LINK_USABLE;
    hosts.needs += hosts.on_demand;
    return hosts.on_demand ? RSMD_LINK_AWAITED : RSMD_LINK_UNUSABLE;
}

static bool may_link(void *context, uint32_t to)
{
    return hosts.on_demand || linked(context, to);
}

static void proceed(void *context, uint32_t to)
{
    assert_false(rsmd_remote_busy(context, to));
    hosts.proceeds++;
}

static struct message *take(void)
{
    struct message *message = first;
    if (message != NULL)
        first = message->next;
    if (first == NULL)
        last = &first;
    return message;
}

bool deliver(void)
{
    struct rsm_cluster_msg msg;
    struct message *message = take();
    if (message == NULL)
        return false;
    assert_int_equal(rsm_cluster_decode(&msg, message->bytes, message->length), RSM_ST_OK);
    rsmd_remote_message(&hosts.node[message->to], message->from, &msg);
    free(message);
    return true;
}

void deliver_all(void)
{
    do
        event_base_loop(hosts.base, EVLOOP_NONBLOCK);
    while (deliver());
}

struct rsm_cluster_msg intercept(uint32_t type)
{
    struct rsm_cluster_msg msg;
    struct message *message = take();
    assert_non_null(message);
    assert_int_equal(rsm_cluster_decode(&msg, message->bytes, message->length), RSM_ST_OK);
    assert_int_equal(msg.type, type);
    free(message);
    return msg;
}

void forge(uint32_t from, uint32_t to, struct rsm_cluster_msg msg)
{
    rsmd_remote_message(&hosts.node[to], from, &msg);
}

static void lose(uint32_t a, uint32_t b)
{
    struct message **place = &first;
    while (*place != NULL) {
        struct message *message = *place;
        bool lost =
            (message->from == a && message->to == b) || (message->from == b && message->to == a);
        if (!lost) {
            place = &message->next;
            continue;
        }
        *place = message->next;
        free(message);
    }
    last = place;
}

void link_up(uint32_t a, uint32_t b)
{
    hosts.link[a][b] = hosts.link[b][a] = true;
    rsmd_remote_up(&hosts.node[a], b);
    rsmd_remote_up(&hosts.node[b], a);
}

void link_down(uint32_t a, uint32_t b)
{
    hosts.link[a][b] = hosts.link[b][a] = false;
    lose(a, b);
    rsmd_remote_down(&hosts.node[a], b);
    rsmd_remote_down(&hosts.node[b], a);
}

/* ------------------------------------------------------------------ begin and end */

int hosts_begin(void **state)
{
    static struct rsmd_conf conf;
    char why[256];
    memset(&hosts, 0, sizeof hosts);
    rsmd_conf_defaults(&conf);
    conf.peer_timeout_ms = 60000; /* nothing is late unless a test wants it */
    hosts.base = event_base_new();
    assert_non_null(hosts.base);
    for (uint32_t id = 1; id <= HOSTS; id++) {
        /* A directory that is not there: no node finds another one on its own host. */
        struct rsmcore_runtime runtime = {.directory = "/nonexistent", .node = id};
        struct rsmd_node *node = &hosts.node[id];
        struct rsmd_remote_ops carrier = {.context = node,
                                          .send = carry,
                                          .queued = queued,
                                          .need = need,
                                          .may_link = may_link,
                                          .may_reach = may_link,
                                          .proceed = proceed};
        assert_true(rsmd_node_init(node, id, false, &runtime, &conf, why, sizeof why));
        assert_true(rsmd_revokes_init(node, hosts.base));
        assert_true(rsmd_remote_start(node, hosts.base, &carrier));
        replace_transport(node);
    }
    for (uint32_t a = 1; a <= HOSTS; a++)
        for (uint32_t b = a + 1; b <= HOSTS; b++)
            link_up(a, b);
    return 0;
}

int hosts_end(void **state)
{
    while (cell_count > 0)
        rsm_event_counter_unmap(cells[--cell_count]);
    for (uint32_t id = 1; id <= HOSTS; id++) {
        struct rsmd_node *node = &hosts.node[id];
        struct rsmd_controller *controller;
        rsmd_remote_stop(node);
        rsmd_revokes_stop(node);
        LL_FOREACH(node->controllers, controller)
        {
            controller->ops = controller->port->ops = real;
        }
        assert_int_equal(node->shares.used[RSMD_SEGMENTS], 0);
        assert_null(node->shares.accounts);
        rsmd_node_end(node);
    }
    for (struct message *message; (message = take()) != NULL;)
        free(message);
    fake.imports = NULL;
    event_base_free(hosts.base);
    return 0;
}

/* ------------------------------------------------------------------ people */

static void take_answer(struct rsmd_client *client, const struct rsm_msg *reply,
                        const struct rsm_packet_fds *fds)
{
    struct person *person = (struct person *)(void *)client;
    person->answers++;
    person->late_fds = fds != NULL ? fds->count : 0;
    person->reply = *reply;
}

void person_begin(struct person *person, uint32_t node, uint32_t uid)
{
    memset(person, 0, sizeof *person);
    person->node = &hosts.node[node];
    person->client.greeted = true;
    person->client.node = node;
    person->client.answer = take_answer;
    person->client.account = rsmd_account_of_user(&person->node->shares, uid);
    assert_non_null(person->client.account);
    person->client.peer = (struct rsmd_identity){.pid = 1000, .uid = uid, .gid = uid};
}

void person_end(struct person *person)
{
    rsmd_remote_abandon(&person->client);
    rsmd_client_clear_until(person->node, &person->client, INT64_MAX);
    rsmd_revokes_finish(person->node);
    rsmd_account_drop(person->client.account);
    person->client.account = NULL; /* some tests end a person before the teardown does */
    assert_true(rsmd_shares_are_sound(&person->node->shares));
}

void begin(struct person *person, struct rsm_msg *msg)
{
    struct rsm_msg reply;
    struct rsmd_call call = {.node = person->node,
                             .client = &person->client,
                             .who = person->client.peer,
                             .request = msg,
                             .reply = &reply};
    rsmd_dispatch(&call);
    if (call.later)
        return;
    /* As if they had been sent: copies of what stays the daemon's. */
    person->fds = call.attached;
    for (unsigned i = 0; i < person->fds.count && !call.close_attached; i++)
        person->fds.fds[i] = fcntl(person->fds.fds[i], F_DUPFD_CLOEXEC, 3);
    take_answer(&person->client, &reply, NULL);
}

enum rsm_status ask(struct person *person, struct rsm_msg *msg)
{
    unsigned answers = person->answers;
    begin(person, msg);
    if (person->answers == answers)
        deliver_all();
    assert_int_equal(person->answers, answers + 1);
    return (enum rsm_status)person->reply.status;
}

/* ------------------------------------------------------------------ requests */

uint32_t offer_page_as(struct person *exporter, enum rsm_id_space space, uint32_t mode)
{
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    struct rsm_msg msg = {.type = RSM_MSG_EXTENT_ALLOC, .u.extent_alloc = {"sci0", page}};
    assert_int_equal(ask(exporter, &msg), RSM_ST_OK);
    rsm_packet_fds_close(&exporter->fds);
    uint32_t extent = exporter->reply.u.extent_alloc_reply.extent;
    msg = (struct rsm_msg){.type = RSM_MSG_EXPORT_CREATE, .u.export_create = {"sci0", page, mode}};
    assert_int_equal(ask(exporter, &msg), RSM_ST_OK);
    uint32_t export_id = exporter->reply.u.export_create_reply.export_id;
    msg = (struct rsm_msg){.type = RSM_MSG_EXPORT_PUBLISH,
                           .u.export_publish = {.export_id = export_id,
                                                .space = space,
                                                .segment_id = SEGMENT,
                                                .piece_count = 1,
                                                .pieces = {{extent, 0, page}}}};
    assert_int_equal(ask(exporter, &msg), RSM_ST_OK);
    return export_id;
}

uint32_t offer_page(struct person *exporter, uint32_t mode)
{
    return offer_page_as(exporter, RSM_ID_SPACE_RSMAPI, mode);
}

void begin_connect(struct person *importer, uint32_t node, uint32_t rights)
{
    struct rsm_msg msg = {.type = RSM_MSG_IMPORT_CONNECT,
                          .u.import_connect = {"sci0", node, RSM_ID_SPACE_RSMAPI, SEGMENT, rights}};
    begin(importer, &msg);
}

enum rsm_status connect_to(struct person *importer, uint32_t node, uint32_t rights)
{
    struct rsm_msg msg = {.type = RSM_MSG_IMPORT_CONNECT,
                          .u.import_connect = {"sci0", node, RSM_ID_SPACE_RSMAPI, SEGMENT, rights}};
    return ask(importer, &msg);
}

bool has_moved(const struct person *person, const struct rsm_import_connect_reply *import)
{
    return rsmd_generation_table_value(person->node->generation_table, import->slot) !=
           import->generation;
}

/* ------------------------------------------------------------------ events */

static struct rsm_event_counter *map_cell(struct person *person)
{
    assert_int_equal(person->fds.count, 1);
    assert_true(cell_count < CELLS_MAX);
    struct rsm_event_counter *cell = rsm_event_counter_map(person->fds.fds[0]);
    assert_non_null(cell);
    rsm_packet_fds_close(&person->fds);
    cells[cell_count++] = cell;
    return cell;
}

struct rsm_event_counter *own_counter(struct person *person, uint32_t end, uint32_t id)
{
    struct rsm_msg msg = {.type = RSM_MSG_EVENT_OPEN, .u.event_open = {end, id}};
    assert_int_equal(ask(person, &msg), RSM_ST_OK);
    return map_cell(person);
}

void post(struct person *person, uint32_t end, uint32_t id, uint32_t count, bool coalesce)
{
    struct rsm_msg msg = {.type = RSM_MSG_EVENT_RECEIVERS, .u.event_receivers = {end, id, 0}};
    assert_int_equal(ask(person, &msg), RSM_ST_OK);
    uint32_t peer = person->reply.u.event_receivers_reply.receivers[0];
    if (!rsm_event_counter_post(map_cell(person), count, coalesce))
        return;
    msg = (struct rsm_msg){.type = RSM_MSG_EVENT_DOORBELL, .u.event_doorbell = {end, id, peer}};
    assert_int_equal(ask(person, &msg), RSM_ST_OK);
}
