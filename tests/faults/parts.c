/* SPDX-License-Identifier: BSD-3-Clause */
/* Exports, and what does not need another node. */
#include "parts.h"

#include "memory.h"
#include "steps.h"

const struct part parts[] = {
    {"controller", part_controller, false},
    {"export", part_export, false},
    {"overlap", part_overlap, false},
    {"import", part_import, true},
    {"transfer", part_transfer, true},
    {"taken", part_taken, true},
    {"events", part_events, true},
    {"fork", part_fork, false},
    {NULL, NULL, false},
};

static char sci0[] = "sci0";

static rsmapi_controller_handle_t open_controller(void)
{
    rsmapi_controller_handle_t controller = NULL;
    TRY(rsm_get_controller(sci0, &controller));
    return controller;
}

static void release_controller(rsmapi_controller_handle_t controller)
{
    TRY(rsm_release_controller(controller));
}

/* ---------------------------------------------------------------- controllers */

void part_controller(struct peer_orders *peer)
{
    rsmapi_controller_handle_t controller, again, loopback;
    rsmapi_controller_attr_t attributes;
    rsm_topology_t *topology;
    rsm_memseg_id_t base = 0;
    uint32_t length = 0;
    TRY(rsm_get_controller(sci0, &controller));
    TRY(rsm_get_controller(sci0, &again));
    EXPECT(controller == again);
    TRY(rsm_get_controller(NULL, &loopback));
    TRY(rsm_get_controller_attr(controller, &attributes));
    EXPECT(attributes.attr_page_size == PARTS_PAGE);
    TRY(rsm_get_interconnect_topology(&topology));
    EXPECT(topology->topology_hdr.local_nodeid == PARTS_OWN_NODE &&
           topology->topology_hdr.local_cntlr_count == 1);
    rsm_free_interconnect_topology(topology);
    TRY(rsm_get_segmentid_range("faults", &base, &length));
    EXPECT(base == 0x400000 && length == 16);
    TRY_FOR(RSMERR_CTLR_NOT_PRESENT, rsm_get_controller((char[]){"none7"}, &again));
    release_controller(loopback);
    release_controller(controller);
    release_controller(controller);
}

/* ---------------------------------------------------------------- exports */

/* See by way of an import of our own what others would see of the memory, and leave it mapped. */
static rsm_memseg_import_handle_t look_at(rsmapi_controller_handle_t controller, rsm_memseg_id_t id,
                                          const void *memory, size_t length)
{
    rsm_memseg_import_handle_t import;
    rsmapi_barrier_t barrier;
    void *address = NULL;
    uint8_t seen[PARTS_PAGE];
    TRY(rsm_memseg_import_connect(controller, PARTS_OWN_NODE, id, RSM_PERM_RDWR, &import));
    TRY(rsm_memseg_import_init_barrier(import, RSM_BAR_DEFAULT, &barrier));
    TRY(rsm_memseg_import_get(import, (off_t)(length - sizeof seen), seen, sizeof seen));
    EXPECT(memcmp(seen, (const uint8_t *)memory + length - sizeof seen, sizeof seen) == 0);
    TRY(rsm_memseg_import_map(import, &address, RSM_MAP_NONE, RSM_PERM_RDWR, 0, length));
    EXPECT(memcmp(address, memory, length) == 0);
    return import;
}

static void drop_import(rsm_memseg_import_handle_t import)
{
    TRY(rsm_memseg_import_unmap(import));
    TRY(rsm_memseg_import_disconnect(import));
}

/* Memory to export and to give up again. Where nothing could be taken off an extent any more the
 * next such call does it. */
static void have_leftovers_taken(rsmapi_controller_handle_t controller)
{
    rsm_memseg_export_handle_t segment;
    void *memory = memory_get(MEMORY_PRIVATE, PARTS_PAGE);
    EXPECT(memory != NULL);
    TRY(rsm_memseg_export_create(controller, &segment, memory, PARTS_PAGE, 0));
    TRY(rsm_memseg_export_destroy(segment));
    EXPECT(memory_put(MEMORY_PRIVATE, memory, PARTS_PAGE) == 0);
}

void parts_take_leftovers(void)
{
    rsmapi_controller_handle_t controller;
    rsm_memseg_export_handle_t segment;
    void *memory = memory_get(MEMORY_PRIVATE, PARTS_PAGE);
    EXPECT(memory != NULL && rsm_get_controller(sci0, &controller) == RSM_SUCCESS);
    EXPECT(rsm_memseg_export_create(controller, &segment, memory, PARTS_PAGE, 0) == RSM_SUCCESS);
    EXPECT(rsm_memseg_export_destroy(segment) == RSM_SUCCESS);
    EXPECT(rsm_release_controller(controller) == RSM_SUCCESS);
    EXPECT(memory_put(MEMORY_PRIVATE, memory, PARTS_PAGE) == 0);
}

/* The life of one segment, whose importers are cut off in the midst of it. */
static void export_memory(rsmapi_controller_handle_t controller, enum memory_kind kind,
                          size_t length)
{
    rsm_memseg_export_handle_t segment;
    rsm_memseg_id_t id = 0x410000 + (rsm_memseg_id_t)kind;
    rsmapi_access_entry_t list[] = {{PARTS_OWN_NODE, 0666}, {PARTS_PEER_NODE, 0444}};
    void *memory = memory_get(kind, length);
    EXPECT(memory != NULL);
    steps_guard(memory, length, (unsigned)kind);
    TRY(rsm_memseg_export_create(controller, &segment, memory, length, 0));
    TRY(rsm_memseg_export_publish(segment, &id, list, 2));
    TRY(rsm_memseg_export_republish(segment, list, 1));
    rsm_memseg_import_handle_t import = look_at(controller, id, memory, length);
    TRY(rsm_memseg_export_unpublish(segment));
    TRY_FOR(RSMERR_SEG_NOT_PUBLISHED, rsm_memseg_export_unpublish(segment));
    TRY_FOR(RSMERR_CONN_ABORTED, rsm_memseg_import_put(import, 0, memory, 8));
    drop_import(import);
    TRY(rsm_memseg_export_publish(segment, &id, NULL, 0));
    drop_import(look_at(controller, id, memory, length));
    TRY(rsm_memseg_export_destroy(segment));
    have_leftovers_taken(controller);
    steps_unguard(memory);
    EXPECT(memory_put(kind, memory, length) == 0);
}

void part_export(struct peer_orders *peer)
{
    static const struct {
        enum memory_kind kind;
        size_t pages;
    } kinds[] = {
        {MEMORY_PRIVATE, 4}, {MEMORY_PRIVATE, 20}, {MEMORY_SHARED, 4}, {MEMORY_HEAP, 2},
        {MEMORY_SYSV, 20},   {MEMORY_FILE, 3},     {MEMORY_DATA, 2},   {MEMORY_STACK, 2},
    };
    rsmapi_controller_handle_t controller = open_controller();
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        export_memory(controller, kinds[i].kind, kinds[i].pages * PARTS_PAGE);
    release_controller(controller);
}

/* Segments that lie over each other, and one that goes to other memory. */
void part_overlap(struct peer_orders *peer)
{
    enum { LENGTH = 6 * PARTS_PAGE };
    rsm_memseg_export_handle_t lower, upper, moving;
    rsm_memseg_id_t lower_id = 0x420000, upper_id = 0, moving_id = 0x420001;
    uint8_t *memory = memory_get(MEMORY_PRIVATE, LENGTH);
    void *from = memory_get(MEMORY_PRIVATE, LENGTH);
    void *to = memory_get(MEMORY_SHARED, LENGTH);
    EXPECT(memory != NULL && from != NULL && to != NULL);
    steps_guard(memory, LENGTH, 1);
    steps_guard(from, LENGTH, 2);
    steps_guard(to, LENGTH, 3);
    rsmapi_controller_handle_t c = open_controller();
    TRY(rsm_memseg_export_create(c, &lower, memory, 4 * PARTS_PAGE, 0));
    TRY(rsm_memseg_export_create(c, &upper, memory + 2 * PARTS_PAGE, 4 * PARTS_PAGE, 0));
    TRY(rsm_memseg_export_publish(lower, &lower_id, NULL, 0));
    TRY(rsm_memseg_export_publish(upper, &upper_id, NULL, 0));
    rsm_memseg_import_handle_t import =
        look_at(c, upper_id, memory + 2 * PARTS_PAGE, 4 * PARTS_PAGE);
    TRY(rsm_memseg_export_unpublish(lower));
    TRY(rsm_memseg_export_destroy(lower));
    TRY(rsm_memseg_export_unpublish(upper));
    drop_import(import);
    TRY(rsm_memseg_export_destroy(upper));

    TRY(rsm_memseg_export_create(c, &moving, from, LENGTH, RSM_ALLOW_REBIND));
    TRY(rsm_memseg_export_publish(moving, &moving_id, NULL, 0));
    import = look_at(c, moving_id, from, LENGTH);
    TRY(rsm_memseg_export_rebind(moving, to, 0, LENGTH));
    drop_import(import);
    drop_import(look_at(c, moving_id, to, LENGTH));
    TRY(rsm_memseg_export_destroy(moving));
    have_leftovers_taken(c);
    release_controller(c);
    steps_unguard(memory);
    steps_unguard(from);
    steps_unguard(to);
    EXPECT(memory_put(MEMORY_PRIVATE, memory, LENGTH) == 0 &&
           memory_put(MEMORY_PRIVATE, from, LENGTH) == 0 &&
           memory_put(MEMORY_SHARED, to, LENGTH) == 0);
}

/* ---------------------------------------------------------------- a forked child */

static void be_child(rsm_memseg_export_handle_t inherited, const void *memory)
{
    enum { CHILD_STEPS = 200 };
    rsm_memseg_export_handle_t own;
    rsm_memseg_id_t id = 0x430001, other = 0x430002;
    void *own_memory = memory_get(MEMORY_PRIVATE, 2 * PARTS_PAGE);
    EXPECT(own_memory != NULL);
    steps_branch(CHILD_STEPS);
    steps_guard(own_memory, 2 * PARTS_PAGE, 5);
    TRY_FOR(RSMERR_NOT_CREATOR, rsm_memseg_export_publish(inherited, &other, NULL, 0));
    TRY(rsm_memseg_export_destroy(inherited));
    rsmapi_controller_handle_t controller = open_controller();
    TRY(rsm_memseg_export_create(controller, &own, own_memory, 2 * PARTS_PAGE, 0));
    TRY(rsm_memseg_export_publish(own, &id, NULL, 0));
    drop_import(look_at(controller, id, own_memory, 2 * PARTS_PAGE));
    TRY(rsm_memseg_export_destroy(own));
    release_controller(controller);
    _exit(0);
}

void part_fork(struct peer_orders *peer)
{
    rsm_memseg_export_handle_t segment, unpublished;
    rsm_memseg_id_t id = 0x430000;
    int status = 0;
    void *memory = memory_get(MEMORY_PRIVATE, 4 * PARTS_PAGE);
    EXPECT(memory != NULL);
    steps_guard(memory, 4 * PARTS_PAGE, 4);
    rsmapi_controller_handle_t controller = open_controller();
    TRY(rsm_memseg_export_create(controller, &segment, memory, 2 * PARTS_PAGE, 0));
    TRY(rsm_memseg_export_create(controller, &unpublished, (uint8_t *)memory + 2 * PARTS_PAGE,
                                 2 * PARTS_PAGE, 0));
    TRY(rsm_memseg_export_publish(segment, &id, NULL, 0));
    rsm_memseg_import_handle_t import = look_at(controller, id, memory, 2 * PARTS_PAGE);
    faults_arm_here(); /* what the library does at a fork cannot be refused, but may fail */
    pid_t child = fork();
    faults_disarm_here();
    EXPECT(child >= 0);
    if (child == 0)
        be_child(unpublished, memory);
    pid_t ended;
    do
        ended = waitpid(child, &status, 0);
    while (ended < 0 && errno == EINTR);
    EXPECT(ended == child);
    if (status != 0)
        _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1); /* it has said why */
    drop_import(import);
    TRY(rsm_memseg_export_destroy(unpublished));
    TRY(rsm_memseg_export_destroy(segment));
    have_leftovers_taken(controller);
    release_controller(controller);
    steps_unguard(memory);
    EXPECT(memory_put(MEMORY_PRIVATE, memory, 4 * PARTS_PAGE) == 0);
}
