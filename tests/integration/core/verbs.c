/* SPDX-License-Identifier: BSD-3-Clause */
#include "verbs.h"

#include <string.h>
#include <sys/mman.h>

#include "core/controller.h"
#include "core/export.h"
#include "core/import.h"

enum { RIGHTS = RSM_RIGHT_READ | RSM_RIGHT_WRITE };

static struct {
    struct rsmcore_export *handle;
    uint8_t *memory;
} exports[CORE_SLOTS];
static struct rsmcore_import *imports[CORE_SLOTS];

int core_tell(struct actor *actor, actor_function verb, struct core_order *order)
{
    return actor_run(actor, verb, order, sizeof *order);
}

uint64_t core_value(struct actor *actor, actor_function verb, struct core_order *order)
{
    assert_int_equal(core_tell(actor, verb, order), RSM_ST_OK);
    return order->value;
}

static struct rsmcore_controller *controller(void)
{
    static struct rsmcore_controller *opened;
    if (opened == NULL)
        (void)rsmcore_controller_open("sci", 0, &opened);
    return opened;
}

/* ---------------------------------------------------------------- exports */

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
    return rsmcore_export_publish(exports[order->slot].handle, &order->id, NULL, 0);
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

/* ---------------------------------------------------------------- imports */

int core_connect(void *bytes)
{
    struct core_order *order = bytes;
    NEED(controller() != NULL);
    return rsmcore_import_connect(controller(), order->node, order->id, RIGHTS,
                                  &imports[order->slot]);
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
    rsmcore_import_disconnect(imports[order->slot]);
    return RSM_ST_OK;
}
