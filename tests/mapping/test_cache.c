/* SPDX-License-Identifier: BSD-3-Clause */
/* A mapping that is larger than what its pages may take: memory stays within bounds, and what was
 * stored to pages that lost their memory comes back. */
#include "cases.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/sanitizer.h"
#include "core/mapping.h"
#include "mapping/options.h"

#define GIB ((uint64_t)1 << 30)

enum {
    CACHE_MIB = 16,
    SLACK_MIB = 16, /* of the process, its stacks, and the tables */
    RUNS = 48,      /* of pages, over the whole segment: 96 MiB */
    RUN_PAGES = 512,
    ROUNDS = 20000,
};

/* ---------------------------------------------------------------- a segment that costs nothing */

static int segment;

static enum rsm_status file_put(struct rsm_conn *conn, uint64_t offset, const void *src,
                                size_t length)
{
    return pwrite(segment, src, length, (off_t)offset) == (ssize_t)length ? RSM_ST_OK
                                                                          : RSM_ST_TRANSFER;
}

static enum rsm_status file_get(struct rsm_conn *conn, uint64_t offset, void *dst, size_t length)
{
    return pread(segment, dst, length, (off_t)offset) == (ssize_t)length ? RSM_ST_OK
                                                                         : RSM_ST_TRANSFER;
}

static enum rsm_status file_put_elems(struct rsm_conn *conn, uint64_t offset, const void *src,
                                      unsigned width, size_t count)
{
    return file_put(conn, offset, src, width * count);
}

static enum rsm_status file_get_elems(struct rsm_conn *conn, uint64_t offset, void *dst,
                                      unsigned width, size_t count)
{
    return file_get(conn, offset, dst, width * count);
}

static enum rsm_status file_putv(struct rsm_conn *conn, const struct rsm_transfer *vec,
                                 unsigned count, unsigned *done)
{
    enum rsm_status status = RSM_ST_OK;
    for (*done = 0; *done < count && status == RSM_ST_OK; *done += status == RSM_ST_OK)
        status = file_put(conn, vec[*done].remote, vec[*done].local, vec[*done].length);
    return status;
}

static enum rsm_status nothing(struct rsm_conn *conn)
{
    return RSM_ST_OK;
}

static void leave(struct rsm_conn *conn)
{
}

static const struct rsm_import_ops ops = {
    .name = "file",
    .put = file_put,
    .get = file_get,
    .put_elems = file_put_elems,
    .get_elems = file_get_elems,
    .putv = file_putv,
    .order = nothing,
    .complete = nothing,
    .health = nothing,
    .disconnect = leave,
};
static struct rsm_conn inner = {.ops = &ops, .caps = RSM_CAP_FAULT_SAFE};

/* ---------------------------------------------------------------- the mapping */

static struct rsm_conn *mapped;
static volatile uint64_t *map;
static uint64_t size, page_words;

/* False: this machine has no such trap. */
static bool begin(uint64_t bytes, unsigned cache_mib, enum mapping_trap trap)
{
    struct mapping_settings settings = {.given = 0};
    settings.given = 1u << MAPPING_TUNABLE_TRAP | 1u << MAPPING_TUNABLE_CACHE_MIB;
    settings.value[MAPPING_TUNABLE_TRAP] = trap;
    settings.value[MAPPING_TUNABLE_CACHE_MIB] = cache_mib;
    size = bytes;
    page_words = (uint64_t)sysconf(_SC_PAGESIZE) / sizeof *map;
    segment = memfd_create("segment", MFD_CLOEXEC);
    assert_true(segment >= 0 && ftruncate(segment, (off_t)size) == 0);
    const uint32_t rights = RSM_RIGHT_READ | RSM_RIGHT_WRITE;
    if (rsm_mapping_ops_v1.wrap(&inner, size, rights, &settings, &mapped) != RSM_ST_OK) {
        assert_int_not_equal(trap, MAPPING_TRAP_SIGNAL);
        close(segment);
        return false;
    }
    void *address = NULL;
    assert_int_equal(mapped->ops->map(mapped, 0, size, rights, false, &address), RSM_ST_OK);
    map = address;
    return true;
}

static void end(void)
{
    assert_int_equal(mapped->ops->unmap(mapped, (void *)(uintptr_t)map, 0), RSM_ST_OK);
    mapped->ops->disconnect(mapped);
    close(segment);
}

/* MiB that this process has in memory. The segment is not mapped. */
static long resident_mib(void)
{
    long pages = 0, resident = 0;
    FILE *statm = fopen("/proc/self/statm", "re");
    assert_non_null(statm);
    assert_int_equal(fscanf(statm, "%ld %ld", &pages, &resident), 2);
    fclose(statm);
    return resident * sysconf(_SC_PAGESIZE) / (1024 * 1024);
}

static uint64_t page_of_run(unsigned run, unsigned page)
{
    uint64_t pages = size / (page_words * sizeof *map);
    return pages / RUNS * run + page;
}

static volatile uint64_t *word_at(uint64_t page)
{
    return &map[page * page_words + page % page_words];
}

static void check_bounds(enum mapping_trap trap)
{
    if (RSM_THREAD_SANITIZER) {
        print_message("not run: what the sanitizer notes of each byte would be counted\n");
        skip();
    }
    if (!begin(64 * GIB, CACHE_MIB, trap))
        return;
    long before = resident_mib(), most = 0;
    for (unsigned run = 0; run < RUNS; run++) {
        for (unsigned page = 0; page < RUN_PAGES; page++)
            *word_at(page_of_run(run, page)) = page_of_run(run, page) + 1;
        most = resident_mib() > most ? resident_mib() : most;
    }
    for (unsigned run = RUNS; run-- > 0;) {
        for (unsigned page = 0; page < RUN_PAGES; page++)
            assert_int_equal(*word_at(page_of_run(run, page)), page_of_run(run, page) + 1);
        most = resident_mib() > most ? resident_mib() : most;
    }
    print_message("%ld MiB more for %d MiB of 64 GiB\n", most - before,
                  (int)(RUNS * RUN_PAGES * page_words * sizeof *map >> 20));
    assert_true(most - before <= CACHE_MIB + SLACK_MIB);
    end();
}

TEST_ALONE(what_pages_take_is_bounded)
{
    check_bounds(MAPPING_TRAP_SIGNAL);
}

TEST_ALONE(what_pages_take_is_bounded_with_a_thread)
{
    check_bounds(MAPPING_TRAP_THREAD);
}

/* Loads and stores all over, beside what the segment should have. */
static void check_contents(enum mapping_trap trap)
{
    enum { PAGES = 1024 };
    static uint64_t wanted[PAGES];
    unsigned short seed[3] = {7, 8, 9};
    uint64_t fresh = 0;
    memset(wanted, 0, sizeof wanted);
    if (!begin((uint64_t)PAGES * (uint64_t)sysconf(_SC_PAGESIZE), 1, trap))
        return;
    for (unsigned round = 0; round < ROUNDS; round++) {
        uint64_t page = (uint64_t)nrand48(seed) % PAGES;
        switch (nrand48(seed) % 8) {
        case 0:
        case 1:
            *word_at(page) = wanted[page] = ++fresh;
            break;
        case 2: /* a copy, which gets a twin */
            memset((void *)(uintptr_t)&map[page * page_words], (int)(fresh & 1),
                   page_words * sizeof *map);
            memset(&wanted[page], (int)(fresh & 1), sizeof wanted[page]);
            break;
        case 3:
            if (round % 64 == 0)
                assert_int_equal(mapped->ops->complete(mapped), RSM_ST_OK);
            break;
        default:
            assert_int_equal(*word_at(page), wanted[page]);
        }
    }
    assert_int_equal(mapped->ops->complete(mapped), RSM_ST_OK);
    assert_true(rsm_mapping_ops_v1.counts(mapped).evicted > PAGES);
    for (uint64_t page = 0; page < PAGES; page++) {
        uint64_t found;
        off_t offset = (off_t)((page * page_words + page % page_words) * sizeof found);
        assert_int_equal(pread(segment, &found, sizeof found, offset), sizeof found);
        assert_int_equal(found, wanted[page]);
    }
    end();
}

TEST_ALONE(what_loses_its_memory_loses_nothing_else)
{
    check_contents(MAPPING_TRAP_SIGNAL);
}

TEST_ALONE(what_loses_its_memory_loses_nothing_else_with_a_thread)
{
    check_contents(MAPPING_TRAP_THREAD);
}

/* What fits loses nothing. */
TEST_ALONE(a_small_segment_is_not_bounded)
{
    enum { PAGES = 64 };
    if (!begin((uint64_t)PAGES * (uint64_t)sysconf(_SC_PAGESIZE), 1, MAPPING_TRAP_SIGNAL))
        return;
    for (uint64_t page = 0; page < PAGES; page++)
        *word_at(page) = page;
    assert_int_equal(mapped->ops->complete(mapped), RSM_ST_OK);
    for (uint64_t page = 0; page < PAGES; page++)
        assert_int_equal(*word_at(page), page);
    assert_int_equal(rsm_mapping_ops_v1.counts(mapped).evicted, 0);
    end();
}
