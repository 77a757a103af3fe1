/* SPDX-License-Identifier: BSD-3-Clause */
#include "mapping/space.h"

#include "mapping/defects.h"

static bool is_final(enum rsm_status status)
{
    return status == RSM_ST_ABORTED || status == RSM_ST_UNREACHABLE || status == RSM_ST_STALE;
}

/* Only barriers report it. */
void mapping_fail(struct mapping_space *space, enum rsm_status status)
{
    if (status == RSM_ST_OK)
        return;
    if (is_final(status) || space->inner->ops->health(space->inner) != RSM_ST_OK)
        space->dead = true;
    if (!MAPPING_DEFECT(MAPPING_LOST_ERROR))
        rsm_conn_failed(space->inner);
}

void mapping_order(struct mapping_space *space)
{
    if (space->ordered == space->posted)
        return;
    space->ordered = space->posted;
    mapping_fail(space, space->inner->ops->order(space->inner));
}

void mapping_settle(struct mapping_space *space)
{
    space->ordered = space->completed = space->posted;
    mapping_fail(space, space->inner->ops->complete(space->inner));
    if (space->inner->ops->health(space->inner) != RSM_ST_OK)
        space->dead = true; /* which failures that were only counted do not say */
    space->buffer_used = 0;
}

/* The vtable does not promise that a read sees an earlier write of the same connection. */
static void settle_page(struct mapping_space *space, uint32_t page)
{
    if (space->page[page].posted > space->completed && !MAPPING_DEFECT(MAPPING_READ_BEFORE))
        mapping_settle(space);
}

static enum rsm_status get(const struct mapping_space *space, uint64_t offset, void *into,
                           size_t length, bool *snapshot)
{
    const struct rsm_import_ops *ops = space->inner->ops;
    if (snapshot == NULL || ops->get_snapshot == NULL)
        return ops->get(space->inner, offset, into, length);
    return ops->get_snapshot(space->inner, offset, into, length, snapshot);
}

enum rsm_status mapping_fetch(struct mapping_space *space, uint32_t first, uint32_t count,
                              uint8_t *into, bool *snapshot)
{
    for (uint32_t page = first; page < first + count; page++)
        settle_page(space, page);
    if (space->buffer_used > 0 && (space->inner->caps & RSM_CAP_ASYNC))
        mapping_settle(space); /* what is being sent may still be in the buffer */
    space->buffer_used = 0;
    uint32_t failures = rsm_conn_failures(space->inner);
    size_t length = (count - 1) * space->page_size + mapping_page_bytes(space, first + count - 1);
    enum rsm_status status = get(space, (uint64_t)first * space->page_size, into, length, snapshot);
    mapping_fail(space, status);
    if (status == RSM_ST_OK && (space->inner->caps & RSM_CAP_ASYNC)) {
        mapping_settle(space);
        status = rsm_conn_failures(space->inner) == failures ? RSM_ST_OK : RSM_ST_TRANSFER;
    }
    return status;
}

uint8_t *mapping_buffer(struct mapping_space *space, size_t length)
{
    if (space->buffer_used + length > MAPPING_BUFFER_PAGES * space->page_size) {
        if (space->inner->caps & RSM_CAP_ASYNC)
            mapping_settle(space);
        space->buffer_used = 0;
    }
    uint8_t *room = space->buffer + space->buffer_used;
    space->buffer_used += (length + 7) / 8 * 8;
    return room;
}

void mapping_note_posted(struct mapping_space *space, uint64_t offset, size_t length)
{
    if (length == 0)
        return;
    uint32_t last = mapping_page_of(space, offset + length - 1);
    space->posted++;
    for (uint32_t page = mapping_page_of(space, offset); page <= last; page++)
        space->page[page].posted = space->posted;
}

/* What one instruction stored aligned arrives in one piece. */
static enum rsm_status put_piece(struct mapping_space *space, const struct rsm_transfer *piece)
{
    const struct rsm_import_ops *ops = space->inner->ops;
    size_t length = piece->length;
    bool element = (length == 1 || length == 2 || length == 4 || length == 8) &&
                   piece->remote % length == 0 && (uintptr_t)piece->local % length == 0;
    return element ? ops->put_elems(space->inner, piece->remote, piece->local, (unsigned)length, 1)
                   : ops->put(space->inner, piece->remote, piece->local, length);
}

enum rsm_status mapping_send(struct mapping_space *space, const struct rsm_transfer *vec,
                             unsigned count)
{
    const struct rsm_import_ops *ops = space->inner->ops;
    unsigned done;
    for (unsigned i = 0; i < count; i++)
        mapping_note_posted(space, vec[i].remote, vec[i].length);
    enum rsm_status status =
        count == 1 ? put_piece(space, &vec[0]) : ops->putv(space->inner, vec, count, &done);
    mapping_fail(space, status);
    return status;
}
