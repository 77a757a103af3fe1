/* SPDX-License-Identifier: BSD-3-Clause */
/* E, second part: rebind. */
#include "stage.h"

enum { COUNT = 2 };

/* Pages whose first word says which they are. */
static uint8_t *marked(uint64_t mark)
{
    uint8_t *memory = pages(COUNT);
    store64(memory, mark);
    store64(memory + (COUNT - 1) * PAGE, mark);
    return memory;
}

static rsm_memseg_export_handle_t rebindable(uint8_t *memory)
{
    act_as_exporter();
    return created(memory, COUNT * PAGE, RSM_ALLOW_REBIND);
}

static int rebind(rsm_memseg_export_handle_t segment, void *memory)
{
    return rsm_memseg_export_rebind(segment, memory, 0, COUNT * PAGE);
}

CONFORMANCE(E, 27, "rebind of no segment")
{
    act_as_exporter();
    EXPECT(RSMERR_BAD_SEG_HNDL, rebind(NULL, pages(COUNT)));
}

CONFORMANCE(E, 28, "rebind to no memory")
{
    EXPECT(RSMERR_BAD_ADDR, rebind(rebindable(marked(1)), NULL));
}

CONFORMANCE(E, 29, "rebind must have been allowed at creation; that is checked before the size")
{
    act_as_exporter();
    rsm_memseg_export_handle_t segment = created(marked(1), COUNT * PAGE, 0);
    EXPECT(RSMERR_REBIND_NOT_ALLOWED, rebind(segment, marked(2)));
    EXPECT(RSMERR_REBIND_NOT_ALLOWED, rsm_memseg_export_rebind(segment, marked(2), 0, PAGE));
}

CONFORMANCE(E, 30, "rebind to memory of another size")
{
    rsm_memseg_export_handle_t segment = rebindable(marked(1));
    uint8_t *memory = pages(COUNT + 1);
    EXPECT(RSMERR_BAD_LENGTH, rsm_memseg_export_rebind(segment, memory, 0, PAGE));
    EXPECT(RSMERR_BAD_LENGTH, rsm_memseg_export_rebind(segment, memory, 0, (COUNT + 1) * PAGE));
    EXPECT(RSMERR_BAD_LENGTH, rsm_memseg_export_rebind(segment, memory, 0, 0));
}

CONFORMANCE(E, 31, "rebind to a misaligned address")
{
    rsm_memseg_export_handle_t segment = rebindable(marked(1));
    EXPECT(RSMERR_BAD_ADDR, rebind(segment, pages(COUNT + 1) + 64));
}

CONFORMANCE(E, 32, "rebind to the memory that it has")
{
    uint8_t *memory = marked(1);
    rsm_memseg_export_handle_t segment = rebindable(memory);
    OK(rebind(segment, memory));
    HOLDS(load64(memory) == 1);
}

CONFORMANCE(E, 33, "rebind to a range that is not mapped leaves the segment as it is")
{
    struct actor *importer = importer_start();
    uint8_t *memory = marked(1), *hole = pages(COUNT);
    rsm_memseg_export_handle_t segment = rebindable(memory);
    HOLDS(munmap(hole, COUNT * PAGE) == 0);
    EXPECT(RSMERR_BAD_ADDR, rebind(segment, hole));
    publish(segment, SEGMENT_ID);
    TELL_OK(importer, ATTACH, .pages = COUNT);
    HOLDS(ASK(importer, PEEK).value == 1);
    TELL_OK(importer, PUT, .value = 2);
    HOLDS(load64(memory) == 2);
}

CONFORMANCE(E, 34, "rebind before publishing: importers see the new memory")
{
    struct actor *importer = importer_start();
    rsm_memseg_export_handle_t segment = rebindable(marked(1));
    uint8_t *memory = marked(2);
    OK(rebind(segment, memory));
    publish(segment, SEGMENT_ID);
    TELL_OK(importer, ATTACH, .pages = COUNT);
    HOLDS(ASK(importer, PEEK).value == 2);
    TELL_OK(importer, PUT, .offset = 8, .value = 3);
    HOLDS(load64(memory + 8) == 3);
}

CONFORMANCE(E, 35, "rebind while published is transparent to importers")
{
    struct actor *importer = importer_start();
    rsm_memseg_export_handle_t segment = rebindable(marked(1));
    uint8_t *memory = marked(2);
    publish(segment, SEGMENT_ID);
    TELL_OK(importer, ATTACH, .pages = COUNT);
    TELL_OK(importer, OPEN);
    HOLDS(ASK(importer, PEEK).value == 1);
    OK(rebind(segment, memory));
    TELL_OK(importer, POKE, .offset = 8, .value = 3);
    TELL_OK(importer, CLOSE);
    HOLDS(load64(memory + 8) == 3);
    HOLDS(ASK(importer, GET, .offset = (int64_t)((COUNT - 1) * PAGE)).value == 2);
    TELL_OK(importer, OPEN); /* a mapping that is not the memory itself sees it from here on */
    HOLDS(ASK(importer, PEEK).value == 2);
    TELL_OK(importer, PUT, .offset = 16, .value = 4);
    HOLDS(load64(memory + 16) == 4);
}

CONFORMANCE(E, 36, "after rebind the old memory is the application's alone")
{
    struct actor *importer = importer_start();
    uint8_t *old = marked(1), *rebound = marked(2);
    rsm_memseg_export_handle_t segment = rebindable(old);
    publish(segment, SEGMENT_ID);
    TELL_OK(importer, ATTACH, .pages = COUNT);
    OK(rebind(segment, rebound));
    TELL_OK(importer, PUT, .value = 5);
    TELL_OK(importer, PUT, .offset = 8, .value = 6);
    HOLDS(load64(old) == 1 && load64(old + 8) == 0);
    HOLDS(load64(rebound) == 5 && load64(rebound + 8) == 6);
    store64(old, 7);
    HOLDS(ASK(importer, GET).value == 5);
    HOLDS(munmap(old, COUNT * PAGE) == 0);
    HOLDS(ASK(importer, GET).value == 5);
}

CONFORMANCE(E, 37, "rebind does not look at the offset")
{
    rsm_memseg_export_handle_t segment = rebindable(marked(1));
    OK(rsm_memseg_export_rebind(segment, marked(2), 12345, COUNT * PAGE));
    OK(rsm_memseg_export_rebind(segment, marked(3), -1, COUNT * PAGE));
}

static int rebind_elsewhere(void *segment)
{
    return rebind(segment, pages(COUNT));
}

CONFORMANCE(E, 38, "rebind in a forked child")
{
    rsm_memseg_export_handle_t segment = rebindable(marked(1));
    HOLDS(in_child(rebind_elsewhere, segment) == RSMERR_NOT_CREATOR);
    OK(rebind(segment, marked(2)));
}
