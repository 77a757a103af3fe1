/* SPDX-License-Identifier: BSD-3-Clause */
/* rsm_memseg_import_putv(3RSM), rsm_memseg_import_getv(3RSM) */
#include "core/barrier.h"
#include "rsmapi/export.h"
#include "rsmapi/handle.h"
#include "rsmapi/status.h"

static int check_request(const rsm_scat_gath_t *sg_io)
{
    if (sg_io == NULL)
        return RSMERR_BAD_SGIO;
    if (!rsmapi_is_import(sg_io->remote_handle))
        return RSMERR_BAD_SEG_HNDL;
    if (sg_io->io_request_count == 0 || sg_io->io_request_count > RSM_MAX_SGIOREQS)
        return RSMERR_BAD_SGIO;
    return sg_io->iovec == NULL ? RSMERR_BAD_SGIO : RSM_SUCCESS;
}

/* Where an entry's local side starts. */
static int local_base(const rsm_iovec_t *entry, void **base)
{
    switch (entry->io_type) {
    case RSM_VA_TYPE:
        *base = entry->local.vaddr;
        return RSM_SUCCESS;
    case RSM_HANDLE_TYPE:
        if (entry->local.handle == NULL || entry->local.handle->tag != RSMAPI_TAG_LOCAL_MEMORY)
            return RSMERR_BAD_SGIO;
        *base = entry->local.handle->address;
        return RSM_SUCCESS;
    default:
        return RSMERR_BAD_SGIO;
    }
}

/* All entries are looked at before the first one moves: a malformed request changes nothing. An
 * address of NULL is judged later than the rest, after the connection. */
static int build_vector(const rsm_scat_gath_t *sg_io, struct rsm_transfer *vector, bool *null_seen)
{
    *null_seen = false;
    for (ulong_t i = 0; i < sg_io->io_request_count; i++) {
        const rsm_iovec_t *entry = &sg_io->iovec[i];
        void *base;
        int error = local_base(entry, &base);
        if (error != RSM_SUCCESS)
            return error;
        if (base == NULL)
            *null_seen = true;
        vector[i].local = (void *)((uintptr_t)base + entry->local_offset);
        vector[i].remote = entry->remote_offset;
        vector[i].length = entry->transfer_length;
    }
    return RSM_SUCCESS;
}

static int check_connection(struct __rsm_memseg_import_handle *handle, uint32_t right)
{
    if (!atomic_load(&handle->mapped) && rsmcore_import_aborted(handle->core))
        return RSMERR_CONN_ABORTED;
    return (atomic_load(&handle->usable) & right) == 0 ? RSMERR_PERM_DENIED : RSM_SUCCESS;
}

/* Report a cut connection as such. */
static int failed(struct __rsm_memseg_import_handle *handle, enum rsmapi_family family,
                  enum rsm_status status)
{
    if (status == RSM_ST_RANGE)
        return RSMERR_BAD_OFFSET;
    return rsmcore_import_aborted(handle->core) ? RSMERR_CONN_ABORTED
                                                : rsmapi_error(family, status);
}

/* Move the vector and set the residual count. */
static int move(rsm_scat_gath_t *sg_io, const struct rsm_transfer *vector, uint32_t right)
{
    struct __rsm_memseg_import_handle *handle = sg_io->remote_handle;
    unsigned count = (unsigned)sg_io->io_request_count;
    unsigned done = 0;
    struct rsmcore_barrier barrier = rsmcore_barrier_open_for_calls(handle->core);
    enum rsm_status status = right == RSM_RIGHT_WRITE
                                 ? rsmcore_import_putv(handle->core, vector, count, &done)
                                 : rsmcore_import_getv(handle->core, vector, count, &done);
    sg_io->io_residual_count = count - done;
    if (status != RSM_ST_OK)
        return failed(handle, RSMAPI_ACCESS, status);
    if (atomic_load(&handle->mode) == RSM_BARRIER_MODE_IMPLICIT) {
        status = rsmcore_barrier_close(handle->core, barrier);
        if (status != RSM_ST_OK) {
            sg_io->io_residual_count = count; /* which of them arrived is not known */
            return failed(handle, RSMAPI_CLOSE, status);
        }
    }
    sg_io->io_residual_count = 0;
    return RSM_SUCCESS;
}

/* The event must not overtake the data. */
static int post_behind(rsm_scat_gath_t *sg_io)
{
    struct __rsm_memseg_import_handle *handle = sg_io->remote_handle;
    enum rsm_status status = rsmcore_import_order(handle->core);
    if (status != RSM_ST_OK)
        return rsmapi_error(RSMAPI_ORDER, status);
    return rsm_intr_signal_post(handle, sg_io->flags & RSM_SIGPOST_NO_ACCUMULATE);
}

static int scatter_gather(rsm_scat_gath_t *sg_io, uint32_t right)
{
    struct rsm_transfer vector[RSM_MAX_SGIOREQS];
    bool null_seen;
    int error = check_request(sg_io);
    if (error == RSM_SUCCESS)
        error = build_vector(sg_io, vector, &null_seen);
    if (error == RSM_SUCCESS)
        error = check_connection(sg_io->remote_handle, right);
    if (error == RSM_SUCCESS && null_seen)
        error = RSMERR_BAD_ADDR;
    if (error == RSM_SUCCESS)
        error = move(sg_io, vector, right);
    if (error == RSM_SUCCESS && (sg_io->flags & RSM_IMPLICIT_SIGPOST) != 0)
        error = post_behind(sg_io);
    return error;
}

RSM_API(int, rsm_memseg_import_putv)(rsm_scat_gath_t *sg_io)
{
    RSM_CANCEL_DEFERRED;
    return scatter_gather(sg_io, RSM_RIGHT_WRITE);
}

RSM_API(int, rsm_memseg_import_getv)(rsm_scat_gath_t *sg_io)
{
    RSM_CANCEL_DEFERRED;
    return scatter_gather(sg_io, RSM_RIGHT_READ);
}
