/* SPDX-License-Identifier: BSD-3-Clause */
/* Which memory can be exported. */
#include "support.h"

#include <sys/ipc.h>
#include <sys/shm.h>

#include "pageswap/vma.h"

#define PAGE_MAX 65536

static char in_data[3 * PAGE_MAX] = {1};
static char in_bss[3 * PAGE_MAX];
static size_t page;

static enum rsm_status check_with(const void *at, size_t length, unsigned flags)
{
    return rsmcore_range_check((uintptr_t)at, length, flags);
}

static enum rsm_status check(const void *at, size_t length)
{
    return check_with(at, length, 0);
}

static char *map(size_t length, int protection, int flags, int fd)
{
    char *at = mmap(NULL, length, protection, flags, fd, 0);
    assert_ptr_not_equal(at, MAP_FAILED);
    return at;
}

static char *first_page(char *array)
{
    return (char *)(((uintptr_t)array + page - 1) / page * page);
}

static int file_in(const char *directory, size_t length)
{
    char path[64];
    snprintf(path, sizeof path, "%s/rsm-pageswap-XXXXXX", directory);
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    unlink(path);
    assert_int_equal(ftruncate(fd, (off_t)length), 0);
    return fd;
}

TEST_ALONE(private_memory)
{
    char *at = map(4 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
    assert_int_equal(check(at, 4 * page), RSM_ST_OK);
    assert_int_equal(check(at + page, 2 * page), RSM_ST_OK);
    munmap(at, 4 * page);

    char *heap = malloc(3 * page);
    assert_int_equal(check(first_page(heap), page), RSM_ST_OK);
    free(heap);
    assert_int_equal(check(first_page(in_data), page), RSM_ST_OK);
    assert_int_equal(check(first_page(in_bss), 2 * page), RSM_ST_OK);
}

/* The pages that the stack ends in, which the check itself stands on. */
__attribute__((noinline)) static enum rsm_status check_own_stack(void)
{
    char *here = (char *)((uintptr_t)__builtin_frame_address(0) / page * page);
    return check(here - page, 2 * page);
}

TEST_ALONE(stack)
{
    char buffer[3 * PAGE_MAX];
    buffer[0] = buffer[sizeof buffer - 1] = 1;
    assert_int_equal(check(first_page(buffer), page), RSM_ST_OK);
    /* Memory that the call itself needs would deadlock. */
    assert_int_equal(check_own_stack(), RSM_ST_FAULT);
    char *error_number = (char *)((uintptr_t)&errno / page * page);
    assert_int_equal(check(error_number, page), RSM_ST_FAULT);
}

TEST_ALONE(shared_memory)
{
    char *at = map(page, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1);
    assert_int_equal(check(at, page), RSM_ST_OK);
    munmap(at, page);

    int id = shmget(IPC_PRIVATE, page, IPC_CREAT | 0600);
    at = shmat(id, NULL, 0);
    shmctl(id, IPC_RMID, NULL);
    assert_int_equal(check(at, page), RSM_ST_OK);
    shmdt(at);

    bool has_shm = access("/dev/shm", W_OK) == 0;
    if (!has_shm)
        print_message("not run for files of /dev/shm: there is none\n");
    int fds[] = {test_memfd(page), has_shm ? file_in("/dev/shm", page) : -1};
    for (size_t i = 0; i < 2 && fds[i] >= 0; i++) {
        at = map(page, PROT_READ | PROT_WRITE, MAP_SHARED, fds[i]);
        assert_int_equal(check(at, page), RSM_ST_OK);
        munmap(at, page);
        close(fds[i]);
    }
}

TEST_ALONE(files)
{
    int fd = file_in("/var/tmp", 2 * page);
    char *at = map(2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd);
    assert_int_equal(check(at, 2 * page), RSM_ST_OK);
    munmap(at, 2 * page);
    at = map(2 * page, PROT_READ | PROT_WRITE, MAP_SHARED, fd);
    assert_int_equal(check(at, 2 * page), RSM_ST_FAULT);
    assert_int_equal(check_with(at, 2 * page, RSMCORE_RANGE_ALLOW_SHARED_FILE), RSM_ST_OK);
    munmap(at, 2 * page);
    close(fd);
}

TEST_ALONE(devices)
{
    int fd = open("/dev/zero", O_RDWR | O_CLOEXEC);
    char *at = map(page, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd);
    assert_int_equal(check(at, page), RSM_ST_OK); /* which is plain memory */
    munmap(at, page);
    at = map(page, PROT_READ | PROT_WRITE, MAP_SHARED, fd);
    assert_int_equal(check(at, page), RSM_ST_OK);
    munmap(at, page);
    close(fd);
}

TEST_ALONE(rights)
{
    static const int protections[] = {PROT_NONE, PROT_READ, PROT_READ | PROT_EXEC};
    char *at = map(3 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(mprotect(at + page, page, protections[i]), 0);
        assert_int_equal(check(at, 3 * page), RSM_ST_DENIED);
        assert_int_equal(check(at + page, page), RSM_ST_DENIED);
        assert_int_equal(check(at, page), RSM_ST_OK);
    }
    assert_int_equal(mprotect(at + page, page, PROT_READ | PROT_WRITE | PROT_EXEC), 0);
    assert_int_equal(check(at, 3 * page), RSM_ST_OK);

    /* A hole outweighs missing rights. */
    assert_int_equal(mprotect(at, page, PROT_READ), 0);
    munmap(at + 2 * page, page);
    assert_int_equal(check(at, 3 * page), RSM_ST_FAULT);
    munmap(at, 2 * page);
}

TEST_ALONE(holes)
{
    char *at = map(5 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
    munmap(at + 2 * page, page);
    assert_int_equal(check(at, 5 * page), RSM_ST_FAULT);
    assert_int_equal(check(at + page, 2 * page), RSM_ST_FAULT);
    assert_int_equal(check(at + 2 * page, 2 * page), RSM_ST_FAULT);
    assert_int_equal(check(at + 3 * page, 2 * page), RSM_ST_OK);
    assert_int_equal(check(at, 2 * page), RSM_ST_OK);
    munmap(at, 5 * page);
    assert_int_equal(check(NULL, page), RSM_ST_FAULT);
    assert_int_equal(check(NULL, 0), RSM_ST_FAULT);
    assert_int_equal(check((void *)(UINTPTR_MAX - page + 1), 2 * page), RSM_ST_FAULT);
}

TEST_ALONE(alignment)
{
    char *at = map(2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
    assert_int_equal(check(at + 1, page), RSM_ST_ALIGNMENT);
    assert_int_equal(check(at, page - 1), RSM_ST_ALIGNMENT);
    munmap(at, 2 * page);
}

TEST_ALONE(several_mappings)
{
    char *at = map(4 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
    assert_ptr_equal(mmap(at + page, page, PROT_READ | PROT_WRITE,
                          MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED, -1, 0),
                     at + page);
    assert_int_equal(check(at, 4 * page), RSM_ST_OK);
    int fd = file_in("/var/tmp", page);
    assert_ptr_equal(
        mmap(at + 2 * page, page, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0),
        at + 2 * page);
    assert_int_equal(check(at, 4 * page), RSM_ST_FAULT);
    munmap(at, 4 * page);
    close(fd);
}

TEST_ALONE(huge_pages)
{
    size_t huge = (size_t)2 * 1024 * 1024;
    char *at = mmap(NULL, huge, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED) {
        print_message("no huge pages on this machine\n");
        skip();
    }
    assert_int_equal(check(at, huge), RSM_ST_FAULT);
    munmap(at, huge);
}

/* Asked for one by one, mappings are what the text says, wherever the kernel can be asked. */
TEST_ALONE(mappings_by_query_and_by_text)
{
    struct rsmcore_vma_reader text;
    struct rsmcore_vma read, asked;
    unsigned compared = 0;
    bool by_query = false;
    assert_true(rsmcore_vma_open(&text, 0, 0));
    text.by_query = false;
    while (rsmcore_vma_next(&text, &read)) {
        struct rsmcore_vma_reader query;
        if (strcmp(read.path, "[vsyscall]") == 0)
            continue; /* the kernel's, and no mapping */
        assert_true(rsmcore_vma_open(&query, 0, read.end - 1));
        assert_true(rsmcore_vma_next(&query, &asked));
        by_query |= query.by_query;
        rsmcore_vma_close(&query);
        assert_int_equal(asked.start, read.start);
        assert_int_equal(asked.end, read.end);
        assert_int_equal(asked.protection, read.protection);
        assert_int_equal(asked.shared, read.shared);
        assert_int_equal(asked.offset, read.offset);
        assert_int_equal(asked.device, read.device);
        assert_int_equal(asked.inode, read.inode);
        assert_string_equal(asked.path, read.path);
        compared++;
    }
    rsmcore_vma_close(&text);
    assert_true(compared > 5);
    assert_false(rsmcore_vma_from(UINTPTR_MAX, &asked));
    print_message("%u mappings, %s\n", compared, by_query ? "asked for" : "by text alone");
}

int main(void)
{
    page = test_page_size();
    return cases_run();
}
