/* SPDX-License-Identifier: BSD-3-Clause */
#include "fake_port.h"

struct fake_port port;

void fake_port_tell(enum ntb_port_event_type type, uint64_t id)
{
    if (port.loses)
        return;
    assert_in_range(port.count, 0, FAKE_EVENTS - 1);
    port.events[port.count++] = (struct ntb_port_event){.type = type, .id = id};
}

void fake_port_let_go(uint64_t id)
{
    port.extents[id].live = false;
    port.extents[id].quarantined = true;
    fake_port_tell(NTB_PORT_QUARANTINED, id);
}

static void port_close(struct ntb_port *base)
{
    port.closed = true;
}

static void port_info(struct ntb_port *base, struct ntb_port_info *info)
{
    *info = port.info;
}

static bool port_next(struct ntb_port *base, struct ntb_port_event *event)
{
    if (port.first == port.count) {
        port.first = port.count = 0;
        return false;
    }
    *event = port.events[port.first++];
    return true;
}

/* The latest first. */
static int port_extents(struct ntb_port *base, struct ntb_port_extent *extents, unsigned capacity)
{
    unsigned count = 0;
    if (port.has_no_table)
        return -1;
    for (uint64_t id = port.last_id; id > 0 && count < capacity; id--)
        if (port.extents[id].live || port.extents[id].quarantined)
            extents[count++] =
                (struct ntb_port_extent){.id = id,
                                         .offset = port.extents[id].offset,
                                         .length = port.extents[id].length,
                                         .quarantined = port.extents[id].quarantined};
    return (int)count;
}

static enum rsm_status enter(uint64_t offset, uint64_t length, struct ntb_port_memory *memory)
{
    assert_in_range(port.last_id, 0, FAKE_EXTENTS_MAX - 2);
    uint64_t id = ++port.last_id;
    port.extents[id].live = true;
    port.extents[id].offset = offset;
    port.extents[id].length = length;
    *memory = (struct ntb_port_memory){.id = id, .fd = -1};
    return RSM_ST_OK;
}

static uint64_t pool_end(void)
{
    return port.info.window_size - port.info.pin_size;
}

static enum rsm_status port_extent_make(struct ntb_port *base, uint64_t offset, uint64_t length,
                                        struct ntb_port_memory *memory)
{
    assert_true(offset >= port.info.pool_first && offset + length <= pool_end());
    return port.make != RSM_ST_OK ? port.make : enter(offset, length, memory);
}

static enum rsm_status port_extent_make_in_place(struct ntb_port *base, uint64_t offset,
                                                 uint64_t length, struct ntb_port_memory *memory)
{
    assert_true(offset >= pool_end() && offset + length <= port.info.window_size);
    return port.make_in_place != RSM_ST_OK ? port.make_in_place : enter(offset, length, memory);
}

static enum rsm_status port_extent_pin(struct ntb_port *base, const struct ntb_port_memory *memory,
                                       void *address)
{
    assert_true(port.extents[memory->id].live && !port.extents[memory->id].pinned);
    port.pins++;
    if (port.pin != RSM_ST_OK)
        return port.pin;
    memset(address, 0x5a, PAGE); /* the other host's store */
    port.extents[memory->id].pinned = true;
    return RSM_ST_OK;
}

static void port_extent_close(struct ntb_port *base, const struct ntb_port_memory *memory)
{
    assert_true(port.extents[memory->id].live);
    port.extents[memory->id].pinned = false;
    if (!port.kept)
        fake_port_let_go(memory->id);
}

static bool port_extent_release(struct ntb_port *base, uint64_t id)
{
    assert_true(port.extents[id].quarantined);
    if (port.refuses)
        return false;
    port.extents[id].quarantined = false;
    fake_port_tell(NTB_PORT_FREE, id);
    return true;
}

static const struct ntb_port_ops ops = {.close = port_close,
                                        .info = port_info,
                                        .next = port_next,
                                        .extents = port_extents,
                                        .extent_make = port_extent_make,
                                        .extent_make_in_place = port_extent_make_in_place,
                                        .extent_pin = port_extent_pin,
                                        .extent_close = port_extent_close,
                                        .extent_release = port_extent_release};

void fake_port_begin(struct ntb_port_info info)
{
    memset(&port, 0, sizeof port);
    port.base.ops = &ops;
    port.info = info;
    port.info.granule = PAGE;
    port.info.epoch = 1;
    port.info.generation = 3;
    port.info.sequence = 1;
    port.info.peer_generation = 4;
    port.info.peer_sequence = 1;
    port.info.peer_node = PEER;
}
