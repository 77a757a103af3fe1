/* SPDX-License-Identifier: BSD-3-Clause */
/* The state that an rsmd leaves to the next one, as a defective or hostile predecessor would write it:
 * an input is a list of changes to a client's part of a good one, with a checksum that is right. What is
 * wrong ends that client alone: the other one is served with what it had. When the successor ends nothing
 * of the state is left: no descriptor, no segment, no byte of an account. */
#include "check.h"
#include "base/packet.h"
#include "protocol/proto.h"
#include "descriptors.h"
#include "fuzz.h"
#include "loop.h"
#include "input.h"
#include "predecessor.h"

enum {
    CHANGES_MAX = 32,
    RECORDS_MAX = 256,
    RECORD_HEADER = 8, /* type and length */
    CHANGED = 2,       /* section of the client whose part is changed */
    TURNS = 8,
};

/* A client's part of a state while it is changed: its records, each with its header, and a descriptor that is another. */
struct draft {
    struct {
        uint8_t *bytes;
        size_t length;
    } record[RECORDS_MAX];
    size_t count;
    uint32_t odd;
    int other;
};

/* ------------------------------------------------------------------ changes */

static uint8_t *copy_of(const uint8_t *bytes, size_t length)
{
    uint8_t *copy = malloc(length);
    CHECK(copy != NULL);
    memcpy(copy, bytes, length);
    return copy;
}

static size_t length_of(const uint8_t *record)
{
    uint32_t length;
    struct rsm_codec codec = rsm_decoder(record + 4, sizeof length);
    rsm_codec_u32(&codec, &length);
    return RECORD_HEADER + length;
}

/* The good one. */
static void draft_begin(struct draft *draft)
{
    size_t end = left.section[CHANGED + 1];
    *draft = (struct draft){.odd = LEFT_FDS_MAX, .other = -1};
    for (size_t at = left.section[CHANGED]; at < end; draft->count++) {
        size_t length = length_of(left.bytes + at);
        CHECK(length <= end - at && draft->count < RECORDS_MAX / 2);
        draft->record[draft->count].bytes = copy_of(left.bytes + at, length);
        draft->record[draft->count].length = length;
        at += length;
    }
}

static void draft_end(struct draft *draft)
{
    for (size_t i = 0; i < draft->count; i++)
        free(draft->record[i].bytes);
    if (draft->other >= 0)
        close(draft->other);
}

static void drop_record(struct draft *draft, size_t which)
{
    free(draft->record[which].bytes);
    memmove(&draft->record[which], &draft->record[which + 1],
            (draft->count - which - 1) * sizeof draft->record[0]);
    draft->count--;
}

/* A copy of one, in front of another. */
static void repeat_record(struct draft *draft, size_t which, size_t before)
{
    if (draft->count == RECORDS_MAX)
        return;
    size_t length = draft->record[which].length;
    uint8_t *bytes = copy_of(draft->record[which].bytes, length);
    memmove(&draft->record[before + 1], &draft->record[before],
            (draft->count - before) * sizeof draft->record[0]);
    draft->record[before].bytes = bytes;
    draft->record[before].length = length;
    draft->count++;
}

/* A number of one, two, four or eight bytes. */
static void set_number(struct draft *draft, size_t which, struct input *in)
{
    unsigned size = 1u << input_below(in, 4);
    size_t at = input_u8(in) | (size_t)input_u8(in) << 8;
    uint64_t value = input_number(in);
    if (draft->record[which].length >= size)
        left_set_number(draft->record[which].bytes + at % (draft->record[which].length - size + 1),
                        value, size);
}

static void change(struct draft *draft, struct input *in)
{
    unsigned what = input_below(in, 16);
    if (draft->count == 0)
        return;
    size_t which = input_u8(in) % draft->count;
    switch (what) {
    case 0:
        drop_record(draft, which);
        break;
    case 1:
        repeat_record(draft, which, input_u8(in) % draft->count);
        break;
    case 2: /* cut it; its header says so, or not */
        draft->record[which].length -= input_u8(in) % draft->record[which].length;
        if (draft->record[which].length >= RECORD_HEADER && (input_u8(in) & 1) != 0)
            left_set_number(draft->record[which].bytes + 4,
                            draft->record[which].length - RECORD_HEADER, 4);
        break;
    case 3:
        if (draft->other < 0) {
            uint32_t first = left.first_fd[CHANGED];
            draft->odd = first + (uint32_t)which % (left.fd_count - first);
            draft->other = descriptor_make(in, left.fds[first]);
        }
        break;
    default:
        set_number(draft, which, in);
    }
}

/* ------------------------------------------------------------------ a client of the successor */

/* Ask for something, which takes the place of the request. False: there was no answer. */
static bool ask(struct world *world, struct rsm_msg *msg)
{
    static uint8_t bytes[RSM_PROTO_MESSAGE_MAX];
    struct rsm_packet_fds fds = {.count = 0};
    ssize_t got = -EAGAIN;
    size_t length = rsm_msg_encode(msg, bytes, sizeof bytes);
    if (rsm_packet_send(left.client, bytes, length, NULL, 0) != 0)
        return false;
    for (unsigned turns = 0; got == -EAGAIN && turns < TURNS; turns++) {
        loop_turn(world->server.base);
        got = rsm_packet_receive(left.client, bytes, sizeof bytes, &fds, NULL);
    }
    if (got <= 0)
        return false;
    CHECK(rsm_msg_decode(msg, bytes, (size_t)got) == RSM_ST_OK);
    rsm_packet_fds_close(&fds);
    return msg->status == RSM_ST_OK;
}

static void fetch_records(struct world *world, uint32_t end, uint32_t id)
{
    static struct rsm_msg msg;
    msg = (struct rsm_msg){.type = RSM_MSG_MAILBOX_TAKE, .u.mailbox_take = {end, id, 0}};
    (void)ask(world, &msg);
}

static void end_imports(struct world *world)
{
    static struct rsm_msg shown, msg;
    shown = (struct rsm_msg){.type = RSM_MSG_INSPECT, .u.inspect = {RSM_INSPECT_IMPORTS, 0}};
    if (!ask(world, &shown))
        return;
    for (uint32_t i = 0; i < shown.u.inspect_reply.count; i++) {
        uint32_t id = shown.u.inspect_reply.items[i].id;
        fetch_records(world, RSM_EVENT_IMPORT_RECORDS, id);
        msg = (struct rsm_msg){.type = RSM_MSG_IMPORT_DISCONNECT, .u.import_disconnect = {id}};
        (void)ask(world, &msg);
    }
}

static void end_exports(struct world *world)
{
    static struct rsm_msg shown, msg;
    shown = (struct rsm_msg){.type = RSM_MSG_INSPECT, .u.inspect = {RSM_INSPECT_EXPORTS, 0}};
    if (!ask(world, &shown))
        return;
    for (uint32_t i = 0; i < shown.u.inspect_reply.count; i++) {
        uint32_t id = shown.u.inspect_reply.items[i].id;
        fetch_records(world, RSM_EVENT_EXPORT_RECORDS, id);
        msg = (struct rsm_msg){.type = RSM_MSG_EXPORT_UNPUBLISH,
                               .u.export_unpublish = {.export_id = id}};
        (void)ask(world, &msg);
        msg =
            (struct rsm_msg){.type = RSM_MSG_EXPORT_DESTROY, .u.export_destroy = {.export_id = id}};
        (void)ask(world, &msg);
    }
}

/* What the client has is there to be used: it ends half of it, and the successor the other half. */
static void use(struct world *world)
{
    static struct rsm_msg msg;
    msg = (struct rsm_msg){.type = RSM_MSG_INTERRUPTS};
    (void)ask(world, &msg);
    end_exports(world);
    end_imports(world);
    CHECK(rsmd_shares_are_sound(&world->node.shares));
}

/* ------------------------------------------------------------------ an input */

static unsigned try_state(const struct draft *draft)
{
    static uint8_t bytes[LEFT_MAX + RECORDS_MAX * RSMD_SNAPSHOT_RECORD_MAX];
    size_t length = left.section[CHANGED], tables = left.length - left.section[CHANGED + 1];
    memcpy(bytes, left.bytes, length);
    for (size_t i = 0; i < draft->count; i++) {
        memcpy(bytes + length, draft->record[i].bytes, draft->record[i].length);
        length += draft->record[i].length;
    }
    memcpy(bytes + length, left.bytes + left.length - tables, tables);
    length += tables;
    left_repair(bytes, length);
    int64_t begin = fuzz_step_begin();
    unsigned served = left_restore(bytes, length, draft->odd, draft->other, use);
    fuzz_step_end(begin, "a successor's life");
    return served;
}

void fuzz_input(const uint8_t *data, size_t size)
{
    struct input in = {.at = data, .left = size};
    struct draft draft;
    if (left.length == 0)
        left_make();
    draft_begin(&draft);
    for (unsigned changes = 0; !input_ends(&in) && changes < CHANGES_MAX; changes++)
        change(&draft, &in);
    unsigned served = try_state(&draft);
    CHECK((served & LEFT_FIRST) != 0);
    CHECK(served == LEFT_ALL || size > 0);
    draft_end(&draft);
}
