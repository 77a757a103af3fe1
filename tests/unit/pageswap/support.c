/* SPDX-License-Identifier: BSD-3-Clause */
#include "support.h"

#include "base/second_mapping.h"
#include "pageswap/freeze.h"
#include "pageswap/vma.h"

void test_choose_method(int argc, char **argv)
{
    static const char *const names[] = {
        [RSMCORE_FREEZE_UFFD] = "userfaultfd",
        [RSMCORE_FREEZE_UFFD_USER] = "user-mode",
        [RSMCORE_FREEZE_MPROTECT] = "mprotect",
    };
    if (argc < 2)
        return;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strcmp(names[i], argv[1]) != 0)
            continue;
        if (rsmcore_freeze_force((enum rsmcore_freeze_method)i))
            return;
        printf("skipped: this process cannot freeze by %s, only by %s\n", argv[1],
               rsmcore_swap_method());
        exit(EXIT_SKIP);
    }
    fprintf(stderr, "no such method: %s\n", argv[1]);
    exit(2);
}

size_t test_page_size(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

int test_memfd(size_t length)
{
    int fd = memfd_create("rsm-test", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    assert_true(fd >= 0);
    assert_int_equal(ftruncate(fd, (off_t)length), 0);
    assert_int_equal(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL), 0);
    return fd;
}

void *test_import(int fd, uint64_t offset, size_t length)
{
    void *at = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)offset);
    assert_ptr_not_equal(at, MAP_FAILED);
    return at;
}

struct rsmcore_origin_run *test_swap_in(void *at, size_t length, int fd, uint64_t offset,
                                        size_t *count)
{
    /* Small ranges go in in two ways; every test shall see both. */
    static unsigned turn;
    unsigned flags = RSMCORE_RANGE_ALLOW_SHARED_FILE | (++turn % 2 == 0 ? 0 : RSMCORE_SWAP_FRESH);
    struct rsmcore_origin_run *runs = NULL;
    assert_int_equal(rsmcore_swap_in((uintptr_t)at, length, flags, fd, offset, &runs, count),
                     RSM_ST_OK);
    assert_non_null(runs);
    assert_true(*count > 0);
    assert_int_equal(runs[0].start, (uintptr_t)at);
    for (size_t i = 1; i < *count; i++)
        assert_int_equal(runs[i].start, runs[i - 1].start + runs[i - 1].length);
    assert_int_equal(runs[*count - 1].start + runs[*count - 1].length, (uintptr_t)at + length);
    return runs;
}

void test_swap_out(struct rsmcore_origin_run *runs, size_t count, int fd, uint64_t offset)
{
    /* With the descriptor and without it; every test shall see both. */
    static unsigned turn;
    struct rsmcore_swap_file file;
    assert_true(rsmcore_swap_file_of(fd, &file));
    if (++turn % 2 != 0 && rsm_second_mapping_works())
        file.fd = -1;
    for (size_t i = 0; i < count; i++)
        assert_int_equal(
            rsmcore_swap_out(&runs[i], &file, offset + (runs[i].start - runs[0].start)), RSM_ST_OK);
    free(runs);
}

bool test_is_memfd(const void *at, int fd, uint64_t offset)
{
    struct rsmcore_vma vma;
    struct stat status;
    assert_int_equal(fstat(fd, &status), 0);
    assert_true(rsmcore_vma_from((uintptr_t)at, &vma));
    return vma.start <= (uintptr_t)at && vma.shared && vma.device == status.st_dev &&
           vma.inode == status.st_ino && vma.offset + ((uintptr_t)at - vma.start) == offset;
}

int test_wait(pid_t child)
{
    int status;
    pid_t got;
    do
        got = waitpid(child, &status, 0);
    while (got < 0 && errno == EINTR);
    assert_int_equal(got, child);
    return status;
}
