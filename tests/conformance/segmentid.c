/* SPDX-License-Identifier: BSD-3-Clause */
/* S: segment ids, and the file that reserves ranges of them. */
#include "stage.h"

/* ---------------------------------------------------------------- ids */

static void expect_publish(int wanted, rsm_memseg_id_t id)
{
    rsm_memseg_id_t asked = id;
    rsm_memseg_export_handle_t segment = created(pages(1), PAGE, 0);
    about("id 0x%x", id);
    EXPECT(wanted, rsm_memseg_export_publish(segment, &asked, NULL, 0));
    HOLDS(asked == id);
    OK(rsm_memseg_export_destroy(segment));
}

CONFORMANCE(S, 01, "ids of drivers, transports, libraries and DLPI are reserved")
{
    static const rsm_memseg_id_t ids[] = {0x1, 0xFFFFF, 0x100000, 0x200000, 0x300000, 0x3FFFFF};
    act_as_exporter();
    for (size_t i = 0; i < sizeof ids / sizeof ids[0]; i++)
        expect_publish(RSMERR_RESERVED_SEGID, ids[i]);
}

CONFORMANCE(S, 02, "the other ids below the system's may be published")
{
    static const rsm_memseg_id_t ids[] = {0x400000, 0x5FFFFF, 0x600000, 0x7FFFFFFF};
    act_as_exporter();
    for (size_t i = 0; i < sizeof ids / sizeof ids[0]; i++)
        expect_publish(RSM_SUCCESS, ids[i]);
}

CONFORMANCE(S, 03, "ids that the system gives out may not be chosen")
{
    act_as_exporter();
    expect_publish(RSMERR_RESERVED_SEGID, 0x80000000);
    expect_publish(RSMERR_RESERVED_SEGID, 0xFFFFFFFF);
}

static rsm_memseg_id_t system_id(rsm_memseg_export_handle_t segment)
{
    rsm_memseg_id_t id = 0;
    OK(rsm_memseg_export_publish(segment, &id, NULL, 0));
    HOLDS(id >= 0x80000000);
    return id;
}

CONFORMANCE(S, 04, "system ids differ, and are not given out again at once")
{
    act_as_exporter();
    rsm_memseg_export_handle_t one = created(pages(1), PAGE, 0), two = created(pages(1), PAGE, 0);
    rsm_memseg_id_t first = system_id(one), second = system_id(two);
    HOLDS(first != second);
    OK(rsm_memseg_export_unpublish(two));
    rsm_memseg_id_t third = system_id(two);
    HOLDS(third != first && third != second);
}

CONFORMANCE(S, 05, "a system id can be connected to")
{
    struct actor *importer = importer_start();
    act_as_exporter();
    rsm_memseg_id_t id = system_id(created(pages(1), PAGE, 0));
    TELL_OK(importer, CONNECT, .id = id);
}

/* ---------------------------------------------------------------- ranges */

static char path[] = "/tmp/conformance-XXXXXX";

/* What a file with this text says about an application. */
static int range_of(const char *text, const char *application, rsm_memseg_id_t *base,
                    uint32_t *length)
{
    int fd = mkstemp(path);
    HOLDS(fd >= 0);
    bool written = dprintf(fd, "%s", text) >= 0;
    close(fd);
    setenv("RSM_SEGMENTID_FILE", path, 1);
    int error = rsm_get_segmentid_range(application, base, length);
    unlink(path);
    snprintf(path, sizeof path, "/tmp/conformance-XXXXXX");
    HOLDS(written);
    return error;
}

static void expect_range(const char *text, rsm_memseg_id_t wanted_base, uint32_t wanted_length)
{
    rsm_memseg_id_t base = 0;
    uint32_t length = 0;
    OK(range_of(text, "SUNWfoo", &base, &length));
    HOLDS(base == wanted_base && length == wanted_length);
}

static void expect_no_range(int wanted, const char *text)
{
    rsm_memseg_id_t base = 1234;
    uint32_t length = 5678;
    EXPECT(wanted, range_of(text, "SUNWfoo", &base, &length));
    HOLDS(base == 1234 && length == 5678);
}

static void expect_null_refused(void)
{
    rsm_memseg_id_t base;
    uint32_t length;
    EXPECT(RSMERR_BAD_ADDR, rsm_get_segmentid_range(NULL, &base, &length));
    EXPECT(RSMERR_BAD_ADDR, rsm_get_segmentid_range("SUNWfoo", NULL, &length));
    EXPECT(RSMERR_BAD_ADDR, rsm_get_segmentid_range("SUNWfoo", &base, NULL));
}

CONFORMANCE(S, 06, "range: no argument may be NULL, with or without the file")
{
    setenv("RSM_SEGMENTID_FILE", "/nonexistent/rsm.segmentid", 1);
    expect_null_refused();
    setenv("RSM_SEGMENTID_FILE", "/dev/null", 1);
    expect_null_refused();
}

CONFORMANCE(S, 07, "range: no file")
{
    rsm_memseg_id_t base;
    uint32_t length;
    setenv("RSM_SEGMENTID_FILE", "/nonexistent/rsm.segmentid", 1);
    EXPECT(RSMERR_BAD_CONF, rsm_get_segmentid_range("SUNWfoo", &base, &length));
}

CONFORMANCE(S, 08, "range: an ordinary line")
{
    expect_range("reserved SUNWfoo 0x600000 1000\n", 0x600000, 1000);
}

CONFORMANCE(S, 09, "range: the base is hexadecimal with and without 0x")
{
    expect_range("reserved SUNWfoo 600000 1000\n", 0x600000, 1000);
}

CONFORMANCE(S, 10, "range: fields are separated by any blanks")
{
    expect_range("reserved\tSUNWfoo\t0x600000\t1000\n", 0x600000, 1000);
    expect_range(" \t reserved   SUNWfoo \t 0x600000  1000 # mine\n", 0x600000, 1000);
}

CONFORMANCE(S, 11, "range: the case of letters does not matter")
{
    expect_range("RESERVED sunwFOO 0x600000 1000\n", 0x600000, 1000);
}

CONFORMANCE(S, 12, "range: an application that the file does not name")
{
    expect_no_range(RSMERR_BAD_APPID, "reserved SUNWbar 0x600000 1000\n");
    expect_no_range(RSMERR_BAD_APPID, "");
}

CONFORMANCE(S, 13, "range: another keyword in the application's line")
{
    expect_no_range(RSMERR_BAD_CONF, "foo SUNWfoo 0x600000 1000\n");
}

CONFORMANCE(S, 14, "range: a line of three fields matters before the match only")
{
    expect_no_range(RSMERR_BAD_CONF, "reserved SUNWbar 0x1\nreserved SUNWfoo 0x600000 1000\n");
    expect_range("reserved SUNWfoo 0x600000 1000\nreserved SUNWbar 0x1\n", 0x600000, 1000);
}

CONFORMANCE(S, 15, "range: so does an empty line")
{
    expect_no_range(RSMERR_BAD_CONF, "\nreserved SUNWfoo 0x600000 1000\n");
    expect_no_range(RSMERR_BAD_CONF, "  \t\nreserved SUNWfoo 0x600000 1000\n");
    expect_range("reserved SUNWfoo 0x600000 1000\n\n", 0x600000, 1000);
}

CONFORMANCE(S, 16, "range: comments are skipped, indented ones too")
{
    expect_range("# reserved\n   # SUNWfoo\n\t#\nreserved SUNWfoo 0x600000 1000\n", 0x600000, 1000);
}

CONFORMANCE(S, 17, "range: the first of two lines counts")
{
    expect_range("reserved SUNWfoo 0x600000 1000\nreserved SUNWfoo 0x700000 7\n", 0x600000, 1000);
}

CONFORMANCE(S, 18, "range: the last line need not end")
{
    expect_range("reserved SUNWbar 0x700000 7\nreserved SUNWfoo 0x600000 1000", 0x600000, 1000);
}

CONFORMANCE(S, 19, "range: no controller, no node and no daemon are needed")
{
    setenv("RSM_RUNTIME_DIR", "/nonexistent", 1);
    expect_range("reserved SUNWfoo 0x600000 1000\n", 0x600000, 1000);
}
