/* SPDX-License-Identifier: BSD-3-Clause */
#include "importer.h"

#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "gauge.h"
#include "machine.h"

/* The largest of the sizes that are wanted, in whole pages. */
static size_t importer_bytes(const struct options *options)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), largest = page;
    for (unsigned i = 0; i < options->size_count; i++)
        if (options->sizes[i] > largest)
            largest = options->sizes[i];
    return (largest + page - 1) / page * page;
}

static bool reply(const struct importer_task *task, const struct bench *bench, int error)
{
    struct importer_reply reply = {.node = bench->own_node, .error = error};
    if (error != RSM_SUCCESS)
        report_error(reply.failure, bench->failed_call, error);
    return send(task->socket, &reply, sizeof reply, MSG_NOSIGNAL) == (ssize_t)sizeof reply;
}

static void obey(const struct importer_task *task, struct bench *bench)
{
    struct importer_order order;
    bool going = true;
    while (going && recv(task->socket, &order, sizeof order, 0) == (ssize_t)sizeof order) {
        const struct gauge *gauge = gauges[order.gauge];
        int error = gauge_take(gauge, gauge_limit(gauge, task->options), bench, (size_t)order.bytes,
                               task->options->time_ms, &task->results->ours, &task->results->limit);
        going = reply(task, bench, error);
    }
}

_Noreturn void importer_main(const struct importer_task *task)
{
    static struct bench bench;
    int error;
    bool alone = task->options->importers == 1;
    if (!partner_start(&bench.partner, importer_bytes(task->options), alone))
        error = bench_failed(&bench, "starting a process to compare with", TROUBLE_SYSTEM);
    else
        error = bench_open(&bench, task->options, task->server_node, task->server_id);
    /* The remote side is on this host. Not earlier: a daemon that was started for it must not keep
     * to the place. */
    if (alone && (task->options->role == ROLE_BOTH || task->options->limit_devices_given))
        machine_keep_to(PLACE_LOCAL);
    if (reply(task, &bench, error) && error == RSM_SUCCESS)
        obey(task, &bench);
    bench_close(&bench);
    partner_stop(&bench.partner);
    exit(EXIT_SUCCESS);
}
