/* SPDX-License-Identifier: BSD-3-Clause */
/* rsm_memseg_import_map(3RSM), rsm_memseg_import_unmap(3RSM) */
#include "rsmapi/export.h"
#include "rsmapi/handle.h"
#include "rsmapi/status.h"

/* What a program asks of a mapping, in its own terms. */
struct map_request {
    rsm_attribute_t attr;
    rsm_permission_t perm;
    off_t offset;
    size_t length;
};

static int check_request(const struct rsmcore_import *core, const struct map_request *request,
                         const void *address)
{
    size_t page = rsmapi_page_size();
    if (request->perm > RSM_PERM_RDWR)
        return RSMERR_BAD_PERMS;
    if (request->length == 0 || request->offset < 0 ||
        !rsmcore_import_in_range(core, (uint64_t)request->offset, request->length))
        return RSMERR_BAD_LENGTH;
    if ((uint64_t)request->offset % page != 0)
        return RSMERR_BAD_MEM_ALIGNMENT;
    if (request->attr == RSM_MAP_FIXED && (uintptr_t)address % page != 0)
        return RSMERR_BAD_MEM_ALIGNMENT;
    return RSM_SUCCESS;
}

/* A mapping narrows put and get to its own range, and to the accesses that it allows itself.
 * Memory that can be written can be read on every machine. */
static void narrow(struct __rsm_memseg_import_handle *handle, const struct map_request *request)
{
    uint32_t usable = 0;
    if ((request->perm & RSM_PERM_WRITE) != 0)
        usable = handle->rights;
    else if ((request->perm & RSM_PERM_READ) != 0)
        usable = handle->rights & RSM_RIGHT_READ;
    atomic_store(&handle->usable, usable);
    atomic_store(&handle->first, (uint64_t)request->offset);
    atomic_store(&handle->end, (uint64_t)request->offset + request->length);
}

static void widen(struct __rsm_memseg_import_handle *handle)
{
    atomic_store(&handle->usable, handle->rights);
    atomic_store(&handle->first, 0);
    atomic_store(&handle->end, handle->core->length);
}

/* Called with the handle's lock held. */
static int map_locked(struct __rsm_memseg_import_handle *handle, void **address,
                      const struct map_request *request)
{
    if (atomic_load(&handle->mapped))
        return RSMERR_SEG_ALREADY_MAPPED;
    int error = check_request(handle->core, request, *address);
    if (error != RSM_SUCCESS)
        return error;
    void *place = *address;
    enum rsm_status status =
        rsmcore_import_map(handle->core, (uint64_t)request->offset, request->length,
                           rsmapi_rights(request->perm), request->attr == RSM_MAP_FIXED, &place);
    if (status != RSM_ST_OK)
        return rsmapi_error(RSMAPI_MAP, status);
    narrow(handle, request);
    atomic_store(&handle->mapped, true);
    handle->address = place;
    handle->length = request->length;
    *address = place;
    return RSM_SUCCESS;
}

RSM_API(int, rsm_memseg_import_map)
(rsm_memseg_import_handle_t im_memseg, void **address, rsm_attribute_t attr, rsm_permission_t perm,
 off_t offset, size_t length)
{
    RSM_UNCANCELLABLE;
    struct map_request request = {.attr = attr, .perm = perm, .offset = offset, .length = length};
    if (im_memseg == NULL)
        return RSMERR_BAD_SEG_HNDL;
    if (address == NULL)
        return RSMERR_BAD_ADDR;
    if (!rsmapi_is_import(im_memseg))
        return RSMERR_BAD_SEG_HNDL;
    pthread_mutex_lock(&im_memseg->segment.lock);
    int error = map_locked(im_memseg, address, &request);
    pthread_mutex_unlock(&im_memseg->segment.lock);
    return error;
}

/* Called with the handle's lock held. */
static int unmap_locked(struct __rsm_memseg_import_handle *handle)
{
    if (!atomic_load(&handle->mapped))
        return RSMERR_SEG_NOT_MAPPED;
    if (handle->segment.pollfd_references > 0)
        return RSMERR_POLLFD_IN_USE;
    enum rsm_status status = rsmcore_import_unmap(handle->core, handle->address, handle->length);
    if (status != RSM_ST_OK)
        return rsmapi_error(RSMAPI_MAP, status);
    atomic_store(&handle->mapped, false);
    widen(handle);
    return RSM_SUCCESS;
}

RSM_API(int, rsm_memseg_import_unmap)(rsm_memseg_import_handle_t im_memseg)
{
    RSM_UNCANCELLABLE;
    if (!rsmapi_is_import(im_memseg))
        return RSMERR_BAD_SEG_HNDL;
    pthread_mutex_lock(&im_memseg->segment.lock);
    int error = unmap_locked(im_memseg);
    pthread_mutex_unlock(&im_memseg->segment.lock);
    return error;
}
