/* SPDX-License-Identifier: BSD-3-Clause */
#include "node/segment_ids.h"

#include "node/claims.h"
#include "node/exports.h"

/* The rules that rsmd enforces because clients are not trusted. The library checks rules that
 * protect an API's own programs, such as the ranges that RSMAPI reserves for drivers. */
static const struct rules {
    uint32_t chosen_first, chosen_last; /* ids that a client may ask for */
    uint32_t assigned_first;            /* where assigning begins */
    bool assigned_once; /* an assigned id is never assigned again, nor can a client ask for it */
} rules[RSM_ID_SPACES] = {
    [RSM_ID_SPACE_RSMAPI] = {1, 0x7fffffff, 0x80000000, true},
    [RSM_ID_SPACE_SISCI] = {0, UINT32_MAX, 0, false},
};

/* How many ids are tried, from the one in a request upward. A client can occupy tens of thousands
 * in a row, and a request must not walk along all of them. */
enum { NEAR_CANDIDATES = 1024 };

void rsmd_segment_ids_init(struct rsmd_node *node)
{
    for (unsigned space = 0; space < RSM_ID_SPACES; space++)
        node->next_segment_id[space] = rules[space].assigned_first;
}

static struct rsmd_export *find(const struct rsmd_node *node, const struct rsmd_segment_name *name)
{
    struct rsmd_export *exported;
    HASH_FIND(hh_segment, node->published, name, sizeof *name, exported);
    return exported;
}

struct rsmd_export *rsmd_segment_named(const struct rsmd_node *node,
                                       const struct rsmd_segment_name *name)
{
    struct rsmd_export *exported = find(node, name);
    return exported == NULL || exported->client->ending || !rsmd_export_is_open(exported)
               ? NULL
               : exported;
}

struct rsmd_export *rsmd_segment_claimed(const struct rsmd_node *node,
                                         const struct rsmd_segment_name *name)
{
    struct rsmd_export *exported = find(node, name);
    return exported == NULL || exported->client->ending || !exported->claimed ? NULL : exported;
}

/* A segment whose exporter has gone does not count. Only its name is given up here, because it can
 * have very many connections. */
static bool in_use(struct rsmd_node *node, const struct rsmd_segment_name *name)
{
    struct rsmd_export *holder = find(node, name);
    if (holder == NULL || !holder->client->ending)
        return holder != NULL;
    rsmd_export_unname(node, holder);
    return false;
}

enum rsm_status rsmd_segment_id_check(struct rsmd_node *node, const struct rsmd_segment_name *name,
                                      bool assign)
{
    if (name->space >= RSM_ID_SPACES)
        return RSM_ST_INVALID;
    const struct rules *rule = &rules[name->space];
    if (assign)
        return rule->assigned_once && name->id != 0 ? RSM_ST_INVALID : RSM_ST_OK;
    if (name->id < rule->chosen_first || name->id > rule->chosen_last)
        return RSM_ST_INVALID;
    return in_use(node, name) ? RSM_ST_ID_IN_USE : RSM_ST_OK;
}

/* The next id that was never assigned. */
static enum rsm_status assign_next(struct rsmd_node *node, struct rsmd_segment_name *name)
{
    uint64_t *next = &node->next_segment_id[name->space];
    while (*next <= UINT32_MAX) {
        name->id = (uint32_t)(*next)++;
        if (!in_use(node, name))
            return RSM_ST_OK;
    }
    return RSM_ST_NO_RESOURCES;
}

/* Assign the first free id from the requested one upward, 0 following the last. If none is near,
 * assign the first free one after the id that was last assigned in this way. There is one: a node
 * has fewer segments than there are ids. */
static void assign_near(struct rsmd_node *node, struct rsmd_segment_name *name)
{
    uint64_t *next = &node->next_segment_id[name->space];
    for (unsigned tries = 0; tries < NEAR_CANDIDATES; tries++, name->id++)
        if (!in_use(node, name))
            return;
    do
        name->id = (uint32_t)(*next)++;
    while (in_use(node, name));
}

enum rsm_status rsmd_segment_id_assign(struct rsmd_node *node, struct rsmd_segment_name *name)
{
    if (rules[name->space].assigned_once)
        return assign_next(node, name);
    assign_near(node, name);
    return RSM_ST_OK;
}
