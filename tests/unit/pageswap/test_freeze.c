/* SPDX-License-Identifier: BSD-3-Clause */
/* While memory is frozen, loads go on and stores wait. */
#include "support.h"

#include "pageswap/freeze.h"

static size_t page;

struct storing {
    char *at;
    int go, started;
};

static void *store(void *argument)
{
    struct storing *storing = argument;
    while (!__atomic_load_n(&storing->go, __ATOMIC_ACQUIRE))
        sched_yield();
    __atomic_store_n(&storing->started, 1, __ATOMIC_RELEASE);
    __atomic_store_n(storing->at, 7, __ATOMIC_RELAXED);
    return NULL;
}

static char load(const char *at)
{
    return __atomic_load_n(at, __ATOMIC_RELAXED);
}

/* One thread stores into page `touched` of the frozen ones; replaced or given back at the thaw. */
static void store_waits(int flags, size_t touched, bool replace)
{
    char *memory = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, flags | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(memory, MAP_FAILED);
    char *other = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memory[0] = 5; /* the second page is only ever read before */
    assert_int_equal(load(memory + page), 0);
    memset(other, 9, 2 * page);
    struct rsmcore_freezer freezer;
    rsmcore_freezer_open(&freezer);
    struct storing storing = {.at = memory + touched * page + 100};
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, store, &storing), 0);
    char before = load(storing.at);
    assert_int_equal(rsmcore_freeze(&freezer, (uintptr_t)memory, 2 * page, PROT_READ | PROT_WRITE),
                     RSM_ST_OK);
    __atomic_store_n(&storing.go, 1, __ATOMIC_RELEASE);
    while (!__atomic_load_n(&storing.started, __ATOMIC_ACQUIRE))
        sched_yield();
    bool waited = true;
    for (int i = 0; i < 2000; i++) {
        waited = waited && load(storing.at) == before && load(memory) == 5;
        sched_yield();
    }
    bool moved = replace && mremap(other, 2 * page, 2 * page, MREMAP_MAYMOVE | MREMAP_FIXED,
                                   memory) != MAP_FAILED;
    rsmcore_thaw(&freezer, moved);
    pthread_join(thread, NULL);
    rsmcore_freezer_close(&freezer);
    assert_true(waited);
    assert_int_equal(moved, replace);
    assert_int_equal(*storing.at, 7);
    assert_int_equal(storing.at[1], replace ? 9 : 0);
    munmap(memory, 2 * page);
    if (!moved)
        munmap(other, 2 * page);
}

TEST_ALONE(private_pages)
{
    for (size_t touched = 0; touched < 2; touched++) {
        store_waits(MAP_PRIVATE, touched, false);
        store_waits(MAP_PRIVATE, touched, true);
    }
}

TEST_ALONE(shared_pages)
{
    for (size_t touched = 0; touched < 2; touched++) {
        store_waits(MAP_SHARED, touched, false);
        store_waits(MAP_SHARED, touched, true);
    }
}

/* The userfaultfd that this process keeps, or -1. */
static int kept_descriptor(void)
{
    for (int fd = 0; fd < 256; fd++) {
        char path[32], target[64] = "";
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
        if (readlink(path, target, sizeof target - 1) > 0 && strstr(target, "userfaultfd") != NULL)
            return fd;
    }
    return -1;
}

/* Programs close descriptors that they know nothing of, and get the numbers for their own. */
TEST_ALONE(a_kept_descriptor_may_be_taken_away)
{
    struct stat before, after;
    (void)rsmcore_swap_method();
    int kept = kept_descriptor();
    if (kept < 0)
        skip(); /* this method has none */
    close(kept);
    store_waits(MAP_PRIVATE, 0, true);
    int ends[2];
    kept = kept_descriptor();
    assert_true(kept >= 0);
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(dup2(ends[0], kept), kept);
    assert_int_equal(fstat(kept, &before), 0);
    store_waits(MAP_PRIVATE, 0, true);
    store_waits(MAP_SHARED, 0, false);
    assert_int_not_equal(kept_descriptor(), kept);
    assert_int_equal(fstat(kept, &after), 0);
    assert_int_equal(after.st_ino, before.st_ino);
    close(ends[0]);
    close(ends[1]);
    close(kept);
}

TEST_ALONE(a_child_keeps_its_own)
{
    store_waits(MAP_PRIVATE, 0, true);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        if (kept_descriptor() >= 0)
            _exit(1);
        store_waits(MAP_PRIVATE, 0, true);
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    store_waits(MAP_PRIVATE, 0, true);
}

TEST_ALONE(names)
{
    static const char *const known[] = {"userfaultfd", "userfaultfd user mode only", "mprotect"};
    const char *name = rsmcore_swap_method();
    assert_true(strcmp(name, known[0]) == 0 || strcmp(name, known[1]) == 0 ||
                strcmp(name, known[2]) == 0);
}

int main(int argc, char **argv)
{
    test_choose_method(argc, argv);
    page = test_page_size();
    return cases_run();
}
