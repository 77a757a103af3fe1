/* SPDX-License-Identifier: BSD-3-Clause */
/* From memory to a mapping of it on another node. */
#include "measures.h"

enum { SETUP_TRIPS = 3 }; /* create, connect and the exporter's word in between; map needs none */

/* What has been made, to be undone. */
struct made {
    rsm_memseg_export_handle_t segment;
    rsm_memseg_import_handle_t import;
    bool published, mapped;
};

static int make_create(struct bench *bench, struct made *made)
{
    return bench_failed(
        bench, "rsm_memseg_export_create",
        rsm_memseg_export_create(bench->controller, &made->segment, bench->spare, bench->page, 0));
}

static int make_publish(struct bench *bench, struct made *made)
{
    rsm_memseg_id_t id = 0;
    int error = rsm_memseg_export_publish(made->segment, &id, NULL, 0);
    made->published = error == RSM_SUCCESS;
    return bench_failed(bench, "rsm_memseg_export_publish", error);
}

static int make_connect(struct bench *bench, struct made *made)
{
    return bench_failed(bench, "rsm_memseg_import_connect",
                        rsm_memseg_import_connect(bench->controller, bench->server_node,
                                                  bench->command_id, RSM_PERM_RDWR, &made->import));
}

static int make_map(struct bench *bench, struct made *made)
{
    void *address = NULL;
    int error =
        rsm_memseg_import_map(made->import, &address, RSM_MAP_NONE, RSM_PERM_RDWR, 0, bench->page);
    made->mapped = error == RSM_SUCCESS;
    return bench_failed(bench, "rsm_memseg_import_map", error);
}

static int undo(struct bench *bench, const struct made *made)
{
    int error = RSM_SUCCESS;
    if (made->mapped)
        error =
            bench_failed(bench, "rsm_memseg_import_unmap", rsm_memseg_import_unmap(made->import));
    if (error == RSM_SUCCESS && made->import != NULL)
        error = bench_failed(bench, "rsm_memseg_import_disconnect",
                             rsm_memseg_import_disconnect(made->import));
    if (error == RSM_SUCCESS && made->published)
        error = bench_failed(bench, "rsm_memseg_export_unpublish",
                             rsm_memseg_export_unpublish(made->segment));
    if (error == RSM_SUCCESS && made->segment != NULL)
        error = bench_failed(bench, "rsm_memseg_export_destroy",
                             rsm_memseg_export_destroy(made->segment));
    return error;
}

typedef int (*step)(struct bench *bench, struct made *made);

/* Do the steps, of which those from `first` to before `last` are timed, and undo them. */
static int run_steps(struct bench *bench, const step *steps, unsigned first, unsigned last,
                     unsigned batch, double *ns)
{
    int error = RSM_SUCCESS;
    *ns = 0;
    for (unsigned i = 0; i < batch && error == RSM_SUCCESS; i++) {
        struct made made = {.segment = NULL};
        double start = 0;
        for (unsigned s = 0; s < last && error == RSM_SUCCESS; s++) {
            if (s == first)
                start = clock_ns();
            error = steps[s](bench, &made);
        }
        *ns += clock_ns() - start;
        const char *failed_call = bench->failed_call;
        int undone = undo(bench, &made);
        if (error != RSM_SUCCESS)
            bench->failed_call = failed_call;
        else
            error = undone;
    }
    return error;
}

static const step export_steps[] = {make_create, make_publish};
static const step import_steps[] = {make_connect, make_map};
static const step all_steps[] = {make_create, make_publish, make_connect, make_map};

static int run_create(struct bench *bench, unsigned batch, double *ns)
{
    return run_steps(bench, export_steps, 0, 1, batch, ns);
}

static int run_publish(struct bench *bench, unsigned batch, double *ns)
{
    return run_steps(bench, export_steps, 1, 2, batch, ns);
}

static int run_connect(struct bench *bench, unsigned batch, double *ns)
{
    return run_steps(bench, import_steps, 0, 1, batch, ns);
}

static int run_map(struct bench *bench, unsigned batch, double *ns)
{
    return run_steps(bench, import_steps, 1, 2, batch, ns);
}

static int run_setup(struct bench *bench, unsigned batch, double *ns)
{
    return run_steps(bench, all_steps, 0, 4, batch, ns);
}

/* ------------------------------------------------------------------ limits */

static int run_trips(struct bench *bench, unsigned trips, unsigned batch, double *ns)
{
    int error = RSM_SUCCESS;
    *ns = 0;
    for (unsigned i = 0; i < batch && error == RSM_SUCCESS; i++)
        error = partner_trips(&bench->partner, trips, ns);
    return bench_failed(bench, "a descriptor from another process", error);
}

static int run_trip(struct bench *bench, unsigned batch, double *ns)
{
    return run_trips(bench, 1, batch, ns);
}

static int run_setup_trips(struct bench *bench, unsigned batch, double *ns)
{
    return run_trips(bench, SETUP_TRIPS, batch, ns);
}

static int run_mmap(struct bench *bench, unsigned batch, double *ns)
{
    int error = RSM_SUCCESS;
    *ns = 0;
    for (unsigned i = 0; i < batch && error == RSM_SUCCESS; i++)
        error = limit_mmap(&bench->partner, bench->page, ns);
    return bench_failed(bench, "mmap", error);
}

#define PAGE .bytes = 4096, .single = true
#define TRIP .limit_name = "socket+fd", .limit = {.run = run_trip}

const struct gauge gauge_create = {.name = "create", PAGE, .ours = {.run = run_create}, TRIP};
const struct gauge gauge_publish = {.name = "publish", PAGE, .ours = {.run = run_publish}, TRIP};
const struct gauge gauge_connect = {.name = "connect", PAGE, .ours = {.run = run_connect}, TRIP};
const struct gauge gauge_map = {.name = "map",
                                PAGE,
                                .ours = {.run = run_map},
                                .limit_name = "mmap",
                                .limit = {.run = run_mmap}};
const struct gauge gauge_setup = {.name = "setup",
                                  PAGE,
                                  .ours = {.run = run_setup},
                                  .limit_name = "3 socket+fd",
                                  .limit = {.run = run_setup_trips}};
