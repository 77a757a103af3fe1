/* SPDX-License-Identifier: BSD-3-Clause */
#include "reflect.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rsm/rsm_strerror.h>

static bool succeeded(const char *call, int error)
{
    if (error != RSM_SUCCESS)
        fprintf(stderr, "reflect: %s: %s: %s\n", call, rsm_strerrorname(error),
                rsm_strerror(error));
    return error == RSM_SUCCESS;
}

static bool find_node(struct publisher *publisher)
{
    rsm_topology_t *topology;
    if (!succeeded("rsm_get_interconnect_topology", rsm_get_interconnect_topology(&topology)))
        return false;
    publisher->node = topology->topology_hdr.local_nodeid;
    rsm_free_interconnect_topology(topology);
    if (publisher->node >= 1 && publisher->node <= SLOTS)
        return true;
    fprintf(stderr, "reflect: this is node %u, and there is room for nodes 1 to %d\n",
            (unsigned)publisher->node, SLOTS);
    return false;
}

static bool export_copy(struct publisher *publisher, rsm_memseg_id_t id)
{
    publisher->copy = aligned_alloc((size_t)sysconf(_SC_PAGESIZE), COPY_BYTES);
    if (publisher->copy == NULL) {
        fprintf(stderr, "reflect: no memory\n");
        return false;
    }
    memset(publisher->copy, 0, COPY_BYTES);
    return succeeded("rsm_memseg_export_create",
                     rsm_memseg_export_create(publisher->controller, &publisher->segment,
                                              publisher->copy, COPY_BYTES, 0)) &&
           succeeded("rsm_memseg_export_publish",
                     rsm_memseg_export_publish(publisher->segment, &id, NULL, 0));
}

bool publisher_begin(struct publisher *publisher, const struct options *options)
{
    *publisher = (struct publisher){.copy = NULL};
    if (!succeeded("rsm_get_controller",
                   rsm_get_controller(options->controller, &publisher->controller)))
        return false;
    if (find_node(publisher) && export_copy(publisher, options->segment_id) &&
        succeeded("rsm_group_connect",
                  rsm_group_connect(publisher->controller, options->segment_id, &publisher->group)))
        return true;
    publisher_end(publisher);
    return false;
}

void publisher_end(struct publisher *publisher)
{
    if (publisher->group != NULL)
        (void)rsm_group_disconnect(publisher->group);
    if (publisher->segment != NULL)
        (void)rsm_memseg_export_destroy(publisher->segment);
    (void)rsm_release_controller(publisher->controller);
    free(publisher->copy);
}

/* ------------------------------------------------------------------ writing */

static bool put(struct publisher *publisher, size_t member, const void *data, size_t length)
{
    off_t offset = (off_t)((publisher->node - 1) * sizeof(struct slot) + member);
    return succeeded("rsm_group_put", rsm_group_put(publisher->group, offset, data, length)) &&
           succeeded("rsm_group_order_barrier", rsm_group_order_barrier(publisher->group));
}

/* Waves, each value a little behind the one before. */
static void compute(struct slot *state, rsm_node_id_t node, double seconds)
{
    state->node = node;
    for (unsigned i = 0; i < VALUES; i++)
        state->values[i] = (float)sin(seconds * 2 + node - i * 0.3);
}

bool publisher_update(struct publisher *publisher, double seconds)
{
    struct slot state = {.begun = publisher->count + 1, .ended = publisher->count + 1};
    compute(&state, publisher->node, seconds);
    publisher->count++;
    return put(publisher, offsetof(struct slot, begun), &state.begun, sizeof state.begun) &&
           put(publisher, offsetof(struct slot, values), state.values,
               offsetof(struct slot, ended) - offsetof(struct slot, values)) &&
           put(publisher, offsetof(struct slot, ended), &state.ended, sizeof state.ended);
}

bool publisher_settle(struct publisher *publisher, unsigned *lacking)
{
    uint_t count = 0;
    int error = rsm_group_close_barrier(publisher->group, &count);
    *lacking = count;
    return error == RSMERR_BARRIER_FAILURE || succeeded("rsm_group_close_barrier", error);
}

/* ------------------------------------------------------------------ reading */

bool slot_read(const struct slot *slot, struct slot *into)
{
    enum { WORDS = sizeof *slot / sizeof(uint64_t) };
    const uint64_t *from = (const uint64_t *)(const void *)slot;
    uint64_t words[WORDS];
    uint64_t ended = __atomic_load_n(&slot->ended, __ATOMIC_ACQUIRE);
    /* Each load comes before the next one, and so all of them before that of `begun`. */
    for (unsigned i = 0; i < WORDS; i++)
        words[i] = __atomic_load_n(&from[i], __ATOMIC_ACQUIRE);
    uint64_t begun = __atomic_load_n(&slot->begun, __ATOMIC_RELAXED);
    memcpy(into, words, sizeof *into);
    into->ended = ended;
    return ended != 0 && begun == ended;
}
