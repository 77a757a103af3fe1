/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench.h"

#include <sched.h>
#include <sisci_error.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "plain_tcp.h"
#include "report.h"
#include "samples.h"

enum {
    SPINS_PER_LOOK = 1 << 12, /* at the clock, and at who else wants the processor */
    ASK_TRIES = 3,
    ASK_MS = 2000,   /* for the server to take a request */
    LANE_MS = 30000, /* for a lane, whose memory must be got */
    LOOK_MS = 5,
    WAIT_MS = 10000, /* for SISCI to connect */
};
#define NS_PER_MS 1e6

int bench_failed(struct bench *bench, const char *call, int error)
{
    if (error != RSM_SUCCESS)
        bench->failed_call = call;
    return error;
}

int sisci_failed(struct bench *bench, const char *call, sci_error_t error)
{
    return bench_failed(bench, call, error == SCI_ERR_OK ? RSM_SUCCESS : trouble_of_sisci(error));
}

int spin_until_not(const _Atomic uint64_t *word, uint64_t old)
{
    double deadline = 0;
    for (unsigned spins = 1; atomic_load_explicit(word, memory_order_acquire) == old; spins++) {
        if (spins % SPINS_PER_LOOK != 0)
            continue;
        double now = clock_ns();
        if (deadline == 0)
            deadline = now + ANSWER_MS * NS_PER_MS;
        else if (now > deadline)
            return TROUBLE_NO_ANSWER;
        sched_yield();
    }
    return RSM_SUCCESS;
}

/* ------------------------------------------------------------------ connections */

static int open_link(struct bench *bench, uint32_t id, struct link *link)
{
    int error = rsm_memseg_import_connect(bench->controller, bench->server_node, id, RSM_PERM_RDWR,
                                          &link->handle);
    if (error != RSM_SUCCESS)
        return bench_failed(bench, "rsm_memseg_import_connect", error);
    error = rsm_memseg_import_init_barrier(link->handle, RSM_BAR_DEFAULT, &link->barrier);
    return bench_failed(bench, "rsm_memseg_import_init_barrier", error);
}

static void close_link(struct link *link)
{
    if (link->handle == NULL)
        return;
    (void)rsm_memseg_import_destroy_barrier(&link->barrier);
    (void)rsm_memseg_import_disconnect(link->handle);
    link->handle = NULL;
}

/* ------------------------------------------------------------------ a lane */

static int publish_answer(struct bench *bench, uint32_t *id)
{
    int error = rsm_memseg_export_create(bench->controller, &bench->answer_segment, bench->answer,
                                         bench->page, 0);
    if (error != RSM_SUCCESS)
        return bench_failed(bench, "rsm_memseg_export_create", error);
    rsm_memseg_id_t chosen = 0;
    error = rsm_memseg_export_publish(bench->answer_segment, &chosen, NULL, 0);
    *id = chosen;
    return bench_failed(bench, "rsm_memseg_export_publish", error);
}

static int put_request(struct bench *bench, const struct link *server, unsigned slot,
                       struct wire_slot *request)
{
    off_t at = (off_t)(slot * sizeof *request);
    uint64_t token = request->token;
    atomic_init(&request->ready, 0);
    int error = rsm_memseg_import_put(server->handle, at, request, sizeof *request);
    if (error == RSM_SUCCESS)
        error = rsm_memseg_import_put64(server->handle, at, &token, 1);
    if (error != RSM_SUCCESS)
        return bench_failed(bench, "rsm_memseg_import_put", error);
    return bench_failed(bench, "rsm_intr_signal_post", rsm_intr_signal_post(server->handle, 0));
}

/* The server frees the slot when it takes a request, and posts when it has answered. Without an
 * answer: RSM_SUCCESS if that slot is not to be counted on, and another should be tried. */
static int await_lane(struct bench *bench, const struct link *server, unsigned slot, uint64_t token)
{
    double start = clock_ns(), deadline = start + ASK_MS * NS_PER_MS;
    off_t at = (off_t)(slot * sizeof(struct wire_slot));
    bool taken = false;
    while (atomic_load(&bench->answer->state) == WIRE_NOT_YET && clock_ns() < deadline) {
        uint64_t ready;
        (void)rsm_intr_signal_wait(bench->answer_segment, LOOK_MS);
        int error = rsm_memseg_import_get64(server->handle, at, &ready, 1);
        if (error != RSM_SUCCESS)
            return bench_failed(bench, "rsm_memseg_import_get64", error);
        if (ready == 0 && !taken)
            deadline = start + LANE_MS * NS_PER_MS;
        else if (ready != 0 && ready != token && !taken)
            break; /* another waiter's */
        taken = taken || ready == 0;
    }
    return RSM_SUCCESS;
}

/* Two that choose the same slot disturb each other: hence the tries. */
static int ask_for_lane(struct bench *bench, uint32_t answer_id)
{
    struct link server = {.handle = NULL};
    uint64_t random[2] = {1, 0};
    int error = open_link(bench, bench->server_id, &server);
    bool answered = false;
    for (int i = 0; i < ASK_TRIES && error == RSM_SUCCESS && !answered; i++) {
        if (getrandom(random, sizeof random, 0) != (ssize_t)sizeof random)
            return bench_failed(bench, "getrandom", TROUBLE_SYSTEM);
        struct wire_slot request = {.token = random[0] | 1,
                                    .version = WIRE_VERSION,
                                    .node = bench->own_node,
                                    .id = answer_id,
                                    .bytes = bench->bytes,
                                    .sisci_adapter =
                                        bench->options->sisci ? 1 + bench->options->adapter : 0};
        unsigned slot = (unsigned)(random[1] % WIRE_SLOTS);
        error = put_request(bench, &server, slot, &request);
        if (error == RSM_SUCCESS)
            error = await_lane(bench, &server, slot, request.token);
        answered = atomic_load(&bench->answer->state) != WIRE_NOT_YET;
    }
    close_link(&server);
    if (error != RSM_SUCCESS)
        return error;
    if (!answered)
        return bench_failed(bench, "asking the server", TROUBLE_NO_ANSWER);
    if (atomic_load(&bench->answer->state) == WIRE_HERE)
        return RSM_SUCCESS;
    if ((bench->answer->error & SISCI_ERR_MASK) != 0)
        return sisci_failed(bench, "the server", (sci_error_t)(bench->answer->error & UINT32_MAX));
    int refused = (int)(bench->answer->error & 0xff);
    return bench_failed(bench, "the server", refused != 0 ? refused : TROUBLE_BUSY);
}

static int connect_lane(struct bench *bench)
{
    bench->command_id = (uint32_t)bench->answer->command_id;
    int error = open_link(bench, bench->command_id, &bench->command);
    if (error == RSM_SUCCESS)
        error = open_link(bench, (uint32_t)bench->answer->data_id, &bench->data);
    if (error != RSM_SUCCESS)
        return error;
    /* Each page is touched before anything is timed. */
    error = rsm_memseg_import_put(bench->data.handle, 0, bench->buffer, bench->bytes);
    return bench_failed(bench, "rsm_memseg_import_put", error);
}

static int find_own_node(struct bench *bench)
{
    rsm_topology_t *topology;
    int error = rsm_get_interconnect_topology(&topology);
    if (error != RSM_SUCCESS)
        return bench_failed(bench, "rsm_get_interconnect_topology", error);
    bench->own_node = topology->topology_hdr.local_nodeid;
    rsm_free_interconnect_topology(topology);
    return RSM_SUCCESS;
}

static bool get_memory(struct bench *bench)
{
    bench->page = (size_t)sysconf(_SC_PAGESIZE);
    bench->bytes = bench->partner.bytes;
    bench->buffer = aligned_alloc(bench->page, bench->bytes);
    bench->answer = aligned_alloc(bench->page, bench->page);
    bench->spare = aligned_alloc(bench->page, bench->page);
    if (bench->buffer == NULL || bench->answer == NULL || bench->spare == NULL)
        return false;
    memset(bench->buffer, 1, bench->bytes);
    memset(bench->answer, 0, bench->page);
    memset(bench->spare, 1, bench->page);
    return true;
}

static int register_buffer(struct bench *bench)
{
    if (!bench->options->registered)
        return RSM_SUCCESS;
    int error = rsm_create_localmemory_handle(bench->controller, &bench->registration,
                                              (caddr_t)bench->buffer, bench->bytes);
    return bench_failed(bench, "rsm_create_localmemory_handle", error);
}

static int connect_plain(struct bench *bench)
{
    struct in6_addr address;
    memcpy(&address, bench->answer->plain_address, sizeof address);
    if (bench->answer->plain_port == 0)
        return bench_failed(bench, "the server", TROUBLE_NO_TCP);
    bench->plain = plain_connect(&address, (uint16_t)bench->answer->plain_port);
    return bench_failed(bench, "a TCP connection to compare with",
                        bench->plain >= 0 ? RSM_SUCCESS : TROUBLE_SYSTEM);
}

/* ------------------------------------------------------------------ SISCI */

static int connect_segment(struct bench *bench)
{
    struct sisci_near *near = &bench->sisci;
    sci_error_t error;
    SCIConnectSegment(near->sd, &near->segment, bench->server_node,
                      (unsigned)bench->answer->sisci_segment, bench->options->adapter, NULL, NULL,
                      WAIT_MS, 0, &error);
    if (error != SCI_ERR_OK)
        return sisci_failed(bench, "SCIConnectSegment", error);
    near->mapped = SCIMapRemoteSegment(near->segment, &near->map, 0, bench->bytes, NULL, 0, &error);
    if (error != SCI_ERR_OK)
        return sisci_failed(bench, "SCIMapRemoteSegment", error);
    /* Each page is touched before anything is timed. */
    SCIMemCpy(NULL, bench->buffer, near->map, 0, bench->bytes, 0, &error);
    return sisci_failed(bench, "SCIMemCpy", error);
}

static int connect_interrupts(struct bench *bench)
{
    struct sisci_near *near = &bench->sisci;
    sci_error_t error;
    SCIConnectInterrupt(near->sd, &near->awaited, bench->server_node, bench->options->adapter,
                        (unsigned)bench->answer->sisci_awaited, WAIT_MS, 0, &error);
    if (error == SCI_ERR_OK)
        SCIConnectInterrupt(near->sd, &near->called, bench->server_node, bench->options->adapter,
                            (unsigned)bench->answer->sisci_called, WAIT_MS, 0, &error);
    return sisci_failed(bench, "SCIConnectInterrupt", error);
}

static int make_queue(struct bench *bench)
{
    struct sisci_near *near = &bench->sisci;
    sci_error_t error;
    SCICreateSegment(near->sd, &near->source, 0, bench->bytes, NULL, NULL,
                     SCI_FLAG_AUTO_ID | SCI_FLAG_PRIVATE, &error);
    if (error == SCI_ERR_OK)
        SCIPrepareSegment(near->source, bench->options->adapter, 0, &error);
    if (error != SCI_ERR_OK)
        return sisci_failed(bench, "SCICreateSegment", error);
    sci_map_t map;
    void *memory = SCIMapLocalSegment(near->source, &map, 0, bench->bytes, NULL, 0, &error);
    if (error != SCI_ERR_OK)
        return sisci_failed(bench, "SCIMapLocalSegment", error);
    memset(memory, 1, bench->bytes);
    SCIUnmapSegment(map, 0, &error);
    SCICreateDMAQueue(near->sd, &near->queue, bench->options->adapter, SISCI_QUEUE_ENTRIES, 0,
                      &error);
    return sisci_failed(bench, "SCICreateDMAQueue", error);
}

/* Connect to what the lane has put into the answer page. */
static int sisci_near_open(struct bench *bench)
{
    struct sisci_near *near = &bench->sisci;
    sci_error_t error;
    SCIInitialize(0, &error);
    if (error != SCI_ERR_OK)
        return sisci_failed(bench, "SCIInitialize", error);
    near->initialized = true;
    SCIOpen(&near->sd, 0, &error);
    int failed = sisci_failed(bench, "SCIOpen", error);
    if (failed == RSM_SUCCESS)
        failed = connect_segment(bench);
    if (failed == RSM_SUCCESS)
        failed = connect_interrupts(bench);
    if (failed == RSM_SUCCESS)
        failed = make_queue(bench);
    if (failed == RSM_SUCCESS)
        failed = bench_failed(bench, "rsm_memseg_import_map",
                              rsm_memseg_import_map(bench->data.handle, &near->rsm_mapped,
                                                    RSM_MAP_NONE, RSM_PERM_RDWR, 0, bench->bytes));
    return failed;
}

static void sisci_near_close(struct bench *bench)
{
    sci_error_t error;
    struct sisci_near *near = &bench->sisci;
    if (!near->initialized)
        return;
    if (near->rsm_mapped != NULL)
        (void)rsm_memseg_import_unmap(bench->data.handle);
    if (near->sd != NULL)
        SCIClose(near->sd, 0, &error);
    SCITerminate();
    near->initialized = false;
}

/* ------------------------------------------------------------------ open and close */

int bench_open(struct bench *bench, const struct options *options, uint32_t server_node,
               uint32_t server_id)
{
    uint32_t answer_id;
    bench->options = options;
    bench->server_node = server_node;
    bench->server_id = server_id;
    bench->plain = -1;
    if (!get_memory(bench))
        return bench_failed(bench, "memory", TROUBLE_SYSTEM);
    char name[NAME_BYTES];
    memcpy(name, options->controller, sizeof name);
    int error =
        bench_failed(bench, "rsm_get_controller", rsm_get_controller(name, &bench->controller));
    if (error == RSM_SUCCESS)
        error = register_buffer(bench);
    if (error == RSM_SUCCESS)
        error = find_own_node(bench);
    if (error == RSM_SUCCESS)
        error = publish_answer(bench, &answer_id);
    if (error == RSM_SUCCESS)
        error = ask_for_lane(bench, answer_id);
    if (error == RSM_SUCCESS)
        error = connect_lane(bench);
    if (error == RSM_SUCCESS && options->limit_tcp)
        error = connect_plain(bench);
    return error == RSM_SUCCESS && options->sisci ? sisci_near_open(bench) : error;
}

void bench_close(struct bench *bench)
{
    if (bench->command.handle != NULL && bench->command.barrier.seg != NULL)
        (void)bench_lane(bench, WIRE_QUIT);
    if (bench->plain >= 0)
        close(bench->plain);
    sisci_near_close(bench);
    close_link(&bench->data);
    close_link(&bench->command);
    if (bench->answer_segment != NULL)
        (void)rsm_memseg_export_destroy(bench->answer_segment);
    if (bench->registration != NULL)
        (void)rsm_free_localmemory_handle(bench->controller, bench->registration);
    if (bench->controller != NULL)
        (void)rsm_release_controller(bench->controller);
    free(bench->buffer);
    free(bench->answer);
    free(bench->spare);
}

/* ------------------------------------------------------------------ talking to it */

static int ask_by(struct bench *bench, void *handle)
{
    uint64_t old = atomic_load_explicit(&bench->answer->answers, memory_order_relaxed);
    int error = rsm_intr_signal_post(handle, 0);
    if (error != RSM_SUCCESS)
        return bench_failed(bench, "rsm_intr_signal_post", error);
    return bench_failed(bench, "answer to a post", spin_until_not(&bench->answer->answers, old));
}

int bench_ask(struct bench *bench)
{
    return ask_by(bench, bench->command.handle);
}

int bench_notify(struct bench *bench)
{
    return ask_by(bench, bench->answer_segment);
}

static int put_mode(struct bench *bench, enum wire_mode mode)
{
    uint64_t word = mode;
    int error = rsm_memseg_import_put64(bench->command.handle,
                                        (off_t)offsetof(struct wire_command, mode), &word, 1);
    return bench_failed(bench, "rsm_memseg_import_put64", error);
}

int bench_lane_by(struct bench *bench, enum wire_mode mode, int (*ask)(struct bench *bench))
{
    int error = put_mode(bench, mode);
    return error == RSM_SUCCESS ? ask(bench) : error;
}

int bench_lane(struct bench *bench, enum wire_mode mode)
{
    return bench_lane_by(bench, mode, bench_ask);
}
