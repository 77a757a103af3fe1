/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/probe.h"
#include "fault/faultchain.h"
#include "mapping/decode.h"
#include "mapping/loop_stores.h"
#include "mapping/mapping_internal.h"
#include "base/status.h"

enum outcome { NOT_OURS, DONE };

enum { STRING_PAGES = MAPPING_BUFFER_PAGES / 2 }; /* while they are sent, the others are filled */

/* A fault on a page of a view. */
struct fault {
    struct mapping *owner;
    const struct mapping_view *view;
    uintptr_t address;
    uint32_t page; /* of the segment */
    ucontext_t *context;
};

static uint64_t offset_of(const struct fault *fault, uintptr_t address)
{
    return (uint64_t)fault->view->first * fault->owner->space.page_size +
           (address - (uintptr_t)fault->view->address);
}

static bool inside_view(const struct fault *fault, uintptr_t address, size_t length)
{
    const struct mapping_space *space = &fault->owner->space;
    uintptr_t from = address - (uintptr_t)fault->view->address;
    size_t size = (size_t)fault->view->count * space->page_size;
    return from < size && length <= size - from &&
           offset_of(fault, address) + length <= space->size;
}

/* How many elements to do at once: to the end of so many pages, but at least one, and of a move not
 * what it would itself have to read later. */
static uint64_t elements_in(const struct fault *fault, const struct mapping_store *store,
                            size_t pages)
{
    size_t page = fault->owner->space.page_size;
    uint64_t max = (pages * page - store->address % page) / store->width;
    if (store->source != 0 && store->source < store->address &&
        (store->address - store->source) / store->width < max)
        max = (store->address - store->source) / store->width;
    max = max > 0 ? max : 1;
    return max < store->elements ? max : store->elements;
}

/* How many pages a string instruction stores to at once: those of the view that the segment has in
 * whole, if its source is no view. */
static size_t pages_at_once(const struct fault *fault, const struct mapping_store *store)
{
    const struct mapping_space *space = &fault->owner->space;
    uint64_t end = fault->view->first + (uint64_t)fault->view->count;
    uint64_t whole = space->size / space->page_size;
    uint64_t pages = end < whole ? end : whole;
    pages = pages > fault->page && !space->dead ? pages - fault->page : 1;
    pages = pages < STRING_PAGES ? pages : STRING_PAGES;
    size_t length = elements_in(fault, store, pages) * store->width;
    bool reads_view = store->source != 0 && mapping_view_shows(store->source, length);
    return reads_view ? 1 : pages;
}

/* Collect what is stored. Returns how many bytes; the source of a move cannot be read just now from
 * there on. One in a view is not: the kernel would wait for a thread that waits for the lock which
 * this one holds. */
static size_t gather(const struct mapping_store *store, uint8_t *into, size_t length)
{
    if (store->source != 0) {
        if (mapping_view_shows(store->source, length))
            return 0;
        struct iovec local = {into, length}, remote = {(void *)store->source, length};
        ssize_t got = process_vm_readv(getpid(), &local, 1, &remote, 1, 0);
        return got > 0 ? (size_t)got : 0;
    }
    if (store->width == 1)
        memset(into, store->bytes[0], length);
    else
        for (size_t at = 0; at < length; at += store->width)
            memcpy(into + at, store->bytes, store->width);
    return length;
}

/* Do what a string instruction has to do next, or a part of it. */
static bool emulate_string(const struct fault *fault, const struct mapping_store *store)
{
    struct mapping_space *space = &fault->owner->space;
    uint64_t offset = offset_of(fault, store->address);
    size_t length = elements_in(fault, store, pages_at_once(fault, store)) * store->width;
    if (!inside_view(fault, store->address, length))
        return false;
    uint8_t *room = mapping_store_room(space, length);
    uint64_t elements = gather(store, room, length) / store->width;
    if (elements == 0)
        return false;
    length = elements * store->width;
    mapping_store_from(space, offset, room, length);
    mapping_prefer_copied(space, offset, length);
    mapping_retire(fault->context, store, elements);
    return true;
}

/* Do a decoded store by hand. */
static bool emulate(const struct fault *fault, const struct mapping_store *store)
{
    if (store->string)
        return emulate_string(fault, store);
    if (!inside_view(fault, store->address, store->width))
        return false;
    mapping_store(&fault->owner->space, offset_of(fault, store->address), store->bytes,
                  store->width);
    mapping_retire(fault->context, store, 1);
    return true;
}

/* A string instruction sends all of it in one go, as a twin would. */
static unsigned weight_of(const struct mapping_store *store)
{
    return store->string ? 1 : mapping_loop_weight(store->width);
}

/* Where in the page of the fault the store begins; it may have begun in the page before. */
static size_t place_of(const struct fault *fault, const struct mapping_store *store)
{
    uintptr_t page = fault->address - fault->address % fault->owner->space.page_size;
    return store->address > page ? store->address - page : 0;
}

/* How many bytes from there on it stores to the page. */
static size_t length_of(const struct fault *fault, const struct mapping_store *store)
{
    size_t length = (size_t)elements_in(fault, store, 1) * store->width;
    size_t left = fault->owner->space.page_size - place_of(fault, store);
    return length < left ? length : left;
}

static bool prefers_twin(const struct fault *fault, const struct mapping_store *store)
{
    return mapping_prefers_twin(&fault->owner->space, fault->page, place_of(fault, store),
                                length_of(fault, store), weight_of(store));
}

/* Do the loop by hand that the store is one of. */
static bool emulate_loop(const struct fault *fault, const struct mapping_store *store, bool twin)
{
    const struct mapping_space *space = &fault->owner->space;
    uint64_t from = (uint64_t)fault->view->first * space->page_size;
    uint64_t to = from + (uint64_t)fault->view->count * space->page_size;
    const struct mapping_loop_view view = {.origin = (uintptr_t)fault->view->address - from,
                                           .from = from,
                                           .to = to < space->size ? to : space->size};
    return !store->string &&
           mapping_loop_stores(&fault->owner->space, &view, store, twin, fault->context);
}

/* Do a decoded store, or more, without a twin. */
static bool carry_out(const struct fault *fault, const struct mapping_store *store)
{
    bool twin = prefers_twin(fault, store);
    return emulate_loop(fault, store, twin) || (!twin && emulate(fault, store));
}

/* A store to a page that is not RW. */
static enum outcome on_trapped_store(const struct fault *fault, bool decoded,
                                     const struct mapping_store *store)
{
    struct mapping_space *space = &fault->owner->space;
    if (decoded && carry_out(fault, store))
        return DONE;
    if (!decoded && mapping_atomics_refuse(&space->options, fault->context, fault->address))
        return DONE;
    if (!decoded && space->options.mode != MAPPING_TWIN)
        atomic_fetch_add(&space->let_through.unknown, 1);
    return mapping_promote(space, fault->page) ? DONE : NOT_OURS;
}

static enum outcome on_store(const struct fault *fault)
{
    struct mapping_space *space = &fault->owner->space;
    struct mapping_store store;
    if ((fault->view->rights & RSM_RIGHT_WRITE) == 0)
        return NOT_OURS;
    if (space->page[fault->page].state == MAPPING_RW)
        return mapping_reassert(space, fault->page) ? DONE : NOT_OURS;
    bool decoded = (space->options.mode != MAPPING_TWIN || !mapping_may_read(space)) &&
                   mapping_decode(fault->context, fault->address, &store);
    return on_trapped_store(fault, decoded, &store);
}

static enum outcome on_load(const struct fault *fault)
{
    struct mapping_space *space = &fault->owner->space;
    if (fault->view->rights == 0)
        return NOT_OURS;
    if (space->page[fault->page].state != MAPPING_NONE)
        return mapping_reassert(space, fault->page) ? DONE : NOT_OURS;
    return mapping_load(space, fault->page) ? DONE : NOT_OURS;
}

/* The space's lock is held: between the look-up and now the view may have gone. */
static enum outcome handle(struct mapping *owner, uintptr_t address, ucontext_t *context)
{
    struct fault fault = {.owner = owner,
                          .view = mapping_view_at(owner, address),
                          .address = address,
                          .context = context};
    if (fault.view == NULL)
        return NOT_OURS;
    owner->space.counters.traps++;
    fault.page = mapping_page_of(&owner->space, offset_of(&fault, address));
    bool accessible = owner->space.page[fault.page].state != MAPPING_NONE;
    bool store = mapping_is_store(context, accessible);
    RSM_PROBE3(map_fault, address, offset_of(&fault, address), (uint32_t)store);
    return store ? on_store(&fault) : on_load(&fault);
}

static bool on_fault(siginfo_t *info, void *context)
{
    RSM_UNCANCELLABLE;
    uintptr_t address = (uintptr_t)info->si_addr;
    enum outcome outcome = NOT_OURS;
    struct mapping *owner = info->si_code == SEGV_ACCERR ? mapping_view_owner(address) : NULL;
    if (owner != NULL) {
        mapping_lock(&owner->space.lock);
        outcome = handle(owner, address, context);
        mapping_unlock(&owner->space.lock);
        mapping_view_release(owner);
    }
    return outcome == DONE;
}

/* The space's lock is held. */
static bool store_at(struct mapping *owner, uintptr_t address, uint32_t pc, ucontext_t *context)
{
    struct mapping_store store;
    struct fault fault = {.owner = owner,
                          .view = mapping_view_at(owner, address),
                          .address = address,
                          .context = context};
    if (fault.view == NULL || (fault.view->rights & RSM_RIGHT_WRITE) == 0)
        return false;
    owner->space.counters.traps++;
    fault.page = mapping_page_of(&owner->space, offset_of(&fault, address));
    RSM_PROBE3(map_fault, address, offset_of(&fault, address), UINT32_C(1));
    if (owner->space.page[fault.page].state == MAPPING_RW)
        return true; /* another thread has made it so */
    bool decoded = mapping_decode(context, address, &store);
    if (!decoded && (uint32_t)mapping_instruction(context) != pc)
        return false;
    return on_trapped_store(&fault, decoded, &store) == DONE;
}

bool mapping_trap_store(uintptr_t address, uint32_t pc, ucontext_t *context)
{
    struct mapping *owner = mapping_view_owner(address);
    if (owner == NULL)
        return false;
    mapping_lock(&owner->space.lock);
    bool done = store_at(owner, address, pc, context);
    mapping_unlock(&owner->space.lock);
    mapping_view_release(owner);
    return done;
}

enum rsm_status mapping_trap_install(void)
{
    return rsmcore_faultchain_add(on_fault) ? RSM_ST_OK : rsmcore_status_from_errno(errno);
}

void mapping_trap_renew(void)
{
    rsmcore_faultchain_renew();
}

void mapping_trap_remove(void)
{
    rsmcore_faultchain_remove(on_fault);
}
