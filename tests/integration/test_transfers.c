/* SPDX-License-Identifier: BSD-3-Clause */
/* put and get of every width, blocks and scatter-gather, from node 2 into memory of node 1. */
#include "party.h"

enum { LENGTH = 4 * PARTY_PAGE, ELEMENTS = 33 };

/* An exporter on node 1, an importer on node 2 connected in slot 0, not mapped. */
static struct actor *exporter, *importer;

static void begin(struct world *world)
{
    exporter = actor_start(world, 1);
    importer = actor_start(world, 2);
    TELL_OK(exporter, offer, .length = LENGTH);
    TELL_OK(exporter, fill, .value = 1);
    TELL_OK(importer, connect, .node = 1, .length = LENGTH);
    TELL_OK(importer, init_barrier, .flags = RSM_BARRIER_NODE);
}

/* Compare bytes of the exporter's memory, given from the test. */
struct glimpse {
    size_t offset, length;
    uint8_t bytes[512];
};

static int look(void *bytes)
{
    struct glimpse *glimpse = bytes;
    memcpy(glimpse->bytes, party_export(0)->memory + glimpse->offset, glimpse->length);
    return 0;
}

static struct glimpse glimpse_of(size_t offset, size_t length)
{
    struct glimpse glimpse = {.offset = offset, .length = length};
    assert_true(length <= sizeof glimpse.bytes);
    assert_int_equal(actor_run(exporter, look, &glimpse, sizeof glimpse), 0);
    return glimpse;
}

/* ---------------------------------------------------------------- elements */

#define WIDTH_ROUND(bits, at)                                                                      \
    do {                                                                                           \
        rsm_memseg_import_handle_t h = party_import(0)->handle;                                    \
        uint##bits##_t out[ELEMENTS], in[ELEMENTS + 1] = {0};                                      \
        for (unsigned i = 0; i < ELEMENTS; i++)                                                    \
            out[i] = (uint##bits##_t)(0x0102030405060708u * (i + 1));                              \
        NEED(rsm_memseg_import_put##bits(h, (at), out, ELEMENTS) == RSM_SUCCESS);                  \
        NEED(rsm_memseg_import_get##bits(h, (at), in, ELEMENTS) == RSM_SUCCESS);                   \
        NEED(memcmp(in, out, sizeof out) == 0 && in[ELEMENTS] == 0);                               \
        off_t last = LENGTH - bits / 8;                                                            \
        NEED(rsm_memseg_import_put##bits(h, last, out, 1) == RSM_SUCCESS);                         \
        NEED(rsm_memseg_import_put##bits(h, last, out, 2) == RSMERR_BAD_OFFSET);                   \
        NEED(rsm_memseg_import_get##bits(h, -(off_t)(bits / 8), in, 1) == RSMERR_BAD_OFFSET);      \
        NEED(rsm_memseg_import_get##bits(h, 0, in, ~0ul) == RSMERR_BAD_OFFSET);                    \
        NEED(rsm_memseg_import_put##bits(h, (at), out, 0) == RSM_SUCCESS);                         \
    } while (0)

static int every_width(void *unused)
{
    WIDTH_ROUND(8, 1003);
    WIDTH_ROUND(16, 2002);
    WIDTH_ROUND(32, 4004);
    WIDTH_ROUND(64, 8008);
    uint16_t odd = 1;
    rsm_memseg_import_handle_t h = party_import(0)->handle;
    NEED(rsm_memseg_import_put16(h, 2003, &odd, 1) == RSMERR_BAD_MEM_ALIGNMENT);
    return 0;
}

static void check_widths(void)
{
    struct glimpse g = glimpse_of(1003, ELEMENTS);
    for (unsigned i = 0; i < ELEMENTS; i++)
        assert_int_equal(g.bytes[i], (uint8_t)(8 * (i + 1)));
    g = glimpse_of(8008, 8 * ELEMENTS);
    for (unsigned i = 0; i < ELEMENTS; i++) {
        uint64_t value;
        memcpy(&value, g.bytes + 8 * (size_t)i, sizeof value);
        assert_int_equal(value, 0x0102030405060708u * (i + 1));
    }
    g = glimpse_of(4004, 4 * ELEMENTS);
    uint32_t last;
    memcpy(&last, g.bytes + 4 * (ELEMENTS - 1), sizeof last);
    assert_int_equal(last, (uint32_t)(0x0102030405060708u * ELEMENTS));
}

WORLD_TEST(test_elements_implicit)
{
    begin(world);
    assert_int_equal(actor_run(importer, every_width, NULL, 0), 0);
    check_widths();
    TELL_OK(importer, disconnect); /* the mapping was put's own */
}

WORLD_TEST(test_elements_explicit)
{
    begin(world);
    TELL_OK(importer, map);
    TELL_OK(importer, set_mode, .flags = RSM_BARRIER_MODE_EXPLICIT);
    TELL_OK(importer, open_barrier);
    assert_int_equal(actor_run(importer, every_width, NULL, 0), 0);
    TELL_OK(importer, close_barrier);
    check_widths();
    TELL_OK(importer, detach);
}

/* ---------------------------------------------------------------- blocks */

static int blocks(void *unused)
{
    static uint8_t out[LENGTH], in[LENGTH];
    rsm_memseg_import_handle_t h = party_import(0)->handle;
    for (size_t i = 0; i < LENGTH; i++)
        out[i] = (uint8_t)(i * 7 + 1);
    NEED(rsm_memseg_import_put(h, 0, out, LENGTH) == RSM_SUCCESS);
    NEED(rsm_memseg_import_get(h, 0, in, LENGTH) == RSM_SUCCESS);
    NEED(memcmp(in, out, LENGTH) == 0);
    /* Odd places and lengths change exactly their bytes. */
    uint8_t mark[] = {0xa1, 0xa2, 0xa3, 0xa4, 0xa5};
    NEED(rsm_memseg_import_put(h, PARTY_PAGE - 2, mark, sizeof mark) == RSM_SUCCESS);
    NEED(rsm_memseg_import_get(h, PARTY_PAGE - 3, in, sizeof mark + 2) == RSM_SUCCESS);
    NEED(in[0] == out[PARTY_PAGE - 3] && in[6] == out[PARTY_PAGE + 3]);
    NEED(memcmp(in + 1, mark, sizeof mark) == 0);
    NEED(rsm_memseg_import_put(h, LENGTH, out, 0) == RSM_SUCCESS);
    NEED(rsm_memseg_import_put(h, LENGTH - 1, out, 2) == RSMERR_BAD_OFFSET);
    NEED(rsm_memseg_import_put(h, 1, out, LENGTH) == RSMERR_BAD_OFFSET);
    return 0;
}

WORLD_TEST(test_blocks)
{
    begin(world);
    assert_int_equal(actor_run(importer, blocks, NULL, 0), 0);
    struct glimpse g = glimpse_of(PARTY_PAGE - 3, 7);
    static const uint8_t wanted[] = {
        (uint8_t)((PARTY_PAGE - 3) * 7 + 1), 0xa1, 0xa2, 0xa3, 0xa4, 0xa5,
        (uint8_t)((PARTY_PAGE + 3) * 7 + 1)};
    assert_memory_equal(g.bytes, wanted, sizeof wanted);
    TELL_OK(importer, disconnect);
}

/* With a part mapped, offsets still count from the start of the segment. */
static int inside_window(void *unused)
{
    rsm_memseg_import_handle_t h = party_import(0)->handle;
    uint64_t value = 41, got = 0;
    NEED(rsm_memseg_import_put64(h, PARTY_PAGE, &value, 1) == RSM_SUCCESS);
    NEED(rsm_memseg_import_get64(h, PARTY_PAGE, &got, 1) == RSM_SUCCESS && got == 41);
    NEED(rsm_memseg_import_put64(h, PARTY_PAGE - 8, &value, 1) == RSMERR_BAD_OFFSET);
    NEED(rsm_memseg_import_put64(h, 2 * PARTY_PAGE, &value, 1) == RSMERR_BAD_OFFSET);
    return 0;
}

WORLD_TEST(test_window)
{
    begin(world);
    TELL_OK(importer, map, .offset = PARTY_PAGE, .length = PARTY_PAGE);
    assert_int_equal(actor_run(importer, inside_window, NULL, 0), 0);
    assert_int_equal(ASK(exporter, load, .offset = PARTY_PAGE).value, 41);
    TELL_OK(importer, detach);
}

/* ---------------------------------------------------------------- rights */

static int only_read(void *unused)
{
    uint64_t value = 5;
    rsm_memseg_import_handle_t h = party_import(1)->handle;
    NEED(rsm_memseg_import_get64(h, 0, &value, 1) == RSM_SUCCESS);
    NEED(rsm_memseg_import_put64(h, 0, &value, 1) == RSMERR_PERM_DENIED);
    NEED(rsm_memseg_import_put64(h, LENGTH, &value, 1) == RSMERR_PERM_DENIED);
    return 0;
}

static int only_write(void *unused)
{
    uint64_t value = 5;
    rsm_memseg_import_handle_t h = party_import(2)->handle;
    NEED(rsm_memseg_import_put64(h, 8, &value, 1) == RSM_SUCCESS);
    NEED(rsm_memseg_import_get64(h, 8, &value, 1) == RSMERR_PERM_DENIED);
    return 0;
}

WORLD_TEST(test_rights)
{
    begin(world);
    TELL_OK(importer, connect, .slot = 1, .node = 1, .permission = RSM_PERM_READ);
    TELL_OK(importer, connect, .slot = 2, .node = 1, .permission = RSM_PERM_WRITE);
    TELL_OK(importer, init_barrier, .slot = 1);
    TELL_OK(importer, init_barrier, .slot = 2);
    TELL_GET(importer, map, RSMERR_BAD_PERMS, .slot = 1, .length = LENGTH);
    TELL_GET(importer, map, RSMERR_BAD_PERMS, .slot = 2, .length = LENGTH);
    assert_int_equal(actor_run(importer, only_read, NULL, 0), 0);
    assert_int_equal(actor_run(importer, only_write, NULL, 0), 0);
    assert_int_equal(ASK(exporter, load, .offset = 8).value, 5);
}

/* ---------------------------------------------------------------- scatter-gather */

struct gathering {
    uint8_t *pages; /* behind the handle */
    rsm_localmemory_handle_t handle;
    uint8_t plain[256];
    rsm_iovec_t vector[3];
    rsm_scat_gath_t list;
};

static int prepare(struct gathering *g)
{
    memset(g, 0, sizeof *g);
    g->pages = memory_get(MEMORY_PRIVATE, 2 * PARTY_PAGE);
    NEED(g->pages != NULL);
    NEED(rsm_create_localmemory_handle(party_controller(NULL), &g->handle, (caddr_t)g->pages,
                                       2 * PARTY_PAGE) == RSM_SUCCESS);
    for (unsigned i = 0; i < sizeof g->plain; i++)
        g->plain[i] = (uint8_t)(i ^ 0x5a);
    memset(g->pages, 0xc3, 2 * PARTY_PAGE);
    g->vector[0] = (rsm_iovec_t){.io_type = RSM_VA_TYPE,
                                 .local.vaddr = (caddr_t)g->plain,
                                 .local_offset = 16,
                                 .remote_offset = 3,
                                 .transfer_length = 100};
    g->vector[1] = (rsm_iovec_t){.io_type = RSM_HANDLE_TYPE,
                                 .local.handle = g->handle,
                                 .local_offset = PARTY_PAGE - 5,
                                 .remote_offset = PARTY_PAGE - 7,
                                 .transfer_length = 50};
    g->vector[2] = (rsm_iovec_t){.io_type = RSM_VA_TYPE,
                                 .local.vaddr = (caddr_t)g->plain,
                                 .remote_offset = LENGTH - 16,
                                 .transfer_length = 16};
    g->list = (rsm_scat_gath_t){.io_request_count = 3,
                                .io_residual_count = 77,
                                .remote_handle = party_import(0)->handle,
                                .iovec = g->vector};
    return 0;
}

static int give_back(struct gathering *g)
{
    NEED(rsm_free_localmemory_handle(party_controller(NULL), g->handle) == RSM_SUCCESS);
    g->pages[0] = 1;
    return memory_put(MEMORY_PRIVATE, g->pages, 2 * PARTY_PAGE);
}

static int scatter_and_gather(void *bytes)
{
    struct gathering g;
    const struct order *order = bytes;
    NEED(prepare(&g) == 0);
    g.list.flags = order->flags;
    NEED(rsm_memseg_import_putv(&g.list) == RSM_SUCCESS);
    NEED(g.list.io_residual_count == 0 && g.list.flags == order->flags);
    memset(g.plain, 0, sizeof g.plain);
    memset(g.pages, 0, 2 * PARTY_PAGE);
    NEED(rsm_memseg_import_getv(&g.list) == RSM_SUCCESS);
    NEED(g.list.io_residual_count == 0);
    for (unsigned i = 0; i < sizeof g.plain; i++)
        NEED(g.plain[i] == (i < 116 ? (uint8_t)(i ^ 0x5a) : 0));
    for (unsigned i = 0; i < 2 * PARTY_PAGE; i++)
        NEED(g.pages[i] == (i >= PARTY_PAGE - 5 && i < PARTY_PAGE + 45 ? 0xc3 : 0));
    return give_back(&g);
}

/* The second of three entries reaches past the end: the first is done, the rest is not. */
static int fail_in_the_middle(void *unused)
{
    struct gathering g;
    NEED(prepare(&g) == 0);
    memset(g.plain, 0xee, sizeof g.plain);
    g.vector[1].remote_offset = LENGTH - 49;
    g.list.flags = RSM_IMPLICIT_SIGPOST;
    NEED(rsm_memseg_import_putv(&g.list) == RSMERR_BAD_OFFSET);
    NEED(g.list.io_residual_count == 2);
    g.list.io_request_count = 17;
    NEED(rsm_memseg_import_putv(&g.list) == RSMERR_BAD_SGIO);
    return give_back(&g);
}

WORLD_TEST(test_scatter_gather)
{
    begin(world);
    struct order order = {.flags = RSM_IMPLICIT_SIGPOST};
    order = party_ask(importer, scatter_and_gather, order);
    assert_int_equal(order.result, 0);
    struct glimpse g = glimpse_of(3, 100);
    for (unsigned i = 0; i < 100; i++)
        assert_int_equal(g.bytes[i], (uint8_t)((i + 16) ^ 0x5a));
    g = glimpse_of(PARTY_PAGE - 7, 50);
    for (unsigned i = 0; i < 50; i++)
        assert_int_equal(g.bytes[i], 0xc3);
    /* One event for the whole put; the get posts its own. */
    TELL_OK(exporter, wait_export, .timeout = 1000);
    TELL_OK(exporter, wait_export, .timeout = 1000);
    TELL_GET(exporter, wait_export, RSMERR_TIMEOUT);

    struct glimpse end = glimpse_of(LENGTH - 49, 49);
    assert_int_equal(actor_run(importer, fail_in_the_middle, NULL, 0), 0);
    assert_int_equal(glimpse_of(3, 1).bytes[0], 0xee);
    assert_memory_equal(glimpse_of(LENGTH - 49, 49).bytes, end.bytes, 49);
    TELL_GET(exporter, wait_export, RSMERR_TIMEOUT);

    TELL_OK(importer, set_mode, .flags = RSM_BARRIER_MODE_EXPLICIT);
    TELL_OK(importer, open_barrier);
    assert_int_equal(party_ask(importer, scatter_and_gather, (struct order){0}).result, 0);
    TELL_OK(importer, close_barrier);
    TELL_OK(importer, disconnect);
}

/* A local-memory handle over memory that is exported too. */
static int local_handle_over_export(void *bytes)
{
    const struct order *order = bytes;
    struct party_export *own = party_export(1);
    rsm_localmemory_handle_t handle;
    NEED(rsm_create_localmemory_handle(party_controller(NULL), &handle, (caddr_t)own->memory,
                                       own->length) == RSM_SUCCESS);
    rsm_iovec_t entry = {.io_type = RSM_HANDLE_TYPE,
                         .local.handle = handle,
                         .remote_offset = 0,
                         .transfer_length = own->length};
    rsm_scat_gath_t list = {
        .io_request_count = 1, .remote_handle = party_import(0)->handle, .iovec = &entry};
    int error = order->flags ? rsm_memseg_import_putv(&list) : rsm_memseg_import_getv(&list);
    NEED(rsm_free_localmemory_handle(party_controller(NULL), handle) == RSM_SUCCESS);
    return error;
}

WORLD_TEST(test_from_export_to_export)
{
    begin(world);
    TELL_OK(importer, offer, .slot = 1, .length = LENGTH, .id = PARTY_ID + 1);
    TELL_OK(importer, fill, .slot = 1, .value = 21);
    struct order order = {.flags = 1};
    assert_int_equal(party_ask(importer, local_handle_over_export, order).result, RSM_SUCCESS);
    assert_int_equal(TELL(exporter, check, .value = 21), 0);
    TELL_OK(exporter, fill, .value = 22);
    order.flags = 0;
    assert_int_equal(party_ask(importer, local_handle_over_export, order).result, RSM_SUCCESS);
    assert_int_equal(TELL(importer, check, .slot = 1, .value = 22), 0);
    TELL_OK(importer, withdraw, .slot = 1);
}
