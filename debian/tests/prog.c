/* SPDX-License-Identifier: BSD-3-Clause */
/* Export a page, import it from the same node, write to it as legacy programs do, and look. */
#include <rsmapi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TRY(call)                                                                                  \
    do {                                                                                           \
        int code_ = (call);                                                                        \
        if (code_ != RSM_SUCCESS) {                                                                \
            fprintf(stderr, "%s: error %d\n", #call, code_);                                       \
            return 1;                                                                              \
        }                                                                                          \
    } while (0)

int main(void)
{
    static char name[] = "sci0";
    static char text[8] = "legacy";
    rsmapi_barrier_t barrier;
    rsmapi_controller_handle_t controller;
    rsm_memseg_export_handle_t segment;
    rsm_memseg_import_handle_t import;
    rsmapi_access_entry_t access;
    rsm_topology_t *topology;
    rsm_memseg_id_t id = 0;
    size_t size = (size_t)sysconf(_SC_PAGESIZE);
    void *memory = NULL;

    if (posix_memalign(&memory, size, size) != 0)
        return 1;
    memset(memory, 0, size);
    TRY(rsm_get_controller(name, &controller));
    TRY(rsm_get_interconnect_topology(&topology));
    access.ae_node = topology->topology_hdr.local_nodeid;
    access.ae_permission = RSM_PERM_RDWR;
    TRY(rsm_memseg_export_create(controller, &segment, memory, size, 0));
    TRY(rsm_memseg_export_publish(segment, &id, &access, 1));
    TRY(rsm_memseg_import_connect(controller, access.ae_node, id, RSM_PERM_RDWR, &import));
    TRY(rsm_memseg_import_init_barrier(import, RSM_BARRIER_NODE, &barrier));
    TRY(rsm_memseg_import_open_barrier(&barrier));
    TRY(rsm_memseg_import_put(import, 0, text, sizeof(text)));
    TRY(rsm_memseg_import_close_barrier(&barrier));
    TRY(rsm_memseg_import_destroy_barrier(&barrier));
    TRY(rsm_memseg_import_disconnect(import));
    puts(memory);
    TRY(rsm_memseg_export_unpublish(segment));
    TRY(rsm_memseg_export_destroy(segment));
    rsm_free_interconnect_topology(topology);
    TRY(rsm_release_controller(controller));
    return 0;
}
