/* SPDX-License-Identifier: BSD-3-Clause */
/* rsm_intr_signal_post(3RSM), rsm_intr_signal_wait(3RSM) */
#include "rsmapi/export.h"
#include "rsmapi/handle.h"
#include "rsmapi/status.h"

RSM_API(int, rsm_intr_signal_post)(void *memseg, uint_t flags)
{
    RSM_CANCEL_DEFERRED;
    struct rsmapi_segment *segment = rsmapi_segment_of(memseg);
    bool coalesce = (flags & RSM_SIGPOST_NO_ACCUMULATE) != 0;
    if (segment == NULL)
        return RSMERR_BAD_SEG_HNDL;
    const struct __rsm_memseg_import_handle *import = rsmapi_import_of(segment);
    if (import != NULL)
        return rsmapi_error(RSMAPI_POST, rsmcore_import_post(import->core, coalesce));
    return rsmapi_error(RSMAPI_POST, rsmcore_event_post(segment->event, coalesce));
}

RSM_API(int, rsm_intr_signal_wait)(void *memseg, int timeout)
{
    RSM_CANCEL_DEFERRED;
    struct rsmapi_segment *segment = rsmapi_segment_of(memseg);
    if (segment == NULL)
        return RSMERR_BAD_SEG_HNDL;
    enum rsm_status status = rsmcore_event_wait(segment->event, timeout);
    if (status == RSM_ST_OK)
        rsmapi_see_stores(segment);
    if (status == RSM_ST_NO_MEMORY) /* for the counter; the manual has one code for both */
        status = RSM_ST_NO_RESOURCES;
    return rsmapi_error(RSMAPI_WAIT, status);
}
