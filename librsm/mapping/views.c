/* SPDX-License-Identifier: BSD-3-Clause */
#include "mapping/mechanism.h"

#include <stdatomic.h>
#include <sys/mman.h>

#include "base/fork.h"

/* All views, newest first: a program may have put one over another. Taken inside a space's lock. */
static struct mapping_lock lock;
static struct mapping_view *views; /* guarded by lock */
/* Addresses that ever were a view's: what lies outside need not be looked for. */
static _Atomic uintptr_t lowest = UINTPTR_MAX, highest;

static atomic_uint process = 1;

/* The views are not inherited, and the list may be in the midst of a change by another thread. */
static void after_fork_in_child(void)
{
    atomic_fetch_add(&process, 1);
    atomic_store(&lock.word, 0);
    views = NULL;
    atomic_store(&lowest, UINTPTR_MAX);
    atomic_store(&highest, 0);
}

/* fork(2) does not wait for the list's lock, which is taken in a signal handler, and the part's own
 * lock guards nothing. */
RSMCORE_FORK_PART(inherited, RSMCORE_FORK_VIEWS, after_fork_in_child);

unsigned mapping_process(void)
{
    return atomic_load(&process);
}

static size_t length_of(const struct mapping_view *view)
{
    return (size_t)view->count * view->owner->space.page_size;
}

/* The list's lock is held. Whether a view needs the handler. */
static bool needs_handler(void)
{
    const struct mapping_view *view = views;
    while (view != NULL && !view->owner->mechanism->signals)
        view = view->next;
    return view != NULL;
}

/* The same. */
static enum rsm_status link_view(struct mapping_view *view)
{
    uintptr_t from = (uintptr_t)view->address, to = from + length_of(view);
    if (view->owner->mechanism->signals && !needs_handler()) {
        enum rsm_status status = mapping_trap_install();
        if (status != RSM_ST_OK)
            return status;
    }
    if (from < atomic_load(&lowest))
        atomic_store(&lowest, from);
    if (to > atomic_load(&highest))
        atomic_store(&highest, to);
    view->next = views;
    views = view;
    return RSM_ST_OK;
}

/* The same. */
static void unlink_view(const struct mapping_view *view)
{
    struct mapping_view **link = &views;
    while (*link != view)
        link = &(*link)->next;
    *link = view->next;
}

void mapping_views_tidy(void)
{
    struct mapping_mask before;
    mapping_block(&before);
    mapping_lock(&lock);
    if (!needs_handler())
        mapping_trap_remove();
    mapping_unlock(&lock);
    mapping_unblock(&before);
}

enum rsm_status mapping_view_add(struct mapping_view *view)
{
    struct mapping *owner = view->owner;
    struct mapping_mask before;
    mapping_block(&before);
    mapping_lock(&owner->space.lock);
    mapping_lock(&lock);
    enum rsm_status status = link_view(view);
    mapping_unlock(&lock);
    if (status == RSM_ST_OK) {
        view->sibling = owner->first;
        owner->first = view;
        atomic_fetch_add(&owner->views, 1);
    }
    mapping_unlock(&owner->space.lock);
    mapping_unblock(&before);
    return status;
}

/* The space's lock is held from before the flush until the memory has gone, so that no store comes
 * between the two. */
static void end_view(struct mapping *owner, struct mapping_view **link)
{
    struct mapping_view *view = *link;
    if (owner->mechanism->seal != NULL)
        owner->mechanism->seal(owner, view);
    mapping_flush(&owner->space);
    mapping_settle(&owner->space);
    *link = view->sibling;
    munmap(view->address, length_of(view));
    if (owner->mechanism->detach != NULL)
        owner->mechanism->detach(owner, view);
    /* Last: a thread that is refused until then finds the owner, and so waits for its lock. */
    mapping_lock(&lock);
    unlink_view(view);
    mapping_unlock(&lock);
    atomic_fetch_sub(&owner->views, 1);
}

struct mapping_view *mapping_view_remove(struct mapping *owner, const void *address)
{
    struct mapping_mask before;
    mapping_block(&before);
    mapping_lock(&owner->space.lock);
    struct mapping_view **link = &owner->first;
    while (*link != NULL && (*link)->address != address)
        link = &(*link)->sibling;
    struct mapping_view *view = *link;
    if (view != NULL)
        end_view(owner, link);
    mapping_unlock(&owner->space.lock);
    mapping_unblock(&before);
    return view;
}

static bool shows(const struct mapping_view *view, uintptr_t address)
{
    return address - (uintptr_t)view->address < length_of(view);
}

const struct mapping_view *mapping_view_at(const struct mapping *owner, uintptr_t address)
{
    const struct mapping_view *view = owner->first;
    while (view != NULL && !shows(view, address))
        view = view->sibling;
    return view;
}

static bool was_at(uintptr_t address)
{
    return address >= atomic_load(&lowest) && address < atomic_load(&highest);
}

struct mapping *mapping_view_owner(uintptr_t address)
{
    struct mapping *owner = NULL;
    if (!was_at(address))
        return NULL;
    mapping_lock(&lock);
    const struct mapping_view *view = views;
    while (view != NULL && !shows(view, address))
        view = view->next;
    if (view != NULL) {
        owner = view->owner;
        atomic_fetch_add(&owner->users, 1);
    }
    mapping_unlock(&lock);
    return owner;
}

void mapping_view_release(struct mapping *owner)
{
    atomic_fetch_sub(&owner->users, 1);
}

static bool were_in(uintptr_t from, size_t length)
{
    return from < atomic_load(&highest) && from + length > atomic_load(&lowest);
}

bool mapping_view_shows(uintptr_t from, size_t length)
{
    if (!were_in(from, length))
        return false;
    mapping_lock(&lock);
    const struct mapping_view *view = views;
    while (view != NULL && (from >= (uintptr_t)view->address + length_of(view) ||
                            from + length <= (uintptr_t)view->address))
        view = view->next;
    mapping_unlock(&lock);
    return view != NULL;
}

bool mapping_view_overlaps(const void *address, size_t length)
{
    struct mapping_mask before;
    if (!were_in((uintptr_t)address, length))
        return false;
    mapping_block(&before);
    bool shows = mapping_view_shows((uintptr_t)address, length);
    mapping_unblock(&before);
    return shows;
}

bool mapping_view_protect(struct mapping_space *space, uint32_t first, uint32_t count,
                          enum mapping_state state)
{
    struct mapping *owner = mapping_of_space(space);
    bool done = true;
    if (owner->mechanism->protect_all != NULL)
        return owner->mechanism->protect_all(owner, first, count, state);
    for (const struct mapping_view *view = owner->first; view != NULL; view = view->sibling) {
        uint32_t from = first > view->first ? first : view->first;
        uint32_t end =
            first + count < view->first + view->count ? first + count : view->first + view->count;
        if (from < end &&
            !owner->mechanism->protect(owner, view, from - view->first, end - from, state))
            done = false;
    }
    return done;
}
