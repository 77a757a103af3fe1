/* SPDX-License-Identifier: BSD-3-Clause */
/* rsm_memseg_import_connect(3RSM), rsm_memseg_import_disconnect(3RSM) */
#include <stdlib.h>

#include "rsmapi/export.h"
#include "rsmapi/handle.h"
#include "rsmapi/status.h"

static void init_import(struct __rsm_memseg_import_handle *handle, uint32_t rights)
{
    rsmapi_segment_init(&handle->segment, RSMAPI_TAG_IMPORT, handle->core->event);
    handle->rights = rights & handle->core->rights;
    atomic_init(&handle->usable, handle->rights);
    atomic_init(&handle->first, 0);
    atomic_init(&handle->end, handle->core->length);
    atomic_init(&handle->mapped, false);
    atomic_init(&handle->has_barrier, false);
    atomic_init(&handle->mode, RSM_BARRIER_MODE_IMPLICIT);
}

RSM_API(int, rsm_memseg_import_connect)
(rsmapi_controller_handle_t controller, rsm_node_id_t node_id, rsm_memseg_id_t segment_id,
 rsm_permission_t perm, rsm_memseg_import_handle_t *im_memseg)
{
    RSM_UNCANCELLABLE;
    if (!rsmapi_is_controller(controller))
        return RSMERR_BAD_CTLR_HNDL;
    if (im_memseg == NULL)
        return RSMERR_BAD_SEG_HNDL;
    *im_memseg = NULL;
    if ((perm & ~(rsm_permission_t)RSM_PERM_RDWR) != 0)
        return RSMERR_PERM_DENIED;

    struct __rsm_memseg_import_handle *made = calloc(1, sizeof *made);
    if (made == NULL)
        return RSMERR_INSUFFICIENT_MEM;
    uint32_t rights = rsmapi_rights(perm);
    enum rsm_status status = rsmcore_import_connect(controller->core, node_id, RSM_ID_SPACE_RSMAPI,
                                                    segment_id, rights, &made->core);
    if (status != RSM_ST_OK) {
        free(made);
        return rsmapi_error(RSMAPI_CONNECT, status);
    }
    init_import(made, rights);
    *im_memseg = made;
    return RSM_SUCCESS;
}

RSM_API(int, rsm_memseg_import_disconnect)(rsm_memseg_import_handle_t im_memseg)
{
    RSM_UNCANCELLABLE;
    int error = RSM_SUCCESS;
    if (!rsmapi_is_import(im_memseg))
        return RSMERR_BAD_SEG_HNDL;
    pthread_mutex_lock(&im_memseg->segment.lock);
    if (atomic_load(&im_memseg->mapped))
        error = RSMERR_SEG_STILL_MAPPED;
    else if (im_memseg->segment.pollfd_references > 0)
        error = RSMERR_POLLFD_IN_USE;
    pthread_mutex_unlock(&im_memseg->segment.lock);
    if (error != RSM_SUCCESS)
        return error;
    rsmapi_segment_end(&im_memseg->segment);
    rsmcore_import_disconnect(im_memseg->core);
    free(im_memseg);
    return RSM_SUCCESS;
}
