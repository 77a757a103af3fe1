/* SPDX-License-Identifier: BSD-3-Clause */
/* What a program's loops come to that store to a mapping: how many faults, and what is sent in which
 * order. */
#include "cases.h"
#include "core/mapping.h"
#include "mapping/mapping_internal.h"

enum { PAGE = 4096, PAGES = 96, SIZE = PAGES * PAGE, WORDS = PAGE / 8 };

/* ---------------------------------------------------------------- a transport that keeps a record */

static struct sent {
    uint64_t offset;
    size_t length;
    bool ordered; /* after all that was sent before */
} sent[64 * 1024];
static unsigned count, gets;
static unsigned dies_at; /* the put with that number finds the peer gone; 0: none does */
static bool ordered;
static uint8_t segment[SIZE], source[SIZE];

static enum rsm_status put(struct rsm_conn *conn, uint64_t offset, const void *src, size_t length)
{
    (void)conn;
    assert_true(count < sizeof sent / sizeof sent[0]);
    if (dies_at > 0 && count + 1 >= dies_at)
        return RSM_ST_ABORTED;
    sent[count++] = (struct sent){.offset = offset, .length = length, .ordered = ordered};
    ordered = false;
    memcpy(segment + offset, src, length);
    return RSM_ST_OK;
}

static enum rsm_status put_elems(struct rsm_conn *conn, uint64_t offset, const void *src,
                                 unsigned width, size_t elements)
{
    return put(conn, offset, src, width * elements);
}

static enum rsm_status putv(struct rsm_conn *conn, const struct rsm_transfer *vec, unsigned pieces,
                            unsigned *done)
{
    for (*done = 0; *done < pieces; ++*done)
        (void)put(conn, vec[*done].remote, vec[*done].local, vec[*done].length);
    return RSM_ST_OK;
}

static enum rsm_status get(struct rsm_conn *conn, uint64_t offset, void *dst, size_t length)
{
    (void)conn;
    gets++;
    memcpy(dst, segment + offset, length);
    return RSM_ST_OK;
}

static enum rsm_status order(struct rsm_conn *conn)
{
    (void)conn;
    ordered = true;
    return RSM_ST_OK;
}

static enum rsm_status nothing(struct rsm_conn *conn)
{
    (void)conn;
    return RSM_ST_OK;
}

static void disconnect(struct rsm_conn *conn)
{
    (void)conn;
}

static const struct rsm_import_ops ops = {.name = "record",
                                          .put = put,
                                          .put_elems = put_elems,
                                          .putv = putv,
                                          .get = get,
                                          .order = order,
                                          .complete = nothing,
                                          .health = nothing,
                                          .disconnect = disconnect};
static struct rsm_conn inner;
static struct rsm_conn *conn;
static uint8_t *map;

/* Nothing is flushed or read again meanwhile. */
static void begin(void)
{
    static const struct mapping_settings none;
    const uint32_t rights = RSM_RIGHT_READ | RSM_RIGHT_WRITE;
    void *address = NULL;
    setenv("RSM_MAP_TRAP", "signal", 1);
    setenv("RSM_MAP_FLUSH_US", "1000000", 1);
    setenv("RSM_MAP_REFRESH_US", "1000000", 1);
    inner = (struct rsm_conn){.ops = &ops, .caps = RSM_CAP_FAULT_SAFE};
    assert_int_equal(rsm_mapping_ops_v1.wrap(&inner, SIZE, rights, &none, &conn), RSM_ST_OK);
    assert_int_equal(conn->ops->map(conn, 0, SIZE, rights, false, &address), RSM_ST_OK);
    map = address;
    for (size_t i = 0; i < SIZE; i++)
        source[i] = (uint8_t)(i * 7 + i / 256);
    memset(segment, 0, sizeof segment);
}

static void end(void)
{
    assert_int_equal(conn->ops->unmap(conn, map, SIZE), RSM_ST_OK);
    conn->ops->disconnect(conn);
    unsetenv("RSM_MAP_TRAP");
    unsetenv("RSM_MAP_FLUSH_US");
    unsetenv("RSM_MAP_REFRESH_US");
}

/* The engine's handler of SIGSEGV comes after that of cmocka, which has one for each case. */
#define TEST(name)                                                                                 \
    static void do_##name(void);                                                                   \
    TEST_ALONE(name)                                                                               \
    {                                                                                              \
        begin();                                                                                   \
        do_##name();                                                                               \
        end();                                                                                     \
    }                                                                                              \
    static void do_##name(void)

static uint64_t faults(void)
{
    return mapping_of(conn)->space.counters.traps;
}

static void forget_record(void)
{
    count = gets = 0;
    ordered = false;
}

/* ---------------------------------------------------------------- loops, as compilers make them */

/* The compiler does not know that stores to the mapping change what the transport keeps. */
static void look_again(void)
{
    __asm__ volatile("" ::: "memory");
}

static void copy_up(size_t at, size_t length)
{
    uint8_t *to = map + at, *from = source + at;
    size_t words = length / 8;
    __asm__ volatile("1: movq (%1), %%rax\n movq %%rax, (%0)\n addq $8, %1\n addq $8, %0\n"
                     "decq %2\n jnz 1b"
                     : "+r"(to), "+r"(from), "+r"(words)
                     :
                     : "rax", "memory", "cc");
}

static void copy_down(size_t at, size_t length)
{
    uint8_t *to = map + at, *from = source + at;
    size_t left = length;
    __asm__ volatile("1: movq -8(%1,%2), %%rax\n movq %%rax, -8(%0,%2)\n subq $8, %2\n ja 1b"
                     : "+r"(to), "+r"(from), "+r"(left)
                     :
                     : "rax", "memory", "cc");
}

static void multiply_up(size_t at, size_t length)
{
    uint8_t *to = map + at;
    uint64_t value = 1, words = length / 8, factor = UINT64_C(6364136223846793005);
    __asm__ volatile("1: movq %1, (%0)\n imulq %3, %1\n addq $8, %0\n decq %2\n jnz 1b"
                     : "+r"(to), "+r"(value), "+r"(words)
                     : "r"(factor)
                     : "memory", "cc");
}

/* The first store is trapped by itself; that the next one follows it is what begins a run. */
TEST(a_long_loop_is_few_faults)
{
    uint64_t before = faults();
    forget_record();
    copy_up(0, SIZE);
    assert_true(faults() - before <= 6);
    assert_int_equal(gets, 0);
    assert_memory_equal(segment, source, SIZE);
}

/* Up to the threshold each store is sent by itself, and from there on what a run has stored, but
 * for its last page, which comes behind it. */
TEST(stores_arrive_in_order)
{
    forget_record();
    copy_up(0, SIZE);
    uint64_t next = 0;
    for (unsigned i = 0; i < count; i++) {
        assert_int_equal(sent[i].offset, next);
        assert_true(i == 0 || sent[i].ordered);
        next += sent[i].length;
        if (sent[i].offset / PAGE == (next - 1) / PAGE)
            continue;
        assert_int_equal(next % PAGE, 0);
        assert_in_range(sent[i + 1].length, 1, PAGE);
    }
    assert_int_equal(next, SIZE);
    assert_int_equal(sent[60].length, 8);
    assert_in_range(count, 64, 64 + PAGES / 4);
}

TEST(downward_too)
{
    uint64_t before = faults();
    forget_record();
    copy_down(0, SIZE);
    assert_true(faults() - before <= 6);
    uint64_t last = SIZE;
    for (unsigned i = 0; i < count; i++) {
        assert_int_equal(sent[i].offset + sent[i].length, last);
        assert_true(i == 0 || sent[i].ordered);
        last = sent[i].offset;
    }
    assert_int_equal(last, 0);
    assert_memory_equal(segment, source, SIZE);
}

/* Payload and a flag behind it, by one loop: each store by itself, for somebody polls the flag. */
TEST(a_message_is_sent_store_by_store)
{
    for (unsigned round = 0; round < 4; round++) {
        uint64_t before = faults();
        forget_record();
        copy_up(256, 40 * 8);
        assert_true(faults() - before <= (round == 0 ? 2 : 1));
        assert_int_equal(count, 40);
        for (unsigned i = 0; i < count; i++) {
            assert_int_equal(sent[i].offset, 256 + 8 * i);
            assert_int_equal(sent[i].length, 8);
            assert_true(i == 0 || sent[i].ordered);
        }
    }
}

/* A page in which something was stored by itself may have a bell that the peer answers: no store to
 * it waits for another. */
TEST(a_page_with_a_bell_is_left_out)
{
    const size_t bell = 20 * PAGE + 800;
    *(volatile uint64_t *)(void *)(map + bell) = 1;
    *(volatile uint64_t *)(void *)(map + bell - 400) = 1;
    look_again();
    forget_record();
    copy_up(0, SIZE);
    unsigned single = 0;
    for (unsigned i = 0; i < count; i++)
        if (sent[i].offset / PAGE == bell / PAGE) {
            assert_int_equal(sent[i].length, 8);
            single++;
        }
    assert_int_equal(single, WORDS);
    assert_int_equal(gets, 0);
    assert_memory_equal(segment, source, SIZE);
}

/* The peer has overwritten what was stored, and gets the same again. */
TEST(equal_values_are_sent)
{
    copy_up(0, SIZE);
    assert_int_equal(conn->ops->complete(conn), RSM_ST_OK);
    memset(segment, 0xee, SIZE);
    copy_up(0, SIZE);
    assert_memory_equal(segment, source, SIZE);
}

TEST(stores_apart_are_trapped_one_by_one)
{
    uint64_t before = faults();
    forget_record();
    for (unsigned i = 0; i < 32; i++)
        *(volatile uint64_t *)(void *)(map + i * 128) = i;
    look_again();
    assert_int_equal(faults() - before, 32);
    assert_int_equal(count, 32);
}

/* A loop with an instruction that the engine does not know has twins, as if there were no loops. */
TEST(an_unknown_loop_gets_twins)
{
    uint64_t before = faults();
    forget_record();
    multiply_up(0, SIZE);
    /* On a busy machine, where a page may come too late for the next to go on, 64 for each. */
    assert_true(faults() - before <= 65 * PAGES);
    assert_int_equal(conn->ops->complete(conn), RSM_ST_OK);
    assert_true(gets >= PAGES - 4);
    uint64_t value = 1;
    for (size_t i = 0; i < SIZE; i += 8, value *= UINT64_C(6364136223846793005))
        assert_memory_equal(segment + i, &value, 8);
}

/* What is loaded is what was stored, whatever was read before. */
TEST(own_stores_are_seen)
{
    for (unsigned page = 0; page < PAGES; page += 2)
        assert_int_equal(*(volatile uint8_t *)(map + page * PAGE), 0);
    copy_up(64, SIZE - 64);
    for (size_t i = 64; i < SIZE; i += 61)
        assert_int_equal(*(volatile uint8_t *)(map + i), source[i]);
}

/* What a loop stores while the peer goes is in the mapping, whichever of its puts finds that out,
 * unless it had arrived before. */
TEST(a_peer_that_dies_takes_nothing_along)
{
    static const unsigned puts[] = {1, 2, 10, 63, 64, 65, 66, 67};
    for (unsigned i = 0; i < sizeof puts / sizeof puts[0]; i++) {
        if (i > 0)
            begin();
        forget_record();
        dies_at = puts[i];
        if (i % 2 == 0)
            copy_up(0, SIZE);
        else
            copy_down(0, SIZE);
        for (size_t at = 0; at < SIZE; at += 13)
            assert_true(*(volatile uint8_t *)(map + at) == source[at] || segment[at] == source[at]);
        dies_at = 0;
        if (i + 1 < sizeof puts / sizeof puts[0])
            end();
    }
}
