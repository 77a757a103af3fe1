/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory of processes behind the window, in place: pin off|pin. */
#include <sys/ioctl.h>

#include "pin.h"

#define LENGTH     (64 * KIB)
#define WORDS      (LENGTH / 8)
#define HUGE_BYTES (2048 * KIB)

static uint64_t first; /* offset of the range for pinned memory */

static void off(int control)
{
    struct rsm_ntb_info info = info_of(control);
    int fd;

    CHECK(!(info.caps & RSM_NTB_CAP_PIN) && !info.pin_size, "caps %#x", info.caps);
    CHECK(in_place(control, info.pool_size, LENGTH, &fd) == EOPNOTSUPP, "EXPORT in place");
}

static void refusals(int control)
{
    uint64_t size = info_of(control).pin_size, *data = memory(LENGTH);
    const void *fixed =
        mmap(NULL, LENGTH, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); /* not writable */
    volatile uint64_t *pool;
    int fd, ordinary;

    CHECK(in_place(control, first - LENGTH, LENGTH, &fd) == EINVAL, "in the pool");
    CHECK(in_place(control, first + size, LENGTH, &fd) == EINVAL, "behind the range");
    CHECK(in_place(control, first + size - 4 * KIB, LENGTH, &fd) == EINVAL, "across its end");
    CHECK(export_extent(control, first, LENGTH, &fd, NULL) == EINVAL, "not in place");
    CHECK(!export_extent(control, RSM_NTB_CONTROL_SIZE, LENGTH, &ordinary, NULL), "EXPORT");
    pool = map_export(ordinary, LENGTH);
    pool[0] = 1;
    CHECK(pin(ordinary, data) == EINVAL, "an extent of the pool");
    CHECK(!in_place(control, first, LENGTH, &fd), "EXPORT in place");
    CHECK(pin(fd, data + 1) == EINVAL, "alignment");
    CHECK(pin(fd, NULL) == EFAULT, "no memory");
    CHECK(pin(fd, fixed) == EFAULT, "read-only memory");
    CHECK(pin(fd, (void *)pool) == EOPNOTSUPP, "memory of the driver");
    CHECK(mmap(NULL, LENGTH, PROT_READ, MAP_SHARED, fd, 0) == MAP_FAILED && errno == ENODEV,
          "mmap");
    CHECK(!pinned(), "VmPin %lu after refusals", pinned());
    is_refused(first);
    munmap((void *)pool, LENGTH);
    close(fd);
    close(ordinary);
    munmap(data, LENGTH);
    munmap((void *)fixed, LENGTH);
}

/* A process without privileges has its limit, and what it could not pin does not count. */
static void limit(int control)
{
    struct rlimit half = {LENGTH / 2, LENGTH / 2}, enough = {LENGTH, LENGTH};
    uint64_t *data = memory(LENGTH);
    int fd, second, status;
    pid_t child;

    CHECK(!in_place(control, first, LENGTH, &fd), "EXPORT in place");
    CHECK(!in_place(control, first + LENGTH, LENGTH, &second), "EXPORT in place");
    for (int i = 0; i < 2; i++) {
        child = fork();
        if (!child) {
            CHECK(!setrlimit(RLIMIT_MEMLOCK, i ? &enough : &half), "setrlimit");
            CHECK(!setresgid(65534, 65534, 65534) && !setresuid(65534, 65534, 65534), "nobody");
            if (!i) {
                CHECK(pin(fd, data) == EDQUOT && !pinned(), "half of it, VmPin %lu", pinned());
            } else {
                CHECK(!pin(fd, data) && pinned() == LENGTH, "VmPin %lu", pinned());
                CHECK(pin(second, data) == EDQUOT, "twice as much");
                CHECK(pinned() == LENGTH, "VmPin %lu", pinned());
            }
            exit(0);
        }
        CHECK(waitpid(child, &status, 0) == child && !status, "child %d: %#x", i, status);
    }
    close(fd);
    close(second);
    munmap(data, LENGTH);
}

/* Stores and loads, of both sides, in the first, some and the last page; and after the last
 * close no more. */
static void data_path(int control)
{
    uint64_t *data = memory(LENGTH), *next = memory(LENGTH);
    const unsigned at[] = {0, WORDS / 2, WORDS - BLOCK};
    int fd, neighbour;

    CHECK(!in_place(control, first + LENGTH, LENGTH, &fd), "EXPORT in place");
    CHECK(!in_place(control, first, LENGTH, &neighbour), "EXPORT in place");
    is_refused(first + LENGTH); /* it has no pages yet */
    CHECK(!pin(fd, data) && !pin(neighbour, next), "PIN");
    CHECK(pinned() == 2 * LENGTH, "VmPin %lu", pinned());
    CHECK(pin(fd, next) == EBUSY, "it has pages");
    for (unsigned i = 0; i < 3; i++) {
        uint64_t offset = first + LENGTH + at[i] * 8;

        device_store(offset, 1000 * i);
        for (unsigned k = 0; k < BLOCK; k++)
            CHECK(data[at[i] + k] == 1000 * i + k, "the device's store %u: %lx", i,
                  (long)data[at[i] + k]);
        for (unsigned k = 0; k < BLOCK; k++)
            data[at[i] + k] = 7000 * i + 1 + k;
        CHECK(device_load(offset) == 7000 * i + 1, "the device's load %u", i);
    }
    CHECK(next[0] == 0x1111111111111111u, "the neighbour has changed");

    close(fd); /* revocation by the end of the descriptor */
    CHECK(pinned() == LENGTH, "VmPin %lu", pinned());
    is_refused(first + LENGTH);
    is_refused(first + 2 * LENGTH - 4 * KIB);
    CHECK(data[0] == 1 && data[WORDS - 512] == 0x1111111111111111u, "a refused store has landed");
    CHECK(device_load(first + LENGTH) != 1, "a refused load has read");
    device_store(first, 5);
    CHECK(next[0] == 5, "the neighbour cannot be reached");
    close(neighbour);
    CHECK(!in_place(control, first + LENGTH, LENGTH, &fd), "the range is free again");
    is_refused(first + LENGTH); /* nor has it those that were there */
    CHECK(!pin(fd, next), "other memory");
    device_store(first + LENGTH, 9);
    CHECK(next[0] == 9 && data[0] == 1, "the device's store to other memory");

    close(fd);
    CHECK(!pinned(), "VmPin %lu", pinned());
    is_refused(first + LENGTH);
    CHECK(next[0] == 9, "a refused store has landed");
    munmap(data, LENGTH);
    munmap(next, LENGTH);
}

/* What the IOMMU may map as one piece. */
static void huge(int control)
{
    char *area = mmap(NULL, 2 * (size_t)HUGE_BYTES, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    uint64_t *data = (void *)(((uintptr_t)area + HUGE_BYTES - 1) & ~(uintptr_t)(HUGE_BYTES - 1));
    int fd;

    CHECK(area != MAP_FAILED && !madvise(data, HUGE_BYTES, MADV_HUGEPAGE), "memory");
    memset(data, 0x22, HUGE_BYTES);
    CHECK(!in_place(control, first, HUGE_BYTES, &fd) && !pin(fd, data), "PIN");
    device_store(first + HUGE_BYTES - 8 * BLOCK, 77);
    CHECK(data[HUGE_BYTES / 8 - BLOCK] == 77, "the device's store");
    close(fd);
    is_refused(first + HUGE_BYTES - 8 * BLOCK);
    is_refused(first);
    CHECK(data[HUGE_BYTES / 8 - BLOCK] == 77 && data[0] == 0x2222222222222222u, "landed");
    munmap(area, 2 * (size_t)HUGE_BYTES);
}

/* fork() leaves the parent what is pinned; munmap() leaves the device pages that are nobody's. */
static void fork_and_munmap(int control)
{
    uint64_t *data = memory(LENGTH), *again;
    int fd, status, ready[2];
    char byte;
    pid_t child;

    CHECK(!pipe(ready), "pipe");
    CHECK(!in_place(control, first, LENGTH, &fd) && !pin(fd, data), "PIN");
    child = fork();
    if (!child) {
        data[1] = 3;
        CHECK(read(ready[0], &byte, 1) == 1, "pipe");
        exit(data[0] == 0x1111111111111111u && !pinned() ? 0 : 1);
    }
    data[2] = 8; /* no copy on write takes the parent's page away */
    device_store(first, 40);
    CHECK(data[0] == 40 && data[1] == 41, "the device reaches another page than the parent's");
    CHECK(write(ready[1], "x", 1) == 1 && waitpid(child, &status, 0) == child && !status,
          "the child: %#x", status);
    close(ready[0]);
    close(ready[1]);

    munmap(data, LENGTH);
    again =
        mmap(data, LENGTH, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    CHECK(again == data, "memory");
    memset(again, 0x33, LENGTH);
    device_store(first, 50);
    CHECK(device_load(first) == 50 && again[0] == 0x3333333333333333u, "new memory was reached");
    close(fd);
    CHECK(!pinned(), "VmPin %lu", pinned());
    is_refused(first);
    munmap(again, LENGTH);
}

/* A process that is killed takes what it has pinned along, unless somebody else has its
 * descriptor. */
static void killed(int control)
{
    int fd, ready[2];
    char byte;

    CHECK(!pipe(ready), "pipe");
    for (int kept = 0; kept < 2; kept++) {
        pid_t child;

        fd = -1;
        if (kept)
            CHECK(!in_place(control, first, LENGTH, &fd), "EXPORT in place");
        child = fork();
        if (!child) {
            uint64_t *data = memory(LENGTH);

            if (!kept)
                CHECK(!in_place(control, first, LENGTH, &fd), "EXPORT in place");
            CHECK(!pin(fd, data), "PIN");
            CHECK(write(ready[1], "x", 1) == 1, "pipe");
            pause();
        }
        CHECK(read(ready[0], &byte, 1) == 1, "the child");
        device_store(first, 60);
        CHECK(device_load(first) == 60, "the child's memory");
        kill(child, SIGKILL);
        CHECK(waitpid(child, NULL, 0) == child, "waitpid");
        if (kept) {
            device_store(first, 61); /* into pages that are still pinned, and nobody else's */
            CHECK(device_load(first) == 61, "pages without a process");
            close(fd);
        }
        is_refused(first);
    }
    close(ready[0]);
    close(ready[1]);
}

/* The driver of the hardware goes, and comes back, while memory is pinned. */
static void unbound(int control)
{
    uint64_t *data = memory(LENGTH);
    char device[40];
    int fd;

    name_of_device(device, sizeof device);
    CHECK(!in_place(control, first, LENGTH, &fd) && !pin(fd, data), "PIN");
    device_store(first, 90);
    driver("unbind", device);
    CHECK(!pinned() && data[0] == 90, "VmPin %lu", pinned());
    CHECK(pin(fd, data) == ENODEV, "a device that has gone");
    close(control);
    driver("bind", device);
    control = open_control();
    await_window();
    is_refused(first);
    close(fd);
    CHECK(!in_place(control, first, LENGTH, &fd) && !pin(fd, data), "PIN");
    device_store(first, 95);
    CHECK(data[0] == 95, "the device's store");
    close(fd);
    close(control);
    munmap(data, LENGTH);
}

/* Makes an extent, has its memory pinned there, and ends both. */
static int pin_and_close(int control, uint64_t offset, const void *data)
{
    struct rsm_ntb_export arg = {
        .control_fd = control, .flags = RSM_NTB_IN_PLACE, .offset = offset, .length = LENGTH};
    int fd = open("/dev/rsm_ntb0", O_RDWR | O_CLOEXEC), error;

    if (fd < 0)
        return ENODEV;
    error = ioctl(fd, RSM_NTB_EXPORT, &arg) ? errno : pin(fd, data);
    close(fd);
    return error;
}

/* As fast as it can, until the device has gone: pins at an extent that it shares with others,
 * and makes and ends one of its own at the place where others do. */
static _Noreturn void hammer(int control, int shared, uint64_t offset)
{
    uint64_t *data = memory(LENGTH);

    for (;;) {
        int error = pin(shared, data);

        CHECK(!error || error == EBUSY || error == ENODEV, "PIN: %d", error);
        error = pin_and_close(control, offset, data);
        if (error == ENODEV)
            exit(0);
        CHECK(!error || error == EBUSY, "EXPORT and PIN: %d", error);
    }
}

/* Processes that pin at the same places, while the device goes, or they are killed. */
static void hammered(void)
{
    enum { CYCLES = 6, EXTENTS = 2, CHILDREN = 4 };
    char device[40];
    int fds[EXTENTS], status;
    pid_t children[CHILDREN];

    name_of_device(device, sizeof device);
    for (int cycle = 0; cycle < CYCLES; cycle++) {
        int control = open_control();

        for (int i = 0; i < EXTENTS; i++)
            CHECK(!in_place(control, first + (uint64_t)i * LENGTH, LENGTH, &fds[i]), "EXPORT");
        for (int i = 0; i < CHILDREN; i++) {
            children[i] = fork();
            if (!children[i])
                hammer(control, fds[i % EXTENTS],
                       first + (uint64_t)(EXTENTS + i % EXTENTS) * LENGTH);
        }
        usleep(200000);
        if (cycle % 2)
            for (int i = 0; i < CHILDREN; i++)
                kill(children[i], SIGKILL);
        else
            driver("unbind", device);
        for (int i = 0; i < CHILDREN; i++)
            CHECK(waitpid(children[i], &status, 0) == children[i] &&
                      status == (cycle % 2 ? SIGKILL : 0),
                  "a child: %#x", status);
        for (int i = 0; i < EXTENTS; i++)
            close(fds[i]);
        close(control);
        if (!(cycle % 2))
            driver("bind", device);
    }
    await_window();
    is_refused(first);
}

/* Memory that processes share. */
static void shared(int control)
{
    int file = memfd_create("shared", MFD_CLOEXEC), fd;
    uint64_t *data;

    CHECK(file >= 0 && !ftruncate(file, LENGTH), "memfd");
    data = mmap(NULL, LENGTH, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    CHECK(data != MAP_FAILED, "mmap of a memfd");
    CHECK(!in_place(control, first, LENGTH, &fd) && !pin(fd, data), "PIN");
    device_store(first + LENGTH - 8 * BLOCK, 30);
    CHECK(data[WORDS - BLOCK] == 30, "the device's store to a memfd");
    close(fd);
    is_refused(first);
    munmap(data, LENGTH);
    close(file);
}

int main(int argc, char **argv)
{
    int control = open_control();

    CHECK(argc == 2, "pin off|pin");
    setbuf(stdout, NULL);
    if (!strcmp(argv[1], "off")) {
        off(control);
        return 0;
    }
    first = info_of(control).pool_size;
    CHECK(info_of(control).caps & RSM_NTB_CAP_PIN, "caps %#x", info_of(control).caps);
    CHECK(info_of(control).pin_size == 4096 * KIB, "pin_size");
    await_window();
    refusals(control);
    limit(control);
    data_path(control);
    huge(control);
    shared(control);
    fork_and_munmap(control);
    killed(control);
    unbound(control);
    hammered();
    nothing_is_left();
    printf("result: pin: %u stores were to be refused, none landed, the IOMMU reported %u faults\n",
           refused_stores, seen_faults);
    return 0;
}
