/* SPDX-License-Identifier: BSD-3-Clause */
/* A program of RSMAPI; the peer is the exporter. Over shm with direct mapping switched off, or
 * between two hosts, whose runtime directories are RSM_LITMUS_HOSTS with the node's number. */
#include "litmus.h"

#include <sys/prctl.h>

#include "rsm/rsmapi.h"

enum { SEGMENT = 0x400000, EXPORTER = 2 };

static rsmapi_controller_handle_t controller;
static rsm_memseg_import_handle_t import, again;
static rsmapi_barrier_t again_barrier;
static __thread rsmapi_barrier_t thread_barrier; /* such an object is for one thread at a time */
static struct sync *shared;
static pid_t peer_pid, importer_pid;
static void (*other_importer)(struct sync *sync);

static void be_node(const char *number)
{
    const char *hosts = getenv("RSM_LITMUS_HOSTS");
    char directory[256];
    CHECK(setenv("RSM_NODE", number, 1) == 0);
    if (hosts == NULL)
        return;
    snprintf(directory, sizeof directory, "%s%s", hosts, number);
    CHECK(setenv("RSM_RUNTIME_DIR", directory, 1) == 0);
}

static rsmapi_controller_handle_t open_controller(void)
{
    char name[] = "sci0";
    rsmapi_controller_handle_t handle;
    /* It gives a daemon three seconds to answer, which on a machine with other work may be few. */
    AWAIT(rsm_get_controller(name, &handle) == RSM_SUCCESS);
    return handle;
}

static void be_peer(litmus_peer peer, size_t length)
{
    be_node("2");
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    rsm_memseg_export_handle_t segment;
    rsm_memseg_id_t id = SEGMENT;
    void *memory = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(memory != MAP_FAILED);
    rsmapi_controller_handle_t handle = open_controller();
    int error = rsm_memseg_export_create(handle, &segment, memory, length, 0);
    if (error != RSM_SUCCESS)
        fprintf(stderr, "rsm_memseg_export_create: error %d\n", error);
    CHECK(error == RSM_SUCCESS);
    /* The test before may have been ended without a word a moment ago. */
    AWAIT(rsm_memseg_export_publish(segment, &id, NULL, 0) == RSM_SUCCESS);
    atomic_store(&shared->peer_ready, 1);
    if (peer != NULL)
        peer(memory, shared);
    /* The memory is the importer's for as long as it wants. */
    while (atomic_load(&shared->peer_ready) != 2)
        usleep(1000);
    rsm_memseg_export_destroy(segment);
    rsm_release_controller(handle);
    _exit(0);
}

static rsmapi_barrier_t *barrier(void)
{
    if (thread_barrier.seg == NULL) {
        CHECK(rsm_memseg_import_init_barrier(import, RSM_BAR_DEFAULT, &thread_barrier) ==
              RSM_SUCCESS);
        CHECK(rsm_memseg_import_open_barrier(&thread_barrier) == RSM_SUCCESS);
    }
    return &thread_barrier;
}

static rsm_permission_t granted = RSM_PERM_RDWR;

static rsm_permission_t permission(int rights)
{
    return ((rights & MAY_READ) != 0 ? RSM_PERM_READ : 0u) |
           ((rights & MAY_WRITE) != 0 ? RSM_PERM_WRITE : 0u);
}

void bed_grant(int rights)
{
    granted = permission(rights);
}

static void connect_to_segment(void)
{
    be_node("1");
    controller = open_controller();
    AWAIT(rsm_memseg_import_connect(controller, EXPORTER, SEGMENT, granted, &import) ==
          RSM_SUCCESS);
    CHECK(rsm_memseg_import_set_mode(import, RSM_BARRIER_MODE_EXPLICIT) == RSM_SUCCESS);
    (void)barrier(); /* from now on errors are told */
}

static void disconnect(void)
{
    rsm_memseg_import_destroy_barrier(barrier());
    CHECK(rsm_memseg_import_disconnect(import) == RSM_SUCCESS);
    CHECK(rsm_release_controller(controller) == RSM_SUCCESS);
}

/* Before this process has threads, and before it has used the fabric. */
static void start_importer(void)
{
    importer_pid = fork();
    CHECK(importer_pid >= 0);
    if (importer_pid > 0)
        return;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    connect_to_segment();
    other_importer(shared);
    disconnect();
    _exit(0);
}

void bed_add_importer(void (*importer)(struct sync *sync))
{
    other_importer = importer;
}

struct sync *bed_start(litmus_peer peer, size_t pages)
{
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(shared != MAP_FAILED);
    peer_pid = fork();
    CHECK(peer_pid >= 0);
    if (peer_pid == 0)
        be_peer(peer, pages * PAGE);
    AWAIT(atomic_load(&shared->peer_ready) == 1);
    if (other_importer != NULL)
        start_importer();
    connect_to_segment();
    return shared;
}

void bed_start_refused(void (*before)(void))
{
    uint32_t value = 5, back = 0;
    void *address = NULL;
    bed_start(NULL, 1);
    before();
    CHECK(rsm_memseg_import_map(import, &address, RSM_MAP_NONE, RSM_PERM_RDWR, 0, PAGE) ==
          RSMERR_MAP_FAILED);
    CHECK(rsm_memseg_import_unmap(import) == RSMERR_SEG_NOT_MAPPED);
    CHECK(bed_put(8, &value, sizeof value) == 0 && bed_close() == 0);
    CHECK(bed_get(8, &back, sizeof back) == 0 && back == value);
}

/* RSMAPI has one mapping for each handle. */
volatile uint8_t *bed_map_at(void *address, size_t offset, size_t length, int rights)
{
    rsm_attribute_t attribute = address != NULL ? RSM_MAP_FIXED : RSM_MAP_NONE;
    int error = rsm_memseg_import_map(import, &address, attribute, permission(rights),
                                      (off_t)offset, length);
    if (error == RSMERR_SEG_ALREADY_MAPPED)
        litmus_skip("RSMAPI maps a handle once");
    CHECK(error == RSM_SUCCESS);
    return address;
}

void bed_unmap(volatile uint8_t *map)
{
    CHECK(rsm_memseg_import_unmap(import) == RSM_SUCCESS);
}

int bed_open(void)
{
    return rsm_memseg_import_open_barrier(barrier());
}

int bed_order(void)
{
    return rsm_memseg_import_order_barrier(barrier());
}

int bed_close(void)
{
    int error = rsm_memseg_import_close_barrier(barrier());
    CHECK(rsm_memseg_import_open_barrier(barrier()) == RSM_SUCCESS);
    return error;
}

int bed_put(size_t offset, const void *src, size_t length)
{
    return rsm_memseg_import_put(import, (off_t)offset, (void *)(uintptr_t)src, length);
}

int bed_get(size_t offset, void *dst, size_t length)
{
    return rsm_memseg_import_get(import, (off_t)offset, dst, length);
}

bool bed_connect_again(void)
{
    CHECK(rsm_memseg_import_connect(controller, EXPORTER, SEGMENT, RSM_PERM_RDWR, &again) ==
          RSM_SUCCESS);
    CHECK(rsm_memseg_import_init_barrier(again, RSM_BAR_DEFAULT, &again_barrier) == RSM_SUCCESS);
    return true;
}

int bed_again_put(size_t offset, const void *src, size_t length)
{
    return rsm_memseg_import_put(again, (off_t)offset, (void *)(uintptr_t)src, length);
}

int bed_again_get(size_t offset, void *dst, size_t length)
{
    return rsm_memseg_import_get(again, (off_t)offset, dst, length);
}

int bed_again_put_registered(size_t offset, void *src, size_t length)
{
    rsm_iovec_t piece = {
        .io_type = RSM_HANDLE_TYPE, .remote_offset = offset, .transfer_length = length};
    rsm_scat_gath_t request = {.io_request_count = 1, .remote_handle = again, .iovec = &piece};
    CHECK(rsm_create_localmemory_handle(controller, &piece.local.handle, src, length) ==
          RSM_SUCCESS);
    int error = rsm_memseg_import_putv(&request);
    CHECK(rsm_free_localmemory_handle(controller, piece.local.handle) == RSM_SUCCESS);
    return error;
}

static void await(pid_t pid)
{
    int status;
    CHECK(waitpid(pid, &status, 0) == pid);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

void bed_end(void)
{
    if (importer_pid > 0)
        await(importer_pid);
    if (again != NULL) {
        rsm_memseg_import_destroy_barrier(&again_barrier);
        CHECK(rsm_memseg_import_disconnect(again) == RSM_SUCCESS);
    }
    disconnect();
    atomic_store(&shared->peer_ready, 2);
    await(peer_pid);
}

bool bed_inject(unsigned failures, bool at_once)
{
    (void)failures, (void)at_once;
    return false;
}

void bed_cut(void)
{
    kill(peer_pid, SIGKILL);
    CHECK(waitpid(peer_pid, NULL, 0) == peer_pid);
}
