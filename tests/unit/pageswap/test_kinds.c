/* SPDX-License-Identifier: BSD-3-Clause */
/* Every kind of memory goes in and comes out with its contents, and is what it was. */
#include "support.h"

#include <malloc.h>
#include <sys/ipc.h>
#include <sys/shm.h>

#define PAGE_MAX 65536
#define PAGES    9

/* One page before and one after are the neighbours. */
static char in_data[(PAGES + 3) * PAGE_MAX] = {1};
static char in_bss[(PAGES + 3) * PAGE_MAX];

/* Memory under test: the PAGES pages at `at`; with neighbours, a page on both sides is there too.
 */
struct memory {
    char *at;
    size_t length;
    bool neighbours;
    bool shared;
    void *handle;
    int id;
};

static size_t page;

static void from_array(struct memory *memory, char *array)
{
    uintptr_t first = ((uintptr_t)array + page - 1) / page * page;
    memory->at = (char *)first + page;
    memory->neighbours = true;
}

static void make_data(struct memory *memory)
{
    from_array(memory, in_data);
}

static void make_bss(struct memory *memory)
{
    from_array(memory, in_bss);
}

static void no_release(struct memory *memory)
{
}

static void make_valloc(struct memory *memory)
{
    memory->handle = valloc(memory->length + 2 * page);
    assert_non_null(memory->handle);
    memory->at = (char *)memory->handle + page;
    memory->neighbours = true;
}

/* On the heap proper, with other chunks around. */
static void make_malloc(struct memory *memory)
{
    (void)mallopt(M_MMAP_THRESHOLD, 1 << 30); /* a sanitizer's malloc has no such heap */
    memory->handle = malloc(memory->length + 3 * page);
    assert_non_null(memory->handle);
    from_array(memory, memory->handle);
}

static void release_malloc(struct memory *memory)
{
    free(memory->handle);
}

static void make_mapping(struct memory *memory, int flags, int fd)
{
    memory->handle = mmap(NULL, memory->length + 2 * page, PROT_READ | PROT_WRITE, flags, fd, 0);
    assert_ptr_not_equal(memory->handle, MAP_FAILED);
    memory->at = (char *)memory->handle + page;
    memory->neighbours = true;
    memory->shared = flags & MAP_SHARED;
}

static void release_mapping(struct memory *memory)
{
    assert_int_equal(munmap(memory->handle, memory->length + 2 * page), 0);
}

static void make_anonymous(struct memory *memory)
{
    make_mapping(memory, MAP_PRIVATE | MAP_ANONYMOUS, -1);
}

static void make_shared_anonymous(struct memory *memory)
{
    make_mapping(memory, MAP_SHARED | MAP_ANONYMOUS, -1);
}

static void make_file_in(struct memory *memory, const char *directory, int flags)
{
    char path[64];
    snprintf(path, sizeof path, "%s/rsm-pageswap-XXXXXX", directory);
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(ftruncate(fd, (off_t)(memory->length + 2 * page)), 0);
    for (size_t i = 0; i < PAGES; i += 2)
        assert_int_equal(pwrite(fd, "in the file", 11, (off_t)(i * page + 100)), 11);
    make_mapping(memory, flags, fd);
    close(fd);
}

static void make_private_file(struct memory *memory)
{
    make_file_in(memory, "/var/tmp", MAP_PRIVATE);
}

static void make_tmpfs(struct memory *memory)
{
    if (access("/dev/shm", W_OK) != 0) {
        print_message("not run: there is no /dev/shm\n");
        skip();
    }
    make_file_in(memory, "/dev/shm", MAP_SHARED);
}

static void make_sysv(struct memory *memory)
{
    memory->id = shmget(IPC_PRIVATE, memory->length, IPC_CREAT | 0600);
    assert_true(memory->id >= 0);
    memory->at = shmat(memory->id, NULL, 0);
    assert_int_equal(shmctl(memory->id, IPC_RMID, NULL), 0); /* attached ones live on */
    memory->shared = true;
}

static void release_sysv(struct memory *memory)
{
    /* Another attachment sees what was stored while the memfd was there, and later stores. */
    char *again = shmat(memory->id, NULL, 0);
    assert_ptr_not_equal(again, (void *)-1);
    assert_memory_equal(again, memory->at, memory->length);
    memory->at[7] = 77;
    assert_int_equal(again[7], 77);
    assert_int_equal(shmdt(again), 0);
    struct shmid_ds segment;
    assert_int_equal(shmctl(memory->id, IPC_STAT, &segment), 0);
    assert_int_equal(shmdt(memory->at), 0);
    assert_int_equal(shmctl(memory->id, IPC_STAT, &segment), -1); /* that was the last one */
}

struct kind {
    void (*make)(struct memory *memory);
    void (*release)(struct memory *memory);
};

static void fill(struct memory *memory, unsigned seed)
{
    for (size_t i = 0; i < memory->length; i++)
        if (i / page % 3 != 1) /* these pages are never touched */
            memory->at[i] = (char)(i * 31 + i / page + seed);
    if (memory->neighbours) {
        memset(memory->at - page, 0x5a, page);
        memset(memory->at + memory->length, 0x5b, page);
    }
}

static void check_neighbours(const struct memory *memory, int fd)
{
    if (!memory->neighbours)
        return;
    for (size_t i = 0; i < page; i++) {
        assert_int_equal(memory->at[i - page], 0x5a);
        assert_int_equal(memory->at[memory->length + i], 0x5b);
    }
    assert_false(test_is_memfd(memory->at + memory->length, fd, memory->length));
}

static void check_in(struct memory *memory, char *expected, int fd)
{
    char *import = test_import(fd, page, memory->length);
    assert_memory_equal(memory->at, expected, memory->length);
    assert_memory_equal(import, expected, memory->length);
    for (size_t i = 0; i < PAGES; i++)
        assert_true(test_is_memfd(memory->at + i * page, fd, (i + 1) * page));
    for (size_t i = 0; i < PAGES; i++) {
        expected[i * page + 8] = memory->at[i * page + 8] = (char)(100 + i);
        assert_int_equal(import[i * page + 8], 100 + i);
        expected[i * page + 9] = import[i * page + 9] = (char)(50 + i);
        assert_int_equal(memory->at[i * page + 9], 50 + i);
    }
    munmap(import, memory->length);
}

static void check_out(struct memory *memory, char *expected, int fd)
{
    char *import = test_import(fd, page, memory->length);
    assert_memory_equal(memory->at, expected, memory->length);
    for (size_t i = 0; i < PAGES; i++)
        assert_false(test_is_memfd(memory->at + i * page, fd, (i + 1) * page));
    char before = import[3];
    expected[3] = memory->at[3] = (char)(before + 1);
    assert_int_equal(import[3], before);
    munmap(import, memory->length);
}

static void in_and_out(void **state)
{
    const struct kind *kind = *state;
    struct memory memory = {.length = PAGES * page};
    kind->make(&memory);
    char *expected = malloc(memory.length);
    fill(&memory, 1);
    for (int round = 0; round < 3; round++) {
        int fd = test_memfd((PAGES + 2) * page);
        size_t count;
        memcpy(expected, memory.at, memory.length);
        struct rsmcore_origin_run *runs = test_swap_in(memory.at, memory.length, fd, page, &count);
        assert_int_equal(count, 1);
        assert_int_equal(runs[0].origin.kind,
                         memory.shared ? RSMCORE_ORIGIN_SHARED : RSMCORE_ORIGIN_PRIVATE);
        check_in(&memory, expected, fd);
        check_neighbours(&memory, fd);
        test_swap_out(runs, count, fd, page);
        check_out(&memory, expected, fd);
        check_neighbours(&memory, fd);
        close(fd);
    }
    free(expected);
    kind->release(&memory);
}

/* A range made of several mappings: private, executable, shared and a System V segment. */
static void mixed(void **state)
{
    size_t length = 8 * page;
    char *at = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(at, MAP_FAILED);
    assert_int_equal(mprotect(at + page, page, PROT_READ | PROT_WRITE | PROT_EXEC), 0);
    assert_ptr_equal(mmap(at + 3 * page, 2 * page, PROT_READ | PROT_WRITE,
                          MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED, -1, 0),
                     at + 3 * page);
    int id = shmget(IPC_PRIVATE, page, IPC_CREAT | 0600);
    assert_ptr_equal(shmat(id, at + 6 * page, SHM_REMAP), at + 6 * page);
    shmctl(id, IPC_RMID, NULL);
    char *expected = malloc(length);
    for (size_t i = 0; i < length; i++)
        expected[i] = at[i] = (char)(i * 7 + i / page);

    int fd = test_memfd(length);
    size_t count;
    struct rsmcore_origin_run *runs = test_swap_in(at, length, fd, 0, &count);
    assert_int_equal(count, 7);
    assert_true(runs[1].origin.executable);
    assert_false(runs[0].origin.executable);
    assert_memory_equal(at, expected, length);
    for (size_t i = 0; i < 8; i++)
        assert_true(test_is_memfd(at + i * page, fd, i * page));
    test_swap_out(runs, count, fd, 0);
    assert_memory_equal(at, expected, length);
    assert_int_equal(shmdt(at + 6 * page), 0);
    free(expected);
    munmap(at, length);
    close(fd);
}

static void large(void **state)
{
    size_t length = (size_t)5 * 1024 * 1024 + 3 * page; /* more than one chunk */
    uint32_t *at = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (uint32_t i = 0; i < length / sizeof *at; i++)
        at[i] = i * 2654435761u;
    int fd = test_memfd(length);
    for (int round = 0; round < 2; round++) {
        size_t count;
        struct rsmcore_origin_run *runs = test_swap_in(at, length, fd, 0, &count);
        for (uint32_t i = 0; i < length / sizeof *at; i++)
            if (at[i] != i * 2654435761u)
                fail_msg("word %u is wrong after the swap in", i);
        test_swap_out(runs, count, fd, 0);
        for (uint32_t i = 0; i < length / sizeof *at; i++)
            if (at[i] != i * 2654435761u)
                fail_msg("word %u is wrong after the swap out", i);
    }
    munmap(at, length);
    close(fd);
}

static void out_of_the_memfd(void **state)
{
    char *at = valloc(4 * page);
    memset(at, 3, 4 * page);
    int fd = test_memfd(4 * page);
    struct rsmcore_origin_run *runs;
    size_t count;
    assert_int_equal(rsmcore_swap_in((uintptr_t)at, 4 * page, RSMCORE_RANGE_ALLOW_SHARED_FILE, fd,
                                     page, &runs, &count),
                     RSM_ST_RANGE);
    assert_false(test_is_memfd(at, fd, page));
    close(fd);
    free(at);
}

/* The third mapping ends behind the end of its file: what was done before it is undone. */
static void undone_on_failure(void **state)
{
    char path[] = "/var/tmp/rsm-pageswap-XXXXXX";
    int file = mkstemp(path);
    unlink(path);
    assert_int_equal(ftruncate(file, (off_t)page), 0);
    char *at = mmap(NULL, 6 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(mmap(at + 2 * page, page, PROT_READ | PROT_WRITE,
                              MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED, -1, 0),
                         MAP_FAILED);
    assert_ptr_not_equal(
        mmap(at + 3 * page, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED, file, 0),
        MAP_FAILED);
    memset(at, 9, 4 * page);
    int fd = test_memfd(6 * page);
    struct rsmcore_origin_run *runs;
    size_t count;
    assert_int_equal(rsmcore_swap_in((uintptr_t)at, 6 * page, RSMCORE_RANGE_ALLOW_SHARED_FILE, fd,
                                     0, &runs, &count),
                     RSM_ST_FAULT);
    for (size_t i = 0; i < 6; i++)
        assert_false(test_is_memfd(at + i * page, fd, i * page));
    for (size_t i = 0; i < 4 * page; i++)
        assert_int_equal(at[i], 9);
    munmap(at, 6 * page);
    close(file);
    close(fd);
}

#define KIND(name, make, release)                                                                  \
    {                                                                                              \
        name, in_and_out, NULL, NULL, &(struct kind)                                               \
        {                                                                                          \
            make, release                                                                          \
        }                                                                                          \
    }

int main(int argc, char **argv)
{
    test_choose_method(argc, argv);
    page = test_page_size();
    const struct CMUnitTest tests[] = {
        KIND("valloc", make_valloc, release_malloc),
        KIND("malloc", make_malloc, release_malloc),
        KIND("private anonymous", make_anonymous, release_mapping),
        KIND("shared anonymous", make_shared_anonymous, release_mapping),
        KIND("System V", make_sysv, release_sysv),
        KIND("private file", make_private_file, release_mapping),
        KIND("tmpfs", make_tmpfs, release_mapping),
        KIND(".data", make_data, no_release),
        KIND(".bss", make_bss, no_release),
        cmocka_unit_test(mixed),
        cmocka_unit_test(large),
        cmocka_unit_test(out_of_the_memfd),
        cmocka_unit_test(undone_on_failure),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
