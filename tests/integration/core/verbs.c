/* SPDX-License-Identifier: BSD-3-Clause */
#include "verbs.h"

#include "core/controller.h"
#include "core/export.h"
#include "core/import.h"
#include "core/interrupt.h"
#include "core/map.h"
#include "core/records.h"
#include "base/packet.h"

enum { RIGHTS = RSM_RIGHT_READ | RSM_RIGHT_WRITE };

static struct {
    struct rsmcore_export *handle;
    uint8_t *memory;
    struct rsmcore_records *records;
} exports[CORE_SLOTS];
static struct rsmcore_import *imports[CORE_SLOTS];
static struct rsmcore_records *import_records[CORE_SLOTS];

int core_tell(struct actor *actor, actor_function verb, struct core_order *order)
{
    return actor_run(actor, verb, order, sizeof *order);
}

uint64_t core_value(struct actor *actor, actor_function verb, struct core_order *order)
{
    assert_int_equal(core_tell(actor, verb, order), RSM_ST_OK);
    return order->value;
}

/* The linker has the library send its requests by this. */
__typeof__(rsm_packet_send) __real_rsm_packet_send, __wrap_rsm_packet_send;
static atomic_uint requests;

int __wrap_rsm_packet_send(int socket, const void *bytes, size_t length,
                           const struct rsm_packet_fds *fds, int as_self)
{
    requests++;
    return __real_rsm_packet_send(socket, bytes, length, fds, as_self);
}

int core_requests(void *bytes)
{
    ((struct core_order *)bytes)->value = requests;
    return RSM_ST_OK;
}

static struct rsmcore_controller *controller(void)
{
    static struct rsmcore_controller *opened;
    if (opened == NULL)
        (void)rsmcore_controller_open("sci0", &opened);
    return opened;
}

/* ---------------------------------------------------------------- exports */

static void *private_memory(size_t length)
{
    return mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

int core_export(void *bytes)
{
    struct core_order *order = bytes;
    void *memory =
        mmap(NULL, order->length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    NEED(controller() != NULL && memory != MAP_FAILED);
    exports[order->slot].memory = memory;
    int status = rsmcore_export_create(controller(), memory, order->length, 0666,
                                       &exports[order->slot].handle);
    return status == RSM_ST_OK ? core_publish(order) : status;
}

int core_publish(void *bytes)
{
    struct core_order *order = bytes;
    return rsmcore_export_publish(exports[order->slot].handle, RSM_ID_SPACE_SISCI, &order->id, 0,
                                  NULL, 0);
}

int core_unpublish(void *bytes)
{
    struct core_order *order = bytes;
    return rsmcore_export_unpublish(exports[order->slot].handle, order->flags);
}

int core_destroy(void *bytes)
{
    struct core_order *order = bytes;
    return rsmcore_export_destroy(exports[order->slot].handle, order->flags);
}

int core_load(void *bytes)
{
    struct core_order *order = bytes;
    memcpy(&order->value, exports[order->slot].memory + order->offset, sizeof order->value);
    return RSM_ST_OK;
}

int core_store(void *bytes)
{
    struct core_order *order = bytes;
    memcpy(exports[order->slot].memory + order->offset, &order->value, sizeof order->value);
    return RSM_ST_OK;
}

/* Take over what the core has made. */
static int took(struct core_order *order, enum rsm_status status)
{
    if (status == RSM_ST_OK)
        exports[order->slot].memory = rsmcore_export_address(exports[order->slot].handle);
    return status;
}

/* The id that a segment is to claim; NULL: none. */
static struct rsmcore_claim *claim_of(struct core_order *order)
{
    static struct rsmcore_claim claim;
    claim = (struct rsmcore_claim){
        .space = RSM_ID_SPACE_SISCI, .id = order->id, .assign = order->flags == CORE_ASSIGN};
    return order->id != 0 ? &claim : NULL;
}

int core_allocate(void *bytes)
{
    struct core_order *order = bytes;
    NEED(controller() != NULL);
    return took(order, rsmcore_export_allocate(controller(), order->length, 0666, claim_of(order),
                                               &exports[order->slot].handle));
}

int core_create_empty(void *bytes)
{
    struct core_order *order = bytes;
    NEED(controller() != NULL);
    return took(order, rsmcore_export_create_empty(controller(), order->length, 0666,
                                                   claim_of(order), &exports[order->slot].handle));
}

int core_attach(void *bytes)
{
    struct core_order *order = bytes;
    uint8_t *memory = private_memory(rsmcore_export_length(exports[order->slot].handle));
    NEED(memory != MAP_FAILED);
    memcpy(memory + order->offset, &order->value, sizeof order->value);
    return took(order, rsmcore_export_attach(exports[order->slot].handle, memory));
}

int core_rebind(void *bytes)
{
    struct core_order *order = bytes;
    void *memory = private_memory(rsmcore_export_length(exports[order->slot].handle));
    NEED(memory != MAP_FAILED);
    return rsmcore_export_rebind(exports[order->slot].handle, memory);
}

int core_is_mapped(void *bytes)
{
    struct core_order *order = bytes;
    unsigned char resident;
    order->value = mincore(exports[order->slot].memory, CORE_PAGE, &resident) == 0;
    return RSM_ST_OK;
}

/* ---------------------------------------------------------------- imports */

int core_connect(void *bytes)
{
    struct core_order *order = bytes;
    NEED(controller() != NULL);
    return rsmcore_import_connect(controller(), order->node, RSM_ID_SPACE_SISCI, order->id, RIGHTS,
                                  &imports[order->slot]);
}

int core_take_part(void *bytes)
{
    struct core_order *order = bytes;
    NEED(controller() != NULL);
    return rsmcore_import_attach(controller(), RSM_ID_SPACE_SISCI, order->id,
                                 &imports[order->slot]);
}

int core_size(void *bytes)
{
    struct core_order *order = bytes;
    order->value = imports[order->slot]->size;
    return RSM_ST_OK;
}

int core_move(void *bytes)
{
    struct core_order *order = bytes;
    const struct rsmcore_move move = {
        .unit = order->node, .from = order->id, .to = order->offset, .flags = order->flags};
    enum rsm_segment_state was = RSM_SEGMENT_NEW;
    enum rsm_status status = rsmcore_export_move(exports[order->slot].handle, &move, &was);
    order->value = was;
    return status;
}

int core_move_too(void *bytes)
{
    struct core_order *order = bytes;
    const struct rsmcore_move move = {
        .unit = order->node, .from = order->id, .to = order->offset, .flags = order->flags};
    enum rsm_segment_state was = RSM_SEGMENT_NEW;
    enum rsm_status status = rsmcore_import_move(imports[order->slot], &move, &was);
    order->value = was;
    return status;
}

int core_put(void *bytes)
{
    struct core_order *order = bytes;
    return rsmcore_import_put(imports[order->slot], order->offset, &order->value,
                              sizeof order->value);
}

int core_get(void *bytes)
{
    struct core_order *order = bytes;
    return rsmcore_import_get(imports[order->slot], order->offset, &order->value,
                              sizeof order->value);
}

int core_complete(void *bytes)
{
    struct core_order *order = bytes;
    return rsmcore_import_complete(imports[order->slot]);
}

int core_disconnect(void *bytes)
{
    struct core_order *order = bytes;
    if (import_records[order->slot] != NULL)
        rsmcore_records_destroy(import_records[order->slot]);
    import_records[order->slot] = NULL;
    rsmcore_import_disconnect(imports[order->slot]);
    return RSM_ST_OK;
}

/* ---------------------------------------------------------------- maps */

static struct rsmcore_map *maps[CORE_SLOTS * 2];

int core_map(void *bytes)
{
    struct core_order *order = bytes;
    return rsmcore_map_make(imports[0], order->offset, order->length,
                            order->flags != 0 ? order->flags : RIGHTS,
                            (void *)(uintptr_t)order->value, &maps[order->slot]);
}

int core_unmap(void *bytes)
{
    struct core_order *order = bytes;
    return rsmcore_map_end(maps[order->slot]);
}

static volatile uint8_t *mapped_byte(const struct core_order *order)
{
    return (uint8_t *)rsmcore_map_address(maps[order->slot]) + order->offset;
}

int core_peek(void *bytes)
{
    struct core_order *order = bytes;
    order->value = *mapped_byte(order);
    return RSM_ST_OK;
}

int core_poke(void *bytes)
{
    struct core_order *order = bytes;
    *mapped_byte(order) = (uint8_t)order->value;
    return RSM_ST_OK;
}

int core_free_place(void *bytes)
{
    struct core_order *order = bytes;
    void *place = mmap(NULL, order->length, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    NEED(place != MAP_FAILED && munmap(place, order->length) == 0);
    order->value = (uintptr_t)place;
    return RSM_ST_OK;
}

int core_map_address(void *bytes)
{
    struct core_order *order = bytes;
    order->value = (uintptr_t)rsmcore_map_address(maps[order->slot]) % CORE_PAGE;
    return RSM_ST_OK;
}

/* ---------------------------------------------------------------- records */

int core_record_export(void *bytes)
{
    struct core_order *order = bytes;
    return rsmcore_records_of_export(exports[order->slot].handle, &exports[order->slot].records);
}

int core_record_import(void *bytes)
{
    struct core_order *order = bytes;
    return rsmcore_records_of_import(imports[order->slot], &import_records[order->slot]);
}

int core_wait_record(void *bytes)
{
    struct core_order *order = bytes;
    return rsmcore_records_wait(exports[order->slot].records, order->timeout, &order->record);
}

int core_wait_loss(void *bytes)
{
    struct core_order *order = bytes;
    return rsmcore_records_wait(import_records[order->slot], order->timeout, &order->record);
}

int core_record_readable(void *bytes)
{
    struct core_order *order = bytes;
    struct pollfd fd = {.events = POLLIN | POLLRDNORM};
    int status = rsmcore_records_descriptor(exports[order->slot].records, &fd.fd);
    order->value = status == RSM_ST_OK && poll(&fd, 1, order->timeout) == 1;
    return status;
}

static void *wait_for_ever(void *slot)
{
    struct rsm_record record;
    enum rsm_status status = rsmcore_records_wait(slot, -1, &record);
    return (void *)(uintptr_t)status;
}

int core_cancel_records(void *bytes)
{
    struct core_order *order = bytes;
    struct rsmcore_records *records = exports[order->slot].records;
    pthread_t thread[2];
    void *result[2];
    for (int i = 0; i < 2; i++)
        NEED(pthread_create(&thread[i], NULL, wait_for_ever, records) == 0);
    rsmcore_records_cancel(records);
    for (int i = 0; i < 2; i++)
        NEED(pthread_join(thread[i], &result[i]) == 0);
    NEED(result[0] == result[1]);
    return (int)(uintptr_t)result[0];
}

int core_forget_records(void *bytes)
{
    struct core_order *order = bytes;
    rsmcore_records_destroy(exports[order->slot].records);
    exports[order->slot].records = NULL;
    return RSM_ST_OK;
}

/* ---------------------------------------------------------------- interrupts */

static struct rsmcore_interrupt *interrupts[CORE_SLOTS];
static struct rsmcore_trigger *triggers[CORE_SLOTS];

int core_interrupt(void *bytes)
{
    struct core_order *order = bytes;
    unsigned mode = order->value != 0 ? (unsigned)order->value : 0666;
    return rsmcore_interrupt_create(order->flags, &order->id, order->node, mode,
                                    &interrupts[order->slot]);
}

int core_remove(void *bytes)
{
    const struct core_order *order = bytes;
    rsmcore_interrupt_remove(interrupts[order->slot]);
    return RSM_ST_OK;
}

int core_take(void *bytes)
{
    struct core_order *order = bytes;
    order->length = sizeof order->value;
    return rsmcore_interrupt_wait(interrupts[order->slot], order->timeout, &order->value,
                                  &order->length);
}

int core_take_readable(void *bytes)
{
    struct core_order *order = bytes;
    struct pollfd fd = {.events = POLLIN | POLLRDNORM};
    int status = rsmcore_interrupt_descriptor(interrupts[order->slot], &fd.fd);
    order->value = status == RSM_ST_OK && poll(&fd, 1, order->timeout) == 1;
    return status;
}

int core_find(void *bytes)
{
    struct core_order *order = bytes;
    NEED(controller() != NULL);
    return rsmcore_interrupt_connect(controller(), order->node, order->flags, order->id,
                                     &triggers[order->slot]);
}

int core_trigger(void *bytes)
{
    struct core_order *order = bytes;
    return rsmcore_interrupt_trigger(triggers[order->slot], &order->value, order->length);
}

int core_forget(void *bytes)
{
    const struct core_order *order = bytes;
    rsmcore_interrupt_disconnect(triggers[order->slot]);
    return RSM_ST_OK;
}

static void *take_for_ever(void *interrupt)
{
    uint64_t value;
    size_t length = sizeof value;
    return (void *)(uintptr_t)rsmcore_interrupt_wait(interrupt, -1, &value, &length);
}

int core_cancel_interrupt(void *bytes)
{
    struct core_order *order = bytes;
    pthread_t thread[2];
    void *result[2];
    for (int i = 0; i < 2; i++)
        NEED(pthread_create(&thread[i], NULL, take_for_ever, interrupts[order->slot]) == 0);
    rsmcore_interrupt_cancel(interrupts[order->slot]);
    for (int i = 0; i < 2; i++)
        NEED(pthread_join(thread[i], &result[i]) == 0);
    NEED(result[0] == result[1]);
    return (int)(uintptr_t)result[0];
}
