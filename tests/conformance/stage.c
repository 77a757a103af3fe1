/* SPDX-License-Identifier: BSD-3-Clause */
#include "stage.h"

#include <strings.h>

#include "process.h"

enum { CONTROLLER_TRIES = 5 };
enum { KEPT_MAX = 512, PATIENCE_MS = 10000 };

/* What need not be given back is not lost either: the leak checker finds it here. */
static void *kept[KEPT_MAX];
static unsigned kept_count;

static void *keep(void *pointer)
{
    HOLDS(kept_count < KEPT_MAX);
    kept[kept_count++] = pointer;
    return pointer;
}

bool on_loopback(void)
{
    return strncasecmp(options.controller, "loopback", strlen("loopback")) == 0;
}

bool mapping_is_direct(const void *address)
{
    FILE *maps = fopen("/proc/self/maps", "re");
    char line[512];
    bool known = false, direct = false;
    HOLDS(maps != NULL);
    while (!known && fgets(line, sizeof line, maps) != NULL) {
        char *end;
        uintptr_t from = strtoul(line, &end, 16);
        known = *end == '-' && (uintptr_t)address >= from &&
                (uintptr_t)address < strtoul(end + 1, NULL, 16);
        direct = known && strstr(line, "/memfd:rsm-mapping") == NULL;
    }
    fclose(maps);
    HOLDS(known);
    return direct;
}

struct actor *unprivileged_importer(void)
{
    if (geteuid() == 0)
        serve_all_users();
    struct actor *importer = importer_start();
    if (geteuid() == 0)
        TELL_OK(importer, USER, .uid = UNPRIVILEGED_UID, .gid = UNPRIVILEGED_UID);
    return importer;
}

/* ---------------------------------------------------------------- mapping */

void needs_map(void)
{
    if (options.no_map)
        does_not_apply("the controller has no load and store (RSM_CAP_MAP): mapping");
}

int judge_map(int error)
{
    if (error == RSMERR_MAP_FAILED)
        needs_map();
    return error;
}

int import_map(rsm_memseg_import_handle_t handle, void **address, rsm_attribute_t attributes,
               rsm_permission_t rights, off_t offset, size_t length)
{
    return judge_map(rsm_memseg_import_map(handle, address, attributes, rights, offset, length));
}

/* ---------------------------------------------------------------- objects */

int get_controller(const char *name, rsmapi_controller_handle_t *handle)
{
    char writable[512];
    snprintf(writable, sizeof writable, "%s", name);
    return rsm_get_controller(writable, handle);
}

int get_controller_at_last(const char *name, rsmapi_controller_handle_t *handle)
{
    int error = get_controller(name, handle);
    for (int tries = 1; error != RSM_SUCCESS && tries < CONTROLLER_TRIES; tries++)
        error = get_controller(name, handle);
    return error;
}

rsmapi_controller_handle_t controller(void)
{
    static rsmapi_controller_handle_t opened;
    if (opened == NULL)
        OK(get_controller_at_last(options.controller, &opened));
    return opened;
}

rsmapi_controller_handle_t loopback(void)
{
    static rsmapi_controller_handle_t opened;
    if (opened == NULL)
        OK(get_controller_at_last("loopback", &opened));
    return opened;
}

uint8_t *pages(size_t count)
{
    void *memory =
        mmap(NULL, count * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    HOLDS(memory != MAP_FAILED);
    return memory;
}

rsm_memseg_export_handle_t created(void *memory, size_t length, uint_t flags)
{
    rsm_memseg_export_handle_t segment;
    OK(rsm_memseg_export_create(controller(), &segment, memory, length, flags));
    return keep(segment);
}

void publish(rsm_memseg_export_handle_t segment, rsm_memseg_id_t id)
{
    rsmapi_access_entry_t acl[2];
    unsigned count = both_nodes(acl, 0666);
    OK(rsm_memseg_export_publish(segment, &id, acl, count));
}

rsm_memseg_export_handle_t published(void *memory, size_t count)
{
    rsm_memseg_export_handle_t segment = created(memory, count * PAGE, 0);
    publish(segment, SEGMENT_ID);
    return segment;
}

struct actor *offered(size_t count)
{
    struct actor *exporter = exporter_start();
    act_as_importer();
    TELL_OK(exporter, OFFER, .pages = count);
    return exporter;
}

int connect_to(rsm_memseg_id_t id, rsm_permission_t rights, rsm_memseg_import_handle_t *handle)
{
    int error = rsm_memseg_import_connect(controller(), options.exporter_node, id, rights, handle);
    if (error == RSM_SUCCESS)
        keep(*handle);
    return error;
}

rsm_memseg_import_handle_t connected(rsm_permission_t rights)
{
    rsm_memseg_import_handle_t handle;
    OK(connect_to(SEGMENT_ID, rights, &handle));
    return handle;
}

uint8_t *mapped(rsm_memseg_import_handle_t handle, size_t length)
{
    void *address = NULL;
    OK(import_map(handle, &address, RSM_MAP_NONE, RSM_PERM_RDWR, 0, length));
    return address;
}

rsmapi_barrier_t *barrier_of(rsm_memseg_import_handle_t handle)
{
    rsmapi_barrier_t *barrier = keep(calloc(1, sizeof *barrier));
    OK(rsm_memseg_import_init_barrier(handle, RSM_BARRIER_SEGMENT, barrier));
    return barrier;
}

void await_arrival(rsm_memseg_import_handle_t handle)
{
    rsmapi_barrier_t barrier;
    OK(rsm_memseg_import_init_barrier(handle, RSM_BARRIER_SEGMENT, &barrier));
    OK(rsm_memseg_import_open_barrier(&barrier));
    OK(rsm_memseg_import_close_barrier(&barrier));
    OK(rsm_memseg_import_destroy_barrier(&barrier));
}

rsm_memseg_import_handle_t ready(void)
{
    rsm_memseg_import_handle_t handle = connected(RSM_PERM_RDWR);
    barrier_of(handle);
    return handle;
}

void await_abort(rsm_memseg_import_handle_t handle)
{
    rsmapi_barrier_t *barrier = barrier_of(handle);
    int64_t deadline = now_ms() + PATIENCE_MS;
    int error;
    do {
        HOLDS(now_ms() < deadline);
        OK(rsm_memseg_import_open_barrier(barrier));
        error = rsm_memseg_import_close_barrier(barrier);
    } while (error == RSM_SUCCESS);
    EXPECT(RSMERR_CONN_ABORTED, error);
}

void unpublish_and_tell(struct actor *exporter, rsm_memseg_import_handle_t handle)
{
    TELL_OK(exporter, UNPUBLISH);
    if (two_hosts())
        await_abort(handle);
}

/* ---------------------------------------------------------------- children and memory */

int in_child(int (*function)(void *argument), void *argument)
{
    int status = 0;
    fflush(NULL);
    pid_t pid = fork();
    HOLDS(pid >= 0);
    if (pid == 0)
        _exit(function(argument));
    HOLDS(child_await(pid, 0, PATIENCE_MS, &status) == pid);
    HOLDS(WIFEXITED(status));
    return WEXITSTATUS(status);
}

uint32_t load32(const void *address)
{
    return *(const volatile uint32_t *)address;
}

uint64_t load64(const void *address)
{
    return *(const volatile uint64_t *)address;
}

void store64(void *address, uint64_t value)
{
    *(volatile uint64_t *)address = value;
}
