/* SPDX-License-Identifier: BSD-3-Clause */
#include "second_user.h"

#include <sys/mman.h>
#include <unistd.h>

#include "core/export.h"
#include "core/import.h"
#include "fault/faultchain.h"

static struct rsmcore_controller *controller;
static struct rsmcore_export *offered;
static struct rsmcore_import *imported;
static void *mapping;
static size_t mapped;
static char *trapped;

static enum rsm_status open_controller(void)
{
    return controller != NULL ? RSM_ST_OK : rsmcore_controller_open_unit("shm", 0, &controller);
}

int second_offer(void *memory, size_t length, uint32_t id)
{
    enum rsm_status status = open_controller();
    if (status == RSM_ST_OK)
        status = rsmcore_export_create(controller, memory, length, 0666, &offered);
    if (status != RSM_ST_OK)
        return (int)status;
    status = rsmcore_export_publish(offered, RSM_ID_SPACE_RSMAPI, &id, 0, NULL, 0);
    if (status != RSM_ST_OK)
        (void)rsmcore_export_destroy(offered, RSMCORE_DESTROY_CUT);
    return (int)status;
}

int second_withdraw(void)
{
    enum rsm_status status = rsmcore_export_unpublish(offered, 0);
    (void)rsmcore_export_destroy(offered, RSMCORE_DESTROY_CUT);
    return (int)status;
}

int second_attach(uint32_t node, uint32_t id, size_t length)
{
    const uint32_t rights = RSM_RIGHT_READ | RSM_RIGHT_WRITE;
    enum rsm_status status = open_controller();
    if (status == RSM_ST_OK)
        status =
            rsmcore_import_connect(controller, node, RSM_ID_SPACE_RSMAPI, id, rights, &imported);
    if (status != RSM_ST_OK)
        return (int)status;
    mapped = length;
    status = rsmcore_import_map(imported, 0, length, rights, false, &mapping);
    if (status != RSM_ST_OK)
        rsmcore_import_disconnect(imported);
    return (int)status;
}

int second_detach(void)
{
    enum rsm_status status = rsmcore_import_unmap(imported, mapping, mapped);
    rsmcore_import_disconnect(imported);
    return (int)status;
}

int second_put(uint64_t offset, uint64_t value)
{
    enum rsm_status status = rsmcore_import_put(imported, offset, &value, sizeof value);
    return (int)(status == RSM_ST_OK ? rsmcore_import_complete(imported) : status);
}

int second_get(uint64_t offset, uint64_t *value)
{
    return (int)rsmcore_import_get(imported, offset, value, sizeof *value);
}

volatile uint64_t *second_mapping(void)
{
    return mapping;
}

static bool on_fault(siginfo_t *info, void *context)
{
    return trapped != NULL && info->si_addr == (void *)trapped &&
           mprotect(trapped, (size_t)sysconf(_SC_PAGESIZE), PROT_READ | PROT_WRITE) == 0;
}

int second_trap(void)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    trapped = mmap(NULL, page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (trapped == MAP_FAILED || !rsmcore_faultchain_add(on_fault))
        return -1;
    *(volatile char *)trapped = 1;
    int result = munmap(trapped, page);
    trapped = NULL; /* somebody else may get that address */
    return result;
}

void second_untrap(void)
{
    rsmcore_faultchain_remove(on_fault);
}
