/* SPDX-License-Identifier: BSD-3-Clause */
#include "unit/rsmapi/fake_core.h"

#include <assert.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

struct rsmcore_controller {
    struct rsm_port_attr attr;
    bool loopback;
    char name[RSM_PROTO_NAME_MAX];
};

struct rsmcore_export {
    struct rsmcore_event *event;
    void *address;
    size_t length;
    bool published;
};

/* The bytes in the pipe are the pending events. */
struct rsmcore_event {
    int read_end, write_end;
    bool daemon_died;
};

struct fake fake;
uint8_t *fake_segment;
static struct rsm_generation_table table;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static size_t page(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

size_t fake_segment_length(void)
{
    return FAKE_PAGES * page();
}

void fake_reset(void)
{
    if (fake_segment == NULL)
        fake_segment = aligned_alloc(page(), fake_segment_length());
    memset(fake_segment, 0, fake_segment_length());
    memset(&fake, 0, sizeof fake);
    inject_calloc = inject_poll = inject_open = inject_fdopen = inject_fd_place = inject_vm_read =
        (struct injection){0, 0};
}

void fake_abort(void)
{
    atomic_fetch_add(&table.slot[0], 1);
}

/* ------------------------------------------------------------------ events */

static struct rsmcore_event *make_event(void)
{
    int ends[2];
    struct rsmcore_event *event = malloc(sizeof *event);
    if (event == NULL || pipe2(ends, O_CLOEXEC | O_NONBLOCK) < 0)
        abort();
    event->read_end = ends[0];
    event->write_end = ends[1];
    event->daemon_died = false;
    return event;
}

static void end_event(struct rsmcore_event *event)
{
    close(event->read_end);
    close(event->write_end);
    free(event);
}

void fake_raise(struct rsmcore_event *event)
{
    if (write(event->write_end, "", 1) != 1)
        abort();
}

unsigned fake_pending(struct rsmcore_event *event)
{
    int bytes = 0;
    if (ioctl(event->read_end, FIONREAD, &bytes) < 0)
        abort();
    return (unsigned)bytes;
}

enum rsm_status rsmcore_event_wait(struct rsmcore_event *event, int timeout_ms)
{
    char byte;
    if (fake.wait != RSM_ST_OK)
        return fake.wait;
    struct pollfd fd = {.fd = event->read_end, .events = POLLIN};
    if (poll(&fd, 1, timeout_ms) <= 0 || read(event->read_end, &byte, 1) != 1)
        return RSM_ST_TIMEOUT;
    if (fake.steals > 0) {
        fake.steals--;
        return RSM_ST_TIMEOUT;
    }
    return RSM_ST_OK;
}

enum rsm_status rsmcore_event_state(const struct rsmcore_event *event)
{
    return event->daemon_died ? RSM_ST_STALE : RSM_ST_OK;
}

void fake_daemon_dies(struct rsmcore_event *event)
{
    event->daemon_died = true;
}

enum rsm_status rsmcore_event_post(struct rsmcore_event *event, bool coalesce)
{
    fake.posts++;
    fake.coalesced += coalesce;
    return fake.post;
}

enum rsm_status rsmcore_import_post(struct rsmcore_import *import, bool coalesce)
{
    enum rsm_status earlier = rsmcore_import_note(import, fake.earlier);
    return earlier == RSM_ST_OK ? rsmcore_event_post(import->event, coalesce) : earlier;
}

/* ---------------------------------------------------------------- groups */

static char one_group;

enum rsm_status rsmcore_group_connect(struct rsmcore_controller *controller,
                                      enum rsm_id_space space, uint32_t segment_id,
                                      struct rsmcore_group **group)
{
    (void)controller;
    if (fake.group != RSM_ST_OK)
        return fake.group;
    fake.space = space;
    fake.segment_id = segment_id;
    fake.groups++;
    *group = (struct rsmcore_group *)&one_group;
    return RSM_ST_OK;
}

void rsmcore_group_disconnect(struct rsmcore_group *group)
{
    (void)group;
    fake.groups--;
}

enum rsm_status rsmcore_group_put(struct rsmcore_group *group, uint64_t offset, const void *src,
                                  size_t length)
{
    (void)group, (void)src;
    fake.puts++;
    fake.group_offset = offset;
    fake.count = length;
    return fake.group;
}

enum rsm_status rsmcore_group_order(struct rsmcore_group *group)
{
    (void)group;
    fake.orders++;
    return fake.group;
}

enum rsm_status rsmcore_group_close(struct rsmcore_group *group, unsigned *lacking)
{
    (void)group;
    fake.completes++;
    *lacking = fake.lacking;
    return fake.group;
}

enum rsm_status rsmcore_group_post(struct rsmcore_group *group, bool coalesce)
{
    (void)group;
    fake.posts++;
    fake.coalesced += coalesce;
    return fake.group;
}

/* One that is there and one that refuses. */
enum rsm_status rsmcore_group_members(struct rsmcore_group *group,
                                      struct rsmcore_group_member *members, unsigned *count)
{
    (void)group;
    const struct rsmcore_group_member there[] = {
        {.node = FAKE_NODE, .status = RSM_ST_OK, .length = 8192, .size = 5000},
        {.node = FAKE_NODE + 1, .status = RSM_ST_DENIED}};
    for (unsigned i = 0; i < 2 && i < *count; i++)
        members[i] = there[i];
    *count = 2;
    return fake.group;
}

enum rsm_status rsmcore_group_event(struct rsmcore_group *group, int timeout_ms,
                                    struct rsmcore_group_event *event)
{
    (void)group, (void)timeout_ms;
    *event = (struct rsmcore_group_event){
        .change = RSMCORE_GROUP_LEFT, .node = FAKE_NODE, .status = RSM_ST_ABORTED};
    return fake.group;
}

/* ---------------------------------------------------------------- descriptors */

enum rsm_status rsmcore_event_descriptor(struct rsmcore_event *event, int *fd)
{
    if (fake.descriptor == RSM_ST_OK)
        *fd = event->read_end;
    return fake.descriptor;
}

/* ------------------------------------------------------------------ controllers */

/* Those in fake.configured; without that all that do not begin with nosuch. */
static bool is_configured(const char *name)
{
    for (const char *const *each = fake.configured; each != NULL && *each != NULL; each++)
        if (strcmp(name, *each) == 0)
            return true;
    return fake.configured == NULL && strncmp(name, "nosuch", 6) != 0;
}

enum rsm_status rsmcore_controller_name_of_unit(const char *transport, unsigned unit, char *name)
{
    unsigned count = 0;
    (void)transport; /* where assert() is nothing */
    assert(transport == NULL);
    fake.names_asked++;
    while (fake.configured != NULL && fake.configured[count] != NULL)
        count++;
    if (unit >= count)
        return RSM_ST_NO_CONTROLLER;
    strcpy(name, fake.configured[unit]);
    return RSM_ST_OK;
}

enum rsm_status rsmcore_controller_open(const char *name, struct rsmcore_controller **controller)
{
    pthread_mutex_lock(&lock);
    fake.opens++;
    snprintf(fake.name, sizeof fake.name, "%s", name);
    enum rsm_status status = fake.open;
    if (status == RSM_ST_OK && !is_configured(name))
        status = RSM_ST_NO_CONTROLLER;
    if (status == RSM_ST_OK) {
        *controller = malloc(sizeof **controller);
        (*controller)->attr = (struct rsm_port_attr){.access_sizes = 15,
                                                     .atomic_sizes = 12,
                                                     .page_size = page(),
                                                     .max_segment_size = 8 * page(),
                                                     .total_segment_size = 9,
                                                     .max_segments = 10,
                                                     .max_map_size = 11,
                                                     .total_map_size = 12,
                                                     .max_imports = 13};
        (*controller)->loopback = strcmp(name, "loopback") == 0;
        snprintf((*controller)->name, sizeof(*controller)->name, "%s", name);
        fake.controllers++;
    }
    pthread_mutex_unlock(&lock);
    return status;
}

void rsmcore_controller_close(struct rsmcore_controller *controller)
{
    pthread_mutex_lock(&lock);
    fake.controllers--;
    pthread_mutex_unlock(&lock);
    free(controller);
}

const struct rsm_port_attr *rsmcore_controller_attr(const struct rsmcore_controller *controller)
{
    return &controller->attr;
}

const char *rsmcore_controller_name(const struct rsmcore_controller *controller)
{
    return controller->name;
}

bool rsmcore_controller_is_loopback(const struct rsmcore_controller *controller)
{
    return controller->loopback;
}

enum rsm_status rsmcore_controller_register(struct rsmcore_controller *controller, void *address,
                                            size_t length, void **cookie)
{
    if (fake.registration != RSM_ST_OK)
        return fake.registration;
    fake.registrations += controller->attr.max_imports == 13;
    *cookie = address;
    return RSM_ST_OK;
}

void rsmcore_controller_unregister(struct rsmcore_controller *controller, void *cookie)
{
    fake.registrations -= controller->attr.max_imports == 13 && cookie != NULL;
}

enum rsm_status rsmcore_local_node(uint32_t *node)
{
    *node = FAKE_NODE;
    return fake.local_node;
}

enum rsm_status rsmcore_topology_get(struct rsmcore_topology **topology)
{
    if (fake.topology != RSM_ST_OK)
        return fake.topology;
    *topology = malloc(sizeof **topology);
    **topology = *fake.snapshot;
    return RSM_ST_OK;
}

void rsmcore_topology_free(struct rsmcore_topology *topology)
{
    free(topology);
}

/* ------------------------------------------------------------------ exports */

enum rsm_status rsmcore_export_create(struct rsmcore_controller *controller, void *address,
                                      size_t length, unsigned mode, struct rsmcore_export **out)
{
    fake.mode = mode;
    if (fake.create != RSM_ST_OK)
        return fake.create;
    struct rsmcore_export *made = malloc(sizeof *made);
    *made = (struct rsmcore_export){make_event(), address, length, false};
    fake.exports++;
    *out = made;
    return RSM_ST_OK;
}

static void record_acl(const struct rsm_acl_entry *acl, uint32_t count)
{
    fake.acl_count = count;
    memcpy(fake.acl, acl, count * sizeof *acl);
}

enum rsm_status rsmcore_export_publish(struct rsmcore_export *segment, enum rsm_id_space space,
                                       uint32_t *segment_id, uint32_t flags,
                                       const struct rsm_acl_entry *acl, uint32_t acl_count)
{
    fake.space = space;
    fake.segment_id = *segment_id;
    fake.publish_flags = flags;
    record_acl(acl, acl_count);
    if (fake.publish != RSM_ST_OK)
        return fake.publish;
    segment->published = true;
    if ((flags & RSM_PUBLISH_ASSIGN_ID) != 0)
        *segment_id = 0x80000001;
    return fake.publish;
}

enum rsm_status rsmcore_export_republish(struct rsmcore_export *segment,
                                         const struct rsm_acl_entry *acl, uint32_t acl_count)
{
    record_acl(acl, acl_count);
    return fake.republish;
}

enum rsm_status rsmcore_export_unpublish(struct rsmcore_export *segment, uint32_t flags)
{
    fake.unpublish_flags = flags;
    if (!segment->published)
        return RSM_ST_NOT_PUBLISHED;
    if (fake.unpublish == RSM_ST_OK)
        segment->published = false;
    return fake.unpublish;
}

enum rsm_status rsmcore_export_rebind(struct rsmcore_export *segment, void *address)
{
    if (address == segment->address)
        return fake.rebind == RSM_ST_STALE ? fake.rebind : RSM_ST_OK;
    if (fake.rebind == RSM_ST_OK)
        segment->address = address;
    return fake.rebind;
}

enum rsm_status rsmcore_export_destroy(struct rsmcore_export *segment, enum rsmcore_destroy how)
{
    if (how != RSMCORE_DESTROY_CUT)
        abort();
    end_event(segment->event);
    free(segment);
    fake.exports--;
    return RSM_ST_OK;
}

bool rsmcore_export_is_creator(const struct rsmcore_export *segment)
{
    return !fake.created_by_other;
}

bool rsmcore_export_is_published(const struct rsmcore_export *segment)
{
    return segment->published;
}

void *rsmcore_export_address(const struct rsmcore_export *segment)
{
    return segment->address;
}

size_t rsmcore_export_length(const struct rsmcore_export *segment)
{
    return segment->length;
}

struct rsmcore_event *rsmcore_export_event(struct rsmcore_export *segment)
{
    return segment->event;
}

/* ------------------------------------------------------------------ imports */

static enum rsm_status fake_put(struct rsm_conn *conn, uint64_t offset, const void *src,
                                size_t length)
{
    __atomic_fetch_add(&fake.puts, 1, __ATOMIC_RELAXED);
    if (fake.transfer == RSM_ST_OK)
        memcpy(fake_segment + offset, src, length);
    return fake.transfer;
}

static enum rsm_status fake_get(struct rsm_conn *conn, uint64_t offset, void *dst, size_t length)
{
    fake.gets++;
    if (fake.transfer == RSM_ST_OK)
        memcpy(dst, fake_segment + offset, length);
    return fake.transfer;
}

static enum rsm_status fake_put_elems(struct rsm_conn *conn, uint64_t offset, const void *src,
                                      unsigned width, size_t count)
{
    fake.element_puts++;
    fake.width = width;
    fake.count = count;
    if (fake.transfer == RSM_ST_OK)
        memcpy(fake_segment + offset, src, width * count);
    return fake.transfer;
}

static enum rsm_status fake_get_elems(struct rsm_conn *conn, uint64_t offset, void *dst,
                                      unsigned width, size_t count)
{
    fake.element_gets++;
    fake.width = width;
    fake.count = count;
    if (fake.transfer == RSM_ST_OK)
        memcpy(dst, fake_segment + offset, width * count);
    return fake.transfer;
}

static enum rsm_status fake_order(struct rsm_conn *conn)
{
    fake.orders++;
    return fake.order;
}

static enum rsm_status fake_complete(struct rsm_conn *conn)
{
    if (fake.failing != NULL) /* as another thread would */
        rsm_conn_failed(fake.failing->inner);
    __atomic_fetch_add(&fake.completes, 1, __ATOMIC_RELAXED);
    return fake.complete;
}

static enum rsm_status fake_put_complete(struct rsm_conn *conn, uint64_t offset, const void *src,
                                         size_t length)
{
    fake.in_one++;
    enum rsm_status status = fake_put(conn, offset, src, length);
    return status == RSM_ST_OK ? fake_complete(conn) : status;
}

static enum rsm_status fake_health(struct rsm_conn *conn)
{
    return RSM_ST_OK;
}

static struct rsm_import_ops ops = {
    .put = fake_put,
    .get = fake_get,
    .put_elems = fake_put_elems,
    .get_elems = fake_get_elems,
    .order = fake_order,
    .complete = fake_complete,
    .health = fake_health,
};

static struct rsm_conn connection = {.ops = &ops};

void fake_puts_in_one(bool so)
{
    ops.put_complete = so ? fake_put_complete : NULL;
}

enum rsm_status rsmcore_import_connect(struct rsmcore_controller *controller, uint32_t node,
                                       enum rsm_id_space space, uint32_t segment_id,
                                       uint32_t rights, struct rsmcore_import **out)
{
    fake.node = node;
    fake.space = space;
    fake.segment_id = segment_id;
    fake.rights = rights;
    if (fake.connect != RSM_ST_OK)
        return fake.connect;
    struct rsmcore_import *made = malloc(sizeof *made);
    memset(made, 0, sizeof *made);
    atomic_init(&made->conn, &connection);
    made->inner = &connection;
    made->slot = &table.slot[0];
    made->table = &table;
    made->generation = atomic_load(&table.slot[0]);
    made->rights = rights;
    made->reports_health = true;
    made->length = fake_segment_length();
    made->controller = controller;
    made->event = make_event();
    fake.imports++;
    *out = made;
    return RSM_ST_OK;
}

void rsmcore_import_disconnect(struct rsmcore_import *import)
{
    end_event(import->event);
    free(import);
    fake.imports--;
}

static enum rsm_status vector(struct rsmcore_import *import, const struct rsm_transfer *vec,
                              unsigned count, unsigned *done, bool put)
{
    for (*done = 0; *done < count; ++*done) {
        const struct rsm_transfer *entry = &vec[*done];
        if (!rsmcore_import_in_range(import, entry->remote, entry->length))
            return RSM_ST_RANGE;
        if (fake.transfer != RSM_ST_OK && *done == fake.vector_done)
            return rsmcore_import_note(import, fake.transfer);
        void *remote = fake_segment + entry->remote;
        memcpy(put ? remote : entry->local, put ? entry->local : remote, entry->length);
    }
    *done = 0; /* says something after a failure only */
    return RSM_ST_OK;
}

enum rsm_status rsmcore_import_putv(struct rsmcore_import *import, const struct rsm_transfer *vec,
                                    unsigned count, unsigned *done)
{
    return vector(import, vec, count, done, true);
}

enum rsm_status rsmcore_import_getv(struct rsmcore_import *import, const struct rsm_transfer *vec,
                                    unsigned count, unsigned *done)
{
    return vector(import, vec, count, done, false);
}

const struct rsm_mapping_ops *_Atomic rsmcore_mapping_engine;

void rsmcore_import_probe(const struct rsmcore_import *import, uint32_t right, uint64_t offset,
                          uint64_t length)
{
    (void)import, (void)right, (void)offset, (void)length;
}

struct rsm_conn *rsmcore_import_conn_for_mapping(struct rsmcore_import *import, const void *local,
                                                 size_t length)
{
    (void)local, (void)length;
    return rsmcore_import_conn(import);
}

enum rsm_status rsmcore_import_map(struct rsmcore_import *import, uint64_t offset, size_t length,
                                   uint32_t rights, bool fixed, void **address)
{
    fake.map_offset = offset;
    fake.map_length = length;
    fake.map_rights = rights;
    fake.map_fixed = fixed;
    *address = fake_segment + offset; /* also on failure: the program must not see it */
    if (rsmcore_import_aborted(import))
        return RSM_ST_ABORTED;
    if ((rights & ~import->rights) != 0)
        return RSM_ST_DENIED;
    return fake.map;
}

enum rsm_status rsmcore_import_unmap(struct rsmcore_import *import, void *address, size_t length)
{
    if (address != fake_segment + fake.map_offset || length != fake.map_length)
        abort();
    return fake.unmap;
}

/* ------------------------------------------------------------------ control */

bool rsmcore_control_has_successor(const struct rsmcore_control *control)
{
    return false;
}

void rsmcore_import_report_counts(struct rsmcore_import *import, bool at_once)
{
    (void)import, (void)at_once;
}
