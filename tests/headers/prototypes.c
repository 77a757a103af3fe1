/* SPDX-License-Identifier: BSD-3-Clause */
/* All 42 functions are declared, with exactly these types: H-01, H-16, H-17. Each is declared
 * once more, which the compiler (C or C++) refuses unless it is the same; and each is referred to,
 * so that linking this shows whether the library has it. */
#include <rsmapi.h>

#include <stdio.h>

/* Before the redeclarations: the header has to know every name. */
#define ADDRESS(function) ((void (*)(void))(function))

static void (*const functions[])(void) = {
    ADDRESS((int (*)(char *, rsmapi_controller_handle_t *))rsm_get_controller), /* C++: this one */
    ADDRESS(rsm_get_controller_attr),
    ADDRESS(rsm_release_controller),
    ADDRESS(rsm_get_interconnect_topology),
    ADDRESS(rsm_free_interconnect_topology),
    ADDRESS(rsm_get_segmentid_range),
    ADDRESS(rsm_memseg_export_create),
    ADDRESS(rsm_memseg_export_destroy),
    ADDRESS(rsm_memseg_export_rebind),
    ADDRESS(rsm_memseg_export_publish),
    ADDRESS(rsm_memseg_export_unpublish),
    ADDRESS(rsm_memseg_export_republish),
    ADDRESS(rsm_memseg_import_connect),
    ADDRESS(rsm_memseg_import_disconnect),
    ADDRESS(rsm_memseg_import_map),
    ADDRESS(rsm_memseg_import_unmap),
    ADDRESS(rsm_memseg_import_get8),
    ADDRESS(rsm_memseg_import_get16),
    ADDRESS(rsm_memseg_import_get32),
    ADDRESS(rsm_memseg_import_get64),
    ADDRESS(rsm_memseg_import_get),
    ADDRESS(rsm_memseg_import_getv),
    ADDRESS(rsm_memseg_import_put8),
    ADDRESS(rsm_memseg_import_put16),
    ADDRESS(rsm_memseg_import_put32),
    ADDRESS(rsm_memseg_import_put64),
    ADDRESS(rsm_memseg_import_put),
    ADDRESS(rsm_memseg_import_putv),
    ADDRESS(rsm_memseg_import_init_barrier),
    ADDRESS(rsm_memseg_import_open_barrier),
    ADDRESS(rsm_memseg_import_order_barrier),
    ADDRESS(rsm_memseg_import_close_barrier),
    ADDRESS(rsm_memseg_import_destroy_barrier),
    ADDRESS(rsm_memseg_import_get_mode),
    ADDRESS(rsm_memseg_import_set_mode),
    ADDRESS(rsm_create_localmemory_handle),
    ADDRESS(rsm_free_localmemory_handle),
    ADDRESS(rsm_intr_signal_post),
    ADDRESS(rsm_intr_signal_wait),
    ADDRESS(rsm_intr_signal_wait_pollfd),
    ADDRESS(rsm_memseg_get_pollfd),
    ADDRESS(rsm_memseg_release_pollfd),
};

#ifdef __cplusplus
extern "C" {
#endif

typedef rsmapi_controller_handle_t controller_t;
typedef rsm_memseg_export_handle_t export_t;
typedef rsm_memseg_import_handle_t import_t;

int rsm_get_controller(char *, controller_t *);
int rsm_get_controller_attr(controller_t, rsmapi_controller_attr_t *);
int rsm_release_controller(controller_t);
int rsm_get_interconnect_topology(rsm_topology_t **);
void rsm_free_interconnect_topology(rsm_topology_t *);
int rsm_get_segmentid_range(const char *, rsm_memseg_id_t *, uint32_t *);

int rsm_memseg_export_create(controller_t, export_t *, void *, size_t, uint_t);
int rsm_memseg_export_destroy(export_t);
int rsm_memseg_export_rebind(export_t, void *, offset_t, size_t);
int rsm_memseg_export_publish(export_t, rsm_memseg_id_t *, rsmapi_access_entry_t *, uint_t);
int rsm_memseg_export_unpublish(export_t);
int rsm_memseg_export_republish(export_t, rsmapi_access_entry_t *, uint_t);

int rsm_memseg_import_connect(controller_t, rsm_node_id_t, rsm_memseg_id_t, rsm_permission_t,
                              import_t *);
int rsm_memseg_import_disconnect(import_t);
int rsm_memseg_import_map(import_t, void **, rsm_attribute_t, rsm_permission_t, off_t, size_t);
int rsm_memseg_import_unmap(import_t);

int rsm_memseg_import_get8(import_t, off_t, uint8_t *, ulong_t);
int rsm_memseg_import_get16(import_t, off_t, uint16_t *, ulong_t);
int rsm_memseg_import_get32(import_t, off_t, uint32_t *, ulong_t);
int rsm_memseg_import_get64(import_t, off_t, uint64_t *, ulong_t);
int rsm_memseg_import_get(import_t, off_t, void *, size_t);
int rsm_memseg_import_getv(rsm_scat_gath_t *);
int rsm_memseg_import_put8(import_t, off_t, uint8_t *, ulong_t);
int rsm_memseg_import_put16(import_t, off_t, uint16_t *, ulong_t);
int rsm_memseg_import_put32(import_t, off_t, uint32_t *, ulong_t);
int rsm_memseg_import_put64(import_t, off_t, uint64_t *, ulong_t);
int rsm_memseg_import_put(import_t, off_t, void *, size_t);
int rsm_memseg_import_putv(rsm_scat_gath_t *);

int rsm_memseg_import_init_barrier(import_t, rsm_barrier_type_t, rsmapi_barrier_t *);
int rsm_memseg_import_open_barrier(rsmapi_barrier_t *);
int rsm_memseg_import_order_barrier(rsmapi_barrier_t *);
int rsm_memseg_import_close_barrier(rsmapi_barrier_t *);
int rsm_memseg_import_destroy_barrier(rsmapi_barrier_t *);
int rsm_memseg_import_get_mode(import_t, rsm_barrier_mode_t *);
int rsm_memseg_import_set_mode(import_t, rsm_barrier_mode_t);

int rsm_create_localmemory_handle(controller_t, rsm_localmemory_handle_t *, caddr_t, size_t);
int rsm_free_localmemory_handle(controller_t, rsm_localmemory_handle_t);

int rsm_intr_signal_post(void *, uint_t);
int rsm_intr_signal_wait(void *, int);
int rsm_intr_signal_wait_pollfd(struct pollfd *, nfds_t, int, int *);
int rsm_memseg_get_pollfd(void *, struct pollfd *);
int rsm_memseg_release_pollfd(void *);

#ifdef __cplusplus
}
#endif

int main(void)
{
    size_t i, present = 0, wanted = sizeof functions / sizeof functions[0];
    for (i = 0; i < wanted; i++)
        present += functions[i] != NULL;
    printf("%lu of %lu functions\n", (ulong_t)present, (ulong_t)wanted);
    return present == 42 && wanted == 42 ? 0 : 1;
}
