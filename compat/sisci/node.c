/* SPDX-License-Identifier: BSD-3-Clause */
/* SCIGetLocalNodeId() */
#include "adapter.h"
#include "export.h"
#include "object.h"

SISCI_API void SCIGetLocalNodeId(unsigned int adapterNo, unsigned int *nodeId, unsigned int flags,
                                 sci_error_t *error)
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
SISCI_EXPORT(SCIGetLocalNodeId);
