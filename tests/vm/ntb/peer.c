/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One side of two machines over librsm, for scripts/ntb_hosts.sh:
 *
 *   ntb_peer export FILE     export and publish zeros; says so. When FILE is there, the memory must
 *                            still be zeros, and it ends
 *   ntb_peer own NODE        this node's own export, imported by itself to read: that is all that
 *                            the mapping allows
 *   ntb_peer use NODE        connect, put, get back, store and load
 *   ntb_peer store NODE FILE the same, then store through a mapping until a barrier reports; says
 *                            when it has begun and when it was told. Goes on storing until FILE is
 *                            there, as a process does that asks for no barrier
 */
#include <errno.h>
#include <rsmapi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "integration/process.h"

enum { LENGTH = 256 * 1024, PAGE = 4096, ID = 0x400000, WITHIN_MS = 60000, TICK_US = 10000 };

static uint8_t block[LENGTH], back[LENGTH];

struct connection {
    rsm_memseg_import_handle_t handle;
    rsmapi_barrier_t barrier;
    volatile uint64_t *memory;
};

static void check(const char *what, int error)
{
    if (error == RSM_SUCCESS)
        return;
    fprintf(stderr, "ntb_peer: %s: %d\n", what, error);
    exit(1);
}

static void say(const char *word)
{
    puts(word);
    fflush(stdout);
}

static rsmapi_controller_handle_t controller(void)
{
    rsmapi_controller_handle_t handle;
    char name[] = "sci0";
    check("rsm_get_controller", rsm_get_controller(name, &handle));
    return handle;
}

static int export_until(const char *file)
{
    rsm_memseg_export_handle_t segment;
    rsm_memseg_id_t id = ID;
    rsmapi_access_entry_t acl[] = {{.ae_node = 1, .ae_permission = 0666},
                                   {.ae_node = 2, .ae_permission = 0666}};
    volatile uint64_t *memory = aligned_alloc(PAGE, LENGTH);
    memset((void *)memory, 0, LENGTH);
    check("create", rsm_memseg_export_create(controller(), &segment, (void *)memory, LENGTH, 0));
    /* The daemon may still have to learn that a former exporter is dead. */
    int64_t deadline = now_ms() + WITHIN_MS;
    int error;
    while ((error = rsm_memseg_export_publish(segment, &id, acl, 2)) == RSMERR_SEGID_IN_USE &&
           now_ms() < deadline)
        usleep(TICK_US);
    check("publish", error);
    say("exporting");
    while (access(file, F_OK) < 0)
        usleep(TICK_US);
    unsigned strange = 0;
    for (unsigned i = 0; i < LENGTH / sizeof *memory; i++)
        strange += memory[i] != 0;
    printf("%u words of others\n", strange);
    check("unpublish", rsm_memseg_export_unpublish(segment));
    check("destroy", rsm_memseg_export_destroy(segment));
    return strange == 0 ? 0 : 1;
}

static int import_own(unsigned node)
{
    rsm_memseg_export_handle_t segment;
    rsm_memseg_import_handle_t handle;
    rsmapi_barrier_t barrier;
    rsm_memseg_id_t id = ID + 1;
    rsmapi_access_entry_t acl[] = {{.ae_node = node, .ae_permission = 0444}};
    volatile uint64_t *memory = aligned_alloc(PAGE, LENGTH);
    void *address = NULL;
    memset((void *)memory, 0x33, LENGTH);
    check("create", rsm_memseg_export_create(controller(), &segment, (void *)memory, LENGTH, 0));
    check("publish", rsm_memseg_export_publish(segment, &id, acl, 1));
    check("connect", rsm_memseg_import_connect(controller(), node, id, RSM_PERM_READ, &handle));
    check("init_barrier", rsm_memseg_import_init_barrier(handle, RSM_BARRIER_SEGMENT, &barrier));
    check("get", rsm_memseg_import_get(handle, 0, back, sizeof back));
    check("what was got", memcmp((void *)memory, back, sizeof back));
    check("map", rsm_memseg_import_map(handle, &address, RSM_MAP_NONE, RSM_PERM_READ, 0, LENGTH));
    memory[9] = 4711; /* by its own mapping, seen by the other one */
    check("what was loaded", ((volatile uint64_t *)address)[9] != 4711);
    check("mprotect", mprotect(address, LENGTH, PROT_READ | PROT_WRITE) == 0 || errno != EACCES);
    check("unmap", rsm_memseg_import_unmap(handle));
    check("disconnect", rsm_memseg_import_disconnect(handle));
    check("unpublish", rsm_memseg_export_unpublish(segment));
    check("destroy", rsm_memseg_export_destroy(segment));
    for (unsigned i = 0; i < LENGTH / sizeof *memory; i++)
        check("what is left", memory[i] != (i == 9 ? 4711 : 0x3333333333333333));
    return 0;
}

/* Connected, by put and get and by stores and loads, all of which leave zeros. */
static void begin(unsigned node, struct connection *made)
{
    rsmapi_controller_handle_t through = controller();
    int64_t deadline = now_ms() + WITHIN_MS;
    void *address = NULL;
    int error;
    while ((error = rsm_memseg_import_connect(through, node, ID, RSM_PERM_RDWR, &made->handle)) !=
               RSM_SUCCESS &&
           now_ms() < deadline)
        usleep(TICK_US);
    check("connect", error);
    check("init_barrier",
          rsm_memseg_import_init_barrier(made->handle, RSM_BARRIER_SEGMENT, &made->barrier));
    memset(block, 0x5a, sizeof block);
    check("put", rsm_memseg_import_put(made->handle, 0, block, sizeof block));
    check("get", rsm_memseg_import_get(made->handle, 0, back, sizeof back));
    check("what came back", memcmp(block, back, sizeof back));
    check("map",
          rsm_memseg_import_map(made->handle, &address, RSM_MAP_NONE, RSM_PERM_RDWR, 0, LENGTH));
    made->memory = address;
    check("set_mode", rsm_memseg_import_set_mode(made->handle, RSM_BARRIER_MODE_EXPLICIT));
    check("open_barrier", rsm_memseg_import_open_barrier(&made->barrier));
    for (unsigned i = 0; i < LENGTH / sizeof *made->memory; i++)
        made->memory[i] = i;
    check("close_barrier", rsm_memseg_import_close_barrier(&made->barrier));
    for (unsigned i = 0; i < LENGTH / sizeof *made->memory; i++)
        check("what was loaded", made->memory[i] != i);
    for (unsigned i = 0; i < LENGTH / sizeof *made->memory; i++)
        made->memory[i] = 0;
}

static int end(struct connection *made)
{
    check("unmap", rsm_memseg_import_unmap(made->handle));
    check("disconnect", rsm_memseg_import_disconnect(made->handle));
    return 0;
}

static int use(unsigned node)
{
    struct connection made;
    begin(node, &made);
    check("open_barrier", rsm_memseg_import_open_barrier(&made.barrier));
    check("close_barrier", rsm_memseg_import_close_barrier(&made.barrier));
    return end(&made);
}

static int store(unsigned node, const char *file)
{
    struct connection made;
    int64_t deadline = now_ms() + WITHIN_MS;
    uint64_t issued = 0, later = 0;
    int error = RSM_SUCCESS;
    begin(node, &made);
    say("storing");
    while (error == RSM_SUCCESS && now_ms() < deadline) {
        error = rsm_memseg_import_open_barrier(&made.barrier);
        if (error != RSM_SUCCESS)
            break;
        for (unsigned i = 0; i < 100; i++)
            made.memory[i] = ++issued;
        error = rsm_memseg_import_close_barrier(&made.barrier);
        usleep(100);
    }
    printf("told: %d after %lu stores\n", error, (unsigned long)issued);
    fflush(stdout);
    if (error != RSMERR_CONN_ABORTED && error != RSMERR_BARRIER_FAILURE)
        return 1;
    while (access(file, F_OK) < 0) {
        for (unsigned i = 0; i < LENGTH / sizeof *made.memory; i++)
            made.memory[i] = UINT64_MAX;
        later += LENGTH / sizeof *made.memory;
        usleep(TICK_US);
    }
    printf("%lu stores later\n", (unsigned long)later);
    return end(&made);
}

int main(int argc, char **argv)
{
    const char *verb = argc > 2 ? argv[1] : "";
    if (strcmp(verb, "export") == 0)
        return export_until(argv[2]);
    if (strcmp(verb, "own") == 0)
        return import_own((unsigned)atoi(argv[2]));
    if (strcmp(verb, "use") == 0)
        return use((unsigned)atoi(argv[2]));
    if (strcmp(verb, "store") == 0 && argc > 3)
        return store((unsigned)atoi(argv[2]), argv[3]);
    fputs("usage: ntb_peer export FILE | own NODE | use NODE | store NODE FILE\n", stderr);
    return 2;
}
