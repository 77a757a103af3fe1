/* SPDX-License-Identifier: BSD-3-Clause */
/* Nodes and adapters: ids, names, whether they answer */
#include <string.h>

#include "adapter.h"
#include "core/interrupt.h"
#include "export.h"
#include "object.h"

SISCI_API(void, SCIGetLocalNodeId)
(unsigned int adapterNo, unsigned int *nodeId, unsigned int flags, sci_error_t *error)
{
    RSM_UNCANCELLABLE;
    uint32_t node = 0;
    sci_error_t result = sisci_check(flags, 0);
    if (result == SCI_ERR_OK && nodeId == NULL)
        result = SCI_ERR_ILLEGAL_PARAMETER;
    if (result == SCI_ERR_OK)
        result = sisci_adapter_check(adapterNo);
    if (result == SCI_ERR_OK)
        result = sisci_error(SISCI_LOCAL, rsmcore_local_node(&node));
    if (result == SCI_ERR_OK)
        *nodeId = node;
    sisci_report(error, result);
}

static sci_error_t probe_error(enum rsm_status status)
{
    switch (status) {
    case RSM_ST_UNREACHABLE:
    case RSM_ST_TIMEOUT:
    case RSM_ST_ABORTED:
        return SCI_ERR_NO_REMOTE_LINK_ACCESS;
    default:
        return sisci_error(SISCI_CONNECT, status);
    }
}

static sci_error_t probe(unsigned adapter, unsigned id)
{
    struct rsmcore_controller *controller;
    uint32_t node;
    sci_error_t error = sisci_node(id, &node);
    if (error == SCI_ERR_OK)
        error = sisci_adapter_open(adapter, &controller);
    if (error != SCI_ERR_OK)
        return error;
    error = probe_error(rsmcore_node_probe(controller, node));
    rsmcore_controller_close(controller);
    return error;
}

SISCI_API(int, SCIProbeNode)
(sci_desc_t sd, unsigned int localAdapterNo, unsigned int nodeId, unsigned int flags,
 sci_error_t *error)
{
    RSM_UNCANCELLABLE;
    sci_error_t result = sisci_check(flags, 0);
    struct sisci_object *desc = sisci_need(sd, SISCI_DESC, &result);
    if (desc != NULL) {
        result = probe(localAdapterNo, nodeId);
        sisci_drop(desc);
    }
    sisci_report(error, result);
    return result == SCI_ERR_OK;
}

/* Programs get them without const, and are not to write there. */
static char type_name[] = "RSM", unknown_name[] = "unknown adapter type";

SISCI_API(char *, SCIGetAdapterTypeString)(unsigned int type)
{
    return type == SISCI_CARD_TYPE ? type_name : unknown_name;
}

SISCI_API(char *, SCIGetAdapterFamilyString)(unsigned int type)
{
    return type == SISCI_CARD_TYPE ? type_name : unknown_name;
}

_Static_assert(RSM_PROTO_NAMED_MAX < DIS_NODEID_LIST_MAX, "a list ends with 0");

static sci_error_t look_up(const char *name, struct rsm_named_reply *found)
{
    enum rsm_status status = rsmcore_nodes_named(name, found);
    return status == RSM_ST_NOT_FOUND ? SCI_ERR_NO_SUCH_NODEID : sisci_error(SISCI_LOCAL, status);
}

static sci_error_t find(const char *name, unsigned *adapters, dis_nodeId_list_t *list,
                        dis_virt_adapter_t *type, unsigned flags)
{
    struct rsm_named_reply found;
    if (list != NULL)
        memset(*list, 0, sizeof *list);
    sci_error_t error = sisci_check(flags, 0);
    if (error == SCI_ERR_OK && (name == NULL || list == NULL))
        error = SCI_ERR_ILLEGAL_PARAMETER;
    if (error == SCI_ERR_OK)
        error = look_up(name, &found);
    if (error != SCI_ERR_OK)
        return error;
    for (uint32_t i = 0; i < found.count; i++) {
        (*list)[i] = found.nodes[i].node;
        if (adapters != NULL)
            adapters[i] = found.nodes[i].adapter;
    }
    if (type != NULL)
        *type = SISCI_CARD_TYPE;
    return SCI_ERR_OK;
}

SISCI_API(void, SCIGetNodeIdByAdapterName)
(char *name, dis_nodeId_list_t *list, dis_virt_adapter_t *type, unsigned int flags,
 sci_error_t *error)
{
    RSM_UNCANCELLABLE;
    sisci_report(error, find(name, NULL, list, type, flags));
}

SISCI_API(void, SCIGetNodeInfoByAdapterName)
(char *name, unsigned int *adapters, dis_nodeId_list_t *list, dis_virt_adapter_t *type,
 unsigned int flags, sci_error_t *error)
{
    RSM_UNCANCELLABLE;
    sci_error_t result = adapters == NULL ? sisci_check(flags, 0) : SCI_ERR_OK;
    if (result == SCI_ERR_OK && adapters == NULL)
        result = SCI_ERR_ILLEGAL_PARAMETER;
    if (result == SCI_ERR_OK)
        result = find(name, adapters, list, type, flags);
    sisci_report(error, result);
}
