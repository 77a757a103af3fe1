/* SPDX-License-Identifier: BSD-3-Clause */
#include "serve.h"

#include <inttypes.h>
#include <rsmapi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lane.h"

enum { LANES = IMPORTERS_MAX, LOOK_MS = 200 };

struct server {
    rsmapi_controller_handle_t controller;
    rsm_memseg_export_handle_t segment;
    struct wire_slots *slots;
    size_t page;
    atomic_bool stopping;
    struct plain_server plain; /**< with --limit tcp */
    struct lane lanes[LANES];
};

static volatile sig_atomic_t stop_signal;

static void note_stop(int number)
{
    stop_signal = number;
}

static void watch_for_stop(void)
{
    struct sigaction action = {.sa_handler = note_stop}; /* no SA_RESTART: waits end */
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}

/* ------------------------------------------------------------------ requests */

static struct lane *free_lane(struct server *server)
{
    struct lane *found = NULL;
    for (unsigned i = 0; i < LANES; i++) {
        struct lane *lane = &server->lanes[i];
        if (lane->used && atomic_load(&lane->ended))
            lane_join(lane);
        if (!lane->used && found == NULL)
            found = lane;
    }
    return found;
}

/* What importers write is only looked at in a copy. */
static void answer(struct server *server, const struct wire_slot *request)
{
    uint32_t node = (uint32_t)request->node, id = (uint32_t)request->id;
    if (request->node < 1 || request->node > NODE_MAX || request->id > UINT32_MAX)
        return;
    struct lane *lane = free_lane(server);
    if (request->version == WIRE_VERSION && request->bytes >= 1 && request->bytes <= BYTES_MAX &&
        request->sisci_adapter <= 1 + ADAPTER_MAX && lane != NULL) {
        *lane = (struct lane){.stopping = &server->stopping,
                              .controller = server->controller,
                              .plain = &server->plain,
                              .node = node,
                              .answer_id = id,
                              .bytes = (size_t)request->bytes,
                              .sisci = request->sisci_adapter != 0,
                              .adapter = (unsigned)request->sisci_adapter - 1};
        if (lane_start(lane))
            return;
    }
    lane_refuse(server->controller, node, id);
}

static void look_at_slots(struct server *server)
{
    for (unsigned i = 0; i < WIRE_SLOTS; i++) {
        struct wire_slot *slot = &server->slots->slot[i], copy;
        uint64_t ready = atomic_load(&slot->ready);
        if (ready == 0)
            continue;
        memcpy((char *)&copy + sizeof copy.ready, (char *)slot + sizeof slot->ready,
               sizeof copy - sizeof copy.ready);
        atomic_store(&slot->ready, 0);
        if (copy.token == ready)
            answer(server, &copy);
    }
}

static bool work(struct server *server)
{
    int error = RSM_SUCCESS;
    while (stop_signal == 0 &&
           (error == RSM_SUCCESS || error == RSMERR_TIMEOUT || error == RSMERR_INTERRUPTED)) {
        error = rsm_intr_signal_wait(server->segment, LOOK_MS);
        look_at_slots(server);
        (void)free_lane(server);
    }
    return stop_signal != 0;
}

/* ------------------------------------------------------------------ beginning and end */

static int open_controller(struct server *server, const struct options *options, uint32_t *node,
                           const char **call)
{
    char name[NAME_BYTES];
    rsm_topology_t *topology;
    memcpy(name, options->controller, sizeof name);
    *call = "rsm_get_controller";
    int error = rsm_get_controller(name, &server->controller);
    if (error != RSM_SUCCESS)
        return error;
    *call = "rsm_get_interconnect_topology";
    error = rsm_get_interconnect_topology(&topology);
    if (error != RSM_SUCCESS)
        return error;
    *node = topology->topology_hdr.local_nodeid;
    rsm_free_interconnect_topology(topology);
    return RSM_SUCCESS;
}

static int publish_slots(struct server *server, uint32_t *id, const char **call)
{
    server->page = (size_t)sysconf(_SC_PAGESIZE);
    server->slots = aligned_alloc(server->page, server->page);
    *call = "memory";
    if (server->slots == NULL)
        return TROUBLE_SYSTEM;
    memset(server->slots, 0, server->page);
    *call = "rsm_memseg_export_create";
    int error = rsm_memseg_export_create(server->controller, &server->segment, server->slots,
                                         server->page, 0);
    if (error != RSM_SUCCESS)
        return error;
    *call = "rsm_memseg_export_publish";
    rsm_memseg_id_t wanted = *id;
    error = rsm_memseg_export_publish(server->segment, &wanted, NULL, 0);
    *id = wanted;
    return error;
}

static void stop(struct server *server)
{
    atomic_store(&server->stopping, true);
    for (unsigned i = 0; i < LANES; i++)
        if (server->lanes[i].used)
            lane_join(&server->lanes[i]);
    if (server->segment != NULL)
        (void)rsm_memseg_export_destroy(server->segment);
    if (server->controller != NULL)
        (void)rsm_release_controller(server->controller);
    plain_server_stop(&server->plain);
    free(server->slots);
}

static int start_plain(struct server *server, const struct options *options, const char **call)
{
    *call = "--limit tcp";
    if (!options->limit_tcp ||
        plain_server_start(&server->plain, options->limit_address, BYTES_MAX))
        return RSM_SUCCESS;
    return TROUBLE_SYSTEM;
}

int serve(const struct options *options, uint32_t id,
          void (*ready)(void *context, const struct serve_address *address), void *context)
{
    static struct server server; /* too large for a stack */
    struct serve_address address = {.id = id};
    const char *call = "";
    watch_for_stop();
    int error = start_plain(&server, options, &call);
    if (error == RSM_SUCCESS)
        error = open_controller(&server, options, &address.node, &call);
    if (error == RSM_SUCCESS)
        error = publish_slots(&server, &address.id, &call);
    if (error != RSM_SUCCESS)
        report_error(address.failure, call, error);
    ready(context, &address);
    bool well = error == RSM_SUCCESS && work(&server);
    stop(&server);
    return well ? EXIT_SUCCESS : EXIT_FAILURE;
}

static void print_ready(void *context, const struct serve_address *address)
{
    (void)context;
    if (address->failure[0] != '\0') {
        complain("%s", address->failure);
        return;
    }
    printf("Serving as node %" PRIu32 ", segment 0x%" PRIx32
           "; on another node: rsmperf --node %" PRIu32 "\n",
           address->node, address->id, address->node);
    fflush(stdout);
}

int serve_main(const struct options *options)
{
    return serve(options, options->id, print_ready, NULL);
}
