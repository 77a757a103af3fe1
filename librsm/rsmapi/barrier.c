/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rsm_memseg_import_init_barrier(3RSM) and its companions, rsm_memseg_import_set_mode(3RSM).
 *
 * The program's rsmapi_barrier_t holds three things: `seg` is the import handle, or NULL when the
 * barrier is not initialised; `gnum` says whether it was ever opened; `privdata` is the core's
 * barrier of the last opening. Nothing points back to it, so that it may vanish.
 */
#include "core/barrier.h"
#include "rsmapi/export.h"
#include "rsmapi/handle.h"
#include "rsmapi/status.h"

enum { NEVER_OPENED = 0, OPENED = 1 };

/* The handle that a barrier belongs to, or the error. */
static int handle_of(const rsmapi_barrier_t *barrier, struct __rsm_memseg_import_handle **handle)
{
    if (barrier == NULL)
        return RSMERR_BAD_BARRIER_PTR;
    *handle = barrier->seg;
    return rsmapi_is_import(*handle) ? RSM_SUCCESS : RSMERR_BARRIER_UNINITIALIZED;
}

/* All types cover the same: everything that goes through the handle. */
RSM_API(int, rsm_memseg_import_init_barrier)
(rsm_memseg_import_handle_t im_memseg, rsm_barrier_type_t type, rsmapi_barrier_t *barrier)
{
    (void)type;
    if (!rsmapi_is_import(im_memseg))
        return RSMERR_BAD_SEG_HNDL;
    if (barrier == NULL)
        return RSMERR_BAD_BARRIER_PTR;
    barrier->seg = im_memseg;
    barrier->gnum = NEVER_OPENED;
    barrier->privdata = NULL;
    atomic_store(&im_memseg->has_barrier, true);
    return RSM_SUCCESS;
}

RSM_API(int, rsm_memseg_import_open_barrier)(rsmapi_barrier_t *barrier)
{
    struct __rsm_memseg_import_handle *handle;
    int error = handle_of(barrier, &handle);
    if (error != RSM_SUCCESS)
        return error;
    barrier->privdata = (void *)(uintptr_t)rsmcore_barrier_open(handle->core).failures;
    barrier->gnum = OPENED;
    return RSM_SUCCESS;
}

RSM_API(int, rsm_memseg_import_order_barrier)(rsmapi_barrier_t *barrier)
{
    struct __rsm_memseg_import_handle *handle;
    int error = handle_of(barrier, &handle);
    if (error != RSM_SUCCESS)
        return error;
    return rsmapi_error(RSMAPI_ORDER, rsmcore_import_order(handle->core));
}

RSM_API(int, rsm_memseg_import_close_barrier)(rsmapi_barrier_t *barrier)
{
    struct __rsm_memseg_import_handle *handle;
    int error = handle_of(barrier, &handle);
    if (error != RSM_SUCCESS)
        return error;
    if (barrier->gnum != OPENED)
        return RSMERR_BARRIER_NOT_OPENED;
    struct rsmcore_barrier opened = {.failures = (uint32_t)(uintptr_t)barrier->privdata};
    return rsmapi_error(RSMAPI_CLOSE, rsmcore_barrier_close(handle->core, opened));
}

RSM_API(int, rsm_memseg_import_destroy_barrier)(rsmapi_barrier_t *barrier)
{
    struct __rsm_memseg_import_handle *handle;
    int error = handle_of(barrier, &handle);
    if (error != RSM_SUCCESS)
        return error;
    atomic_store(&handle->has_barrier, false);
    barrier->seg = NULL;
    return RSM_SUCCESS;
}

RSM_API(int, rsm_memseg_import_get_mode)
(rsm_memseg_import_handle_t im_memseg, rsm_barrier_mode_t *mode)
{
    if (!rsmapi_is_import(im_memseg))
        return RSMERR_BAD_SEG_HNDL;
    if (mode == NULL)
        return RSMERR_BAD_ADDR;
    *mode = (rsm_barrier_mode_t)atomic_load(&im_memseg->mode);
    return RSM_SUCCESS;
}

RSM_API(int, rsm_memseg_import_set_mode)
(rsm_memseg_import_handle_t im_memseg, rsm_barrier_mode_t mode)
{
    if (!rsmapi_is_import(im_memseg))
        return RSMERR_BAD_SEG_HNDL;
    if (mode != RSM_BARRIER_MODE_EXPLICIT && mode != RSM_BARRIER_MODE_IMPLICIT)
        return RSMERR_BAD_MODE;
    atomic_store(&im_memseg->mode, (uint32_t)mode);
    return RSM_SUCCESS;
}
