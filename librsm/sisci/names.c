/* SPDX-License-Identifier: BSD-3-Clause */
/* SCIGetNodeIdByAdapterName(), SCIGetNodeInfoByAdapterName() */
#include <string.h>

#include "core/controller.h"
#include "export.h"
#include "node.h"
#include "object.h"

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
    sisci_report(error, find(name, NULL, list, type, flags));
}

SISCI_API(void, SCIGetNodeInfoByAdapterName)
(char *name, unsigned int *adapters, dis_nodeId_list_t *list, dis_virt_adapter_t *type,
 unsigned int flags, sci_error_t *error)
{
    sci_error_t result = adapters == NULL ? sisci_check(flags, 0) : SCI_ERR_OK;
    if (result == SCI_ERR_OK && adapters == NULL)
        result = SCI_ERR_ILLEGAL_PARAMETER;
    if (result == SCI_ERR_OK)
        result = find(name, adapters, list, type, flags);
    sisci_report(error, result);
}
