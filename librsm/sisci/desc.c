/* SPDX-License-Identifier: BSD-3-Clause */
/* SCIInitialize(), SCITerminate(), SCIOpen(), SCIClose() */
#include <stdlib.h>

#include "adapter.h"
#include "export.h"
#include "object.h"

static void release_desc(struct sisci_object *object)
{
    (void)object; /* it is nothing but what it owns */
}

static const struct sisci_type desc_type = {.kind = SISCI_DESC, .release = release_desc};

SISCI_API(void, SCIInitialize)(unsigned int flags, sci_error_t *error)
{
    RSM_UNCANCELLABLE;
    if (flags == 0)
        sisci_library_begin();
    sisci_report(error, flags == 0 ? SCI_ERR_OK : SCI_ERR_ILLEGAL_FLAG);
}

SISCI_API(void, SCITerminate)(void)
{
    RSM_UNCANCELLABLE;
    if (!sisci_library_end())
        return;
    sisci_end_everything();
    sisci_adapters_forget();
}

/* Whether the daemon and this library understand each other. */
static sci_error_t find_daemon(void)
{
    uint32_t node;
    return sisci_error(SISCI_LOCAL, rsmcore_local_node(&node));
}

static sci_error_t open_desc(sci_desc_t *sd)
{
    sci_error_t error = find_daemon();
    if (error != SCI_ERR_OK)
        return error;
    struct sisci_object *desc = calloc(1, sizeof *desc);
    if (desc == NULL)
        return SCI_ERR_NOSPC;
    error = sisci_object_enter(desc, &desc_type, NULL, (void **)sd);
    if (error != SCI_ERR_OK)
        free(desc);
    return error;
}

SISCI_API(void, SCIOpen)(sci_desc_t *sd, unsigned int flags, sci_error_t *error)
{
    RSM_UNCANCELLABLE;
    if (sd != NULL)
        *sd = NULL;
    sci_error_t result = sisci_check(flags, SCI_FLAG_THREAD_SAFE);
    if (result == SCI_ERR_OK)
        result = sd == NULL ? SCI_ERR_ILLEGAL_PARAMETER : open_desc(sd);
    sisci_report(error, result);
}

SISCI_API(void, SCIClose)(sci_desc_t sd, unsigned int flags, sci_error_t *error)
{
    RSM_UNCANCELLABLE;
    sisci_report(error, sisci_remove(sd, SISCI_DESC, flags));
}
