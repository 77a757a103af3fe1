/* SPDX-License-Identifier: BSD-3-Clause */
/* A node that does not answer, for now. Its connections stay, until its link goes down; those who
 * keep records get one, and another one when the node answers again. */
#include "node/grants.h"
#include "node/records.h"
#include "node/slice.h"
#include "remote/internal.h"

static enum rsm_record_event event_of(const struct rsmd_remote *remote)
{
    return remote->silent ? RSM_RECORD_SILENT : RSM_RECORD_ANSWERS;
}

static void note_import(struct rsmd_node *node, struct rsmd_remote_import *import)
{
    struct rsmd_importer *importer = &import->import.importer;
    importer->silent = import->remote->silent;
    rsmd_record_to_importer(node, importer, event_of(import->remote));
}

static void note_importer(struct rsmd_node *node, struct rsmd_remote_importer *importer)
{
    struct rsmd_importer *base = &importer->importer;
    const struct rsm_record record = rsmd_record_of(base, event_of(importer->remote));
    base->silent = importer->remote->silent;
    rsmd_record_to_exporter(node, base->grant->exported, &record);
}

/* Note it for one connection. False: none is left. */
static bool note_next(struct rsmd_node *node, struct rsmd_remote *remote)
{
    struct rsmd_remote_import *import = remote->noted_import;
    struct rsmd_remote_importer *importer = remote->noted_importer;
    if (import != NULL) {
        remote->noted_import = import->hh.next;
        if (import->import.importer.silent != remote->silent)
            note_import(node, import);
    } else if (importer != NULL) {
        remote->noted_importer = importer->next;
        if (importer->importer.silent != remote->silent)
            note_importer(node, importer);
    }
    return import != NULL || importer != NULL;
}

bool rsmd_silence_note(struct rsmd_node *node, struct rsmd_remote *remote, int64_t until)
{
    while (note_next(node, remote))
        if (rsmd_slice_is_over(until))
            return false;
    return true;
}

bool rsmd_silence_is_noted(const struct rsmd_remote *remote)
{
    return remote->noted_import == NULL && remote->noted_importer == NULL;
}

void rsmd_silence_pass_import(struct rsmd_remote_import *import)
{
    if (import->remote->noted_import == import)
        import->remote->noted_import = import->hh.next;
}

void rsmd_silence_pass_importer(struct rsmd_remote_importer *importer)
{
    if (importer->remote->noted_importer == importer)
        importer->remote->noted_importer = importer->next;
}

void rsmd_remote_silent(void *context, uint32_t id, bool silent)
{
    struct rsmd_node *node = context;
    struct rsmd_remote *remote = rsmd_remote_of(node, id);
    if (remote == NULL || remote->leaving)
        return;
    remote->silent = silent;
    remote->noted_import = remote->imports;
    remote->noted_importer = remote->importers;
    rsmd_ends_go_on(node, remote);
}
