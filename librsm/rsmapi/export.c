/* SPDX-License-Identifier: BSD-3-Clause */
/* rsm_memseg_export_create(3RSM), rsm_memseg_export_publish(3RSM) and their companions */
#include <stdlib.h>

#include "rsmapi/acl.h"
#include "rsmapi/export.h"
#include "rsmapi/handle.h"
#include "rsmapi/status.h"

#define CREATION_MODE 0777u

static bool page_aligned(uintptr_t value)
{
    return value % rsmapi_page_size() == 0;
}

/* Whether the controller's limit forbids a segment of that size; loopback has none. */
static bool too_long(const struct rsmcore_controller *controller, size_t size)
{
    uint64_t max = rsmcore_controller_attr(controller)->max_segment_size;
    return !rsmcore_controller_is_loopback(controller) && max != 0 && size > max;
}

/* RSM_CREATE_SEG_DONTWAIT needs nothing done: librsm never waits for resources. */
RSM_API(int, rsm_memseg_export_create)
(rsmapi_controller_handle_t controller, rsm_memseg_export_handle_t *memseg, void *vaddr,
 size_t size, uint_t flags)
{
    RSM_UNCANCELLABLE;
    if (!rsmapi_is_controller(controller))
        return RSMERR_BAD_CTLR_HNDL;
    if (memseg == NULL)
        return RSMERR_BAD_SEG_HNDL;
    *memseg = NULL;
    if (vaddr == NULL)
        return RSMERR_BAD_ADDR;
    if (size == 0)
        return RSMERR_BAD_LENGTH;
    if (!page_aligned((uintptr_t)vaddr) || !page_aligned(size))
        return RSMERR_BAD_MEM_ALIGNMENT;
    if (too_long(controller->core, size))
        return RSMERR_BAD_LENGTH;

    struct __rsm_memseg_export_handle *made = calloc(1, sizeof *made);
    if (made == NULL)
        return RSMERR_INSUFFICIENT_MEM;
    enum rsm_status status = rsmcore_export_create(controller->core, vaddr, size,
                                                   CREATION_MODE & ~rsmapi_umask(), &made->core);
    if (status != RSM_ST_OK) {
        free(made);
        return rsmapi_error(RSMAPI_CREATE, status);
    }
    made->loopback = rsmcore_controller_is_loopback(controller->core);
    made->rebind_allowed = (flags & RSM_ALLOW_REBIND) != 0;
    rsmapi_segment_init(&made->segment, RSMAPI_TAG_EXPORT, rsmcore_export_event(made->core));
    *memseg = made;
    return RSM_SUCCESS;
}

RSM_API(int, rsm_memseg_export_destroy)(rsm_memseg_export_handle_t memseg)
{
    RSM_UNCANCELLABLE;
    if (!rsmapi_is_export(memseg))
        return RSMERR_BAD_SEG_HNDL;
    pthread_mutex_lock(&memseg->segment.lock);
    bool in_use = memseg->segment.pollfd_references > 0;
    pthread_mutex_unlock(&memseg->segment.lock);
    if (in_use)
        return RSMERR_POLLFD_IN_USE;
    rsmapi_segment_end(&memseg->segment);
    (void)rsmcore_export_destroy(memseg->core, RSMCORE_DESTROY_CUT);
    free(memseg);
    return RSM_SUCCESS;
}

/* 0 asks the system for an id. rsmd refuses what it assigns itself; the other ranges are reserved
 * for the system's own users of shared memory, and kept from programs here. */
static bool reserved(rsm_memseg_id_t id)
{
    return id != 0 && (id <= RSM_DLPI_ID_END || id >= RSM_USER_APP_ID_BASE);
}

RSM_API(int, rsm_memseg_export_publish)
(rsm_memseg_export_handle_t memseg, rsm_memseg_id_t *segment_id,
 rsmapi_access_entry_t access_list[], uint_t access_list_length)
{
    RSM_UNCANCELLABLE;
    struct rsm_acl_entry acl[RSM_PROTO_ACL_MAX];
    if (segment_id == NULL)
        return RSMERR_BAD_SEGID;
    if (!rsmapi_is_export(memseg))
        return RSMERR_BAD_SEG_HNDL;
    if (access_list_length > 0 && access_list == NULL)
        return RSMERR_BAD_ACL;
    if (rsmcore_export_is_published(memseg->core))
        return RSMERR_SEG_ALREADY_PUBLISHED;
    if (reserved(*segment_id))
        return RSMERR_RESERVED_SEGID;
    if (!rsmcore_export_is_creator(memseg->core))
        return RSMERR_NOT_CREATOR;
    int error = rsmapi_acl_read(access_list, access_list_length, memseg->loopback, acl);
    if (error != RSM_SUCCESS)
        return error;

    uint32_t id = *segment_id;
    uint32_t flags = id == 0 ? RSM_PUBLISH_ASSIGN_ID : 0;
    enum rsm_status status = rsmcore_export_publish(memseg->core, RSM_ID_SPACE_RSMAPI, &id, flags,
                                                    acl, access_list_length);
    if (status == RSM_ST_OK && flags != 0)
        *segment_id = id;
    return rsmapi_error(RSMAPI_PUBLISH, status);
}

RSM_API(int, rsm_memseg_export_republish)
(rsm_memseg_export_handle_t memseg, rsmapi_access_entry_t access_list[], uint_t access_list_length)
{
    RSM_UNCANCELLABLE;
    struct rsm_acl_entry acl[RSM_PROTO_ACL_MAX];
    if (!rsmapi_is_export(memseg))
        return RSMERR_BAD_SEG_HNDL;
    if (!rsmcore_export_is_published(memseg->core))
        return RSMERR_SEG_NOT_PUBLISHED;
    if (access_list_length > 0 && access_list == NULL)
        return RSMERR_BAD_ACL;
    if (!rsmcore_export_is_creator(memseg->core))
        return RSMERR_NOT_CREATOR;
    int error = rsmapi_acl_read(access_list, access_list_length, memseg->loopback, acl);
    if (error != RSM_SUCCESS)
        return error;
    return rsmapi_error(RSMAPI_PUBLISH,
                        rsmcore_export_republish(memseg->core, acl, access_list_length));
}

/* Begin to unpublish; from then on until it has ended no poll descriptor is given. Where the daemon
 * has died there is still memory to be taken back. */
static bool may_unpublish(rsm_memseg_export_handle_t memseg, bool published)
{
    pthread_mutex_lock(&memseg->segment.lock);
    bool may = memseg->segment.pollfd_references == 0 || !published;
    memseg->unpublishing = may;
    pthread_mutex_unlock(&memseg->segment.lock);
    return may;
}

RSM_API(int, rsm_memseg_export_unpublish)(rsm_memseg_export_handle_t memseg)
{
    RSM_UNCANCELLABLE;
    if (!rsmapi_is_export(memseg))
        return RSMERR_BAD_SEG_HNDL;
    bool published = rsmcore_export_is_published(memseg->core);
    if (!rsmcore_export_is_creator(memseg->core))
        return published ? RSMERR_NOT_CREATOR : RSMERR_SEG_NOT_PUBLISHED;
    if (!may_unpublish(memseg, published))
        return RSMERR_POLLFD_IN_USE;
    int error = rsmapi_error(RSMAPI_PUBLISH, rsmcore_export_unpublish(memseg->core, 0));
    pthread_mutex_lock(&memseg->segment.lock);
    memseg->unpublishing = false;
    pthread_mutex_unlock(&memseg->segment.lock);
    return error;
}

RSM_API(int, rsm_memseg_export_rebind)
(rsm_memseg_export_handle_t memseg, void *vaddr, offset_t off, size_t size)
{
    RSM_UNCANCELLABLE;
    (void)off; /* documented as reserved */
    if (!rsmapi_is_export(memseg))
        return RSMERR_BAD_SEG_HNDL;
    if (vaddr == NULL)
        return RSMERR_BAD_ADDR;
    if (!memseg->rebind_allowed)
        return RSMERR_REBIND_NOT_ALLOWED;
    if (!rsmcore_export_is_creator(memseg->core))
        return RSMERR_NOT_CREATOR;
    if (size != rsmcore_export_length(memseg->core))
        return RSMERR_BAD_LENGTH;
    if (!page_aligned((uintptr_t)vaddr))
        return RSMERR_BAD_ADDR;
    return rsmapi_error(RSMAPI_PUBLISH, rsmcore_export_rebind(memseg->core, vaddr));
}
