/* SPDX-License-Identifier: BSD-3-Clause */
#include "dma_transfer.h"

#include <stdlib.h>

#include "core/barrier.h"
#include "core/work.h"
#include "segment_local.h"
#include "segment_remote.h"

enum { PIECE_BYTES = 256 * 1024, PIECES_UNDER_WAY = 8 };

/* What requests have in common that follow each other and name the same segments. */
struct sides {
    struct sisci_local_map local; /* of the whole segment; its memory is NULL: plain memory */
    size_t local_size;
    struct sisci_connection *connection; /* held; NULL: not yet */
    struct rsmcore_import *import;
    struct rsmcore_barrier barrier; /* from the beginning of a run to its end */
};

struct part {
    struct rsmcore_import *import;
    uint64_t remote;
    uint8_t *local;
    size_t size;
    bool read;
};

/* Pieces that the transport moves on its own, a ring. It is empty between two parts. */
struct window {
    struct rsmcore_work works[PIECES_UNDER_WAY];
    unsigned first, count;
};

struct sisci_dma_transfer {
    struct window window;
    struct sides *sides;
    struct part *parts;
    unsigned side_count, part_count;
};

static sci_error_t take_local(struct sides *sides, const struct sisci_dma_request *request,
                              unsigned adapter)
{
    if (request->memory != NULL)
        return SCI_ERR_OK;
    struct sisci_local_segment *segment = sisci_hold(request->segment, SISCI_LOCAL_SEGMENT);
    if (segment == NULL)
        return SCI_ERR_ILLEGAL_PARAMETER;
    sci_error_t error = SCI_ERR_SEGMENT_NOT_PREPARED;
    if (sisci_local_is_prepared(segment, adapter)) {
        sides->local_size = sides->local.length = segment->size;
        error = sisci_local_map_make(segment->memory, NULL, &sides->local);
    }
    sisci_drop(&segment->object);
    return error;
}

static sci_error_t take_remote(struct sides *sides, const struct sisci_dma_request *request)
{
    struct sisci_remote_segment *segment = sisci_hold(request->remote, SISCI_REMOTE_SEGMENT);
    if (segment == NULL)
        return SCI_ERR_ILLEGAL_PARAMETER;
    sci_error_t error = SCI_ERR_SEGMENT_NOT_CONNECTED;
    sides->import = sisci_remote_import(segment);
    if (sides->import != NULL) {
        sides->connection = segment->connection;
        sisci_connection_use(sides->connection);
        error = request->broadcast && !segment->connection->broadcast ? SCI_ERR_ILLEGAL_FLAG
                                                                      : SCI_ERR_OK;
    }
    sisci_drop(&segment->object);
    return error;
}

static sci_error_t take_sides(struct sides *sides, const struct sisci_dma_request *request,
                              unsigned adapter)
{
    sci_error_t error = take_local(sides, request, adapter);
    return error == SCI_ERR_OK ? take_remote(sides, request) : error;
}

static void drop_sides(struct sides *sides)
{
    if (sides->local.memory != NULL)
        sisci_local_map_end(&sides->local);
    if (sides->connection != NULL)
        sisci_connection_unuse(sides->connection);
}

static bool same_sides(const struct sisci_dma_request *a, const struct sisci_dma_request *b)
{
    return a->remote == b->remote && a->segment == b->segment &&
           (a->memory == NULL) == (b->memory == NULL);
}

static bool is_inside(size_t offset, size_t length, uint64_t size)
{
    return offset <= size && length <= size - offset;
}

static sci_error_t fill_part(struct part *part, const struct sides *sides,
                             const struct sisci_dma_request *request)
{
    if (request->size == 0)
        return SCI_ERR_SIZE_ALIGNMENT;
    if (!is_inside(request->remote_offset, request->size, sides->import->size))
        return SCI_ERR_OUT_OF_RANGE;
    if (request->memory != NULL && (uintptr_t)request->memory > UINTPTR_MAX - request->size)
        return SCI_ERR_ILLEGAL_ADDRESS;
    if (request->memory == NULL &&
        !is_inside(request->local_offset, request->size, sides->local_size))
        return SCI_ERR_OUT_OF_RANGE;
    part->local = request->memory != NULL ? request->memory
                                          : (uint8_t *)sides->local.address + request->local_offset;
    part->import = sides->import;
    part->remote = request->remote_offset;
    part->size = request->size;
    part->read = request->read;
    return SCI_ERR_OK;
}

static sci_error_t fill(struct sisci_dma_transfer *transfer,
                        const struct sisci_dma_request *requests, unsigned count, unsigned adapter)
{
    sci_error_t error = SCI_ERR_OK;
    for (unsigned i = 0; i < count && error == SCI_ERR_OK; i++) {
        if (i == 0 || !same_sides(&requests[i - 1], &requests[i]))
            error = take_sides(&transfer->sides[transfer->side_count++], &requests[i], adapter);
        if (error == SCI_ERR_OK)
            error = fill_part(&transfer->parts[transfer->part_count++],
                              &transfer->sides[transfer->side_count - 1], &requests[i]);
    }
    return error;
}

static struct sisci_dma_transfer *allocate(const struct sisci_dma_request *requests, unsigned count)
{
    size_t sides = 1;
    for (unsigned i = 1; i < count; i++)
        sides += !same_sides(&requests[i - 1], &requests[i]);
    struct sisci_dma_transfer *transfer = calloc(1, sizeof *transfer);
    if (transfer == NULL)
        return NULL;
    transfer->sides = calloc(sides, sizeof *transfer->sides);
    transfer->parts = calloc(count, sizeof *transfer->parts);
    if (transfer->sides != NULL && transfer->parts != NULL)
        return transfer;
    sisci_dma_transfer_release(transfer);
    return NULL;
}

sci_error_t sisci_dma_transfer_make(const struct sisci_dma_request *requests, unsigned count,
                                    unsigned adapter, struct sisci_dma_transfer **made)
{
    struct sisci_dma_transfer *transfer = allocate(requests, count);
    if (transfer == NULL)
        return SCI_ERR_NOSPC;
    sci_error_t error = fill(transfer, requests, count, adapter);
    if (error == SCI_ERR_OK)
        *made = transfer;
    else
        sisci_dma_transfer_release(transfer);
    return error;
}

bool sisci_dma_transfer_is_short(const struct sisci_dma_transfer *transfer)
{
    return transfer->part_count == 1 && transfer->parts[0].size <= PIECE_BYTES;
}

void sisci_dma_transfer_release(struct sisci_dma_transfer *transfer)
{
    for (unsigned i = 0; i < transfer->side_count; i++)
        drop_sides(&transfer->sides[i]);
    free(transfer->sides);
    free(transfer->parts);
    free(transfer);
}

static enum rsm_status move_piece(const struct part *part, size_t at, size_t size)
{
    return part->read ? rsmcore_import_get(part->import, part->remote + at, part->local + at, size)
                      : rsmcore_import_put(part->import, part->remote + at, part->local + at, size);
}

static enum rsm_status finish_oldest(struct window *window)
{
    struct rsmcore_work *oldest = &window->works[window->first];
    window->first = (window->first + 1) % PIECES_UNDER_WAY;
    window->count--;
    return rsmcore_work_wait(oldest);
}

/* The memory is released when the transfer has ended, so nothing may be under way any more. */
static enum rsm_status finish_all(struct window *window, enum rsm_status status)
{
    while (window->count > 0) {
        enum rsm_status finished = finish_oldest(window);
        if (status == RSM_ST_OK)
            status = finished;
    }
    return status;
}

/* A piece for which the transport has no room is moved here and now. */
static enum rsm_status begin_piece(struct window *window, const struct part *part, size_t at,
                                   size_t size)
{
    const struct rsmcore_work_request request = {
        .read = part->read, .offset = part->remote + at, .local = part->local + at, .length = size};
    enum rsm_status status = window->count == PIECES_UNDER_WAY ? finish_oldest(window) : RSM_ST_OK;
    if (status != RSM_ST_OK)
        return status;
    unsigned next = (window->first + window->count) % PIECES_UNDER_WAY;
    status = rsmcore_work_post(part->import, &window->works[next], &request);
    if (status == RSM_ST_BUSY || status == RSM_ST_NO_MEMORY)
        return move_piece(part, at, size);
    window->count += status == RSM_ST_OK;
    return status;
}

/* RSM_ST_INTERRUPTED: it was stopped. */
static enum rsm_status move_part(struct window *window, const struct part *part,
                                 const atomic_bool *stop)
{
    bool begins =
        part->size > PIECE_BYTES && rsmcore_work_is_asynchronous(part->import, part->read);
    enum rsm_status status = RSM_ST_OK;
    for (size_t at = 0; at < part->size && status == RSM_ST_OK; at += PIECE_BYTES) {
        size_t left = part->size - at;
        size_t size = left < PIECE_BYTES ? left : PIECE_BYTES;
        if (atomic_load(stop))
            status = RSM_ST_INTERRUPTED;
        else if (rsmcore_import_aborted(part->import))
            status = RSM_ST_ABORTED;
        else
            status = begins ? begin_piece(window, part, at, size) : move_piece(part, at, size);
    }
    return finish_all(window, status);
}

/* What a part brings is not visible before what those before it have brought. */
static enum rsm_status order(const struct part *before, const struct part *part)
{
    return before->import == part->import ? rsmcore_import_order(part->import)
                                          : rsmcore_import_complete(before->import);
}

static enum rsm_status move_all(struct sisci_dma_transfer *transfer, const atomic_bool *stop)
{
    enum rsm_status status = RSM_ST_OK;
    for (unsigned i = 0; i < transfer->part_count && status == RSM_ST_OK; i++) {
        if (i > 0)
            status = order(&transfer->parts[i - 1], &transfer->parts[i]);
        if (status == RSM_ST_OK)
            status = move_part(&transfer->window, &transfer->parts[i], stop);
    }
    return status;
}

/* What was stopped must not arrive later, either: all connections complete in any case. */
sci_error_t sisci_dma_transfer_run(struct sisci_dma_transfer *transfer, const atomic_bool *stop)
{
    for (unsigned i = 0; i < transfer->side_count; i++)
        transfer->sides[i].barrier = rsmcore_barrier_open_for_calls(transfer->sides[i].import);
    enum rsm_status status = move_all(transfer, stop);
    for (unsigned i = 0; i < transfer->side_count; i++) {
        const struct sides *sides = &transfer->sides[i];
        enum rsm_status completed = rsmcore_barrier_close(sides->import, sides->barrier);
        if (status == RSM_ST_OK)
            status = completed;
    }
    atomic_thread_fence(memory_order_seq_cst);
    return status == RSM_ST_INTERRUPTED ? SCI_ERR_CANCELLED : sisci_error(SISCI_TRANSFER, status);
}
