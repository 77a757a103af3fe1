/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench.h"

#include <sisci_error.h>
#include <string.h>

#include "report.h"

enum { WAIT_MS = 10000 };

int sisci_failed(struct bench *bench, const char *call, sci_error_t error)
{
    return bench_failed(bench, call, error == SCI_ERR_OK ? RSM_SUCCESS : trouble_of_sisci(error));
}

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

int sisci_near_open(struct bench *bench)
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

void sisci_near_close(struct bench *bench)
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
