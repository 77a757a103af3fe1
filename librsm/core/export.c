/* SPDX-License-Identifier: BSD-3-Clause */
#include "core/export.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/types.h>
#include <unistd.h>

#include "core/controller_ports.h"
#include "core/event_internal.h"
#include "core/export_set.h"
#include "core/records.h"
#include "pageswap/pageswap.h"
#include "region/region.h"

/* The extent that came with a new segment. */
struct granted_extent {
    uint32_t id; /* 0: none */
    int fd;
    struct rsm_extent_about about;
};

/* Take the reply apart. What rsmd made is known afterwards even if something is wrong with it. */
static enum rsm_status take_registration(struct rsmcore_export *segment,
                                         const struct rsm_export_create_reply *reply,
                                         struct rsm_packet_fds *fds, struct granted_extent *given)
{
    segment->id = reply->export_id;
    if (reply->epoch_slot >= RSM_GENERATION_TABLE_SLOTS || fds->count != (reply->extent != 0)) {
        rsm_packet_fds_close(fds);
        return RSM_ST_PROTOCOL;
    }
    if (reply->extent != 0)
        *given =
            (struct granted_extent){.id = reply->extent, .fd = fds->fds[0], .about = reply->about};
    segment->epoch = &rsmcore_control_generation_table(segment->control)->slot[reply->epoch_slot];
    return RSM_ST_OK;
}

static enum rsm_status make_event(struct rsmcore_export *segment)
{
    enum rsm_status status =
        rsmcore_event_create(segment->control, RSM_EVENT_EXPORT, segment->id, &segment->event);
    if (status == RSM_ST_OK)
        rsmcore_event_follow(segment->event, segment->epoch, 0);
    return status;
}

/* The parameters of a new segment. */
struct creation {
    unsigned mode;
    struct rsmcore_claim *claim; /* NULL: none */
};

static void set_claim(struct rsm_export_create_request *request, const struct rsmcore_claim *claim)
{
    if (claim == NULL)
        return;
    request->claim = claim->assign ? RSM_CLAIM_ASSIGN : RSM_CLAIM_ID;
    request->space = claim->space;
    request->segment_id = claim->id;
}

/* Register the segment with rsmd; @p want_extent: get an extent by the same request. */
static enum rsm_status register_segment(struct rsmcore_export *segment,
                                        const struct creation *creation, bool want_extent,
                                        struct granted_extent *given)
{
    struct rsm_packet_fds fds;
    struct rsm_msg msg;
    rsm_msg_begin(&msg, RSM_MSG_EXPORT_CREATE);
    msg.u.export_create = (struct rsm_export_create_request){.length = segment->length,
                                                             .mode = creation->mode,
                                                             .want_extent = want_extent,
                                                             .size = segment->size};
    set_claim(&msg.u.export_create, creation->claim);
    strcpy(msg.u.export_create.controller, rsmcore_controller_name(segment->controller));
    enum rsm_status status = rsmcore_region_call(segment->control, &msg, &fds);
    if (status == RSM_ST_OK)
        status = take_registration(segment, &msg.u.export_create_reply, &fds, given);
    if (status == RSM_ST_OK && creation->claim != NULL)
        creation->claim->id = msg.u.export_create_reply.segment_id;
    return status;
}

/* Put the pages of a new segment on extents. The given one is used up. */
static enum rsm_status cover_segment(const struct rsmcore_export *segment,
                                     const struct granted_extent *given)
{
    const struct rsmcore_extent_source source = rsmcore_controller_extents(segment->controller);
    if (given->id != 0)
        return rsmcore_region_cover_with(segment->control, &source, given->id, given->fd,
                                         &given->about, segment->start, segment->length);
    return rsmcore_region_cover(segment->control, &source, segment->start, segment->length);
}

/* rsmd knows nothing of the addresses and may refuse their number first. What is wrong with the
 * memory itself is the better answer. */
static enum rsm_status better_refusal(const struct rsmcore_export *segment, enum rsm_status status)
{
    if (status != RSM_ST_NO_MEMORY && status != RSM_ST_NO_RESOURCES)
        return status;
    enum rsm_status memory = rsmcore_range_check(segment->start, segment->length, 0);
    return memory != RSM_ST_OK ? memory : status;
}

/* Export memory of the application. Memory that is on no extent yet gets one by the same
 * request. */
static enum rsm_status begin_segment(struct rsmcore_export *segment,
                                     const struct creation *creation)
{
    struct granted_extent given = {.id = 0};
    enum rsm_status status =
        rsmcore_region_uncover_stale(segment->control, segment->start, segment->length);
    if (status != RSM_ST_OK)
        return status;
    bool bare = rsmcore_region_is_bare(segment->start, segment->length);
    status = better_refusal(segment, register_segment(segment, creation, bare, &given));
    if (status == RSM_ST_OK)
        status = cover_segment(segment, &given);
    else if (given.id != 0)
        rsmcore_region_give_back(segment->control, given.id, given.fd);
    if (status != RSM_ST_OK)
        return status;
    /* Not before: what it maps could come to lie where the program has nothing mapped, and make
     * a wrong address look right. */
    status = make_event(segment);
    if (status != RSM_ST_OK)
        rsmcore_export_leave_extents_for_good(segment, false);
    return status;
}

/* On new memory. */
static enum rsm_status begin_allocated(struct rsmcore_export *segment,
                                       const struct creation *creation)
{
    const struct rsmcore_extent_source source = rsmcore_controller_extents(segment->controller);
    struct granted_extent given = {.id = 0};
    enum rsm_status status = register_segment(segment, creation, true, &given);
    if (status == RSM_ST_OK && given.id == 0)
        status = RSM_ST_PROTOCOL;
    else if (status == RSM_ST_OK)
        status = rsmcore_region_map(segment->control, &source, given.id, given.fd, &given.about,
                                    segment->length, &segment->start);
    if (status != RSM_ST_OK)
        return status;
    segment->own_memory = true;
    status = make_event(segment);
    if (status != RSM_ST_OK)
        rsmcore_region_unmap(segment->start, segment->length);
    return status;
}

/* On none. */
static enum rsm_status begin_empty(struct rsmcore_export *segment, const struct creation *creation)
{
    struct granted_extent given = {.id = 0};
    enum rsm_status status = register_segment(segment, creation, false, &given);
    return status == RSM_ST_OK ? make_event(segment) : status;
}

/* Report the segment's end to rsmd. *offered: other processes may have its extents, which is
 * assumed if rsmd does not answer. */
static enum rsm_status unregister_segment(const struct rsmcore_export *segment,
                                          enum rsmcore_destroy how, bool *offered)
{
    static const uint32_t flags[] = {[RSMCORE_DESTROY_UNUSED] = RSM_DESTROY_UNUSED,
                                     [RSMCORE_DESTROY_DEFER] = RSM_DESTROY_DEFER,
                                     [RSMCORE_DESTROY_LEAVE] = RSM_DESTROY_DEFER};
    struct rsm_msg msg;
    rsm_msg_begin(&msg, RSM_MSG_EXPORT_DESTROY);
    msg.u.export_destroy =
        (struct rsm_export_destroy_request){.export_id = segment->id, .flags = flags[how]};
    enum rsm_status status = rsmcore_region_call(segment->control, &msg, NULL);
    *offered = status != RSM_ST_OK || msg.u.export_destroy_reply.offered != 0;
    return status;
}

static void free_segment(struct rsmcore_export *segment)
{
    if (segment->event != NULL)
        rsmcore_event_destroy(segment->event);
    rsmcore_control_release(segment->control);
    rsmcore_controller_close(segment->controller);
    free(segment);
}

typedef enum rsm_status begin_function(struct rsmcore_export *segment,
                                       const struct creation *creation);

/* 0: there are no so many. */
static size_t whole_pages(size_t bytes)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    return bytes > SIZE_MAX - page ? 0 : (bytes + page - 1) / page * page;
}

static enum rsm_status make_segment(struct rsmcore_controller *controller, uintptr_t start,
                                    size_t size, begin_function *begin,
                                    const struct creation *creation, struct rsmcore_export **out)
{
    if (size != 0 && whole_pages(size) == 0)
        return RSM_ST_NO_MEMORY;
    struct rsmcore_control *control;
    enum rsm_status status = rsmcore_control_local(&control);
    if (status != RSM_ST_OK)
        return status == RSM_ST_UNREACHABLE ? RSM_ST_NO_CONTROLLER : status;
    struct rsmcore_export *segment = calloc(1, sizeof *segment);
    if (segment == NULL) {
        rsmcore_control_release(control);
        return RSM_ST_NO_MEMORY;
    }
    segment->controller = rsmcore_controller_hold(controller);
    segment->control = control;
    segment->process_epoch = rsmcore_process_epoch();
    segment->start = start;
    segment->length = whole_pages(size);
    segment->size = size;

    bool offered;
    rsmcore_exports_lock();
    status = begin(segment, creation);
    if (status == RSM_ST_OK && segment->start != 0)
        rsmcore_exports_add(segment);
    else if (status != RSM_ST_OK && segment->id != 0)
        (void)unregister_segment(segment, RSMCORE_DESTROY_CUT, &offered);
    rsmcore_region_unlock();
    if (status != RSM_ST_OK) {
        free_segment(segment);
        return status;
    }
    *out = segment;
    return RSM_ST_OK;
}

enum rsm_status rsmcore_export_create(struct rsmcore_controller *controller, void *address,
                                      size_t length, unsigned mode, struct rsmcore_export **out)
{
    const struct creation creation = {.mode = mode};
    return make_segment(controller, (uintptr_t)address, length, begin_segment, &creation, out);
}

enum rsm_status rsmcore_export_allocate(struct rsmcore_controller *controller, size_t size,
                                        unsigned mode, struct rsmcore_claim *claim,
                                        struct rsmcore_export **out)
{
    const struct creation creation = {.mode = mode, .claim = claim};
    return make_segment(controller, 0, size, begin_allocated, &creation, out);
}

enum rsm_status rsmcore_export_create_empty(struct rsmcore_controller *controller, size_t size,
                                            unsigned mode, struct rsmcore_claim *claim,
                                            struct rsmcore_export **out)
{
    const struct creation creation = {.mode = mode, .claim = claim};
    return make_segment(controller, 0, size, begin_empty, &creation, out);
}

enum rsm_status rsmcore_export_attach(struct rsmcore_export *segment, void *address)
{
    const struct granted_extent none = {.id = 0};
    enum rsm_status status = RSM_ST_OK;
    if (!rsmcore_export_is_creator(segment))
        return RSM_ST_NOT_CREATOR;
    rsmcore_exports_lock();
    if (!rsmcore_export_daemon_lives(segment))
        status = RSM_ST_STALE;
    else if (segment->start != 0)
        status = RSM_ST_BUSY;
    else if (address == NULL)
        status = RSM_ST_FAULT;
    if (status == RSM_ST_OK) {
        segment->start = (uintptr_t)address;
        status = cover_segment(segment, &none);
        if (status == RSM_ST_OK)
            rsmcore_exports_add(segment);
        else
            segment->start = 0;
    }
    rsmcore_region_unlock();
    return status;
}

/* The memory of a segment that has ended. Pages that may be in other hands stay on their extents
 * only where another segment's importers need them; others stay for any segment over them. */
static void leave_memory(const struct rsmcore_export *segment, bool offered)
{
    if (segment->own_memory)
        rsmcore_region_unmap(segment->start, segment->length);
    else if (segment->start != 0)
        rsmcore_export_leave_extents_for_good(segment, offered);
}

/* Called with the region lock held. */
static enum rsm_status end_segment(struct rsmcore_export *segment, enum rsmcore_destroy how)
{
    bool offered;
    enum rsm_status status = unregister_segment(segment, how, &offered);
    /* If rsmd has died or does not know the segment, no importer is connected. */
    bool unknown = status == RSM_ST_STALE || status == RSM_ST_NOT_FOUND;
    if (how == RSMCORE_DESTROY_UNUSED && status != RSM_ST_OK && !unknown)
        return status;
    segment->published = segment->connections_kept = false;
    if (how != RSMCORE_DESTROY_LEAVE || !segment->own_memory)
        leave_memory(segment, offered);
    rsmcore_exports_remove(segment);
    rsmcore_exports_reclaim();
    return RSM_ST_OK;
}

enum rsm_status rsmcore_export_destroy(struct rsmcore_export *segment, enum rsmcore_destroy how)
{
    enum rsm_status status = RSM_ST_OK;
    if (rsmcore_export_is_creator(segment)) {
        rsmcore_exports_lock();
        status = end_segment(segment, how);
        rsmcore_region_unlock();
    }
    if (status == RSM_ST_OK)
        free_segment(segment);
    return status;
}

void rsmcore_export_free_memory(void *address, size_t length)
{
    rsmcore_exports_lock();
    rsmcore_region_unmap((uintptr_t)address, length);
    rsmcore_region_unlock();
}

static enum rsm_status move_segment(struct rsmcore_export *segment, uintptr_t to)
{
    const struct rsmcore_extent_source source = rsmcore_controller_extents(segment->controller);
    enum rsm_status status;
    if (rsmcore_export_overlaps_another(segment, to) ||
        rsmcore_export_overlaps_another(segment, segment->start))
        return RSM_ST_BUSY;
    if (rsmcore_export_in_use(segment))
        status = rsmcore_region_move(segment->start, to, segment->length);
    else
        status = rsmcore_region_cover(segment->control, &source, to, segment->length);
    if (status != RSM_ST_OK)
        return status;
    if (!rsmcore_export_in_use(segment))
        rsmcore_export_leave_extents_for_good(segment, true);
    rsmcore_exports_remove(segment);
    segment->start = to;
    rsmcore_exports_add(segment);
    return RSM_ST_OK;
}

enum rsm_status rsmcore_export_rebind(struct rsmcore_export *segment, void *address)
{
    if (!rsmcore_export_is_creator(segment))
        return RSM_ST_NOT_CREATOR;
    uintptr_t to = (uintptr_t)address;
    enum rsm_status status = RSM_ST_OK;
    rsmcore_exports_lock();
    if (!rsmcore_export_daemon_lives(segment))
        status = RSM_ST_STALE;
    else if (segment->own_memory || segment->start == 0)
        status = RSM_ST_UNSUPPORTED;
    else if (to != segment->start)
        status = move_segment(segment, to);
    rsmcore_region_unlock();
    return status;
}

bool rsmcore_export_is_creator(const struct rsmcore_export *segment)
{
    return segment->process_epoch == rsmcore_process_epoch();
}

bool rsmcore_export_is_published(const struct rsmcore_export *segment)
{
    return segment->published && rsmcore_export_daemon_lives(segment);
}

void *rsmcore_export_address(const struct rsmcore_export *segment)
{
    return (void *)segment->start;
}

size_t rsmcore_export_length(const struct rsmcore_export *segment)
{
    return segment->length;
}

bool rsmcore_export_is_own_memory(const struct rsmcore_export *segment)
{
    return segment->own_memory;
}

enum rsm_status rsmcore_export_show(const struct rsmcore_export *segment, size_t offset,
                                    size_t length, bool read_only, void *at)
{
    if (offset > segment->length || length > segment->length - offset)
        return RSM_ST_RANGE;
    rsmcore_region_lock();
    enum rsm_status status = segment->start != 0
                                 ? rsmcore_region_show(segment->start + offset, length,
                                                       PROT_READ | (read_only ? 0 : PROT_WRITE), at)
                                 : RSM_ST_FAULT;
    rsmcore_region_unlock();
    return status;
}

struct rsmcore_event *rsmcore_export_event(struct rsmcore_export *segment)
{
    return segment->event;
}

enum rsm_status rsmcore_records_of_export(struct rsmcore_export *segment,
                                          struct rsmcore_records **records)
{
    if (!rsmcore_export_is_creator(segment))
        return RSM_ST_STALE;
    return rsmcore_records_make(segment->control, RSM_EVENT_EXPORT_RECORDS, segment->id, NULL,
                                records);
}
