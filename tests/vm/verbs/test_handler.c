/* SPDX-License-Identifier: BSD-3-Clause */
/* What RSM_CAP_FAULT_SAFE promises: the memory of a transfer may fault, the handler uses the same
 * connection and another one of the port, and nothing is allocated meanwhile. */
#include "test_handler.h"

#include <sys/prctl.h>

#include "cases.h"
#include "pair.h"

enum { PAGE = 4096, PAGES = 64, BYTES = PAGES * PAGE };

static const uint32_t both = RSM_RIGHT_READ | RSM_RIGHT_WRITE;

/* ---------------------------------------------------------------- nothing is allocated */

static _Thread_local bool forbidden __attribute__((tls_model("initial-exec")));
static atomic_uint allocations;

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *memory, size_t size);

/* These take the place of the C library's in the whole program. */
void *malloc(size_t size)
{
    atomic_fetch_add(&allocations, forbidden);
    return __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
    atomic_fetch_add(&allocations, forbidden);
    return __libc_calloc(count, size);
}

void *realloc(void *memory, size_t size)
{
    atomic_fetch_add(&allocations, forbidden);
    return __libc_realloc(memory, size);
}
#endif

/* As the mapping engine calls: all signals blocked. */
static void begin_as_engine(sigset_t *before)
{
    sigset_t all;
    sigfillset(&all);
    assert_int_equal(pthread_sigmask(SIG_SETMASK, &all, before), 0);
    forbidden = true;
}

static void end_as_engine(const sigset_t *before)
{
    forbidden = false;
    assert_int_equal(pthread_sigmask(SIG_SETMASK, before, NULL), 0);
}

/* ---------------------------------------------------------------- two connections of a port */

static struct scene {
    struct pair *pair;
    struct remote remote[2];
    struct rsm_conn *conn[2];
    uint32_t made[2];
    uint8_t *faulting; /* PAGES pages that cannot be accessed until the handler says so */
    unsigned faults;
    unsigned failures; /* of what the handler tried */
} scene;

static void set_up(const char *import_options)
{
    memset(&scene, 0, sizeof scene);
    scene.pair = pair_open("", import_options);
    for (unsigned i = 0; i < 2; i++) {
        scene.remote[i] = remote_make(scene.pair, BYTES);
        scene.conn[i] = pair_connect(scene.pair, &scene.remote[i], both, &scene.made[i]);
    }
    scene.faulting = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(scene.faulting != MAP_FAILED);
}

static void tear_down(void)
{
    for (unsigned i = 0; i < 2; i++) {
        scene.pair->ops->disconnect(scene.conn[i]);
        node_revoke(scene.pair, scene.made[i]);
        remote_free(scene.pair, &scene.remote[i]);
    }
    munmap(scene.faulting, BYTES);
    pair_close(scene.pair);
}

/* ---------------------------------------------------------------- faults */

/* Each operation that the engine uses, over both connections; then the page is there. */
static void serve_fault(int signal, siginfo_t *info, void *context)
{
    const struct rsm_import_ops *ops = scene.pair->ops;
    uint8_t *page = (uint8_t *)((uintptr_t)info->si_addr / PAGE * PAGE);
    uint64_t word = 0x0102030405060708 + scene.faults;
    static uint64_t arrived[PAGE / 8];
    unsigned done;
    (void)signal, (void)context;
    forbidden = true;
    for (unsigned i = 0; i < 2; i++) {
        struct rsm_conn *conn = scene.conn[i];
        struct rsm_transfer vec[2] = {{.local = &word, .remote = 16, .length = 8},
                                      {.local = &word, .remote = 31, .length = 7}};
        scene.failures += ops->put_elems(conn, 8, &word, 8, 1) != RSM_ST_OK;
        scene.failures += ops->order(conn) != RSM_ST_OK;
        scene.failures += ops->putv(conn, vec, 2, &done) != RSM_ST_OK;
        scene.failures += ops->complete(conn) != RSM_ST_OK;
        scene.failures += ops->get(conn, 0, arrived, PAGE) != RSM_ST_OK;
        scene.failures += arrived[1] != word || arrived[2] != word;
        scene.failures += ops->health(conn) != RSM_ST_OK;
    }
    forbidden = false;
    scene.faults++;
    if (mprotect(page, PAGE, PROT_READ | PROT_WRITE) != 0)
        _exit(9);
}

static void with_faults(bool on, struct sigaction *before)
{
    struct sigaction action = {.sa_sigaction = serve_fault, .sa_flags = SA_SIGINFO};
    sigfillset(&action.sa_mask);
    assert_int_equal(sigaction(SIGSEGV, on ? &action : before, on ? before : NULL), 0);
}

static void close_pages(void)
{
    assert_int_equal(mprotect(scene.faulting, BYTES, PROT_NONE), 0);
}

/* The handler's own writes are in the first page: what is checked lies behind it. */
static void memory_that_faults_with(const char *options)
{
    static const size_t lengths[] = {1, 8, 200, 221, PAGE, 5 * PAGE + 3, BYTES - PAGE};
    const struct rsm_import_ops *ops;
    struct sigaction before;
    set_up(options);
    ops = scene.pair->ops;
    with_faults(true, &before);
    for (unsigned i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        size_t length = lengths[i];
        assert_int_equal(mprotect(scene.faulting, BYTES, PROT_READ | PROT_WRITE), 0);
        pattern_fill(scene.faulting, length, i);
        close_pages();
        scene.faults = 0;
        assert_int_equal(ops->put(scene.conn[0], PAGE, scene.faulting, length), RSM_ST_OK);
        assert_int_equal(ops->complete(scene.conn[0]), RSM_ST_OK);
        assert_int_equal(scene.faults, (length + PAGE - 1) / PAGE);
        assert_true(pattern_is(scene.remote[0].bytes + PAGE, length, i));
        pattern_fill(scene.remote[0].bytes + PAGE, length, i + 50);
        close_pages();
        scene.faults = 0;
        assert_int_equal(ops->get(scene.conn[0], PAGE, scene.faulting, length), RSM_ST_OK);
        assert_int_equal(scene.faults, (length + PAGE - 1) / PAGE);
        assert_true(pattern_is(scene.faulting, length, i + 50));
    }
    with_faults(false, &before);
    assert_int_equal(scene.failures, 0);
    assert_int_equal(atomic_load(&allocations), 0);
    tear_down();
}

/* Memory that cannot be accessed cannot be registered either: a get falls back to copying. */
static void memory_that_faults(void **state)
{
    memory_that_faults_with("register=no");
    memory_that_faults_with("register=4K");
}

static void elements_and_vectors_that_fault(void **state)
{
    struct rsm_transfer vec[PAGES - 1];
    struct sigaction before;
    unsigned done = 0;
    set_up("");
    const struct rsm_import_ops *ops = scene.pair->ops;
    with_faults(true, &before);
    pattern_fill(scene.faulting, BYTES, 1);
    close_pages();
    assert_int_equal(ops->put_elems(scene.conn[0], PAGE, scene.faulting, 8, 3 * PAGE / 8),
                     RSM_ST_OK);
    assert_int_equal(ops->complete(scene.conn[0]), RSM_ST_OK);
    assert_int_equal(scene.faults, 3);
    assert_memory_equal(scene.remote[0].bytes + PAGE, scene.faulting, 3 * PAGE);
    close_pages();
    for (unsigned i = 0; i < PAGES - 1; i++)
        vec[i] = (struct rsm_transfer){.local = scene.faulting + i * PAGE + 8,
                                       .remote = PAGE + i * PAGE + 8,
                                       .length = 8 + i % 3 * 500};
    assert_int_equal(ops->putv(scene.conn[0], vec, PAGES - 1, &done), RSM_ST_OK);
    assert_int_equal(ops->complete(scene.conn[0]), RSM_ST_OK);
    assert_int_equal(scene.faults, 3 + PAGES - 1);
    for (unsigned i = 0; i < PAGES - 1; i++)
        assert_memory_equal(scene.remote[0].bytes + vec[i].remote, vec[i].local, vec[i].length);
    close_pages();
    assert_int_equal(ops->getv(scene.conn[0], vec, PAGES - 1, &done), RSM_ST_OK);
    assert_int_equal(scene.faults, 3 + 2 * (PAGES - 1));
    with_faults(false, &before);
    assert_int_equal(scene.failures, 0);
    tear_down();
}

/* Not even where a get would rather register its memory, nor when the peer ends the connection:
 * librdmacm allocates for the news of that. */
static void engine_allocates_nothing(void **state)
{
    sigset_t before;
    uint8_t *local;
    uint64_t word = 5;
    set_up("register=4K");
    const struct rsm_import_ops *ops = scene.pair->ops;
    local = malloc(BYTES);
    assert_non_null(local);
    unsigned found = atomic_load(&allocations);
    begin_as_engine(&before);
    enum rsm_status put = ops->put(scene.conn[0], 0, local, BYTES);
    enum rsm_status completed = ops->complete(scene.conn[0]);
    enum rsm_status got = ops->get(scene.conn[0], 0, local, BYTES);
    end_as_engine(&before);
    assert_int_equal(put, RSM_ST_OK);
    assert_int_equal(completed, RSM_ST_OK);
    assert_int_equal(got, RSM_ST_OK);
    node_revoke(scene.pair, scene.made[0]);
    begin_as_engine(&before);
    got = ops->get(scene.conn[0], 0, local, PAGE);
    put = ops->put_elems(scene.conn[0], 0, &word, 8, 1);
    end_as_engine(&before);
    assert_int_equal(got, RSM_ST_TRANSFER);
    assert_int_equal(put, RSM_ST_TRANSFER);
    assert_int_equal(atomic_load(&allocations), found);
    scene.made[0] = 0;
    free(local);
    scene.pair->ops->disconnect(scene.conn[0]);
    scene.conn[0] = pair_connect(scene.pair, &scene.remote[0], both, &scene.made[0]);
    tear_down();
}

int handler_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_that_faults),
        cmocka_unit_test(elements_and_vectors_that_fault),
        cmocka_unit_test(engine_allocates_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
