/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rsm_memseg_import_get(3RSM), rsm_memseg_import_put(3RSM) and their 8, 16, 32 and 64 bit forms.
 *
 * This is the hot path: no lock, no system call, no allocation. All ten functions are one inline
 * routine, of which the compiler makes ten by the constants that they pass.
 */
#include "core/barrier.h"
#include "rsmapi/export.h"
#include "rsmapi/handle.h"
#include "rsmapi/status.h"

#define ALWAYS_INLINE inline __attribute__((always_inline))

enum shape { BLOCK, ELEMENTS };

struct access {
    uint32_t right; /* RSM_RIGHT_READ: get, RSM_RIGHT_WRITE: put */
    enum shape shape;
    unsigned width; /* bytes of an element, 1 for blocks */
    off_t offset;
    void *data;
    size_t count; /* elements */
};

/* The window lies in the segment, and what is usable of the rights is granted: after these checks
 * the core needs to make none. */
static ALWAYS_INLINE bool in_window(struct __rsm_memseg_import_handle *handle,
                                    const struct access *access)
{
    uint64_t offset = (uint64_t)access->offset;
    uint64_t bytes;
    uint64_t end;
    if (access->offset < 0 || __builtin_mul_overflow(access->count, access->width, &bytes) ||
        __builtin_add_overflow(offset, bytes, &end))
        return false;
    return offset >= atomic_load_explicit(&handle->first, memory_order_relaxed) &&
           end <= atomic_load_explicit(&handle->end, memory_order_relaxed);
}

/* Right, range and barrier, in this order. */
static ALWAYS_INLINE int check_state(struct __rsm_memseg_import_handle *handle,
                                     const struct access *access, bool implicit)
{
    if ((atomic_load_explicit(&handle->usable, memory_order_relaxed) & access->right) == 0)
        return RSMERR_PERM_DENIED;
    if (!in_window(handle, access))
        return RSMERR_BAD_OFFSET;
    if (implicit && !atomic_load_explicit(&handle->has_barrier, memory_order_relaxed))
        return RSMERR_BARRIER_UNINITIALIZED;
    return RSM_SUCCESS;
}

static ALWAYS_INLINE enum rsm_status move(struct rsmcore_import *core, const struct access *access)
{
    uint64_t offset = (uint64_t)access->offset;
    /* One comparison for none and for many: a second one is measurable in a put of 8 bytes. */
    if (__builtin_expect(access->count - 1 >= RSM_PROBE_TRANSFER_BYTES / access->width - 1, 0)) {
        if (access->count == 0)
            return RSM_ST_OK;
        rsmcore_import_probe(core, access->right, offset, access->count * access->width);
    }
    if (access->shape == BLOCK)
        return access->right == RSM_RIGHT_WRITE
                   ? rsmcore_import_put_unchecked(core, offset, access->data, access->count)
                   : rsmcore_import_get_unchecked(core, offset, access->data, access->count);
    return access->right == RSM_RIGHT_WRITE
               ? rsmcore_import_put_elems_unchecked(core, offset, access->data, access->width,
                                                    access->count)
               : rsmcore_import_get_elems_unchecked(core, offset, access->data, access->width,
                                                    access->count);
}

/* Where there is no mapping, a cut connection is found out before anything else is wrong. */
static inline int refused(struct __rsm_memseg_import_handle *handle, int error)
{
    bool mapped = atomic_load_explicit(&handle->mapped, memory_order_relaxed);
    return !mapped && rsmcore_import_aborted(handle->core) ? RSMERR_CONN_ABORTED : error;
}

/* A fabric fails transfers of a connection that was cut; what the program needs to know is that. */
static __attribute__((noinline, cold)) int failed(struct __rsm_memseg_import_handle *handle,
                                                  enum rsmapi_family family, enum rsm_status status)
{
    return rsmcore_import_aborted(handle->core) ? RSMERR_CONN_ABORTED
                                                : rsmapi_error(family, status);
}

/* Where a transfer may fail after its call has succeeded, the access is a barrier of its own. A
 * transport may send a write, and the question whether it has arrived, in one message. */
static __attribute__((noinline)) int transfer_late(struct __rsm_memseg_import_handle *handle,
                                                   struct access access)
{
    struct rsmcore_import *core = handle->core;
    struct rsmcore_barrier barrier = rsmcore_barrier_open_for_calls(core);
    uint64_t offset = (uint64_t)access.offset;
    bool in_one = access.shape == BLOCK && access.right == RSM_RIGHT_WRITE &&
                  rsmcore_import_conn(core)->ops->put_complete != NULL;
    if (in_one)
        rsmcore_import_probe(core, access.right, offset, access.count);
    enum rsm_status status =
        in_one ? rsmcore_import_put_complete(core, offset, access.data, access.count)
               : move(core, &access);
    if (status != RSM_ST_OK)
        return failed(handle, RSMAPI_ACCESS, status);
    status = in_one ? rsmcore_barrier_compare(core, barrier, status)
                    : rsmcore_barrier_close(core, barrier);
    return status == RSM_ST_OK ? RSM_SUCCESS : failed(handle, RSMAPI_CLOSE, status);
}

static ALWAYS_INLINE int transfer(struct __rsm_memseg_import_handle *handle,
                                  const struct access access)
{
    if (handle == NULL)
        return RSMERR_BAD_SEG_HNDL;
    if (access.data == NULL)
        return RSMERR_BAD_ADDR;
    if ((((uintptr_t)access.data | (uintptr_t)access.offset) & (access.width - 1)) != 0)
        return RSMERR_BAD_MEM_ALIGNMENT;
    if (handle->segment.tag != RSMAPI_TAG_IMPORT)
        return RSMERR_BAD_SEG_HNDL;
    bool implicit =
        atomic_load_explicit(&handle->mode, memory_order_relaxed) == RSM_BARRIER_MODE_IMPLICIT;
    int error = check_state(handle, &access, implicit);
    if (__builtin_expect(error != RSM_SUCCESS, 0))
        return refused(handle, error);

    if (implicit && __builtin_expect(handle->core->reports_health, 0))
        return transfer_late(handle, access);
    enum rsm_status status = move(handle->core, &access);
    if (__builtin_expect(status != RSM_ST_OK, 0))
        return failed(handle, RSMAPI_ACCESS, status);
    if (!implicit)
        return refused(handle, RSM_SUCCESS);
    status = rsmcore_import_complete(handle->core);
    if (__builtin_expect(status != RSM_ST_OK, 0))
        return failed(handle, RSMAPI_CLOSE, status);
    return RSM_SUCCESS;
}

static ALWAYS_INLINE int get(rsm_memseg_import_handle_t handle, off_t offset, void *data,
                             enum shape shape, unsigned width, size_t count)
{
    return transfer(handle, (struct access){.right = RSM_RIGHT_READ,
                                            .shape = shape,
                                            .width = width,
                                            .offset = offset,
                                            .data = data,
                                            .count = count});
}

static ALWAYS_INLINE int put(rsm_memseg_import_handle_t handle, off_t offset, void *data,
                             enum shape shape, unsigned width, size_t count)
{
    return transfer(handle, (struct access){.right = RSM_RIGHT_WRITE,
                                            .shape = shape,
                                            .width = width,
                                            .offset = offset,
                                            .data = data,
                                            .count = count});
}

/* rsm_memseg_import_get8() to rsm_memseg_import_put64() */
#define ELEMENT_FORM(operation, bits)                                                              \
    RSM_API(int, rsm_memseg_import_##operation##bits)                                              \
    (rsm_memseg_import_handle_t im_memseg, off_t offset, uint##bits##_t * datap, ulong_t rep_cnt)  \
    {                                                                                              \
        return operation(im_memseg, offset, datap, ELEMENTS, (bits) / 8, rep_cnt);                 \
    }
ELEMENT_FORM(get, 8)
ELEMENT_FORM(get, 16)
ELEMENT_FORM(get, 32)
ELEMENT_FORM(get, 64)
ELEMENT_FORM(put, 8)
ELEMENT_FORM(put, 16)
ELEMENT_FORM(put, 32)
ELEMENT_FORM(put, 64)

RSM_API(int, rsm_memseg_import_get)
(rsm_memseg_import_handle_t im_memseg, off_t offset, void *dst_addr, size_t length)
{
    return get(im_memseg, offset, dst_addr, BLOCK, 1, length);
}

RSM_API(int, rsm_memseg_import_put)
(rsm_memseg_import_handle_t im_memseg, off_t offset, void *src_addr, size_t length)
{
    return put(im_memseg, offset, src_addr, BLOCK, 1, length);
}
