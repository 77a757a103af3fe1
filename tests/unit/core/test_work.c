/* SPDX-License-Identifier: BSD-3-Clause */
/* Works of the core over the fake transport: by its own table of completions, where the test says
 * what has ended, and by the generic form. */
#include "core/work.h"

#include "cases.h"
#include "transport/instance.h"
#include "unit/core/bed.h"

enum { WORKS = BED_WORKS, DEPTH = 4, THREADS = 4, ROUNDS = 200 };

/* ------------------------------------------------------------------ a device with a queue */

/* Works are carried out when the device is told to end them; with `by_itself`, as soon as somebody
 * waits, the latest first. */
static struct {
    pthread_mutex_t lock;
    struct rsm_work posted[DEPTH];
    unsigned count;
    struct rsm_completion ended[DEPTH];
    unsigned ended_count;
    bool by_itself;
    enum rsm_status fate;
} device = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* With the lock held. */
static void end_one(struct rsm_conn *conn, unsigned index)
{
    const struct rsm_work work = device.posted[index];
    const struct rsm_transfer *transfer = &work.transfer;
    if (device.fate == RSM_ST_OK && work.read)
        conn->ops->get(conn, transfer->remote, transfer->local, transfer->length);
    else if (device.fate == RSM_ST_OK)
        conn->ops->put(conn, transfer->remote, transfer->local, transfer->length);
    device.count--;
    memmove(&device.posted[index], &device.posted[index + 1],
            (device.count - index) * sizeof device.posted[0]);
    device.ended[device.ended_count++] =
        (struct rsm_completion){.cookie = work.cookie, .status = device.fate};
}

static void end_posted(struct bed *bed, unsigned index)
{
    pthread_mutex_lock(&device.lock);
    end_one(rsmcore_import_conn(&bed->import), index);
    pthread_mutex_unlock(&device.lock);
}

static enum rsm_status device_submit(struct rsm_conn *conn, const struct rsm_work *work)
{
    pthread_mutex_lock(&device.lock);
    bool room = device.count + device.ended_count < DEPTH;
    if (room)
        device.posted[device.count++] = *work;
    pthread_mutex_unlock(&device.lock);
    return room ? RSM_ST_OK : RSM_ST_BUSY;
}

static unsigned device_poll(struct rsm_conn *conn, struct rsm_completion *taken, unsigned most)
{
    pthread_mutex_lock(&device.lock);
    unsigned count = device.ended_count < most ? device.ended_count : most;
    memcpy(taken, device.ended, count * sizeof *taken);
    device.ended_count -= count;
    memmove(device.ended, device.ended + count, device.ended_count * sizeof *taken);
    pthread_mutex_unlock(&device.lock);
    return count;
}

static enum rsm_status device_wait(struct rsm_conn *conn, int timeout_ms)
{
    pthread_mutex_lock(&device.lock);
    if (device.by_itself && device.ended_count == 0 && device.count > 0)
        end_one(conn, device.count - 1);
    bool any = device.ended_count > 0;
    pthread_mutex_unlock(&device.lock);
    return any ? RSM_ST_OK : RSM_ST_NOT_FOUND;
}

static const struct rsm_completion_ops device_ops = {
    .size = sizeof(struct rsm_completion_ops),
    .submit = device_submit,
    .poll = device_poll,
    .wait = device_wait,
};

/* ------------------------------------------------------------------ the bed */

static int begin_with(void **state, const struct rsm_completion_ops *completions)
{
    device.count = device.ended_count = 0;
    device.by_itself = true;
    device.fate = RSM_ST_OK;
    return bed_begin(state, completions);
}

static int begin(void **state)
{
    return begin_with(state, &device_ops);
}

static int begin_generic(void **state)
{
    return begin_with(state, NULL);
}

static enum rsm_status post(struct bed *bed, unsigned index, bool read, uint64_t offset,
                            void *local, size_t length)
{
    const struct rsmcore_work_request request = {
        .read = read, .offset = offset, .local = local, .length = length};
    return rsmcore_work_post(&bed->import, &bed->works[index], &request);
}

/* ------------------------------------------------------------------ tests */

#define TEST(function) TEST_WITH(struct bed *bed, function, begin, bed_end)

TEST(works_end_in_any_order)
{
    char out[] = "abc", in = '-';
    enum rsm_status status;
    device.by_itself = false;
    assert_true(rsmcore_work_is_asynchronous(&bed->import, false));
    fake_segment_memory(bed->segment)[9] = 'z';
    assert_int_equal(post(bed, 0, false, 0, &out[0], 1), RSM_ST_OK);
    assert_int_equal(post(bed, 1, false, 1, &out[1], 1), RSM_ST_OK);
    assert_int_equal(post(bed, 2, true, 9, &in, 1), RSM_ST_OK);
    for (unsigned i = 0; i < 3; i++)
        assert_false(rsmcore_work_poll(&bed->works[i], &status));
    assert_int_equal(fake_segment_memory(bed->segment)[0], 0);
    end_posted(bed, 2);
    /* Who polls for one marks the other. */
    assert_false(rsmcore_work_poll(&bed->works[0], &status));
    assert_int_equal(device.ended_count, 0);
    assert_true(rsmcore_work_poll(&bed->works[2], &status));
    assert_int_equal(status, RSM_ST_OK);
    assert_int_equal(in, 'z');
    end_posted(bed, 1);
    end_posted(bed, 0);
    assert_int_equal(rsmcore_work_wait(&bed->works[0]), RSM_ST_OK);
    assert_int_equal(device.ended_count, 0);
    assert_int_equal(rsmcore_work_wait(&bed->works[1]), RSM_ST_OK);
    assert_memory_equal(fake_segment_memory(bed->segment), "ab", 2);
}

TEST(what_may_not_be_moved_does_not_begin)
{
    char byte = 'x';
    assert_int_equal(post(bed, 0, false, BED_SIZE, &byte, 1), RSM_ST_RANGE);
    assert_int_equal(post(bed, 0, false, 1, &byte, SIZE_MAX), RSM_ST_RANGE);
    bed->import.rights = RSM_RIGHT_READ;
    assert_int_equal(post(bed, 0, false, 0, &byte, 1), RSM_ST_DENIED);
    bed->import.rights = RSM_RIGHT_WRITE;
    assert_int_equal(post(bed, 0, true, 0, &byte, 1), RSM_ST_DENIED);
    bed->import.process_epoch++;
    assert_int_equal(post(bed, 0, false, 0, &byte, 1), RSM_ST_STALE);
    assert_int_equal(device.count, 0);
}

TEST(a_full_queue_takes_more_when_something_has_ended)
{
    char byte = 'x';
    for (unsigned i = 0; i < DEPTH; i++)
        assert_int_equal(post(bed, i, false, i, &byte, 1), RSM_ST_OK);
    assert_int_equal(post(bed, DEPTH, false, DEPTH, &byte, 1), RSM_ST_BUSY);
    end_posted(bed, 0);
    /* Its completion, which nobody has asked for, makes room. */
    assert_int_equal(post(bed, DEPTH, false, DEPTH, &byte, 1), RSM_ST_OK);
    for (unsigned i = 0; i <= DEPTH; i++)
        assert_int_equal(rsmcore_work_wait(&bed->works[i]), RSM_ST_OK);
    assert_memory_equal(fake_segment_memory(bed->segment), "xxxxx", DEPTH + 1);
}

TEST(a_failure_is_its_works_and_every_barriers)
{
    char byte = 'x';
    uint32_t failures = atomic_load(&bed->import.failures);
    device.fate = RSM_ST_TRANSFER;
    assert_int_equal(post(bed, 0, false, 0, &byte, 1), RSM_ST_OK);
    assert_int_equal(rsmcore_work_wait(&bed->works[0]), RSM_ST_TRANSFER);
    assert_int_equal(atomic_load(&bed->import.failures), failures + 1);
    device.fate = RSM_ST_OK;
    assert_int_equal(post(bed, 0, false, 0, &byte, 1), RSM_ST_OK);
    assert_int_equal(rsmcore_work_wait(&bed->works[0]), RSM_ST_OK);
    assert_int_equal(atomic_load(&bed->import.failures), failures + 1);
}

TEST(works_of_a_lost_connection_end)
{
    char byte = 'x';
    uint32_t failures = atomic_load(&bed->import.failures);
    for (unsigned i = 0; i < 2; i++)
        assert_int_equal(post(bed, i, false, 0, &byte, 1), RSM_ST_OK);
    bed_cut();
    device.fate = RSM_ST_TRANSFER;
    for (unsigned i = 0; i < 2; i++)
        assert_int_equal(rsmcore_work_wait(&bed->works[i]), RSM_ST_ABORTED);
    assert_int_equal(atomic_load(&bed->import.failures), failures);
}

TEST(a_work_that_the_transport_does_not_know_is_not_waited_for)
{
    char byte = 'x';
    enum rsm_status status;
    assert_int_equal(post(bed, 0, false, 0, &byte, 1), RSM_ST_OK);
    device.count = 0;
    assert_int_equal(rsmcore_work_wait(&bed->works[0]), RSM_ST_TRANSFER);
    /* Nor one of the parent's. */
    assert_int_equal(post(bed, 0, false, 0, &byte, 1), RSM_ST_OK);
    bed->import.process_epoch++;
    assert_true(rsmcore_work_poll(&bed->works[0], &status));
    assert_int_equal(status, RSM_ST_STALE);
    assert_int_equal(rsmcore_work_wait(&bed->works[0]), RSM_ST_STALE);
}

TEST_WITH(struct bed *bed, without_completions_a_work_ends_when_posted, begin_generic, bed_end)
{
    char byte = 'x';
    enum rsm_status status;
    assert_false(rsmcore_work_is_asynchronous(&bed->import, false));
    assert_int_equal(post(bed, 0, false, 5, &byte, 1), RSM_ST_OK);
    assert_int_equal(fake_segment_memory(bed->segment)[5], 'x');
    assert_true(rsmcore_work_poll(&bed->works[0], &status));
    assert_int_equal(status, RSM_ST_OK);
    fake_segment_fail(bed->segment, FAKE_PUT, 0, RSM_ST_TRANSFER);
    assert_int_equal(post(bed, 0, false, 5, &byte, 1), RSM_ST_OK);
    assert_int_equal(rsmcore_work_wait(&bed->works[0]), RSM_ST_TRANSFER);
}

/* ------------------------------------------------------------------ over a connection with mappings */

static struct {
    unsigned puts, completes;
    const void *shown;
} engine_saw;

static enum rsm_status engine_put(struct rsm_conn *conn, uint64_t offset, const void *src,
                                  size_t length)
{
    engine_saw.puts++;
    return RSM_ST_OK;
}

static enum rsm_status engine_get(struct rsm_conn *conn, uint64_t offset, void *dst, size_t length)
{
    memset(dst, 'e', length);
    return RSM_ST_OK;
}

static enum rsm_status engine_complete(struct rsm_conn *conn)
{
    engine_saw.completes++;
    return RSM_ST_OK;
}

static bool engine_shows(const void *address, size_t length)
{
    return address == engine_saw.shown;
}

/* What was stored comes first; writes change what mappings show, and a mapping is no memory for an
 * adapter: both are the engine's. */
TEST(the_transport_reads_beneath_mappings)
{
    static const struct rsm_mapping_ops engine = {.shows = engine_shows};
    struct rsm_conn *former = rsmcore_import_conn(&bed->import);
    struct rsm_import_ops ops = *former->ops;
    char in = '-', shown = '-';
    ops.completions = NULL;
    ops.put = engine_put;
    ops.get = engine_get;
    ops.complete = engine_complete;
    struct rsm_conn mapped = {
        .ops = &ops, .port = former->port, .caps = former->caps | RSM_CAP_MAP};
    rsmcore_conn_succeed(&mapped, former);
    atomic_store(&bed->import.conn, &mapped);
    atomic_store(&bed->import.soft, &engine);
    engine_saw.puts = engine_saw.completes = 0;
    engine_saw.shown = &shown;
    device.by_itself = true;
    assert_true(rsmcore_work_is_asynchronous(&bed->import, true));
    assert_false(rsmcore_work_is_asynchronous(&bed->import, false));
    fake_segment_memory(bed->segment)[9] = 'z';
    assert_int_equal(post(bed, 0, true, 9, &in, 1), RSM_ST_OK);
    assert_int_equal(engine_saw.completes, 1);
    assert_int_equal(device.count, 1);
    assert_int_equal(rsmcore_work_wait(&bed->works[0]), RSM_ST_OK);
    assert_int_equal(in, 'z');
    assert_int_equal(post(bed, 0, true, 9, &shown, 1), RSM_ST_OK);
    assert_int_equal(post(bed, 1, false, 9, &in, 1), RSM_ST_OK);
    assert_int_equal(device.count, 0);
    for (unsigned i = 0; i < 2; i++)
        assert_int_equal(rsmcore_work_wait(&bed->works[i]), RSM_ST_OK);
    assert_int_equal(shown, 'e');
    assert_int_equal(engine_saw.puts, 1);
    atomic_store(&bed->import.soft, NULL);
    atomic_store(&bed->import.conn, former);
}

/* ------------------------------------------------------------------ threads */

struct user {
    struct bed *bed;
    pthread_t thread;
    uint64_t offset;
    unsigned wrong;
};

/* Its own memory goes and comes back; the records end with each round. */
static void *use(void *argument)
{
    struct user *user = argument;
    for (unsigned round = 0; round < ROUNDS; round++) {
        struct rsmcore_work work;
        uint32_t out = round, in = ~round;
        for (int read = 0; read < 2; read++) {
            const struct rsmcore_work_request request = {.read = read,
                                                         .offset = user->offset,
                                                         .local = read ? &in : &out,
                                                         .length = sizeof out};
            user->wrong += rsmcore_work_post(&user->bed->import, &work, &request) != RSM_ST_OK ||
                           rsmcore_work_wait(&work) != RSM_ST_OK;
        }
        user->wrong += in != out;
    }
    return NULL;
}

TEST(threads_share_a_connection)
{
    struct user users[THREADS];
    for (unsigned i = 0; i < THREADS; i++) {
        users[i] = (struct user){.bed = bed, .offset = 8 * i};
        assert_int_equal(pthread_create(&users[i].thread, NULL, use, &users[i]), 0);
    }
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(users[i].thread, NULL);
    for (unsigned i = 0; i < THREADS; i++)
        assert_int_equal(users[i].wrong, 0);
    assert_int_equal(device.count + device.ended_count, 0);
}
