/* SPDX-License-Identifier: BSD-3-Clause */
/* Jobs of a transport that take as long as the test likes: others are served, and what changes
 * meanwhile is seen when they are done. */
#include "outside.h"
#include "peer.h"

enum { CONNECTIONS = 3 };

static struct daemon daemon_1;
static const struct rsm_generation_table *table;
static char fifo_path[80], go_path[sizeof fifo_path + sizeof NEWS_JOBS_GO_ON];
static int fifo, go, watcher, exporter, importer;
static uint32_t export_id, extent;
static uint64_t page;
static struct rsm_event_counter *counter; /* of the export */
static struct rsm_import_connect_reply connection[CONNECTIONS];

static int open_fifo(const char *path)
{
    assert_int_equal(mkfifo(path, 0600), 0);
    int opened = open(path, O_RDWR | O_CLOEXEC);
    assert_true(opened >= 0);
    return opened;
}

static struct rsm_event_counter *open_counter(void)
{
    struct rsm_packet_fds fds;
    struct rsm_msg msg = {.type = RSM_MSG_EVENT_OPEN,
                          .u.event_open = {.end = RSM_EVENT_EXPORT, .id = export_id}};
    assert_int_equal(ask_with(exporter, &msg, NULL, &fds), RSM_ST_OK);
    struct rsm_event_counter *mapped =
        mmap(NULL, sizeof *mapped, PROT_READ | PROT_WRITE, MAP_SHARED, fds.fds[0], 0);
    assert_ptr_not_equal(mapped, MAP_FAILED);
    rsm_packet_fds_close(&fds);
    return mapped;
}

static int set_up(void **state)
{
    char configuration[256], directory[64];
    page = (uint64_t)sysconf(_SC_PAGESIZE);
    assert_int_equal(setenv("RSM_MODULE_DIR", TEST_MODULES, 1), 0);
    directory_make(directory);
    snprintf(fifo_path, sizeof fifo_path, "%s.fifo", directory);
    snprintf(go_path, sizeof go_path, "%s" NEWS_JOBS_GO_ON, fifo_path);
    fifo = open_fifo(fifo_path);
    go = open_fifo(go_path);
    snprintf(configuration, sizeof configuration,
             "[controller sci0]\ntransport = news\ndevice = %s\n", fifo_path);
    daemon_start_in(&daemon_1, directory, 1, configuration, NULL);
    table = gentable_map(&daemon_1);
    watcher = peer_hello(&daemon_1);
    exporter = peer_hello(&daemon_1);
    importer = peer_hello_as(&daemon_1, 2);
    extent = make_extent(exporter, page);
    export_id = make_export(exporter, page, 0600);
    assert_int_equal(publish(exporter, export_id, 0x700, extent, page, NULL, 0), RSM_ST_OK);
    counter = open_counter();
    for (int i = 0; i < CONNECTIONS; i++)
        assert_int_equal(connect_on(importer, "sci0", 1, 0x700, 6, &connection[i]), RSM_ST_OK);
    return 0;
}

static int tear_down(void **state)
{
    munmap(counter, sizeof *counter);
    close(watcher);
    close(exporter);
    close(importer);
    gentable_unmap(table);
    daemon_stop(&daemon_1);
    close(fifo);
    close(go);
    assert_int_equal(unlink(fifo_path), 0);
    assert_int_equal(unlink(go_path), 0);
    return 0;
}

static void begin_job(unsigned offer)
{
    struct news_order order = {.kind = NEWS_OF_JOB, .offer = offer};
    assert_int_equal(write(fifo, &order, sizeof order), sizeof order);
}

static void end_jobs(unsigned count)
{
    static const char bytes[CONNECTIONS];
    assert_int_equal(write(go, bytes, count), count);
}

static void pause_for_a_moment(int *waited)
{
    struct timespec pause = {.tv_nsec = 1000000};
    assert_in_range(*waited, 0, PEER_WAIT_MS);
    (*waited)++;
    nanosleep(&pause, NULL);
}

static void await_bytes(uint64_t bytes)
{
    int waited = 0;
    while (inspect_exports(watcher).exported_bytes != bytes)
        pause_for_a_moment(&waited);
}

static void await_signals(uint32_t wanted)
{
    int waited = 0;
    while (atomic_load(&counter->pending) != wanted)
        pause_for_a_moment(&waited);
}

/* A signal that comes by the same way as the orders before it: the transport has had those. */
static void await_orders(void)
{
    struct news_order order = {.offer = CONNECTIONS - 1, .count = 1};
    uint32_t before = atomic_load(&counter->pending);
    assert_int_equal(write(fifo, &order, sizeof order), sizeof order);
    await_signals(before + 1);
}

/* ------------------------------------------------------------------ nobody waits */

#define JOB_TEST(name) TEST_BETWEEN(name, set_up, tear_down)

JOB_TEST(a_job_delays_nobody)
{
    struct rsm_import_connect_reply another;
    begin_job(0);
    await_orders();
    /* Old and new clients, and the fabric. */
    int other = peer_hello(&daemon_1);
    publish_page(other, 0x701, 0600);
    assert_int_equal(connect_on(importer, "sci0", 1, 0x701, 6, &another), RSM_ST_OK);
    assert_int_equal(disconnect(importer, another.import), RSM_ST_OK);
    await_orders();
    assert_int_equal(atomic_load(&counter->pending), 2);
    end_jobs(1);
    await_signals(3);
    close(other);
}

JOB_TEST(jobs_that_wait_for_a_thread)
{
    for (unsigned i = 0; i < CONNECTIONS; i++)
        begin_job(i);
    await_orders();
    end_jobs(CONNECTIONS);
    await_signals(1 + CONNECTIONS);
}

JOB_TEST(a_job_for_no_connection_is_refused)
{
    begin_job(9);
    await_orders();
}

/* ------------------------------------------------------------------ changes meanwhile */

/* Two of one user run at once, so the third has not begun when its offer is revoked. */
JOB_TEST(the_importer_disconnects)
{
    for (unsigned i = 0; i < CONNECTIONS; i++)
        begin_job(i);
    await_orders();
    for (int i = 0; i < CONNECTIONS; i++)
        assert_int_equal(disconnect(importer, connection[i].import), RSM_ST_OK);
    assert_int_equal(unpublish(exporter, export_id, 0, NULL), RSM_ST_OK);
    assert_int_equal(extent_free(exporter, extent, RSM_EXTENT_FREE_WHEN_UNUSED), RSM_ST_OK);
    /* The jobs still have the memory, and its user pays. */
    assert_int_equal(inspect_exports(watcher).exported_bytes, page);
    assert_int_equal(extent_free(exporter, extent, RSM_EXTENT_FREE_WHEN_UNUSED), RSM_ST_NOT_FOUND);
    end_jobs(CONNECTIONS);
    await_bytes(0);
    assert_int_equal(atomic_load(&counter->pending), 1);
}

JOB_TEST(the_importer_dies)
{
    begin_job(0);
    await_orders();
    close(importer);
    importer = peer_hello(&daemon_1);
    int waited = 0;
    while (inspect_exports(watcher).segments != 1 || inspect_exports(watcher).clients != 3)
        pause_for_a_moment(&waited);
    end_jobs(1);
    /* Its segment is as good as before. */
    assert_int_equal(unpublish(exporter, export_id, 0, NULL), RSM_ST_OK);
    assert_int_equal(extent_free(exporter, extent, RSM_EXTENT_FREE_WHEN_UNUSED), RSM_ST_OK);
    await_bytes(0);
}

JOB_TEST(the_segment_is_unpublished)
{
    begin_job(0);
    await_orders();
    assert_int_equal(unpublish(exporter, export_id, 0, NULL), RSM_ST_OK);
    assert_int_not_equal(slot_value(table, connection[0].slot), connection[0].generation);
    end_jobs(1);
    assert_int_equal(extent_free(exporter, extent, RSM_EXTENT_FREE_WHEN_UNUSED), RSM_ST_OK);
    await_bytes(0);
    assert_int_equal(atomic_load(&counter->pending), 1);
}

/* The exporter's memory outlives it until the job is done. */
JOB_TEST(the_exporter_dies)
{
    begin_job(0);
    begin_job(1);
    await_orders();
    close(exporter);
    exporter = peer_hello(&daemon_1);
    await_move(table, connection[0].slot, connection[0].generation);
    int waited = 0;
    while (inspect_exports(watcher).segments != CONNECTIONS) /* what the importer has of them */
        pause_for_a_moment(&waited);
    assert_int_equal(inspect_exports(watcher).exported_bytes, page);
    end_jobs(1);
    assert_int_equal(inspect_exports(watcher).exported_bytes, page);
    end_jobs(1);
    await_bytes(0);
}

JOB_TEST(the_importer_is_lost)
{
    struct news_order lost = {.offer = 0, .lost = true};
    begin_job(0);
    assert_int_equal(write(fifo, &lost, sizeof lost), sizeof lost);
    await_move(table, connection[0].slot, connection[0].generation);
    end_jobs(1);
    assert_int_equal(unpublish(exporter, export_id, 0, NULL), RSM_ST_OK);
    assert_int_equal(extent_free(exporter, extent, RSM_EXTENT_FREE_WHEN_UNUSED), RSM_ST_OK);
    await_bytes(0);
}

/* ------------------------------------------------------------------ the end */

/* tear_down() wants the daemon to end as always, whatever its jobs do. */
JOB_TEST(the_daemon_does_not_wait_for_ever)
{
    for (unsigned i = 0; i < CONNECTIONS; i++)
        begin_job(i);
    await_orders();
}

/* The jobs end while the daemon waits for them; it closes the port after that, and frees what they
 * had by further jobs. */
JOB_TEST(the_daemon_waits_for_a_moment)
{
    for (unsigned i = 0; i < CONNECTIONS; i++)
        begin_job(i);
    await_orders();
    end_jobs(CONNECTIONS);
}
