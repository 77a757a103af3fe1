/* SPDX-License-Identifier: BSD-3-Clause */
#include "party.h"

#include "process.h"

static struct party_export exports[PARTY_SLOTS];
static struct party_import imports[PARTY_SLOTS];

struct party_export *party_export(int slot)
{
    return &exports[slot];
}

struct party_import *party_import(int slot)
{
    return &imports[slot];
}

rsmapi_controller_handle_t party_controller(const char *name)
{
    static rsmapi_controller_handle_t opened, loopback;
    char sci[] = "sci0";
    bool is_sci = name == NULL || strcmp(name, sci) == 0;
    rsmapi_controller_handle_t *which = is_sci ? &opened : &loopback;
    if (*which == NULL && rsm_get_controller(is_sci ? sci : NULL, which) != RSM_SUCCESS)
        *which = NULL;
    return *which;
}

/* ---------------------------------------------------------------- the test's side */

struct order party_ask(struct actor *actor, actor_function verb, struct order order)
{
    order.result = actor_run(actor, verb, &order, sizeof order);
    return order;
}

struct order party_answer(struct actor *actor)
{
    struct order order;
    order.result = actor_end(actor, &order, sizeof order);
    return order;
}

/* ---------------------------------------------------------------- verbs: exports */

int party_open(void *bytes)
{
    struct order *order = bytes;
    return party_controller(order->controller) != NULL ? RSM_SUCCESS : RSMERR_CTLR_NOT_PRESENT;
}

int party_create(void *bytes)
{
    struct order *order = bytes;
    struct party_export *export_id = party_export(order->slot);
    if (export_id->memory == NULL) {
        export_id->kind = order->kind;
        export_id->length = order->length;
        export_id->memory = memory_get(order->kind, order->length);
    }
    NEED(export_id->memory != NULL);
    return rsm_memseg_export_create(party_controller(order->controller), &export_id->handle,
                                    export_id->memory, export_id->length, order->flags);
}

int party_publish(void *bytes)
{
    struct order *order = bytes;
    return rsm_memseg_export_publish(exports[order->slot].handle, &order->id, order->acl,
                                     order->acl_count);
}

int party_republish(void *bytes)
{
    struct order *order = bytes;
    return rsm_memseg_export_republish(exports[order->slot].handle, order->acl, order->acl_count);
}

int party_unpublish(void *bytes)
{
    struct order *order = bytes;
    return rsm_memseg_export_unpublish(exports[order->slot].handle);
}

int party_destroy(void *bytes)
{
    struct order *order = bytes;
    int error = rsm_memseg_export_destroy(exports[order->slot].handle);
    if (error == RSM_SUCCESS)
        exports[order->slot].handle = NULL;
    return error;
}

int party_drop(void *bytes)
{
    struct order *order = bytes;
    struct party_export *export_id = party_export(order->slot);
    NEED(memory_put(export_id->kind, export_id->memory, export_id->length) == 0);
    export_id->memory = NULL;
    return RSM_SUCCESS;
}

int party_rebind(void *bytes)
{
    struct order *order = bytes;
    struct party_export *export_id = party_export(order->slot);
    void *memory = memory_get(order->kind, export_id->length);
    NEED(memory != NULL);
    int error = rsm_memseg_export_rebind(export_id->handle, memory, 0, export_id->length);
    if (error != RSM_SUCCESS) {
        memory_put(order->kind, memory, export_id->length);
        return error;
    }
    order->address = export_id->memory;
    export_id->memory = memory;
    export_id->kind = order->kind;
    return RSM_SUCCESS;
}

static volatile uint64_t *word(void *memory, off_t offset)
{
    return (volatile uint64_t *)(void *)((uint8_t *)memory + offset);
}

static uint64_t pattern(uint64_t seed, size_t index)
{
    return (seed << 32 | index) * 0x9e3779b97f4a7c15u;
}

int party_fill(void *bytes)
{
    struct order *order = bytes;
    const struct party_export *export_id = party_export(order->slot);
    for (size_t i = 0; i < export_id->length / 8; i++)
        word(export_id->memory, 0)[i] = pattern(order->value, i);
    return 0;
}

int party_check(void *bytes)
{
    struct order *order = bytes;
    const struct party_export *export_id = party_export(order->slot);
    uint8_t *memory = order->address != NULL ? order->address : export_id->memory;
    for (size_t i = 0; i < export_id->length / 8; i++)
        if (word(memory, 0)[i] != pattern(order->value, i))
            return 1;
    return 0;
}

int party_load(void *bytes)
{
    struct order *order = bytes;
    order->value = *word(exports[order->slot].memory, order->offset);
    return RSM_SUCCESS;
}

int party_store(void *bytes)
{
    struct order *order = bytes;
    *word(exports[order->slot].memory, order->offset) = order->value;
    return RSM_SUCCESS;
}

int party_post_export(void *bytes)
{
    struct order *order = bytes;
    return rsm_intr_signal_post(exports[order->slot].handle, order->flags);
}

int party_wait_export(void *bytes)
{
    struct order *order = bytes;
    return rsm_intr_signal_wait(exports[order->slot].handle, order->timeout);
}

static int get_pollfd(void *handle, struct order *order)
{
    struct pollfd entry = {.fd = -1, .revents = 0x55};
    int error = rsm_memseg_get_pollfd(handle, &entry);
    if (error != RSM_SUCCESS)
        return error;
    NEED(entry.fd > 2 && entry.events == POLLRDNORM && entry.revents == 0x55);
    order->value = (uint64_t)entry.fd;
    return RSM_SUCCESS;
}

int party_export_pollfd(void *bytes)
{
    struct order *order = bytes;
    return get_pollfd(exports[order->slot].handle, order);
}

int party_release_export_pollfd(void *bytes)
{
    struct order *order = bytes;
    return rsm_memseg_release_pollfd(exports[order->slot].handle);
}

static uint32_t wanted_id(const struct order *order)
{
    return order->id != 0 ? order->id : PARTY_ID;
}

int party_offer(void *bytes)
{
    struct order *order = bytes;
    rsmapi_access_entry_t *acl = order->acl;
    int error = party_create(order);
    if (error != RSM_SUCCESS)
        return error;
    order->id = wanted_id(order);
    if (order->acl_count == 0) {
        order->acl_count = 3;
        for (unsigned i = 0; i < order->acl_count; i++)
            acl[i] = (rsmapi_access_entry_t){.ae_node = i + 1, .ae_permission = 0666};
    }
    return party_publish(order);
}

int party_withdraw(void *bytes)
{
    int error = party_unpublish(bytes);
    if (error == RSM_SUCCESS)
        error = party_destroy(bytes);
    return error == RSM_SUCCESS ? party_drop(bytes) : error;
}

/* ---------------------------------------------------------------- verbs: imports */

static rsm_permission_t wanted_permission(const struct order *order)
{
    return order->permission != 0 ? order->permission : RSM_PERM_RDWR;
}

int party_connect(void *bytes)
{
    struct order *order = bytes;
    struct party_import *import = party_import(order->slot);
    import->handle = (rsm_memseg_import_handle_t)-1;
    int error =
        rsm_memseg_import_connect(party_controller(order->controller), order->node,
                                  wanted_id(order), wanted_permission(order), &import->handle);
    NEED((error == RSM_SUCCESS) == (import->handle != NULL));
    import->length = order->length;
    return error;
}

int party_map(void *bytes)
{
    struct order *order = bytes;
    struct party_import *import = party_import(order->slot);
    void *address = NULL;
    size_t length = order->length != 0 ? order->length : import->length;
    int error = rsm_memseg_import_map(import->handle, &address, RSM_MAP_NONE,
                                      wanted_permission(order), order->offset, length);
    if (error == RSM_SUCCESS)
        import->address = address;
    return error;
}

int party_unmap(void *bytes)
{
    struct order *order = bytes;
    int error = rsm_memseg_import_unmap(imports[order->slot].handle);
    if (error == RSM_SUCCESS)
        imports[order->slot].address = NULL;
    return error;
}

int party_disconnect(void *bytes)
{
    struct order *order = bytes;
    int error = rsm_memseg_import_disconnect(imports[order->slot].handle);
    if (error == RSM_SUCCESS)
        imports[order->slot].handle = NULL;
    return error;
}

int party_peek(void *bytes)
{
    struct order *order = bytes;
    order->value = *word(imports[order->slot].address, order->offset);
    return RSM_SUCCESS;
}

int party_poke(void *bytes)
{
    struct order *order = bytes;
    *word(imports[order->slot].address, order->offset) = order->value;
    return RSM_SUCCESS;
}

int party_init_barrier(void *bytes)
{
    struct order *order = bytes;
    struct party_import *import = party_import(order->slot);
    return rsm_memseg_import_init_barrier(import->handle, (rsm_barrier_type_t)order->flags,
                                          &import->barrier);
}

int party_open_barrier(void *bytes)
{
    return rsm_memseg_import_open_barrier(&imports[((struct order *)bytes)->slot].barrier);
}

int party_order_barrier(void *bytes)
{
    return rsm_memseg_import_order_barrier(&imports[((struct order *)bytes)->slot].barrier);
}

int party_close_barrier(void *bytes)
{
    return rsm_memseg_import_close_barrier(&imports[((struct order *)bytes)->slot].barrier);
}

int party_destroy_barrier(void *bytes)
{
    return rsm_memseg_import_destroy_barrier(&imports[((struct order *)bytes)->slot].barrier);
}

int party_set_mode(void *bytes)
{
    struct order *order = bytes;
    return rsm_memseg_import_set_mode(imports[order->slot].handle,
                                      (rsm_barrier_mode_t)order->flags);
}

int party_put64(void *bytes)
{
    struct order *order = bytes;
    return rsm_memseg_import_put64(imports[order->slot].handle, order->offset, &order->value, 1);
}

int party_get64(void *bytes)
{
    struct order *order = bytes;
    return rsm_memseg_import_get64(imports[order->slot].handle, order->offset, &order->value, 1);
}

int party_post_import(void *bytes)
{
    struct order *order = bytes;
    return rsm_intr_signal_post(imports[order->slot].handle, order->flags);
}

int party_wait_import(void *bytes)
{
    struct order *order = bytes;
    return rsm_intr_signal_wait(imports[order->slot].handle, order->timeout);
}

int party_import_pollfd(void *bytes)
{
    struct order *order = bytes;
    return get_pollfd(imports[order->slot].handle, order);
}

int party_release_import_pollfd(void *bytes)
{
    struct order *order = bytes;
    return rsm_memseg_release_pollfd(imports[order->slot].handle);
}

int party_attach(void *bytes)
{
    struct order *order = bytes;
    int error = party_connect(order);
    if (error == RSM_SUCCESS)
        error = party_map(order);
    if (error == RSM_SUCCESS) {
        order->flags = RSM_BARRIER_SEGMENT;
        error = party_init_barrier(order);
    }
    return error;
}

int party_detach(void *bytes)
{
    int error = party_unmap(bytes);
    return error == RSM_SUCCESS ? party_disconnect(bytes) : error;
}

/* ---------------------------------------------------------------- verbs: a storing thread */

struct storing {
    struct party_import *import;
    volatile uint64_t *target;
};

static void *store_and_store(void *argument)
{
    struct storing storing = *(struct storing *)argument;
    struct party_import *import = storing.import;
    for (uint64_t value = 1; atomic_load(&import->storing); value++) {
        *storing.target = value;
        atomic_store(&import->stored, value);
    }
    return NULL;
}

int party_start_storing(void *bytes)
{
    static struct storing storing[PARTY_SLOTS];
    struct order *order = bytes;
    struct party_import *import = party_import(order->slot);
    storing[order->slot] =
        (struct storing){.import = import, .target = word(import->address, order->offset)};
    atomic_store(&import->stored, 0);
    atomic_store(&import->storing, true);
    NEED(pthread_create(&import->thread, NULL, store_and_store, &storing[order->slot]) == 0);
    return 0;
}

int party_progress(void *bytes)
{
    struct order *order = bytes;
    struct party_import *import = party_import(order->slot);
    uint64_t goal = atomic_load(&import->stored) + order->value;
    while (atomic_load(&import->stored) < goal)
        sched_yield();
    order->value = atomic_load(&import->stored);
    return 0;
}

int party_stop_storing(void *bytes)
{
    struct order *order = bytes;
    struct party_import *import = party_import(order->slot);
    atomic_store(&import->storing, false);
    NEED(pthread_join(import->thread, NULL) == 0);
    order->value = atomic_load(&import->stored);
    return 0;
}

int party_await_abort(void *bytes)
{
    struct order *order = bytes;
    struct party_import *import = party_import(order->slot);
    int error;
    int64_t deadline = now_ms() + order->timeout;
    do {
        NEED(rsm_memseg_import_open_barrier(&import->barrier) == RSM_SUCCESS);
        error = rsm_memseg_import_close_barrier(&import->barrier);
        sched_yield();
    } while (error == RSM_SUCCESS && now_ms() < deadline);
    return error;
}

int party_umask(void *bytes)
{
    struct order *order = bytes;
    umask((mode_t)order->value);
    return 0;
}
