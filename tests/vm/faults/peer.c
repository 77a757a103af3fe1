/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One side of two machines, for scripts:
 *
 *   verbs_peer export            export and publish a segment; says so, and stays
 *   verbs_peer unreachable NODE  connecting to it fails because the node is not reachable
 *   verbs_peer use NODE          connect, put and get back
 *   verbs_peer until-lost NODE   the same, and put on until that fails as it does when the node is
 *                                lost; says when it has begun
 */
#include <rsmapi.h>

#include "integration/process.h"

enum { BLOCK = 256 * 1024, PAGE = 4096, ID = 0x400000, WITHIN_MS = 60000, TICK_US = 10000 };

static uint8_t block[BLOCK], back[BLOCK];

static int complain(const char *what, int error)
{
    fprintf(stderr, "verbs_peer: %s: %d\n", what, error);
    return 1;
}

static rsmapi_controller_handle_t controller(void)
{
    static rsmapi_controller_handle_t handle;
    char name[] = "sci0";
    int error = handle == NULL ? rsm_get_controller(name, &handle) : RSM_SUCCESS;
    if (error != RSM_SUCCESS)
        exit(complain("rsm_get_controller", error));
    return handle;
}

static int export_segment(void)
{
    rsm_memseg_export_handle_t segment;
    rsm_memseg_id_t id = ID;
    rsmapi_access_entry_t acl[] = {{.ae_node = 1, .ae_permission = 0666},
                                   {.ae_node = 2, .ae_permission = 0666}};
    void *memory = aligned_alloc(PAGE, BLOCK);
    int error = rsm_memseg_export_create(controller(), &segment, memory, BLOCK, 0);
    if (error == RSM_SUCCESS)
        error = rsm_memseg_export_publish(segment, &id, acl, 2);
    if (error != RSM_SUCCESS)
        return complain("export", error);
    puts("exporting");
    fflush(stdout);
    for (;;)
        pause();
}

static int connect_to(unsigned node, rsm_memseg_import_handle_t *handle)
{
    return rsm_memseg_import_connect(controller(), node, ID, RSM_PERM_RDWR, handle);
}

static int expect_unreachable(unsigned node)
{
    rsm_memseg_import_handle_t handle;
    int64_t began = now_ms();
    int error = connect_to(node, &handle);
    printf("connect: %d after %ld ms\n", error, (long)(now_ms() - began));
    return error == RSMERR_REMOTE_NODE_UNREACHABLE ? 0 : complain("connect", error);
}

static int transfer(rsm_memseg_import_handle_t handle, unsigned round)
{
    memset(block, (int)(round % 251), sizeof block);
    return rsm_memseg_import_put(handle, 0, block, sizeof block);
}

/* Connected, with something put and got back. */
static rsm_memseg_import_handle_t begin(unsigned node)
{
    static rsmapi_barrier_t barrier;
    rsm_memseg_import_handle_t handle = NULL;
    int64_t deadline = now_ms() + WITHIN_MS;
    int error;
    while ((error = connect_to(node, &handle)) != RSM_SUCCESS && now_ms() < deadline)
        usleep(TICK_US);
    if (error == RSM_SUCCESS)
        error = rsm_memseg_import_init_barrier(handle, RSM_BARRIER_SEGMENT, &barrier);
    if (error == RSM_SUCCESS)
        error = transfer(handle, 7);
    if (error == RSM_SUCCESS)
        error = rsm_memseg_import_get(handle, 0, back, sizeof back);
    if (error != RSM_SUCCESS)
        exit(complain("first transfer", error));
    if (memcmp(block, back, sizeof back) != 0)
        exit(complain("came back different", 0));
    return handle;
}

static int use(unsigned node)
{
    return rsm_memseg_import_disconnect(begin(node)) == RSM_SUCCESS ? 0 : 1;
}

static int put_until_lost(unsigned node)
{
    rsm_memseg_import_handle_t handle = begin(node);
    int64_t deadline = now_ms() + WITHIN_MS;
    int error = RSM_SUCCESS;
    puts("putting");
    fflush(stdout);
    for (unsigned round = 0; error == RSM_SUCCESS && now_ms() < deadline; round++)
        error = transfer(handle, round);
    printf("put: %d\n", error);
    if (error != RSMERR_CONN_ABORTED && error != RSMERR_BARRIER_FAILURE)
        return complain("put", error);
    return rsm_memseg_import_disconnect(handle) == RSM_SUCCESS ? 0 : 1;
}

int main(int argc, char **argv)
{
    const char *verb = argc > 1 ? argv[1] : "";
    unsigned node = argc > 2 ? (unsigned)atoi(argv[2]) : 0;
    if (strcmp(verb, "export") == 0)
        return export_segment();
    if (strcmp(verb, "unreachable") == 0)
        return expect_unreachable(node);
    if (strcmp(verb, "use") == 0)
        return use(node);
    if (strcmp(verb, "until-lost") == 0)
        return put_until_lost(node);
    fprintf(stderr, "usage: verbs_peer export | (unreachable | use | until-lost) NODE\n");
    return 2;
}
