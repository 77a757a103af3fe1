/* SPDX-License-Identifier: BSD-3-Clause */
/* The data path over a real device: every width and size, vectors, registered memory, pieces,
 * rights. */
#include <infiniband/verbs.h>

#include "cases.h"
#include "pair.h"
#include "test_handler.h"
#include "transport/verbs/common/options.h"

enum { PAGE = 4096, KIB = 1024, MIB = 1024 * 1024 };

static const uint32_t both = RSM_RIGHT_READ | RSM_RIGHT_WRITE;

/* The linker puts this in the place of ibv_reg_mr() (--wrap), whose name verbs.h makes a macro. */
struct ibv_mr *__real_ibv_reg_mr(struct ibv_pd *pd, void *address, size_t length, int access);
struct ibv_mr *__wrap_ibv_reg_mr(struct ibv_pd *pd, void *address, size_t length, int access);

static atomic_uint registrations;

struct ibv_mr *__wrap_ibv_reg_mr(struct ibv_pd *pd, void *address, size_t length, int access)
{
    atomic_fetch_add(&registrations, 1);
    return __real_ibv_reg_mr(pd, address, length, access);
}

struct stage {
    struct pair *pair;
    struct remote remote;
    struct rsm_conn *conn;
    uint32_t made;
    uint8_t *local; /* as much as the remote has, twice */
};

static void set_up_with(struct stage *stage, uint64_t length, const char *node_options,
                        const char *import_options)
{
    stage->pair = pair_open(node_options, import_options);
    stage->remote = remote_make(stage->pair, length);
    stage->conn = pair_connect(stage->pair, &stage->remote, both, &stage->made);
    stage->local =
        mmap(NULL, 2 * length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(stage->local != MAP_FAILED);
}

static void set_up(struct stage *stage, uint64_t length, const char *node_options)
{
    set_up_with(stage, length, node_options, "");
}

static void tear_down(struct stage *stage)
{
    stage->pair->ops->disconnect(stage->conn);
    node_revoke(stage->pair, stage->made);
    munmap(stage->local, 2 * stage->remote.length);
    remote_free(stage->pair, &stage->remote);
    pair_close(stage->pair);
}

static void put_and_get(struct stage *stage, uint64_t offset, size_t length, uint32_t seed)
{
    const struct rsm_import_ops *ops = stage->pair->ops;
    uint8_t *out = stage->local;
    uint8_t *in = stage->local + stage->remote.length;
    uint8_t *there = stage->remote.bytes + offset;
    pattern_fill(out, length, seed);
    assert_int_equal(ops->put(stage->conn, offset, out, length), RSM_ST_OK);
    memset(out, 0, length); /* the buffer is ours again */
    assert_int_equal(ops->complete(stage->conn), RSM_ST_OK);
    assert_true(pattern_is(there, length, seed));
    pattern_fill(there, length, seed + 1);
    assert_int_equal(ops->get(stage->conn, offset, in, length), RSM_ST_OK);
    assert_true(pattern_is(in, length, seed + 1));
}

TEST_ALONE(sizes)
{
    static const size_t lengths[] = {0,      1,    2,       3,          7,     8,      63,
                                     64,     219,  220,     221,        1000,  4095,   4096,
                                     4097,   9000, 65535,   65536,      65537, 200000, 524288,
                                     524289, MIB,  MIB + 5, 3 * MIB + 1};
    struct stage stage;
    set_up(&stage, 4 * MIB, "");
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        put_and_get(&stage, 0, lengths[i], (uint32_t)i);
        put_and_get(&stage, 3, lengths[i], (uint32_t)i + 100);
        put_and_get(&stage, stage.remote.length - lengths[i], lengths[i], (uint32_t)i + 200);
    }
    tear_down(&stage);
}

TEST_ALONE(large)
{
    struct stage stage;
    set_up(&stage, 8 * MIB + 2 * PAGE, "");
    put_and_get(&stage, PAGE - 1, 8 * MIB + 1, 5);
    tear_down(&stage);
}

/* What lies beside the bytes that were put stays as it was. */
TEST_ALONE(neighbours)
{
    struct stage stage;
    set_up(&stage, 64 * KIB, "");
    for (size_t length = 1; length < 700; length += 37) {
        memset(stage.remote.bytes, 0xee, 64 * KIB);
        memset(stage.local, 0x11, length);
        assert_int_equal(stage.pair->ops->put(stage.conn, 1000, stage.local, length), RSM_ST_OK);
        assert_int_equal(stage.pair->ops->complete(stage.conn), RSM_ST_OK);
        for (size_t i = 0; i < 64 * KIB; i++)
            assert_int_equal(stage.remote.bytes[i], i >= 1000 && i < 1000 + length ? 0x11 : 0xee);
    }
    tear_down(&stage);
}

TEST_ALONE(elements)
{
    static const unsigned widths[] = {1, 2, 4, 8};
    static const size_t counts[] = {0, 1, 2, 31, 33, 100, 300};
    struct stage stage;
    set_up(&stage, 64 * KIB, "");
    const struct rsm_import_ops *ops = stage.pair->ops;
    for (size_t w = 0; w < 4; w++)
        for (size_t c = 0; c < 7; c++) {
            size_t length = widths[w] * counts[c];
            pattern_fill(stage.local, length, (uint32_t)(w + c));
            assert_int_equal(ops->put_elems(stage.conn, 64, stage.local, widths[w], counts[c]),
                             RSM_ST_OK);
            assert_int_equal(ops->complete(stage.conn), RSM_ST_OK);
            assert_true(pattern_is(stage.remote.bytes + 64, length, (uint32_t)(w + c)));
            memset(stage.local, 0, length);
            assert_int_equal(ops->get_elems(stage.conn, 64, stage.local, widths[w], counts[c]),
                             RSM_ST_OK);
            assert_true(pattern_is(stage.local, length, (uint32_t)(w + c)));
        }
    assert_int_equal(ops->put_elems(stage.conn, 0, stage.local, 3, 1), RSM_ST_INVALID);
    tear_down(&stage);
}

TEST_ALONE(vectors)
{
    enum { ENTRIES = 16 };
    static const size_t lengths[ENTRIES] = {1, 8, 0,    100, 5000, 64, 70000,  3,
                                            0, 9, 4096, 220, 221,  2,  131072, 17};
    struct rsm_transfer vec[ENTRIES];
    struct stage stage;
    unsigned done = 99;
    set_up(&stage, MIB, "");
    const struct rsm_import_ops *ops = stage.pair->ops;
    size_t at = 0;
    for (unsigned i = 0; i < ENTRIES; i++) {
        vec[i] = (struct rsm_transfer){
            .local = stage.local + at, .remote = at * 2, .length = lengths[i]};
        pattern_fill(vec[i].local, lengths[i], i);
        at += lengths[i];
    }
    assert_int_equal(ops->putv(stage.conn, vec, ENTRIES, &done), RSM_ST_OK);
    assert_int_equal(done, ENTRIES);
    assert_int_equal(ops->complete(stage.conn), RSM_ST_OK);
    for (unsigned i = 0; i < ENTRIES; i++)
        assert_true(pattern_is(stage.remote.bytes + vec[i].remote, lengths[i], i));
    memset(stage.local, 0, at);
    assert_int_equal(ops->getv(stage.conn, vec, ENTRIES, &done), RSM_ST_OK);
    assert_int_equal(done, ENTRIES);
    for (unsigned i = 0; i < ENTRIES; i++)
        assert_true(pattern_is(vec[i].local, lengths[i], i));
    tear_down(&stage);
}

/* A segment of pieces of several extents, with transfers over their seams. */
TEST_ALONE(pieces)
{
    struct remote_piece piece[3];
    struct remote remotes[2];
    struct rsm_offer *offer = calloc(1, sizeof *offer);
    struct rsm_conn *conn;
    uint32_t made;
    uint8_t out[5 * PAGE];
    uint8_t in[5 * PAGE];
    assert_non_null(offer);
    struct pair *pair = pair_open("", "");
    remotes[0] = remote_make(pair, 4 * PAGE);
    remotes[1] = remote_make(pair, 8 * PAGE);
    piece[0] = (struct remote_piece){.remote = &remotes[0], .offset = PAGE, .length = PAGE};
    piece[1] = (struct remote_piece){.remote = &remotes[1], .offset = 2 * PAGE, .length = 3 * PAGE};
    piece[2] = (struct remote_piece){.remote = &remotes[0], .offset = 3 * PAGE, .length = PAGE};
    assert_int_equal(node_offer(pair, piece, 3, both, offer, &made), RSM_ST_OK);
    assert_int_equal(pair->ops->connect(pair->port, offer, 5 * PAGE, both, &conn), RSM_ST_OK);
    pattern_fill(out, sizeof out, 3);
    assert_int_equal(pair->ops->put(conn, 0, out, sizeof out), RSM_ST_OK);
    assert_int_equal(pair->ops->get(conn, 0, in, sizeof in), RSM_ST_OK);
    assert_memory_equal(in, out, sizeof in);
    assert_memory_equal(remotes[0].bytes + PAGE, out, PAGE);
    assert_memory_equal(remotes[1].bytes + 2 * PAGE, out + PAGE, 3 * PAGE);
    assert_memory_equal(remotes[0].bytes + 3 * PAGE, out + 4 * PAGE, PAGE);
    assert_int_equal(remotes[0].bytes[0], 0);
    assert_int_equal(remotes[0].bytes[2 * PAGE], 0);
    pair->ops->disconnect(conn);
    node_revoke(pair, made);
    for (int i = 0; i < 2; i++)
        remote_free(pair, &remotes[i]);
    pair_close(pair);
    free(offer);
}

TEST_ALONE(registered)
{
    struct stage stage;
    void *cookie;
    set_up(&stage, 2 * MIB, "");
    const struct rsm_import_ops *ops = stage.pair->ops;
    assert_int_equal(ops->register_memory(stage.pair->port, stage.local, 4 * MIB, &cookie),
                     RSM_ST_OK);
    put_and_get(&stage, 0, 2 * MIB, 1);
    put_and_get(&stage, 5, 100000, 2);
    put_and_get(&stage, 5, 20, 3);
    ops->unregister_memory(stage.pair->port, cookie);
    put_and_get(&stage, 0, 2 * MIB, 4);
    assert_int_equal(ops->register_memory(stage.pair->port, (void *)(uintptr_t)PAGE, PAGE, &cookie),
                     RSM_ST_FAULT);
    tear_down(&stage);
}

TEST_ALONE(without_windows)
{
    struct stage stage;
    set_up(&stage, MIB, "windows=no");
    put_and_get(&stage, 10, 300000, 1);
    tear_down(&stage);
}

/* How many registrations a get of so many bytes makes; the data must be right, and a put makes
 * none. */
static unsigned registrations_of(const struct stage *stage, size_t length)
{
    const struct rsm_import_ops *ops = stage->pair->ops;
    pattern_fill(stage->remote.bytes, MIB, 9);
    unsigned before = atomic_load(&registrations);
    assert_int_equal(ops->get(stage->conn, MIB - length, stage->local, length), RSM_ST_OK);
    unsigned by_get = atomic_load(&registrations) - before;
    assert_memory_equal(stage->local, stage->remote.bytes + MIB - length, length);
    pattern_fill(stage->local, length, 7);
    assert_int_equal(ops->put(stage->conn, 0, stage->local, length), RSM_ST_OK);
    assert_int_equal(ops->complete(stage->conn), RSM_ST_OK);
    assert_memory_equal(stage->local, stage->remote.bytes, length);
    assert_int_equal(atomic_load(&registrations) - before, by_get);
    return by_get;
}

/* Eight at a time, written and then read: each is at its place when its end is reported. */
TEST_ALONE(works)
{
    enum { DEPTH = 8, EACH = MIB };
    struct stage stage;
    struct rsm_completion done[DEPTH];
    set_up_with(&stage, (uint64_t)DEPTH * EACH, "", "register=65536");
    const struct rsm_completion_ops *ops = stage.pair->ops->completions;
    for (unsigned round = 0; round < 4; round++) {
        bool read = round % 2 != 0;
        uint8_t *from = read ? stage.remote.bytes : stage.local;
        uint8_t *to = read ? stage.local : stage.remote.bytes;
        pattern_fill(from, (size_t)DEPTH * EACH, round);
        for (unsigned i = 0; i < DEPTH; i++) {
            const struct rsm_work work = {
                .cookie = i,
                .read = read,
                .transfer = {stage.local + (size_t)i * EACH, (uint64_t)i * EACH, EACH}};
            assert_int_equal(ops->submit(stage.conn, &work), RSM_ST_OK);
        }
        for (unsigned i = 0; i < DEPTH;) {
            assert_int_equal(ops->wait(stage.conn, -1), RSM_ST_OK);
            unsigned count = ops->poll(stage.conn, done, DEPTH);
            assert_true(count > 0 && i + count <= DEPTH);
            for (unsigned k = 0; k < count; k++, i++) {
                assert_int_equal(done[k].cookie, i);
                assert_int_equal(done[k].status, RSM_ST_OK);
                assert_memory_equal(to + (size_t)i * EACH, from + (size_t)i * EACH, EACH);
            }
        }
        assert_true(pattern_is(to, (size_t)DEPTH * EACH, round));
    }
    assert_int_equal(ops->wait(stage.conn, 0), RSM_ST_NOT_FOUND);
    tear_down(&stage);
}

/* The option decides which gets register their destination. The kernels of the lab copy pinned
 * pages at fork(), so that the default is to register. */
TEST_ALONE(registered_for_one_get)
{
    static const struct {
        const char *options;
        size_t from; /* 0: none registers */
    } cases[] = {{"register=64K,timeout=20000", 64 * KIB},
                 {"register=no,timeout=20000", 0},
                 {"register=auto,timeout=20000", VERBS_REGISTER_DEFAULT}};
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct stage stage;
        size_t from = cases[i].from;
        set_up_with(&stage, MIB, "timeout=20000", cases[i].options);
        assert_int_equal(registrations_of(&stage, MIB), from != 0);
        if (from != 0) {
            assert_int_equal(registrations_of(&stage, from - 1), 0);
            assert_int_equal(registrations_of(&stage, from), 1);
        }
        tear_down(&stage);
    }
}

/* The device itself refuses what was not granted: the core's checks are not all there is. */
TEST_ALONE(rights)
{
    static const char *const options[] = {"", "windows=no"};
    uint64_t word = 1;
    for (int i = 0; i < 2; i++) {
        uint32_t made;
        struct pair *pair = pair_open(options[i], "");
        struct remote remote = remote_make(pair, PAGE);
        struct rsm_conn *reader = pair_connect(pair, &remote, RSM_RIGHT_READ, &made);
        assert_int_equal(pair->ops->get(reader, 0, &word, 8), RSM_ST_OK);
        assert_int_equal(word, 0);
        word = 1;
        assert_int_equal(pair->ops->put(reader, 0, &word, 8), RSM_ST_OK);
        for (int again = 0; again < 2; again++)
            assert_int_equal(pair_complete(pair, reader), RSM_ST_TRANSFER);
        assert_int_not_equal(pair->ops->health(reader), RSM_ST_OK);
        assert_int_equal(remote.bytes[0], 0);
        pair->ops->disconnect(reader);
        struct rsm_conn *writer = pair_connect(pair, &remote, RSM_RIGHT_WRITE, &made);
        assert_int_equal(pair->ops->put(writer, 8, &word, 8), RSM_ST_OK);
        assert_int_equal(pair->ops->complete(writer), RSM_ST_OK);
        assert_int_equal(remote.bytes[8], 1);
        assert_int_equal(pair->ops->get(writer, 0, &word, 8), RSM_ST_TRANSFER);
        pair->ops->disconnect(writer);
        struct rsm_conn *nobody = pair_connect(pair, &remote, 0, &made);
        assert_int_equal(pair->ops->complete(nobody), RSM_ST_OK);
        pair->ops->disconnect(nobody);
        remote_free(pair, &remote);
        pair_close(pair);
    }
}

int main(int argc, char **argv)
{
    pair_main(argc, argv);
    int failed = cases_run();
    return failed + handler_tests();
}
