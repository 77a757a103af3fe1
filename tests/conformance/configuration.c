/* SPDX-License-Identifier: BSD-3-Clause */
/* K: configuration. Over loopback, which every configuration has. */
#include "stage.h"

enum { ROUNDS_MAX = 64, LIMIT = 6 };

static int create(rsm_memseg_export_handle_t *segment, void *memory, size_t length)
{
    return rsm_memseg_export_create(loopback(), segment, memory, length, 0);
}

CONFORMANCE(K, 01, "max-exported-memory")
{
    rsm_memseg_export_handle_t first, second;
    size_t percent = (size_t)sysconf(_SC_PHYS_PAGES) / 100;
    size_t count = percent * 6 / 10; /* two of that are too much */
    APPLIES_IF(count * PAGE <= (size_t)1 << 30, "one percent of this machine's memory is too much");
    uint8_t *one = pages(count), *two = pages(count);
    serve_configured(options.exporter_node, "[limits]\nmax-exported-memory = 1\n");
    act_as_exporter();
    OK(create(&first, one, count * PAGE));
    EXPECT(RSMERR_INSUFFICIENT_MEM, create(&second, two, count * PAGE));
    HOLDS(second == NULL);
    OK(rsm_memseg_export_destroy(first));
    OK(create(&second, two, count * PAGE));
    EXPECT(RSMERR_INSUFFICIENT_MEM, create(&first, one, count * PAGE));
    OK(rsm_memseg_export_destroy(second));
}

/* Make segments until no more can be had; how many there were. */
static unsigned fill(rsm_memseg_export_handle_t *segments)
{
    unsigned count = 0;
    int error;
    while ((error = create(&segments[count], pages(1), PAGE)) == RSM_SUCCESS)
        HOLDS(++count < ROUNDS_MAX);
    EXPECT(RSMERR_INSUFFICIENT_RESOURCES, error);
    return count;
}

CONFORMANCE(K, 02, "max-segments counts exports and imports")
{
    rsm_memseg_export_handle_t segments[ROUNDS_MAX];
    rsm_memseg_import_handle_t handle;
    rsm_memseg_id_t id = SEGMENT_ID;
    char text[64];
    snprintf(text, sizeof text, "[limits]\nmax-segments = %d\n", LIMIT);
    serve_configured(options.exporter_node, text);
    act_as_exporter();
    unsigned count = fill(segments);
    HOLDS(count == LIMIT);
    OK(rsm_memseg_export_publish(segments[0], &id, NULL, 0));
    EXPECT(
        RSMERR_INSUFFICIENT_RESOURCES,
        rsm_memseg_import_connect(loopback(), options.exporter_node, id, RSM_PERM_RDWR, &handle));
    OK(rsm_memseg_export_destroy(segments[--count]));
    OK(rsm_memseg_import_connect(loopback(), options.exporter_node, id, RSM_PERM_RDWR, &handle));
    EXPECT(RSMERR_INSUFFICIENT_RESOURCES, create(&segments[count], pages(1), PAGE));
    OK(rsm_memseg_import_disconnect(handle));
    while (count > 0)
        OK(rsm_memseg_export_destroy(segments[--count]));
    count = fill(segments);
    HOLDS(count == LIMIT);
    while (count > 0)
        OK(rsm_memseg_export_destroy(segments[--count]));
}

CONFORMANCE(K, 03, "without any configuration loopback works")
{
    rsm_memseg_export_handle_t segment;
    rsm_memseg_import_handle_t handle;
    rsm_memseg_id_t id = 0;
    uint8_t *memory = pages(1);
    void *address = NULL;
    act_as_exporter();
    OK(create(&segment, memory, PAGE));
    OK(rsm_memseg_export_publish(segment, &id, NULL, 0));
    OK(rsm_memseg_import_connect(loopback(), options.exporter_node, id, RSM_PERM_RDWR, &handle));
    OK(import_map(handle, &address, RSM_MAP_NONE, RSM_PERM_RDWR, 0, PAGE));
    store64(address, 5);
    await_arrival(handle);
    HOLDS(load64(memory) == 5);
    OK(rsm_memseg_import_unmap(handle));
    OK(rsm_memseg_import_disconnect(handle));
    OK(rsm_memseg_export_destroy(segment));
}
