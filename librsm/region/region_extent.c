/* SPDX-License-Identifier: BSD-3-Clause */
#include "region/region_extent.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/second_mapping.h"
#include "region/region_lock.h"

static void close_descriptor(struct rsmcore_extent *extent)
{
    if (extent->file.fd >= 0)
        close(extent->file.fd);
    extent->file.fd = -1;
}

static void give_back(struct rsmcore_control *control, uint32_t id)
{
    struct rsm_msg msg;
    rsm_msg_begin(&msg, RSM_MSG_EXTENT_FREE);
    msg.u.extent_free =
        (struct rsm_extent_free_request){.extent = id, .flags = RSM_EXTENT_FREE_WHEN_UNUSED};
    (void)rsmcore_region_call(control, &msg, NULL);
}

void rsmcore_extent_give_back(struct rsmcore_control *control, uint32_t id, int fd)
{
    close(fd);
    give_back(control, id);
}

void rsmcore_extent_free(struct rsmcore_extent *extent)
{
    close_descriptor(extent);
    give_back(extent->control, extent->id);
    rsmcore_control_release(extent->control);
    free(extent);
}

void rsmcore_extent_release(struct rsmcore_extent *extent)
{
    if (--extent->regions == 0)
        rsmcore_extent_free(extent);
}

void rsmcore_extent_forget(struct rsmcore_extent *extent)
{
    if (--extent->regions > 0)
        return;
    close_descriptor(extent);
    rsmcore_control_release(extent->control);
    free(extent);
}

struct rsmcore_extent *rsmcore_extent_of(struct rsmcore_control *control, uint32_t id, int fd,
                                         const struct rsm_extent_about *about)
{
    struct rsmcore_extent *extent = calloc(1, sizeof *extent);
    if (extent == NULL) {
        rsmcore_extent_give_back(control, id, fd);
        return NULL;
    }
    extent->control = rsmcore_control_hold(control);
    extent->id = id;
    extent->file.fd = fd;
    extent->about = *about;
    return extent;
}

enum rsm_status rsmcore_extent_take(struct rsmcore_control *control, const char *controller,
                                    size_t length, struct rsmcore_extent **taken)
{
    struct rsm_packet_fds fds;
    struct rsm_msg msg;
    rsm_msg_begin(&msg, RSM_MSG_EXTENT_ALLOC);
    msg.u.extent_alloc = (struct rsm_extent_alloc_request){.length = length};
    strcpy(msg.u.extent_alloc.controller, controller);
    enum rsm_status status = rsmcore_region_call(control, &msg, &fds);
    if (status != RSM_ST_OK)
        return status;
    if (fds.count != 1) {
        rsm_packet_fds_close(&fds);
        return RSM_ST_PROTOCOL;
    }
    *taken = rsmcore_extent_of(control, msg.u.extent_alloc_reply.extent, fds.fds[0],
                               &msg.u.extent_alloc_reply.about);
    return *taken != NULL ? RSM_ST_OK : RSM_ST_NO_MEMORY;
}

enum rsm_status rsmcore_extent_reopen(struct rsmcore_extent *extent)
{
    struct rsm_packet_fds fds;
    struct rsm_msg msg;
    rsm_msg_begin(&msg, RSM_MSG_EXTENT_OPEN);
    msg.u.extent_open.extent = extent->id;
    if (extent->file.fd >= 0)
        return RSM_ST_OK;
    enum rsm_status status = rsmcore_region_call(extent->control, &msg, &fds);
    if (status != RSM_ST_OK)
        return status;
    struct rsmcore_swap_file file;
    if (fds.count != 1 || !rsmcore_swap_file_of(fds.fds[0], &file) ||
        file.device != extent->file.device || file.inode != extent->file.inode) {
        rsm_log_error("rsmd gave something else than the extent that it was asked for");
        rsm_packet_fds_close(&fds);
        return RSM_ST_PROTOCOL;
    }
    extent->file.fd = file.fd;
    return RSM_ST_OK;
}

void rsmcore_extent_let_go(struct rsmcore_extent *extent)
{
    if (extent->about.kind == RSM_EXTENT_MEMFD && rsm_second_mapping_works())
        close_descriptor(extent);
}
