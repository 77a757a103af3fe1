/* SPDX-License-Identifier: BSD-3-Clause */
#include "lab.h"

#include <sys/ioctl.h>

#include "base/fence.h"
#include "transport/ntb/import/copy.h"

#define PATIENCE_S 60

void fail(const char *file, int line, const char *what, const char *format, ...)
{
    int error = errno;
    va_list arguments;

    printf("%s:%d: %s: ", file, line, what);
    va_start(arguments, format);
    vprintf(format, arguments);
    va_end(arguments);
    printf(" (errno %d, %s)\n", error, strerror(error));
    exit(1);
}

double now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

/* --- the host and the other machine --- */

void note(const char *word)
{
    FILE *port = fopen("/dev/ttyS1", "w");

    CHECK(port && fprintf(port, "note %s\n", word) > 0 && !fclose(port), "%s", word);
}

static int noted(const char *word)
{
    char line[200];
    FILE *notes = fopen("/run/notes", "r");
    int found = 0;

    while (notes && !found && fgets(line, sizeof line, notes)) {
        line[strcspn(line, "\r\n")] = 0;
        found = !strcmp(line, word);
    }
    if (notes)
        fclose(notes);
    return found;
}

void await(const char *word)
{
    double end = now() + PATIENCE_S;

    while (!noted(word)) {
        CHECK(now() < end, "nobody said %s", word);
        usleep(20000);
    }
}

/* Each order of a verb is given once in a test, so its answer is not mistaken. */
void order(const char *verb, int machine)
{
    char answer[40];
    FILE *port = fopen("/dev/ttyS1", "w");

    CHECK(port && fprintf(port, "%s %d\n", verb, machine) > 0 && !fclose(port), "%s", verb);
    snprintf(answer, sizeof answer, "%s-%d", verb, machine);
    await(answer);
}

/* --- the device --- */

static int port;

void use_port(int number)
{
    port = number;
}

int open_port(void)
{
    double end = now() + PATIENCE_S;
    char path[32];
    int fd;

    snprintf(path, sizeof path, "/dev/rsm_ntb%d", port);
    while ((fd = open(path, O_RDWR | O_CLOEXEC)) < 0) {
        CHECK(now() < end, "%s", path);
        usleep(20000);
    }
    return fd;
}

int open_control(void)
{
    struct rsm_ntb_control arg = {.abi = RSM_NTB_ABI, .node = 7, .flags = RSM_NTB_CONTROL_POSTS};
    int fd = open_port();

    CHECK(!ioctl(fd, RSM_NTB_CONTROL, &arg), "CONTROL");
    return fd;
}

struct rsm_ntb_info info_of(int fd)
{
    struct rsm_ntb_info info;

    CHECK(!ioctl(fd, RSM_NTB_INFO, &info), "INFO");
    CHECK(info.abi == RSM_NTB_ABI, "abi %u", info.abi);
    return info;
}

uint32_t await_session(int fd, uint32_t after)
{
    double end = now() + PATIENCE_S;
    struct rsm_ntb_info info;

    while ((info = info_of(fd)).epoch <= after) {
        CHECK(now() < end, "no session after %u", after);
        usleep(5000);
    }
    return info.epoch;
}

struct rsm_ntb_event await_event(int control, uint32_t type)
{
    struct pollfd poller = {.fd = control, .events = POLLIN};
    struct rsm_ntb_event event;

    do {
        CHECK(poll(&poller, 1, PATIENCE_S * 1000) == 1, "no event of type %u", type);
        CHECK(read(control, &event, sizeof event) == sizeof event, "event");
        CHECK(event.type != RSM_NTB_EVENT_OVERFLOW, "events were lost");
    } while (event.type != type);
    return event;
}

int export_extent(int control, uint64_t offset, uint64_t length, int *fd, uint64_t *id)
{
    struct rsm_ntb_export arg = {.control_fd = control, .offset = offset, .length = length};

    *fd = open_port();
    if (ioctl(*fd, RSM_NTB_EXPORT, &arg)) {
        int error = errno;

        close(*fd);
        *fd = -1;
        return error;
    }
    if (id)
        *id = arg.id;
    return 0;
}

volatile uint64_t *map_export(int fd, uint64_t length)
{
    void *data = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_SHARED, fd, RSM_NTB_MAP_DATA);

    CHECK(data != MAP_FAILED, "mmap of an export");
    return data;
}

static int import_it(struct rsm_ntb_import arg, struct import *import)
{
    int prot = PROT_READ | (arg.flags & RSM_NTB_READ_ONLY ? 0 : PROT_WRITE);
    void *data, *canary, *status;

    import->fd = open_port();
    if (ioctl(import->fd, RSM_NTB_IMPORT, &arg)) {
        int error = errno;

        close(import->fd);
        return error;
    }
    import->id = arg.id;
    data = mmap(NULL, arg.length, prot, MAP_SHARED, import->fd, RSM_NTB_MAP_DATA);
    canary = mmap(NULL, 4 * KIB, PROT_READ, MAP_SHARED, import->fd, RSM_NTB_MAP_CANARY);
    status = mmap(NULL, 4 * KIB, PROT_READ, MAP_SHARED, import->fd, RSM_NTB_MAP_STATUS);
    CHECK(data != MAP_FAILED && canary != MAP_FAILED && status != MAP_FAILED, "mmap of an import");
    import->data = data;
    import->canary = canary;
    import->status = status;
    return 0;
}

int import_extent(int control, uint64_t offset, uint64_t length, uint32_t epoch, uint32_t flags,
                  struct import *import)
{
    return import_it((struct rsm_ntb_import){.control_fd = control,
                                             .offset = offset,
                                             .length = length,
                                             .epoch = epoch,
                                             .flags = flags},
                     import);
}

int import_posting(int control, uint64_t offset, uint64_t length, uint32_t epoch, uint32_t flags,
                   uint32_t connection, struct import *import)
{
    return import_it((struct rsm_ntb_import){.control_fd = control,
                                             .offset = offset,
                                             .length = length,
                                             .epoch = epoch,
                                             .flags = flags,
                                             .connection = connection},
                     import);
}

void close_import(struct import *import, uint64_t length)
{
    munmap((void *)import->data, length);
    munmap((void *)import->canary, 4 * KIB);
    munmap((void *)import->status, 4 * KIB);
    close(import->fd);
}

int barrier(const struct import *import, uint32_t err_seq)
{
    volatile const struct rsm_ntb_status *status = import->status;
    uint64_t canary;

    rsm_fence_stores();
    canary = *(volatile const uint64_t *)(import->canary + status->canary_offset);
    rsm_fence_loads();
    return canary == status->canary && status->epoch == status->import_epoch && !status->revoked &&
           status->err_seq == err_seq;
}

int revoke_import(int control, uint64_t id)
{
    struct rsm_ntb_revoke arg = {.id = id};

    return ioctl(control, RSM_NTB_REVOKE, &arg) ? errno : 0;
}
