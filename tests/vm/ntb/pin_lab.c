/* SPDX-License-Identifier: BSD-3-Clause */
#include "pin.h"

#include <glob.h>
#include <sys/ioctl.h>
#include <sys/klog.h>

#define DRIVER     "/sys/bus/pci/drivers/ntb_hw_edu"
#define KERNEL_LOG (1024 * KIB)

unsigned refused_stores, seen_faults;

uint64_t *memory(uint64_t length)
{
    void *data = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    CHECK(data != MAP_FAILED, "memory");
    memset(data, 0x11, length);
    return data;
}

/* --- the other host --- */

void device_store(uint64_t offset, uint64_t value)
{
    uint64_t block[BLOCK];
    int fd = open("/dev/ntb_edu", O_RDWR | O_CLOEXEC);

    for (unsigned i = 0; i < BLOCK; i++)
        block[i] = value + i;
    CHECK(fd >= 0 && pwrite(fd, block, sizeof block, (off_t)offset) == sizeof block, "store");
    close(fd);
}

uint64_t device_load(uint64_t offset)
{
    uint64_t block[BLOCK];
    int fd = open("/dev/ntb_edu", O_RDWR | O_CLOEXEC);

    CHECK(fd >= 0 && pread(fd, block, sizeof block, (off_t)offset) == sizeof block, "load");
    close(fd);
    for (unsigned i = 1; i < BLOCK; i++)
        CHECK(block[i] - i == block[0] || block[i] == block[0], "torn: %lx", (long)block[i]);
    return block[0];
}

/* How many stores and loads of the device the IOMMU says that it has refused. */
static unsigned faults(void)
{
    static char log[KERNEL_LOG];
    int length = klogctl(3 /* READ_ALL */, log, sizeof log - 1);
    unsigned count = 0;

    CHECK(length > 0, "the kernel's log");
    log[length] = 0;
    for (char *at = log; (at = strstr(at, "DMAR: [DMA ")) != NULL; at++)
        count++;
    return count;
}

/* The device's accesses there are refused, and the IOMMU says so. It does not log every one. */
void is_refused(uint64_t offset)
{
    unsigned before = faults();
    double end = now() + 60;

    do {
        device_store(offset, 0xbad0);
        refused_stores++;
        usleep(100000);
        CHECK(now() < end, "the IOMMU has not reported a store at %#lx", (long)offset);
    } while (faults() == before);
    seen_faults += faults() - before;
}

/* --- extents in place --- */

int in_place(int control, uint64_t offset, uint64_t length, int *fd)
{
    struct rsm_ntb_export arg = {
        .control_fd = control, .offset = offset, .length = length, .flags = RSM_NTB_IN_PLACE};

    *fd = open_port();
    if (!ioctl(*fd, RSM_NTB_EXPORT, &arg))
        return 0;
    close(*fd);
    return errno;
}

int pin(int fd, const void *address)
{
    struct rsm_ntb_pin arg = {.address = (uintptr_t)address};

    return ioctl(fd, RSM_NTB_PIN, &arg) ? errno : 0;
}

/* VmPin of this process, in bytes. */
unsigned long pinned(void)
{
    char line[200];
    unsigned long kib = ~0ul;
    FILE *status = fopen("/proc/self/status", "r");

    while (status && fgets(line, sizeof line, status))
        sscanf(line, "VmPin: %lu", &kib);
    CHECK(status && kib != ~0ul, "VmPin");
    fclose(status);
    return kib * KIB;
}

/* The driver translates once it has looked at the link. */
void await_window(void)
{
    uint64_t word;
    double end = now() + 60;
    int fd = open("/dev/ntb_edu", O_RDWR | O_CLOEXEC);

    CHECK(fd >= 0, "/dev/ntb_edu");
    while (pread(fd, &word, sizeof word, 0) != sizeof word) {
        CHECK(now() < end, "the window leads nowhere");
        usleep(20000);
    }
    close(fd);
    CHECK((uint32_t)word == RSM_NTB_MAGIC, "the hello page: %#lx", (long)word);
}

void driver(const char *file, const char *device)
{
    char path[200];
    FILE *stream;

    snprintf(path, sizeof path, DRIVER "/%s", file);
    stream = fopen(path, "w");
    CHECK(stream && fprintf(stream, "%s\n", device) > 0 && !fclose(stream), "%s %s", file, device);
}

void name_of_device(char *name, size_t size)
{
    glob_t found;

    CHECK(!glob(DRIVER "/0000:*", 0, NULL, &found), "the device");
    snprintf(name, size, "%s", strrchr(found.gl_pathv[0], '/') + 1);
    globfree(&found);
}

/* Counters of /proc/vmstat. */
static unsigned long counter(const char *name)
{
    char line[200];
    unsigned long value = ~0ul;
    FILE *file = fopen("/proc/vmstat", "r");

    while (file && fgets(line, sizeof line, file))
        if (!strncmp(line, name, strlen(name)))
            value = strtoul(line + strlen(name), NULL, 10);
    CHECK(file && value != ~0ul, "%s", name);
    fclose(file);
    return value;
}

/* All that was pinned in this machine has been let go of. */
void nothing_is_left(void)
{
    double end = now() + 60;

    for (;;) {
        unsigned long pins = counter("nr_foll_pin_acquired "),
                      unpins = counter("nr_foll_pin_released ");

        if (pins == unpins && pins > 0)
            return;
        CHECK(now() < end, "%lu pages were pinned, %lu unpinned", pins, unpins);
        usleep(100000);
    }
}
