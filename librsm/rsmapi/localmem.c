/* SPDX-License-Identifier: BSD-3-Clause */
/* rsm_create_localmemory_handle(3RSM), rsm_free_localmemory_handle(3RSM) */
#include <stdlib.h>

#include "rsmapi/export.h"
#include "rsmapi/handle.h"
#include "rsmapi/status.h"

RSM_API(int, rsm_create_localmemory_handle)
(rsmapi_controller_handle_t controller, rsm_localmemory_handle_t *localmemory, caddr_t local_vaddr,
 size_t length)
{
    RSM_UNCANCELLABLE;
    if ((uintptr_t)local_vaddr % rsmapi_page_size() != 0)
        return RSMERR_BAD_ADDR;
    if (!rsmapi_is_controller(controller))
        return RSMERR_BAD_CTLR_HNDL;
    if (localmemory == NULL)
        return RSMERR_BAD_LOCALMEM_HNDL;
    if (length == 0)
        return RSMERR_BAD_LENGTH;
    if (local_vaddr == NULL)
        return RSMERR_BAD_ADDR;

    struct __rsm_localmemory_handle *made = calloc(1, sizeof *made);
    if (made == NULL)
        return RSMERR_INSUFFICIENT_MEM;
    enum rsm_status status =
        rsmcore_controller_register(controller->core, local_vaddr, length, &made->cookie);
    if (status != RSM_ST_OK) {
        free(made);
        return rsmapi_error(RSMAPI_CREATE, status);
    }
    rsmapi_controller_hold(controller);
    made->controller = controller;
    made->address = local_vaddr;
    made->tag = RSMAPI_TAG_LOCAL_MEMORY;
    *localmemory = made;
    return RSM_SUCCESS;
}

RSM_API(int, rsm_free_localmemory_handle)
(rsmapi_controller_handle_t controller, rsm_localmemory_handle_t localmemory)
{
    RSM_UNCANCELLABLE;
    if (!rsmapi_is_controller(controller))
        return RSMERR_BAD_CTLR_HNDL;
    if (localmemory == NULL || localmemory->tag != RSMAPI_TAG_LOCAL_MEMORY)
        return RSMERR_BAD_LOCALMEM_HNDL;
    rsmapi_tag_clear(&localmemory->tag);
    /* The one that it was registered with, which need not be the one that is named here. */
    rsmcore_controller_unregister(localmemory->controller->core, localmemory->cookie);
    rsmapi_controller_drop(localmemory->controller);
    free(localmemory);
    return RSM_SUCCESS;
}
