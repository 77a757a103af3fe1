/* SPDX-License-Identifier: BSD-3-Clause */
/* The rings as a segment: all that a program for shared memory needs in addition. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rsm/rsm_strerror.h>

#include "parts.h"

enum { CONNECT_TRIES = 100, CONNECT_PAUSE_US = 50000 };

bool segment_succeeded(const char *call, int error)
{
    if (error != RSM_SUCCESS)
        fprintf(stderr, "ring: %s: %s: %s\n", call, rsm_strerrorname(error), rsm_strerror(error));
    return error == RSM_SUCCESS;
}

static size_t whole_pages(void)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    return (sizeof(struct channel) + page - 1) / page * page;
}

bool segment_export(struct exported *exported, char *controller, rsm_memseg_id_t id)
{
    size_t length = whole_pages();
    *exported = (struct exported){.channel = aligned_alloc((size_t)sysconf(_SC_PAGESIZE), length)};
    if (exported->channel == NULL) {
        fprintf(stderr, "ring: no memory\n");
        return false;
    }
    memset(exported->channel, 0, length);
    if (segment_succeeded("rsm_get_controller",
                          rsm_get_controller(controller, &exported->controller)) &&
        segment_succeeded("rsm_memseg_export_create",
                          rsm_memseg_export_create(exported->controller, &exported->segment,
                                                   exported->channel, length, 0)) &&
        segment_succeeded("rsm_memseg_export_publish",
                          rsm_memseg_export_publish(exported->segment, &id, NULL, 0)))
        return true;
    segment_unexport(exported);
    return false;
}

void segment_unexport(struct exported *exported)
{
    if (exported->segment != NULL)
        (void)rsm_memseg_export_destroy(exported->segment);
    if (exported->controller != NULL)
        (void)rsm_release_controller(exported->controller);
    free(exported->channel);
}

/* The server may come later. */
static bool connect(struct imported *imported, rsm_node_id_t node, rsm_memseg_id_t id)
{
    int error = RSM_SUCCESS;
    for (int i = 0; i < CONNECT_TRIES; i++) {
        error = rsm_memseg_import_connect(imported->controller, node, id, RSM_PERM_RDWR,
                                          &imported->segment);
        if (error == RSM_SUCCESS)
            return true;
        usleep(CONNECT_PAUSE_US);
    }
    return segment_succeeded("rsm_memseg_import_connect", error);
}

bool segment_import(struct imported *imported, char *controller, rsm_node_id_t node,
                    rsm_memseg_id_t id)
{
    *imported = (struct imported){.mapped = NULL};
    if (segment_succeeded("rsm_get_controller",
                          rsm_get_controller(controller, &imported->controller)) &&
        connect(imported, node, id) &&
        segment_succeeded("rsm_memseg_import_init_barrier",
                          rsm_memseg_import_init_barrier(imported->segment, RSM_BARRIER_NODE,
                                                         &imported->barrier)) &&
        segment_succeeded("rsm_memseg_import_open_barrier",
                          rsm_memseg_import_open_barrier(&imported->barrier)))
        return true;
    segment_unimport(imported);
    return false;
}

bool segment_map(struct imported *imported)
{
    void *address = NULL;
    if (!segment_succeeded("rsm_memseg_import_map",
                           rsm_memseg_import_map(imported->segment, &address, RSM_MAP_NONE,
                                                 RSM_PERM_RDWR, 0, whole_pages())))
        return false;
    imported->mapped = address;
    return true;
}

void segment_unimport(struct imported *imported)
{
    if (imported->mapped != NULL)
        (void)rsm_memseg_import_unmap(imported->segment);
    if (imported->segment != NULL)
        (void)rsm_memseg_import_disconnect(imported->segment);
    if (imported->controller != NULL)
        (void)rsm_release_controller(imported->controller);
}
