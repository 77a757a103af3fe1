/* SPDX-License-Identifier: BSD-3-Clause */
#include "node/importers.h"

/* Enter it under its id and in its slot. False: no memory. */
static bool note(struct rsmd_node *node, struct rsmd_importer *importer,
                 struct rsmd_account *account)
{
    HASH_ADD_INT(node->importers, id, importer);
    if (importer->hh.tbl == NULL)
        return false;
    importer->account = rsmd_account_hold(account);
    rsmd_slotmap_set(node->importers_by_slot, importer->slot, importer);
    return true;
}

enum rsm_status rsmd_importer_enter(struct rsmd_node *node, struct rsmd_importer *importer,
                                    struct rsmd_account *account)
{
    if (!rsmd_share_take(account, RSMD_SEGMENTS, 1))
        return RSM_ST_NO_RESOURCES;
    importer->slot = rsmd_generation_table_take(node->generation_table);
    if (importer->slot == 0) {
        rsmd_share_give(account, RSMD_SEGMENTS, 1);
        return RSM_ST_NO_RESOURCES;
    }
    importer->id = rsmd_new_id(node);
    if (note(node, importer, account))
        return RSM_ST_OK;
    rsmd_generation_table_release(node->generation_table, importer->slot);
    rsmd_share_give(account, RSMD_SEGMENTS, 1);
    importer->slot = 0;
    return RSM_ST_NO_MEMORY;
}

bool rsmd_importer_resume(struct rsmd_node *node, struct rsmd_importer *importer,
                          struct rsmd_account *account)
{
    if (!rsmd_generation_table_claim(node->generation_table, importer->slot))
        return false;
    if (!note(node, importer, account)) {
        rsmd_generation_table_release(node->generation_table, importer->slot);
        return false;
    }
    rsmd_share_charge(account, RSMD_SEGMENTS, 1);
    return true;
}

void rsmd_importer_leave(struct rsmd_node *node, struct rsmd_importer *importer)
{
    if (importer->slot == 0)
        return;
    rsmd_slotmap_set(node->importers_by_slot, importer->slot, NULL);
    HASH_DEL(node->importers, importer);
    rsmd_generation_table_release(node->generation_table, importer->slot);
    rsmd_share_give(importer->account, RSMD_SEGMENTS, 1);
    rsmd_account_drop(importer->account);
    importer->slot = 0;
}

struct rsmd_importer *rsmd_importer_find(const struct rsmd_node *node, uint32_t id)
{
    struct rsmd_importer *importer;
    HASH_FIND_INT(node->importers, &id, importer);
    return importer;
}
