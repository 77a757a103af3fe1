/* SPDX-License-Identifier: BSD-3-Clause */
#include "transport/registry.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "transport/module.h"

/* Names come from other processes, too: ever new ones must not take more memory. */
enum { COMPLAINTS_MAX = 16, REASON_MAX = 512 };

/* Entries are only ever added, complete, at the head of the list. */
struct rsmcore_registry_entry {
    struct rsmcore_registry_entry *next;
    char name[RSM_TRANSPORT_NAME_MAX];
    bool usable; /* false: only remembers that its failure has been logged */
    _Alignas(max_align_t) unsigned char table[];
};

static const char *table_name(const void *table)
{
    return ((const struct rsmcore_table_head *)table)->name;
}

static struct rsmcore_registry_entry *entry_named(struct rsmcore_registry_entry *head,
                                                  const char *name, bool usable)
{
    while (head != NULL && (head->usable != usable || strcmp(head->name, name) != 0))
        head = head->next;
    return head;
}

/* Add an entry unless its like is there; returns the one that is in the list afterwards, and the
 * given one is freed if that is another. */
static struct rsmcore_registry_entry *insert(struct rsmcore_registry *registry,
                                             struct rsmcore_registry_entry *entry)
{
    struct rsmcore_registry_entry *head = atomic_load(&registry->entries);
    do {
        struct rsmcore_registry_entry *other = entry_named(head, entry->name, entry->usable);
        if (other != NULL) {
            free(entry);
            return other;
        }
        entry->next = head;
    } while (!atomic_compare_exchange_weak(&registry->entries, &head, entry));
    return entry;
}

static struct rsmcore_registry_entry *make_entry(const char *name, size_t table_size)
{
    struct rsmcore_registry_entry *entry = calloc(1, sizeof *entry + table_size);
    if (entry != NULL)
        strncpy(entry->name, name, sizeof entry->name - 1);
    return entry;
}

static void complain_once(struct rsmcore_registry *registry, const char *name, const char *reason)
{
    if (entry_named(atomic_load(&registry->entries), name, false) != NULL)
        return;
    if (atomic_fetch_add(&registry->complaints, 1) >= COMPLAINTS_MAX) {
        atomic_fetch_sub(&registry->complaints, 1);
        return;
    }
    struct rsmcore_registry_entry *entry = make_entry(name, 0);
    if (entry != NULL && insert(registry, entry) == entry)
        rsm_log_error("transport %s has no usable %s half: %s", name, registry->half, reason);
}

static enum rsm_status add(struct rsmcore_registry *registry, const void *given, bool *added,
                           const void **table)
{
    struct rsmcore_registry_entry *entry = make_entry("", registry->table_size);
    if (entry == NULL)
        return RSM_ST_NO_MEMORY;
    enum rsm_status status = registry->complete(given, entry->table);
    if (status != RSM_ST_OK) {
        free(entry);
        return status;
    }
    strncpy(entry->name, table_name(entry->table), sizeof entry->name - 1);
    entry->usable = true;
    struct rsmcore_registry_entry *present = insert(registry, entry);
    *added = present == entry;
    *table = present->table;
    return RSM_ST_OK;
}

static const void *built_in(const struct rsmcore_registry *registry, const char *name)
{
    for (const void *const *given = registry->built_in; *given != NULL; given++)
        if (strcmp(table_name(*given), name) == 0)
            return *given;
    return NULL;
}

static const void *from_module(struct rsmcore_registry *registry, const char *name)
{
    char reason[REASON_MAX];
    const void *given = rsmcore_module_symbol(name, registry->symbol, reason, sizeof reason);
    if (given == NULL) {
        complain_once(registry, name, reason);
        return NULL;
    }
    const char *flaw = registry->flaw(given);
    if (flaw == NULL && strcmp(table_name(given), name) != 0)
        flaw = "the module's table bears another name";
    if (flaw != NULL) {
        complain_once(registry, name, flaw);
        return NULL;
    }
    return given;
}

const void *rsmcore_registry_find(struct rsmcore_registry *registry, const char *name)
{
    struct rsmcore_registry_entry *entry = entry_named(atomic_load(&registry->entries), name, true);
    if (entry != NULL)
        return entry->table;
    if (!rsmcore_transport_name_valid(name))
        return NULL;
    const void *given = built_in(registry, name);
    if (given == NULL)
        given = from_module(registry, name);
    if (given == NULL)
        return NULL;
    bool added;
    const void *table;
    if (add(registry, given, &added, &table) != RSM_ST_OK) {
        /* To remember that it was said would take the memory that there is not. */
        rsm_log_error("transport %s: out of memory for its %s half", name, registry->half);
        return NULL;
    }
    return table;
}

enum rsm_status rsmcore_registry_add(struct rsmcore_registry *registry, const void *given)
{
    /* A table with a flaw may not even have a name; completing it says what the matter is. */
    if (registry->flaw(given) == NULL && built_in(registry, table_name(given)) != NULL)
        return RSM_ST_BUSY;
    bool added;
    const void *table;
    enum rsm_status status = add(registry, given, &added, &table);
    return status == RSM_ST_OK && !added ? RSM_ST_BUSY : status;
}
