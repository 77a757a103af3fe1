/* SPDX-License-Identifier: BSD-3-Clause */
/* An importer that sends writes over tcp as fast as it can, without the library, and an exporter
 * that takes its segment back: when unpublish has returned, nothing arrives any more. RSM_HAMMER_ROUNDS
 * is how often, where the machine is slow. */
#include "hosts.h"
#include "party.h"
#include "process.h"
#include "raw_tcp.h"

enum {
    LENGTH = 256 * 1024,
    SEGMENT_WORDS = LENGTH / 8,
    SMALL = 64,
    BATCH = 1024, /* frames */
    LATEST_US = 1000,
    SETTLED_US = 2000, /* in which a late write would be seen */
    PATIENCE_MS = 60000,
};

#define CONFIGURATION "[controller sci0]\ntransport = tcp\n[limits]\npeer-timeout-ms = 60000\n"
#define ACCESS        .acl_count = 2, .acl = {{1, 0666}, {2, 0666}}

/* Shared by the actors. */
static struct stage {
    atomic_bool stop;
    atomic_uint published; /* the number of the round that is on */
    atomic_uint hammered;  /* the latest whose hammer has ended */
    atomic_uint late;      /* rounds in which something arrived later */
    uint64_t bytes;        /* that the importer has sent */
} * stage;

static pid_t daemons[2];

static unsigned rounds(void)
{
    const char *wanted = getenv("RSM_HAMMER_ROUNDS");
    return wanted != NULL ? (unsigned)atoi(wanted) : 400;
}

/* ---------------------------------------------------------------- importer */

/* In turns many small writes and few large ones, all over the segment. */
static size_t make_batch(uint8_t *bytes, unsigned round)
{
    uint32_t length = round % 2 == 0 ? SMALL : LENGTH;
    unsigned frames = round % 2 == 0 ? BATCH : 1;
    uint8_t *end = bytes;
    for (unsigned i = 0; i < frames; i++) {
        raw_put(end, (uint64_t)i * length, length);
        memset(end + TCP_FRAME_BYTES, (int)(rand() % 255 + 1), length);
        end += TCP_FRAME_BYTES + length;
    }
    return (size_t)(end - bytes);
}

/* Until the stream ends, which the exporter's end of it alone does. */
static void hammer(int socket, unsigned round)
{
    static uint8_t bytes[LENGTH + BATCH * (TCP_FRAME_BYTES + SMALL)];
    ssize_t sent;
    do {
        size_t length = make_batch(bytes, round);
        sent = send(socket, bytes, length, MSG_NOSIGNAL);
        stage->bytes += sent > 0 ? (uint64_t)sent : 0;
    } while (sent > 0);
}

static int hammer_rounds(void *unused)
{
    for (unsigned round = 1; !atomic_load(&stage->stop); round++) {
        struct raw_import import;
        while (atomic_load(&stage->published) < round && !atomic_load(&stage->stop))
            sched_yield();
        if (atomic_load(&stage->stop))
            break;
        NEED(raw_connect(&import, 2, PARTY_ID) == RSM_ST_OK);
        int fd = raw_call(&import, host_address(0));
        NEED(fd >= 0 && raw_hello(&import, fd, CALL_TIMEOUT_MS));
        hammer(fd, round);
        close(fd);
        close(import.control);
        atomic_store(&stage->hammered, round);
    }
    return 0;
}

/* ---------------------------------------------------------------- exporter */

static bool is_hit(const volatile uint64_t *words)
{
    for (size_t i = 0; i < SEGMENT_WORDS; i++)
        if (words[i] != 0)
            return true;
    return false;
}

static int take_back(unsigned round, volatile uint64_t *words)
{
    static uint64_t kept[SEGMENT_WORDS];
    rsm_memseg_export_handle_t handle = party_export(0)->handle;
    int64_t deadline = now_ms() + PATIENCE_MS;
    memset((void *)(uintptr_t)words, 0, LENGTH);
    atomic_store(&stage->published, round);
    while (!is_hit(words))
        NEED(now_ms() < deadline);
    usleep((useconds_t)(rand() % LATEST_US));
    NEED(rsm_memseg_export_unpublish(handle) == RSM_SUCCESS);
    memcpy(kept, (void *)(uintptr_t)words, LENGTH);
    usleep(SETTLED_US);
    if (memcmp(kept, (void *)(uintptr_t)words, LENGTH) != 0)
        atomic_fetch_add(&stage->late, 1);
    for (; atomic_load(&stage->hammered) < round; usleep(SETTLED_US))
        NEED(now_ms() < deadline);
    return 0;
}

static int take_back_rounds(void *bytes)
{
    struct order *order = bytes;
    for (unsigned round = 1; round <= rounds(); round++) {
        if (round > 1)
            NEED(party_publish(order) == RSM_SUCCESS);
        NEED(take_back(round, (volatile uint64_t *)(void *)party_export(0)->memory) == 0);
    }
    atomic_store(&stage->stop, true);
    return 0;
}

/* ---------------------------------------------------------------- by the library */

enum { LIBRARY_ROUNDS = 30, AT_ONCE_MS = 2000 };

/* Large puts, which fill what is between the hosts. */
static int put_until_refused(void *unused)
{
    static uint8_t bytes[LENGTH];
    int code;
    while ((code = rsm_memseg_import_put(party_import(0)->handle, 0, bytes, sizeof bytes)) ==
           RSM_SUCCESS)
        atomic_fetch_add(&stage->hammered, 1);
    return code;
}

/* ---------------------------------------------------------------- the tests */

static int tear_down(void **state)
{
    hosts_end(daemons);
    return world_teardown(state);
}

static struct actor *exporter, *importer;

static int set_up(void **state)
{
    const struct host hosts[] = {{1, CONFIGURATION}, {2, CONFIGURATION}};
    if (world_setup(state) != 0)
        return -1;
    struct world *world = *state;
    if (stage == NULL)
        stage =
            mmap(NULL, sizeof *stage, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(stage != MAP_FAILED);
    memset(stage, 0, sizeof *stage);
    hosts_split(world, hosts);
    hosts_start(world, daemons);
    exporter = actor_start(world, 1);
    importer = actor_start(world, 2);
    TELL_OK(exporter, offer, .length = LENGTH, ACCESS);
    return 0;
}

TEST_BETWEEN(test_nothing_arrives_after_unpublish, set_up, tear_down)
{
    struct order order = {.id = PARTY_ID, ACCESS};
    actor_begin(importer, hammer_rounds, NULL, 0);
    actor_begin(exporter, take_back_rounds, &order, sizeof order);
    int result = actor_end(exporter, &order, sizeof order);
    atomic_store(&stage->stop, true);
    assert_int_equal(actor_end(importer, NULL, 0), 0);
    assert_int_equal(result, 0);
    assert_true(rounds() > 0 && atomic_load(&stage->hammered) >= rounds());
    print_message("    %u rounds, %lu MiB sent\n", atomic_load(&stage->hammered),
                  (unsigned long)(stage->bytes >> 20));
    assert_int_equal(atomic_load(&stage->late), 0);
}

/* However long the peer time-out is, and although the importer waits for room to send. */
TEST_BETWEEN(test_the_importer_learns_of_it_at_once, set_up, tear_down)
{
    for (unsigned round = 0; round < LIBRARY_ROUNDS; round++) {
        TELL_OK(importer, connect, .node = 1, .length = LENGTH);
        TELL_OK(importer, init_barrier);
        unsigned put = atomic_load(&stage->hammered);
        actor_begin(importer, put_until_refused, NULL, 0);
        while (atomic_load(&stage->hammered) < put + 10)
            assert_false(actor_ended(importer, 1));
        int64_t began = now_ms();
        TELL_OK(exporter, unpublish);
        assert_int_equal(actor_end(importer, NULL, 0), RSMERR_CONN_ABORTED);
        assert_in_range(now_ms() - began, 0, AT_ONCE_MS);
        TELL_OK(importer, disconnect);
        TELL_OK(exporter, publish, .id = PARTY_ID, ACCESS);
    }
}
