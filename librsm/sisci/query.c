/* SPDX-License-Identifier: BSD-3-Clause */
/* SCIQuery() */
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "adapter.h"
#include "export.h"
#include "object.h"

enum {
    DMA_MTU = 8 * 1024 * 1024,
    MIN_DMA = 64 * 1024, /* where a copy by another thread begins to pay */
    MIN_BLOCK = 64,      /* a cache line */
    STREAMS = 16,        /* of hardware that combined stores: what programs tune by */
    STREAM_BYTES = 64,
    CACHE_LINE = 64,
    GROUPS = 65535, /* as many as segments; their ids may be any */
};

static sci_error_t answer_string(const char *text, const sci_query_string_t *query)
{
    if (query->str == NULL || query->length == 0)
        return SCI_ERR_ILLEGAL_PARAMETER;
    size_t length = strlen(text);
    if (length >= query->length)
        length = query->length - 1;
    memcpy(query->str, text, length);
    query->str[length] = '\0';
    return SCI_ERR_OK;
}

static const struct rsmcore_topology_controller *
find_controller(const struct rsmcore_topology *topology, const char *name)
{
    for (uint32_t i = 0; i < topology->controller_count; i++)
        if (strcmp(topology->controllers[i].name, name) == 0)
            return &topology->controllers[i];
    return NULL;
}

/* What the node's daemon says of the fabric of an adapter: whether there is a node that it reaches,
 * or none that it could, and a number for the hardware. */
static sci_error_t look_at_fabric(unsigned adapter, unsigned *operational, unsigned *serial)
{
    enum { STATE_UP = 2, STATE_ACTIVE = 3 };
    struct rsmcore_controller *controller;
    struct rsmcore_topology *topology;
    sci_error_t error = sisci_adapter_open(adapter, &controller);
    if (error != SCI_ERR_OK)
        return error;
    error = sisci_error(SISCI_LOCAL, rsmcore_topology_get(&topology));
    if (error == SCI_ERR_OK) {
        const struct rsmcore_topology_controller *found =
            find_controller(topology, rsmcore_controller_name(controller));
        *operational = found != NULL && found->remote_count == 0;
        *serial = found != NULL ? (unsigned)found->hardware_address : 0;
        for (uint32_t i = 0; found != NULL && i < found->remote_count; i++)
            *operational |=
                found->remotes[i].state == STATE_UP || found->remotes[i].state == STATE_ACTIVE;
        rsmcore_topology_free(topology);
    }
    rsmcore_controller_close(controller);
    return error;
}

static sci_error_t answer_of_fabric(unsigned adapter, unsigned subcommand, unsigned *answer)
{
    unsigned operational, serial;
    sci_error_t error = look_at_fabric(adapter, &operational, &serial);
    if (error == SCI_ERR_OK)
        *answer = subcommand == SCI_Q_ADAPTER_SERIAL_NUMBER ? serial : operational;
    return error;
}

/* False: it is none of these. */
static bool adapter_constant(unsigned adapter, unsigned subcommand, unsigned *answer)
{
    const struct {
        unsigned subcommand, answer;
    } constants[] = {
        {SCI_Q_ADAPTER_CONFIGURED, 1},
        {SCI_Q_ADAPTER_CARD_TYPE, SISCI_CARD_TYPE},
        {SCI_Q_ADAPTER_NUMBER, adapter},
        {SCI_Q_ADAPTER_INSTANCE_NUMBER, adapter},
        {SCI_Q_ADAPTER_NUMBER_OF_LINKS, 1},
        {SCI_Q_ADAPTER_NUMBER_OF_STREAMS, STREAMS},
        {SCI_Q_ADAPTER_STREAM_BUFFER_SIZE, STREAM_BYTES},
        {SCI_Q_ADAPTER_CONNECTED_TO_SWITCH, 0},
        {SCI_Q_ADAPTER_DMA_MTU, DMA_MTU},
        {SCI_Q_ADAPTER_MCAST_MAX_GROUPS, GROUPS},
        {SCI_Q_ADAPTER_DMA_SIZE_ALIGNMENT, 1},
        {SCI_Q_ADAPTER_DMA_OFFSET_ALIGNMENT, 1},
        {SCI_Q_ADAPTER_SUGGESTED_MIN_DMA_SIZE, MIN_DMA},
        {SCI_Q_ADAPTER_SUGGESTED_MIN_BLOCK_SIZE, MIN_BLOCK},
    };
    for (size_t i = 0; i < sizeof constants / sizeof constants[0]; i++) {
        if (constants[i].subcommand == subcommand) {
            *answer = constants[i].answer;
            return true;
        }
    }
    return false;
}

static sci_error_t adapter_answer(unsigned adapter, unsigned subcommand, unsigned *answer)
{
    uint32_t node;
    sci_error_t error = sisci_adapter_check(adapter);
    if (error != SCI_ERR_OK || adapter_constant(adapter, subcommand, answer))
        return error;
    switch (subcommand) {
    case SCI_Q_ADAPTER_NODEID:
        error = sisci_error(SISCI_LOCAL, rsmcore_local_node(&node));
        if (error == SCI_ERR_OK)
            *answer = node;
        return error;
    case SCI_Q_ADAPTER_LINK_OPERATIONAL:
    case SCI_Q_ADAPTER_HW_LINK_STATUS_IS_OK:
    case SCI_Q_ADAPTER_SERIAL_NUMBER:
        return answer_of_fabric(adapter, subcommand, answer);
    default:
        return SCI_ERR_ILLEGAL_QUERY;
    }
}

static sci_error_t answer_adapter(const sci_query_adapter_t *query)
{
    unsigned answer = 0;
    if (query->data == NULL)
        return SCI_ERR_ILLEGAL_PARAMETER;
    sci_error_t error = adapter_answer(query->localAdapterNo, query->subcommand, &answer);
    if (error == SCI_ERR_OK)
        memcpy(query->data, &answer, sizeof answer);
    return error;
}

static sci_error_t answer_system(const sci_query_system_t *query)
{
    if (query->data == NULL)
        return SCI_ERR_ILLEGAL_PARAMETER;
    if (query->subcommand != SCI_Q_SYSTEM_CPU_CACHE_LINE_SIZE)
        return SCI_ERR_ILLEGAL_QUERY;
    long line = sysconf(_SC_LEVEL1_DCACHE_LINESIZE);
    unsigned answer = line > 0 ? (unsigned)line : CACHE_LINE;
    memcpy(query->data, &answer, sizeof answer);
    return SCI_ERR_OK;
}

/* Whichever engine is asked about: all of them are the same. */
static sci_error_t answer_dma(const sci_query_dma_t *query)
{
    static const unsigned available = 1;
    static const sci_dma_capabilities_t capabilities = {.num_channels = 1,
                                                        .max_transfer_size = DMA_MTU,
                                                        .max_vector_length = DIS_DMA_MAX_VECLEN,
                                                        .support_mem2io = 1,
                                                        .support_io2mem = 1,
                                                        .min_align_bytes = 1,
                                                        .suggested_align_bytes = CACHE_LINE};
    bool asks_can = query->subcommand == SCI_Q_DMA_CAPABILITIES;
    if (!asks_can && query->subcommand != SCI_Q_DMA_AVAILABLE)
        return SCI_ERR_ILLEGAL_QUERY;
    if (query->data == NULL)
        return SCI_ERR_ILLEGAL_PARAMETER;
    sci_error_t error = sisci_adapter_check(query->localAdapterNo);
    if (error == SCI_ERR_OK && asks_can)
        memcpy(query->data, &capabilities, sizeof capabilities);
    else if (error == SCI_ERR_OK)
        memcpy(query->data, &available, sizeof available);
    return error;
}

static sci_error_t answer_resource(const void *handle, enum sisci_kind kind, unsigned subcommand,
                                   unsigned long long *into)
{
    struct sisci_object *object = sisci_hold(handle, kind);
    unsigned long long answer = 0;
    sci_error_t error = SCI_ERR_ILLEGAL_QUERY;
    if (object == NULL)
        return error;
    if (object->type->query != NULL)
        error = object->type->query(object, subcommand, &answer);
    sisci_drop(object);
    if (error == SCI_ERR_OK)
        *into = answer;
    return error;
}

static sci_error_t answer(unsigned command, void *data)
{
    sci_query_local_segment_t *local = data;
    sci_query_remote_segment_t *remote = data;
    sci_query_map_t *map = data;
    switch (command) {
    case SCI_Q_API:
        return answer_string(API_VERSION, data);
    case SCI_Q_VENDORID:
        return answer_string("librsm", data);
    case SCI_Q_SISCI_DRIVER_VERSION:
        return answer_string(RSM_RELEASE, data);
    case SCI_Q_ADAPTER:
        return answer_adapter(data);
    case SCI_Q_SYSTEM:
        return answer_system(data);
    case SCI_Q_DMA:
        return answer_dma(data);
    case SCI_Q_LOCAL_SEGMENT:
        return answer_resource(local->segment, SISCI_LOCAL_SEGMENT, local->subcommand,
                               &local->data.ioaddr);
    case SCI_Q_REMOTE_SEGMENT:
        return answer_resource(remote->segment, SISCI_REMOTE_SEGMENT, remote->subcommand,
                               &remote->data.ioaddr);
    case SCI_Q_MAP:
        return answer_resource(map->map, SISCI_MAP, map->subcommand, &map->data);
    default:
        return SCI_ERR_ILLEGAL_QUERY;
    }
}

SISCI_API(void, SCIQuery)(unsigned int command, void *data, unsigned int flags, sci_error_t *error)
{
    RSM_UNCANCELLABLE;
    const unsigned engines = SCI_FLAG_DMA_ADAPTER | SCI_FLAG_DMA_GLOBAL | SCI_FLAG_DMA_SYSDMA;
    sci_error_t result = sisci_check(flags, command == SCI_Q_DMA ? engines : 0);
    if (result == SCI_ERR_OK)
        result = data == NULL ? SCI_ERR_ILLEGAL_PARAMETER : answer(command, data);
    sisci_report(error, result);
}
