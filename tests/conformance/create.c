/* SPDX-License-Identifier: BSD-3-Clause */
/* E, first part: export_create. */
#include <sys/ipc.h>
#include <sys/shm.h>

#include "stage.h"

/* A create that must fail, with a handle that must become NULL. */
static void expect_none(int wanted, void *memory, size_t length)
{
    rsm_memseg_export_handle_t segment = (rsm_memseg_export_handle_t)&segment;
    EXPECT(wanted, rsm_memseg_export_create(controller(), &segment, memory, length, 0));
    HOLDS(segment == NULL);
}

/* Memory that may be exported: the contents stay, an importer sees them and may change them. Shared
 * memory must not be shared with anybody, so the importer is started first. */
static void expect_exportable(struct actor *importer, uint8_t *memory, size_t count)
{
    for (size_t i = 0; i < count * PAGE; i++)
        memory[i] = (uint8_t)(i * 7 + i / 256);
    rsm_memseg_export_handle_t segment = published(memory, count);
    for (size_t i = 0; i < count * PAGE; i++)
        HOLDS(memory[i] == (uint8_t)(i * 7 + i / 256));
    TELL_OK(importer, ATTACH, .pages = count);
    HOLDS(ASK(importer, PEEK, .offset = (int64_t)(count * PAGE) - 8).value ==
          load64(memory + count * PAGE - 8));
    TELL_OK(importer, PUT, .offset = 16, .value = 0x1122334455667788);
    HOLDS(load64(memory + 16) == 0x1122334455667788);
    TELL_OK(importer, UNMAP);
    TELL_OK(importer, DISCONNECT);
    OK(rsm_memseg_export_destroy(segment));
    HOLDS(load64(memory + 16) == 0x1122334455667788);
}

/* `count` pages of a file; unlinked. */
static uint8_t *map_file(size_t count, int flags)
{
    char path[] = "/var/tmp/conformance-XXXXXX";
    int fd = mkstemp(path);
    HOLDS(fd >= 0);
    unlink(path);
    HOLDS(ftruncate(fd, (off_t)(count * PAGE)) == 0);
    void *memory = mmap(NULL, count * PAGE, PROT_READ | PROT_WRITE, flags, fd, 0);
    close(fd);
    HOLDS(memory != MAP_FAILED);
    return memory;
}

CONFORMANCE(E, 01, "create without a controller")
{
    rsm_memseg_export_handle_t segment;
    act_as_exporter();
    EXPECT(RSMERR_BAD_CTLR_HNDL, rsm_memseg_export_create(NULL, &segment, pages(1), PAGE, 0));
}

CONFORMANCE(E, 02, "create with nowhere to put the handle")
{
    act_as_exporter();
    EXPECT(RSMERR_BAD_SEG_HNDL, rsm_memseg_export_create(controller(), NULL, pages(1), PAGE, 0));
}

CONFORMANCE(E, 03, "create over no memory")
{
    act_as_exporter();
    expect_none(RSMERR_BAD_ADDR, NULL, PAGE);
}

CONFORMANCE(E, 04, "create over no memory of no size: the address is checked first")
{
    act_as_exporter();
    expect_none(RSMERR_BAD_ADDR, NULL, 0);
}

CONFORMANCE(E, 05, "create of no size")
{
    act_as_exporter();
    expect_none(RSMERR_BAD_LENGTH, pages(1), 0);
}

CONFORMANCE(E, 06, "create over a misaligned address")
{
    uint8_t *memory = pages(3);
    act_as_exporter();
    expect_none(RSMERR_BAD_MEM_ALIGNMENT, memory + 8, PAGE);
    expect_none(RSMERR_BAD_MEM_ALIGNMENT, memory + PAGE / 2, PAGE);
}

CONFORMANCE(E, 07, "create of a size that is not whole pages")
{
    uint8_t *memory = pages(2);
    act_as_exporter();
    expect_none(RSMERR_BAD_MEM_ALIGNMENT, memory, PAGE + 1);
    expect_none(RSMERR_BAD_MEM_ALIGNMENT, memory, PAGE / 2);
}

CONFORMANCE(E, 08, "create at a misaligned address of no size: the size is checked first")
{
    act_as_exporter();
    expect_none(RSMERR_BAD_LENGTH, pages(1) + 8, 0);
}

/* The controller is opened first: what its transport's module maps would be put into the hole. */
static void make_hole(uint8_t *page)
{
    (void)controller();
    HOLDS(munmap(page, PAGE) == 0);
}

CONFORMANCE(E, 09, "every later failure leaves the handle NULL")
{
    uint8_t *memory = pages(4);
    act_as_exporter();
    make_hole(memory + PAGE);
    HOLDS(mprotect(memory + 2 * PAGE, PAGE, PROT_READ) == 0);
    expect_none(RSMERR_BAD_ADDR, NULL, PAGE);
    expect_none(RSMERR_BAD_LENGTH, memory, 0);
    expect_none(RSMERR_BAD_MEM_ALIGNMENT, memory + 1, PAGE);
    expect_none(RSMERR_BAD_ADDR, memory + PAGE, PAGE);
    expect_none(RSMERR_PERM_DENIED, memory + 2 * PAGE, PAGE);
}

CONFORMANCE(E, 10, "create over a range that is not mapped, or not wholly")
{
    uint8_t *memory = pages(3);
    act_as_exporter();
    make_hole(memory + PAGE);
    expect_none(RSMERR_BAD_ADDR, memory + PAGE, PAGE);
    expect_none(RSMERR_BAD_ADDR, memory, 3 * PAGE);
    expect_none(RSMERR_BAD_ADDR, memory, 2 * PAGE);
}

CONFORMANCE(E, 11, "create over memory that may not be written")
{
    uint8_t *memory = pages(3);
    act_as_exporter();
    HOLDS(mprotect(memory + PAGE, PAGE, PROT_READ) == 0);
    expect_none(RSMERR_PERM_DENIED, memory + PAGE, PAGE);
    expect_none(RSMERR_PERM_DENIED, memory, 3 * PAGE);
}

CONFORMANCE(E, 12, "create over a shared file mapping")
{
    act_as_exporter();
    expect_none(RSMERR_BAD_ADDR, map_file(2, MAP_SHARED), 2 * PAGE);
}

CONFORMANCE(E, 13, "create over a private file mapping")
{
    struct actor *importer = importer_start();
    act_as_exporter();
    expect_exportable(importer, map_file(2, MAP_PRIVATE), 2);
}

CONFORMANCE(E, 14, "create over memory of the heap")
{
    void *memory = NULL;
    struct actor *importer = importer_start();
    act_as_exporter();
    HOLDS(posix_memalign(&memory, PAGE, 3 * PAGE) == 0);
    expect_exportable(importer, memory, 3);
    free(memory);
}

CONFORMANCE(E, 15, "create over anonymous memory, private or shared")
{
    struct actor *importer = importer_start();
    act_as_exporter();
    expect_exportable(importer, pages(2), 2);
    int flags = MAP_SHARED | MAP_ANONYMOUS;
    void *shared = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, flags, -1, 0);
    HOLDS(shared != MAP_FAILED);
    expect_exportable(importer, shared, 2);
}

CONFORMANCE(E, 16, "create over a System V segment")
{
    struct actor *importer = importer_start();
    act_as_exporter();
    int id = shmget(IPC_PRIVATE, 2 * PAGE, IPC_CREAT | 0600);
    HOLDS(id >= 0);
    void *memory = shmat(id, NULL, 0);
    shmctl(id, IPC_RMID, NULL);
    HOLDS(memory != (void *)-1);
    expect_exportable(importer, memory, 2);
}

CONFORMANCE(E, 17, "two segments over the same or overlapping memory")
{
    struct actor *importer = importer_start();
    uint8_t *memory = pages(4);
    act_as_exporter();
    published(memory, 3);
    publish(created(memory, 3 * PAGE, 0), SEGMENT_ID + 1);
    publish(created(memory + PAGE, 3 * PAGE, 0), SEGMENT_ID + 2);
    for (int i = 0; i < 3; i++)
        TELL_OK(importer, ATTACH, .slot = i, .id = SEGMENT_ID + (uint32_t)i, .pages = 3);
    TELL_OK(importer, PUT, .slot = 0, .offset = (int64_t)PAGE, .value = 11);
    HOLDS(load64(memory + PAGE) == 11);
    HOLDS(ASK(importer, GET, .slot = 1, .offset = (int64_t)PAGE).value == 11);
    HOLDS(ASK(importer, GET, .slot = 2, .offset = 0).value == 11);
    TELL_OK(importer, PUT, .slot = 2, .offset = 8, .value = 12);
    HOLDS(ASK(importer, GET, .slot = 0, .offset = (int64_t)PAGE + 8).value == 12);
    HOLDS(ASK(importer, GET, .slot = 1, .offset = (int64_t)PAGE + 8).value == 12);
}

CONFORMANCE(E, 18, "unknown flags do not matter")
{
    act_as_exporter();
    OK(rsm_memseg_export_destroy(created(pages(1), PAGE, 0xfffffff0)));
    OK(rsm_memseg_export_destroy(created(pages(1), PAGE, RSM_CREATE_SEG_DONTWAIT)));
}

CONFORMANCE(E, 19, "a controller's limit on the size; loopback has none")
{
    rsmapi_controller_attr_t attr;
    rsm_memseg_export_handle_t segment;
    act_as_exporter();
    OK(rsm_get_controller_attr(controller(), &attr));
    size_t limit = attr.attr_max_export_segment_size;
    size_t beyond = (limit / PAGE + 1) * PAGE;
    bool limited = limit != 0 && beyond > limit;
    uint8_t *memory = pages(2);
    make_hole(memory + PAGE); /* what lies behind it may be anything, and is not looked at */
    if (limited)              /* the memory is not there: loopback looks no further than that */
        EXPECT(RSMERR_BAD_ADDR, rsm_memseg_export_create(loopback(), &segment, memory, beyond, 0));
    APPLIES_IF(!on_loopback(), "loopback has no limit");
    APPLIES_IF(limited, "the controller reports no limit");
    expect_none(RSMERR_BAD_LENGTH, memory, beyond);
}

CONFORMANCE(E, 20, "one page is enough")
{
    struct actor *importer = importer_start();
    act_as_exporter();
    expect_exportable(importer, pages(1), 1);
}

CONFORMANCE(E, 21, "destroy of no segment")
{
    act_as_exporter();
    EXPECT(RSMERR_BAD_SEG_HNDL, rsm_memseg_export_destroy(NULL));
}

CONFORMANCE(E, 22, "destroy of a segment that was never published")
{
    act_as_exporter();
    OK(rsm_memseg_export_destroy(created(pages(1), PAGE, 0)));
}

CONFORMANCE(E, 23, "destroy of a published segment aborts its importers and frees the id")
{
    struct actor *importer = importer_start();
    act_as_exporter();
    rsm_memseg_export_handle_t segment = published(pages(2), 2);
    TELL_OK(importer, ATTACH, .pages = 2);
    OK(rsm_memseg_export_destroy(segment));
    TELL_GET(RSMERR_CONN_ABORTED, importer, AWAIT_ABORT);
    TELL_GET(RSMERR_SEG_NOT_PUBLISHED, importer, CONNECT, .slot = 1);
    published(pages(1), 1);
    TELL_OK(importer, CONNECT, .slot = 1);
}

CONFORMANCE(E, 24, "destroy while a pollfd reference exists")
{
    struct pollfd entry;
    act_as_exporter();
    rsm_memseg_export_handle_t segment = published(pages(1), 1);
    OK(rsm_memseg_get_pollfd(segment, &entry));
    OK(rsm_memseg_get_pollfd(segment, &entry));
    EXPECT(RSMERR_POLLFD_IN_USE, rsm_memseg_export_destroy(segment));
    OK(rsm_memseg_release_pollfd(segment));
    EXPECT(RSMERR_POLLFD_IN_USE, rsm_memseg_export_destroy(segment));
    OK(rsm_memseg_release_pollfd(segment));
    OK(rsm_memseg_export_destroy(segment));
}

CONFORMANCE(E, 25, "after destroy the memory is ordinary memory with its contents")
{
    void *memory = NULL;
    act_as_exporter();
    HOLDS(posix_memalign(&memory, PAGE, 2 * PAGE) == 0);
    rsm_memseg_export_handle_t segment = published(memory, 2);
    memset(memory, 0x3c, 2 * PAGE);
    OK(rsm_memseg_export_destroy(segment));
    for (size_t i = 0; i < 2 * PAGE; i++)
        HOLDS(((uint8_t *)memory)[i] == 0x3c);
    memset(memory, 0x3d, 2 * PAGE);
    segment = published(memory, 2);
    HOLDS(((uint8_t *)memory)[2 * PAGE - 1] == 0x3d);
    OK(rsm_memseg_export_destroy(segment));
    free(memory);
}

CONFORMANCE(E, 26, "stores made before destroy arrived, later ones do not")
{
    struct actor *importer = importer_start();
    uint8_t *memory = pages(2);
    act_as_exporter();
    rsm_memseg_export_handle_t segment = published(memory, 2);
    TELL_OK(importer, ATTACH, .pages = 2);
    TELL_OK(importer, OPEN);
    TELL_OK(importer, POKE, .offset = 8, .value = 21);
    TELL_OK(importer, CLOSE);
    OK(rsm_memseg_export_destroy(segment));
    HOLDS(load64(memory + 8) == 21);
    TELL_OK(importer, POKE, .offset = 8, .value = 22);
    TELL_OK(importer, POKE, .offset = 16, .value = 23);
    TELL_OK(importer, PEEK, .offset = 8);
    HOLDS(load64(memory + 8) == 21 && load64(memory + 16) == 0);
}
