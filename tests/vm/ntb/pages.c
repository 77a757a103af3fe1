/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the rest of the kernel can do with exported memory: all of it if the pool consists of
 * pages (port 0 of a machine with both ends of a bridge), and what the manual says if it is
 * device memory (port 1).
 */
#include <elf.h>
#include <sys/ioctl.h>
#include <sys/uio.h>

#include "lab.h"

#define FIRST      RSM_NTB_CONTROL_SIZE
#define LENGTH     (256 * KIB)
#define WORDS      (LENGTH / 8)
#define PAGE       (4 * KIB)
#define PAGE_WORDS (PAGE / 8)
#define DISK       "/dev/ram0"

struct side {
    const char *name;
    int control, fd;
    int of_pages;
    volatile uint64_t *data;
    struct import import; /* of data, by the other side */
};

static uint64_t copy[WORDS] __attribute__((aligned(4096)));

static uint64_t pattern(uint64_t seed, uint64_t i)
{
    return (i + seed * WORDS) * 0x9e3779b97f4a7c15u + 1;
}

/* The importer stores through the window, and a barrier says that it has arrived. */
static void store_from_afar(struct side *side, uint64_t seed)
{
    uint32_t errors = side->import.status->err_seq;

    for (uint64_t i = 0; i < WORDS; i++)
        side->import.data[i] = pattern(seed, i);
    CHECK(barrier(&side->import, errors), "%s: barrier", side->name);
}

static void expect(const struct side *side, const volatile uint64_t *found, uint64_t seed,
                   const char *where)
{
    for (uint64_t i = 0; i < WORDS; i++)
        CHECK(found[i] == pattern(seed, i), "%s: %s: word %lu is %lx", side->name, where, (long)i,
              (long)found[i]);
}

/* A debugger's way to read another process. */
static void other_process(struct side *side)
{
    struct iovec here = {.iov_base = copy, .iov_len = LENGTH};
    struct iovec there = {.iov_base = (void *)side->data, .iov_len = LENGTH};
    ssize_t got;

    store_from_afar(side, 1);
    memset(copy, 0, LENGTH);
    got = process_vm_readv(getpid(), &here, 1, &there, 1, 0);
    if (side->of_pages) {
        CHECK(got == LENGTH, "%s: process_vm_readv: %ld", side->name, (long)got);
        expect(side, copy, 1, "process_vm_readv");
    } else {
        CHECK(got < 0 && errno == EFAULT, "%s: process_vm_readv: %ld", side->name, (long)got);
    }
    printf("result: %s: process_vm_readv: %s\n", side->name, got < 0 ? "EFAULT" : "works");
}

static int disk(int flags)
{
    int fd = open(DISK, O_RDWR | O_CLOEXEC | flags);

    CHECK(fd >= 0, DISK);
    return fd;
}

/* A disk that writes what the importer has stored, and stores what the importer reads. */
static void direct_io(struct side *side)
{
    int direct = disk(O_DIRECT);
    ssize_t done;

    store_from_afar(side, 2);
    done = pwrite(direct, (void *)side->data, LENGTH, 0);
    if (!side->of_pages) {
        CHECK(done < 0 && errno == EFAULT, "%s: O_DIRECT write: %ld", side->name, (long)done);
        done = pread(direct, (void *)side->data, LENGTH, 0);
        CHECK(done < 0 && errno == EFAULT, "%s: O_DIRECT read: %ld", side->name, (long)done);
    } else {
        CHECK(done == LENGTH, "%s: O_DIRECT write: %ld", side->name, (long)done);
        CHECK(pread(direct, copy, LENGTH, 0) == LENGTH, "reading it back");
        expect(side, copy, 2, "O_DIRECT write");
        for (uint64_t i = 0; i < WORDS; i++)
            copy[i] = pattern(3, i);
        CHECK(pwrite(direct, copy, LENGTH, 0) == LENGTH, "what is to be read");
        CHECK(pread(direct, (void *)side->data, LENGTH, 0) == LENGTH, "%s: O_DIRECT read",
              side->name);
        expect(side, side->import.data, 3, "O_DIRECT read, seen by the importer");
    }
    printf("result: %s: O_DIRECT: %s\n", side->name, side->of_pages ? "works" : "EFAULT");
    close(direct);
}

/* Through the page cache it works with either. */
static void plain_io(struct side *side)
{
    int cached = disk(0);

    store_from_afar(side, 4);
    CHECK(pwrite(cached, (void *)side->data, LENGTH, 0) == LENGTH, "%s: write", side->name);
    CHECK(pread(cached, copy, LENGTH, 0) == LENGTH, "%s: reading it back", side->name);
    expect(side, copy, 4, "write");
    for (uint64_t i = 0; i < WORDS; i++)
        copy[i] = pattern(5, i);
    CHECK(pwrite(cached, copy, LENGTH, 0) == LENGTH, "what is to be read");
    CHECK(pread(cached, (void *)side->data, LENGTH, 0) == LENGTH, "%s: read", side->name);
    expect(side, side->import.data, 5, "read, seen by the importer");
    close(cached);
}

/* How many bytes at the address the core of the process has, read into `copy`. */
static size_t dumped(pid_t process, uintptr_t address)
{
    Elf64_Ehdr header;
    Elf64_Phdr part;
    char path[64];
    ssize_t got = 0;
    int core;

    snprintf(path, sizeof path, "/run/core.%d", process);
    core = open(path, O_RDONLY | O_CLOEXEC);
    CHECK(core >= 0 && pread(core, &header, sizeof header, 0) == sizeof header, "%s", path);
    for (unsigned i = 0; i < header.e_phnum && !got; i++) {
        CHECK(pread(core, &part, sizeof part, (off_t)(header.e_phoff + i * sizeof part)) ==
                  sizeof part,
              "%s", path);
        if (part.p_type == PT_LOAD && part.p_vaddr == address && part.p_filesz >= LENGTH)
            got = pread(core, copy, LENGTH, (off_t)part.p_offset);
    }
    close(core);
    unlink(path);
    return got > 0 ? (size_t)got : 0;
}

static void dump(struct side *side, const char *filter, size_t expected)
{
    pid_t child;
    int status;
    size_t got;

    store_from_afar(side, 6);
    child = fork();
    if (!child) {
        FILE *file = fopen("/proc/self/coredump_filter", "w");

        if (!file || fputs(filter, file) < 0 || fclose(file))
            _exit(3);
        (void)side->data[0];
        abort();
    }
    CHECK(waitpid(child, &status, 0) == child && WIFSIGNALED(status) && WCOREDUMP(status),
          "%s: no core: %x", side->name, status);
    memset(copy, 0, LENGTH);
    got = dumped(child, (uintptr_t)side->data);
    CHECK(got == expected, "%s: %lu bytes in the core with filter %s", side->name,
          (unsigned long)got, filter);
    if (got)
        expect(side, copy, 6, "core");
    printf("result: %s: core with coredump_filter %s: %lu of %u bytes\n", side->name, filter,
           (unsigned long)got, LENGTH);
}

/* Who still holds a page, like a disk that has not finished, keeps the range from another user. */
static void pinned(struct side *side)
{
    struct rsm_ntb_release release = {0};
    struct iovec part = {.iov_base = (void *)side->data, .iov_len = 4 * KIB};
    int pipes[2], again;
    char page[4 * KIB];

    CHECK(!pipe(pipes), "pipe");
    CHECK(vmsplice(pipes[1], &part, 1, 0) == 4 * KIB, "vmsplice");
    close_import(&side->import, LENGTH);
    munmap((void *)side->data, LENGTH);
    close(side->fd);
    release.id = await_event(side->control, RSM_NTB_EVENT_QUARANTINED).id;
    CHECK(ioctl(side->control, RSM_NTB_RELEASE, &release) && errno == EBUSY,
          "RELEASE of pages that a pipe has");
    CHECK(read(pipes[0], page, sizeof page) == sizeof page, "the pipe");
    close(pipes[0]);
    close(pipes[1]);
    CHECK(!ioctl(side->control, RSM_NTB_RELEASE, &release), "RELEASE");
    CHECK(!export_extent(side->control, FIRST, LENGTH, &again, NULL), "after RELEASE");
    close(again);
    printf("result: %s: a page that a pipe has is not used again\n", side->name);
}

static long faults(void)
{
    struct rusage usage;

    CHECK(!getrusage(RUSAGE_SELF, &usage), "getrusage");
    return usage.ru_minflt;
}

/* A word into each page of a new mapping, whose other pages nobody has touched yet. The mapping. */
static volatile uint64_t *touch(int fd, uint64_t pages, double *seconds, long *count)
{
    volatile uint64_t *data = map_export(fd, pages * PAGE);
    long before = faults();
    double begin = now();

    for (uint64_t i = 0; i < pages; i++)
        data[i * PAGE_WORDS] = pattern(7, i);
    *seconds = now() - begin;
    *count = faults() - before;
    return data;
}

/* What the first touch of each page costs; and pages that have gone from a mapping come back
 * with what they held. */
static void first_touch(const struct side *side)
{
    enum { PAGES = 768, TURNS = 9 };
    struct rsm_ntb_release release = {0};
    volatile uint64_t *data = NULL;
    double seconds, best = 1e9;
    long count;
    int fd;

    CHECK(!export_extent(side->control, FIRST + LENGTH, PAGES * PAGE, &fd, NULL), "export");
    for (int turn = 0; turn < TURNS; turn++) {
        if (data)
            munmap((void *)data, PAGES * PAGE);
        data = touch(fd, PAGES, &seconds, &count);
        best = seconds < best ? seconds : best;
        CHECK(!side->of_pages || count <= PAGES / 16, "%ld faults", count);
    }
    printf("result: %s: first touch of %d pages: %ld faults, %.2f us a page\n", side->name, PAGES,
           count, best * 1e6 / PAGES);
    for (int i = 0; i < PAGES; i += 3)
        CHECK(!madvise((void *)(data + i * PAGE_WORDS), PAGE, MADV_DONTNEED) || !side->of_pages,
              "madvise");
    for (int i = 0; i < PAGES; i++)
        CHECK(data[i * PAGE_WORDS] == pattern(7, i), "%s: page %d has changed", side->name, i);
    munmap((void *)data, PAGES * PAGE);
    close(fd);
    release.id = await_event(side->control, RSM_NTB_EVENT_QUARANTINED).id;
    CHECK(!ioctl(side->control, RSM_NTB_RELEASE, &release), "RELEASE");
}

static void begin(struct side *side, int number, const struct side *other)
{
    use_port(number);
    CHECK(!export_extent(side->control, FIRST, LENGTH, &side->fd, NULL), "export");
    side->data = map_export(side->fd, LENGTH);
    side->of_pages = (info_of(side->control).caps & RSM_NTB_CAP_PAGES) != 0;
    CHECK(side->of_pages == !number, "port %d: caps %x", number, info_of(side->control).caps);
    use_port(!number);
    CHECK(!import_extent(other->control, FIRST, LENGTH, await_session(other->control, 0), 0,
                         &side->import),
          "%s: import", side->name);
}

int pages(void)
{
    struct side sides[] = {{.name = "pages"}, {.name = "device memory"}};

    for (int i = 0; i < 2; i++) {
        use_port(i);
        sides[i].control = open_control();
    }
    for (int i = 0; i < 2; i++)
        await_session(sides[i].control, 0);
    for (int i = 0; i < 2; i++)
        begin(&sides[i], i, &sides[!i]);
    for (int i = 0; i < 2; i++) {
        other_process(&sides[i]);
        direct_io(&sides[i]);
        plain_io(&sides[i]);
        dump(&sides[i], "0x3b", i ? 0 : LENGTH);
    }
    dump(&sides[0], "0x33", 0); /* the kernel's default has no shared files, which this is one of */
    for (int i = 0; i < 2; i++) {
        use_port(i);
        first_touch(&sides[i]);
    }
    use_port(0);
    pinned(&sides[0]);
    return 0;
}
