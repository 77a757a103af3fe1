/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Segments that rsmd pins in place, over librsm; the device edu is the other host.
 *
 *   ntb_pinned use PID           data path, then destroy and kill -9; PID is rsmd's
 *   ntb_pinned hold              export, say so, and stay
 *   ntb_pinned refused           nothing behind the pool can be reached
 *   ntb_pinned limited PID       rsmd may not pin: a segment that the pool has no room for is refused
 */
#include <rsmapi.h>
#include <sys/uio.h>

#include "pin.h"

/* More than the pool has, which is 4 MiB; and an extent so long begins at a multiple of LARGE. */
#define LENGTH (8192 * KIB)
#define SMALL  (64 * KIB)
#define LARGE  (2048 * KIB)
#define PAGE   (4 * KIB)
#define WORDS  (LENGTH / 8)

enum { ID = 0x400000, ID_SMALL };

static uint64_t first; /* offset of the extent in place */

static void call(const char *what, int error)
{
    CHECK(error == RSM_SUCCESS, "%s: %d", what, error);
}

static rsmapi_controller_handle_t controller(const char *name)
{
    rsmapi_controller_handle_t handle;
    char copy[32];

    snprintf(copy, sizeof copy, "%s", name);
    call("rsm_get_controller", rsm_get_controller(copy, &handle));
    return handle;
}

/* VmPin of another process, in bytes. */
static unsigned long pinned_by(const char *pid)
{
    char path[64], line[200];
    unsigned long kib = ~0ul;
    FILE *status;

    snprintf(path, sizeof path, "/proc/%s/status", pid);
    status = fopen(path, "r");
    while (status && fgets(line, sizeof line, status))
        sscanf(line, "VmPin: %lu", &kib);
    CHECK(status && kib != ~0ul, "VmPin of %s", pid);
    fclose(status);
    return kib * KIB;
}

static void await_pinned(const char *pid, unsigned long bytes)
{
    double end = now() + 60;

    while (pinned_by(pid) != bytes) {
        CHECK(now() < end, "rsmd has pinned %lu", pinned_by(pid));
        usleep(50000);
    }
}

static uint64_t *export_memory(uint64_t length, rsm_memseg_id_t id,
                               rsm_memseg_export_handle_t *segment)
{
    uint64_t *data = memory(length);

    umask(0); /* to every node and user */
    call("create", rsm_memseg_export_create(controller("sci0"), segment, data, length, 0));
    call("publish", rsm_memseg_export_publish(*segment, &id, NULL, 0));
    CHECK(data[0] == 0x1111111111111111u && data[length / 8 - 1] == 0x1111111111111111u,
          "the contents have changed");
    return data;
}

static void both_ways(uint64_t *data)
{
    const unsigned at[] = {0, WORDS / 2 - BLOCK, WORDS - BLOCK};

    for (unsigned i = 0; i < 3; i++) {
        uint64_t offset = first + at[i] * 8;

        CHECK(device_load(offset) == 0x1111111111111111u, "what was there before, %u", i);
        device_store(offset, 1000 * i + 3);
        for (unsigned k = 0; k < BLOCK; k++)
            CHECK(data[at[i] + k] == 1000 * i + 3 + k, "the other host's store %u: %lx", i,
                  (long)data[at[i] + k]);
        for (unsigned k = 0; k < BLOCK; k++)
            data[at[i] + k] = 7000 * i + 1 + k;
        CHECK(device_load(offset) == 7000 * i + 1, "the other host's load %u", i);
    }
}

/* What works on memory of pages only. */
static void is_of_pages(uint64_t *data)
{
    static uint64_t copy[BLOCK];
    struct iovec to = {copy, sizeof copy}, from = {data, sizeof copy};

    CHECK(process_vm_readv(getpid(), &to, 1, &from, 1, 0) == sizeof copy &&
              !memcmp(copy, data, sizeof copy),
          "process_vm_readv");
}

/* A process of this node maps the same pages. */
static void imported_here(uint64_t *data)
{
    rsm_memseg_import_handle_t import;
    uint64_t word = 0, other = 4711;
    rsmapi_barrier_t barrier;

    call("connect", rsm_memseg_import_connect(controller("sci0"), 1, ID, RSM_PERM_RDWR, &import));
    call("init_barrier", rsm_memseg_import_init_barrier(import, RSM_BARRIER_SEGMENT, &barrier));
    call("get", rsm_memseg_import_get(import, LENGTH / 2, &word, sizeof word));
    CHECK(word == data[WORDS / 2], "get: %lx", (long)word);
    call("put", rsm_memseg_import_put(import, PAGE, &other, sizeof other));
    CHECK(data[PAGE / 8] == other, "put: %lx", (long)data[PAGE / 8]);
    call("destroy_barrier", rsm_memseg_import_destroy_barrier(&barrier));
    call("disconnect", rsm_memseg_import_disconnect(import));
}

static void use(const char *rsmd)
{
    rsm_memseg_export_handle_t segment, small;
    uint64_t *data, *little;

    is_refused(first);
    little = export_memory(SMALL, ID_SMALL, &small);
    CHECK(!pinned_by(rsmd), "rsmd has pinned %lu for what fits the pool", pinned_by(rsmd));
    data = export_memory(LENGTH, ID, &segment);
    CHECK(pinned_by(rsmd) == LENGTH, "rsmd has pinned %lu", pinned_by(rsmd));
    both_ways(data);
    is_of_pages(data);
    imported_here(data);
    device_store(first, 99);
    call("unpublish", rsm_memseg_export_unpublish(segment));
    call("destroy", rsm_memseg_export_destroy(segment));
    await_pinned(rsmd, 0);
    is_refused(first);
    is_refused(first + LENGTH - PAGE);
    CHECK(data[0] == 99 && data[1] == 100, "the contents have changed: %lx", (long)data[0]);
    CHECK(little[0] == 0x1111111111111111u, "the neighbour has changed");
    call("destroy", rsm_memseg_export_destroy(small));
}

static void hold(void)
{
    rsm_memseg_export_handle_t segment;
    uint64_t *data = export_memory(LENGTH, ID, &segment);

    both_ways(data);
    puts("exporting");
    fflush(stdout);
    for (;;)
        pause();
}

/* It runs once more as another program: a child must not be a client of its parent's. */
static void killed(const char *self, const char *rsmd)
{
    int out[2];
    char byte;
    pid_t child;

    CHECK(!pipe(out), "pipe");
    child = fork();
    if (!child) {
        dup2(out[1], STDOUT_FILENO);
        execl(self, self, "hold", (char *)NULL);
        _exit(1);
    }
    close(out[1]);
    CHECK(read(out[0], &byte, 1) == 1, "the exporter");
    CHECK(pinned_by(rsmd) == LENGTH, "rsmd has pinned %lu", pinned_by(rsmd));
    device_store(first, 60);
    CHECK(device_load(first) == 60, "the exporter's memory");
    kill(child, SIGKILL);
    CHECK(waitpid(child, NULL, 0) == child, "waitpid");
    await_pinned(rsmd, 0);
    is_refused(first);
    close(out[0]);
}

static void limited(const char *rsmd)
{
    rsm_memseg_export_handle_t segment, small;
    uint64_t *data = memory(LENGTH);
    int error = rsm_memseg_export_create(controller("sci0"), &segment, data, LENGTH, 0);

    /* The length is bad if the controller says that it never has so much. */
    CHECK(error == RSMERR_INSUFFICIENT_MEM || error == RSMERR_INSUFFICIENT_RESOURCES ||
              error == RSMERR_BAD_LENGTH,
          "a segment that cannot be pinned: %d", error);
    CHECK(!pinned_by(rsmd), "rsmd has pinned %lu", pinned_by(rsmd));
    CHECK(data[0] == 0x1111111111111111u, "the contents have changed");
    export_memory(SMALL, ID_SMALL, &small);
    call("destroy", rsm_memseg_export_destroy(small));
}

int main(int argc, char **argv)
{
    struct rsm_ntb_info info;
    int device = open_port();

    CHECK(argc >= 2 && (strcmp(argv[1], "use") != 0 || argc == 3),
          "use PID|hold|refused|limited PID");
    setbuf(stdout, NULL);
    info = info_of(device);
    close(device);
    first = (info.pool_size + LARGE - 1) / LARGE * LARGE;
    await_window();
    if (!strcmp(argv[1], "hold"))
        hold();
    if (!strcmp(argv[1], "limited"))
        limited(argv[2]);
    if (!strcmp(argv[1], "refused"))
        is_refused(first);
    if (strcmp(argv[1], "use") != 0)
        return 0;
    use(argv[2]);
    killed(argv[0], argv[2]);
    printf(
        "result: pinned: %u stores were to be refused, none landed, the IOMMU reported %u faults\n",
        refused_stores, seen_faults);
    return 0;
}
