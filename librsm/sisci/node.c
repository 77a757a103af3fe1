/* SPDX-License-Identifier: BSD-3-Clause */
/* SCIGetLocalNodeId(), SCIProbeNode(), SCIGetAdapterTypeString(), SCIGetAdapterFamilyString() */
#include "node.h"

#include "adapter.h"
#include "core/interrupt.h"
#include "export.h"
#include "object.h"

SISCI_API(void, SCIGetLocalNodeId)
(unsigned int adapterNo, unsigned int *nodeId, unsigned int flags, sci_error_t *error)
{
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
    sci_error_t result = sisci_check(flags, 0);
    struct sisci_object *desc = result == SCI_ERR_OK ? sisci_hold(sd, SISCI_DESC) : NULL;
    if (result == SCI_ERR_OK)
        result = desc != NULL ? probe(localAdapterNo, nodeId) : SCI_ERR_ILLEGAL_PARAMETER;
    if (desc != NULL)
        sisci_drop(desc);
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
