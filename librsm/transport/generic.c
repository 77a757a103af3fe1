/* SPDX-License-Identifier: BSD-3-Clause */
#include "transport/generic.h"

#include <string.h>

#define HEAD_MATCHES(table)                                                                        \
    (offsetof(table, abi_version) == offsetof(struct rsmcore_table_head, abi_version) &&           \
     offsetof(table, size) == offsetof(struct rsmcore_table_head, size) &&                         \
     offsetof(table, name) == offsetof(struct rsmcore_table_head, name))
_Static_assert(HEAD_MATCHES(struct rsm_import_ops), "both tables begin alike");
_Static_assert(HEAD_MATCHES(struct rsm_node_ops), "both tables begin alike");

#define END_OF(table, member) (offsetof(table, member) + sizeof(((table *)0)->member))

static const char other_abi[] =
    "it was built for another version of the transport interface than " RSMCORE_ABI_TEXT;

static enum rsm_status generic_put_elems(struct rsm_conn *conn, uint64_t offset, const void *src,
                                         unsigned width, size_t count)
{
    const char *from = src;
    enum rsm_status status = RSM_ST_OK;
    for (size_t i = 0; i < count && status == RSM_ST_OK; i++)
        status = conn->ops->put(conn, offset + i * width, from + i * width, width);
    return status;
}

static enum rsm_status generic_get_elems(struct rsm_conn *conn, uint64_t offset, void *dst,
                                         unsigned width, size_t count)
{
    char *to = dst;
    enum rsm_status status = RSM_ST_OK;
    for (size_t i = 0; i < count && status == RSM_ST_OK; i++)
        status = conn->ops->get(conn, offset + i * width, to + i * width, width);
    return status;
}

static enum rsm_status generic_putv(struct rsm_conn *conn, const struct rsm_transfer *vec,
                                    unsigned count, unsigned *done)
{
    enum rsm_status status = RSM_ST_OK;
    *done = 0;
    while (*done < count && status == RSM_ST_OK) {
        const struct rsm_transfer *entry = &vec[*done];
        status = conn->ops->put(conn, entry->remote, entry->local, entry->length);
        *done += status == RSM_ST_OK;
    }
    return status;
}

static enum rsm_status generic_getv(struct rsm_conn *conn, const struct rsm_transfer *vec,
                                    unsigned count, unsigned *done)
{
    enum rsm_status status = RSM_ST_OK;
    *done = 0;
    while (*done < count && status == RSM_ST_OK) {
        const struct rsm_transfer *entry = &vec[*done];
        status = conn->ops->get(conn, entry->remote, entry->local, entry->length);
        *done += status == RSM_ST_OK;
    }
    return status;
}

static enum rsm_status generic_map(struct rsm_conn *conn, uint64_t offset, size_t length,
                                   uint32_t rights, bool fixed, void **address)
{
    (void)conn, (void)offset, (void)length, (void)rights, (void)fixed, (void)address;
    return RSM_ST_UNSUPPORTED;
}

static enum rsm_status generic_unmap(struct rsm_conn *conn, void *address, size_t length)
{
    (void)conn, (void)address, (void)length;
    return RSM_ST_UNSUPPORTED;
}

static enum rsm_status generic_health(struct rsm_conn *conn)
{
    (void)conn;
    return RSM_ST_OK;
}

static enum rsm_status generic_register_memory(struct rsm_port *port, void *address, size_t length,
                                               void **cookie)
{
    (void)port, (void)address, (void)length;
    *cookie = NULL;
    return RSM_ST_OK;
}

static void generic_unregister_memory(struct rsm_port *port, void *cookie)
{
    (void)port, (void)cookie;
}

static enum rsm_status generic_extent_check(struct rsm_port *port, int fd, uint64_t offset,
                                            uint64_t length)
{
    (void)port, (void)fd, (void)offset, (void)length;
    return RSM_ST_UNSUPPORTED;
}

/* Signals. */

static enum rsm_status generic_post(struct rsm_conn *conn, bool coalesce)
{
    (void)conn, (void)coalesce;
    return RSM_ST_UNSUPPORTED;
}

static int generic_fd(struct rsm_conn *conn)
{
    (void)conn;
    return -1;
}

static enum rsm_status generic_arm(struct rsm_conn *conn)
{
    (void)conn;
    return RSM_ST_UNSUPPORTED;
}

static enum rsm_status generic_poll(struct rsm_conn *conn, struct rsm_signals *taken)
{
    (void)conn;
    *taken = (struct rsm_signals){.count = 0};
    return RSM_ST_UNSUPPORTED;
}

static void generic_acknowledge(struct rsm_conn *conn)
{
    (void)conn;
}

static enum rsm_status generic_send(struct rsm_node_port *port, struct rsm_node_offer *made,
                                    const struct rsm_signals *signals)
{
    (void)port, (void)made, (void)signals;
    return RSM_ST_UNSUPPORTED;
}

static bool generic_arrived(struct rsm_node_port *port, struct rsm_node_offer *made)
{
    (void)port, (void)made;
    return false;
}

static void generic_collect(struct rsm_node_port *port, struct rsm_node_offer *made,
                            struct rsm_signals *posted)
{
    (void)port, (void)made;
    *posted = (struct rsm_signals){.count = 0};
}

/* The node half. */

static int generic_event_fd(struct rsm_node_port *port)
{
    (void)port;
    return -1;
}

static void generic_dispatch(struct rsm_node_port *port, const struct rsm_node_upcalls *up,
                             void *context)
{
    (void)port, (void)up, (void)context;
}

static enum rsm_status generic_extent_adopt(struct rsm_node_port *port, int fd, uint64_t length,
                                            struct rsm_extent **extent)
{
    (void)port, (void)fd, (void)length, (void)extent;
    return RSM_ST_UNSUPPORTED;
}

static void generic_limit_users(struct rsm_node_port *port, const struct rsm_user_share *share)
{
    (void)port, (void)share;
}

static enum rsm_status generic_extent_make_for(struct rsm_node_port *port,
                                               const struct rsm_extent_request *request,
                                               struct rsm_extent **extent)
{
    const struct rsm_node_ops *ops = port->ops;
    if ((request->flags & RSM_EXTENT_REQUEST_NOT_PINNED) != 0)
        return ops->extent_make_not_pinned(port, request->length, extent);
    if ((request->flags & RSM_EXTENT_REQUEST_NOW) != 0)
        return ops->extent_make_now(port, request->length, extent);
    return ops->extent_make(port, request->length, extent);
}

bool rsmcore_transport_name_valid(const char *name)
{
    size_t length = strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_");
    return length > 0 && length < RSM_TRANSPORT_NAME_MAX && name[length] == '\0';
}

/* Only `abi_version` may be looked at before it is known to be ours. */
static const char *head_flaw(const struct rsmcore_table_head *head, size_t mandatory)
{
    if (head->abi_version != RSM_TRANSPORT_ABI)
        return other_abi;
    if (head->size < mandatory || head->size % sizeof(void *) != 0)
        return "its table has an impossible size";
    if (head->name == NULL || !rsmcore_transport_name_valid(head->name))
        return "its name is not made of 1 to 31 of a-z, 0-9 and _";
    return NULL;
}

/* A local copy that ends where both versions know the members; the rest is NULL. */
static void copy_table(void *to, size_t capacity, const void *from, size_t size)
{
    memset(to, 0, capacity);
    if (from != NULL)
        memcpy(to, from, size < capacity ? size : capacity);
}

/* Copy a sub-table, which may be NULL, into *to. */
#define COPY_SUB_TABLE(to, from)                                                                   \
    copy_table((to), sizeof *(to), (from), (from) != NULL ? (from)->size : 0)

/* Whether a sub-table's size cannot be right: it ends in front of member @last. */
#define SUB_TABLE_IS_CUT(from, table, last)                                                        \
    ((from) != NULL && ((from)->size < END_OF(table, last) || (from)->size % sizeof(void *) != 0))

static const char cut_sub_table[] = "a sub-table has an impossible size";
static const char cut_base[] = "its base structures have impossible sizes";

static const char *import_signals_flaw(const struct rsm_signal_ops *given)
{
    struct rsm_signal_ops ops;
    if (SUB_TABLE_IS_CUT(given, struct rsm_signal_ops, acknowledge))
        return cut_sub_table;
    COPY_SUB_TABLE(&ops, given);
    if (!ops.fd != !ops.arm || !ops.fd != !ops.poll || !ops.fd != !ops.acknowledge)
        return "fd, arm, poll and acknowledge of signals come together";
    return NULL;
}

static const char *completions_flaw(const struct rsm_completion_ops *given)
{
    if (given == NULL)
        return NULL;
    if (SUB_TABLE_IS_CUT(given, struct rsm_completion_ops, wait))
        return cut_sub_table;
    return given->submit && given->poll && given->wait
               ? NULL
               : "submit, poll and wait of completions come together";
}

const char *rsmcore_import_ops_flaw(const struct rsm_import_ops *given)
{
    const char *flaw = head_flaw((const struct rsmcore_table_head *)given,
                                 END_OF(struct rsm_import_ops, complete));
    if (flaw != NULL)
        return flaw;
    struct rsm_import_ops ops;
    copy_table(&ops, sizeof ops, given, given->size);
    if (ops.port_size < END_OF(struct rsm_port, caps) ||
        ops.conn_size < END_OF(struct rsm_conn, core))
        return cut_base;
    if (!ops.open || !ops.close || !ops.connect || !ops.disconnect)
        return "open, close, connect or disconnect is missing";
    if (!ops.put || !ops.get || !ops.order || !ops.complete)
        return "put, get, order or complete is missing";
    if (!ops.put_elems != !ops.get_elems)
        return "put_elems and get_elems come together";
    if (!ops.putv != !ops.getv)
        return "putv and getv come together";
    if (!ops.map != !ops.unmap)
        return "map and unmap come together";
    if (!ops.register_memory != !ops.unregister_memory)
        return "register_memory and unregister_memory come together";
    flaw = import_signals_flaw(ops.signals);
    return flaw != NULL ? flaw : completions_flaw(ops.completions);
}

static const char *node_signals_flaw(const struct rsm_node_ops *ops)
{
    const struct rsm_node_signal_ops *given = ops->signals;
    if (given == NULL)
        return NULL;
    if (SUB_TABLE_IS_CUT(given, struct rsm_node_signal_ops, arrived))
        return cut_sub_table;
    if (!given->send || !given->arrived)
        return "send and arrived of signals come together";
    return ops->dispatch ? NULL : "signals need dispatch";
}

static const char *node_imports_flaw(const struct rsm_node_import_ops *given)
{
    if (given == NULL)
        return NULL;
    if (SUB_TABLE_IS_CUT(given, struct rsm_node_import_ops, all_released))
        return cut_sub_table;
    return given->accept && given->revoke && given->close && given->released && given->all_released
               ? NULL
               : "accept, revoke, close, released and all_released of imports come together";
}

const char *rsmcore_node_ops_flaw(const struct rsm_node_ops *given)
{
    const char *flaw =
        head_flaw((const struct rsmcore_table_head *)given, END_OF(struct rsm_node_ops, revoke));
    if (flaw != NULL)
        return flaw;
    struct rsm_node_ops ops;
    copy_table(&ops, sizeof ops, given, given->size);
    if (ops.port_size < END_OF(struct rsm_node_port, caps) ||
        ops.extent_size < END_OF(struct rsm_extent, length) ||
        ops.offer_size < END_OF(struct rsm_node_offer, port))
        return cut_base;
    if (!ops.open || !ops.close || !ops.attributes)
        return "open, close or attributes is missing";
    if (!ops.extent_make || !ops.extent_free)
        return "extent_make or extent_free is missing";
    if (!ops.offer || !ops.revoke)
        return "offer or revoke is missing";
    if (!ops.event_fd != !ops.dispatch)
        return "event_fd and dispatch come together";
    if ((ops.extent_take == NULL) != (ops.offer_take == NULL))
        return "extent_take and offer_take come together";
    if (!ops.limit_users != !ops.extent_make_for)
        return "limit_users and extent_make_for come together";
    if (ops.revoke_begin && (!ops.dispatch || ops.imports))
        return "revoke_begin needs dispatch, and excludes imports";
    flaw = node_signals_flaw(&ops);
    return flaw != NULL ? flaw : node_imports_flaw(ops.imports);
}

static enum rsm_status status_of_flaw(const char *flaw)
{
    if (flaw == NULL)
        return RSM_ST_OK;
    return flaw == other_abi ? RSM_ST_VERSION : RSM_ST_INVALID;
}

#define SUPPLY(table, member)                                                                      \
    do {                                                                                           \
        if ((table)->member == NULL)                                                               \
            (table)->member = generic_##member;                                                    \
    } while (0)

static void complete_import_signals(struct rsm_signal_ops *full, const struct rsm_signal_ops *given)
{
    COPY_SUB_TABLE(full, given);
    full->size = sizeof *full;
    SUPPLY(full, post);
    SUPPLY(full, fd);
    SUPPLY(full, arm);
    SUPPLY(full, poll);
    SUPPLY(full, acknowledge);
}

enum rsm_status rsmcore_import_ops_complete(const struct rsm_import_ops *given,
                                            struct rsmcore_import_table *table)
{
    const char *flaw = rsmcore_import_ops_flaw(given);
    if (flaw != NULL)
        return status_of_flaw(flaw);
    struct rsm_import_ops *full = &table->ops;
    copy_table(full, sizeof *full, given, given->size);
    full->size = sizeof *full;
    SUPPLY(full, put_elems);
    SUPPLY(full, get_elems);
    SUPPLY(full, putv);
    SUPPLY(full, getv);
    SUPPLY(full, map);
    SUPPLY(full, unmap);
    SUPPLY(full, health);
    SUPPLY(full, register_memory);
    SUPPLY(full, unregister_memory);
    SUPPLY(full, extent_check);
    complete_import_signals(&table->signals, full->signals);
    full->signals = &table->signals;
    if (full->completions == NULL)
        full->completions = &rsmcore_completion_ops;
    rsmcore_guard_make(full, &table->guarded);
    return RSM_ST_OK;
}

enum rsm_status rsmcore_node_ops_complete(const struct rsm_node_ops *given,
                                          struct rsmcore_node_table *table)
{
    const char *flaw = rsmcore_node_ops_flaw(given);
    if (flaw != NULL)
        return status_of_flaw(flaw);
    struct rsm_node_ops *full = &table->ops;
    copy_table(full, sizeof *full, given, given->size);
    full->size = sizeof *full;
    SUPPLY(full, event_fd);
    SUPPLY(full, dispatch);
    SUPPLY(full, extent_adopt);
    if (full->extent_make_now == NULL)
        full->extent_make_now = full->extent_make;
    SUPPLY(full, limit_users);
    SUPPLY(full, extent_make_for);
    COPY_SUB_TABLE(&table->signals, full->signals);
    table->signals.size = sizeof table->signals;
    SUPPLY(&table->signals, send);
    SUPPLY(&table->signals, arrived);
    SUPPLY(&table->signals, collect);
    full->signals = &table->signals;
    if (full->imports != NULL) {
        COPY_SUB_TABLE(&table->imports, full->imports);
        table->imports.size = sizeof table->imports;
        full->imports = &table->imports;
    }
    return RSM_ST_OK;
}

uint32_t rsmcore_import_abilities(const struct rsm_import_ops *full)
{
    uint32_t caps = RSM_CAP_ASYNC | RSM_CAP_FAULT_SAFE | RSM_CAP_FORK;
    if (full->map != generic_map)
        caps |= RSM_CAP_MAP;
    if (full->signals->post != generic_post)
        caps |= RSM_CAP_REMOTE_SIGNAL;
    return caps;
}

bool rsmcore_import_reports_health(const struct rsm_import_ops *full)
{
    return full->health != generic_health;
}
