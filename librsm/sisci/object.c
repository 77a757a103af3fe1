/* SPDX-License-Identifier: BSD-3-Clause */
#include "object.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <utlist.h>

#include "base/fork.h"
#include "listener.h"

/* A handle, from the highest bit: a mark that no address of a program has, kind, use of the slot,
 * slot. Where pointers have 32 bits there is no room for the mark. */
enum {
    KIND_BITS = 4,
#if UINTPTR_MAX > 0xffffffffu
    SLOT_BITS = 20,
    USE_BITS = 28,
#else
    SLOT_BITS = 14,
    USE_BITS = 14,
#endif
    USE_SHIFT = SLOT_BITS,
    KIND_SHIFT = SLOT_BITS + USE_BITS,
    CHUNK_BITS = 8,
    CHUNK_SLOTS = 1 << CHUNK_BITS,
    CHUNKS = 1 << (SLOT_BITS - CHUNK_BITS),
};
#if UINTPTR_MAX > 0xffffffffu
#define MARK ((uintptr_t)0x5c1 << 52)
#else
#define MARK ((uintptr_t)0)
#endif
#define USE_MASK  (((uintptr_t)1 << USE_BITS) - 1)
#define SLOT_MASK (((uintptr_t)1 << SLOT_BITS) - 1)
#define KIND_MASK (((uintptr_t)1 << KIND_BITS) - 1)

/* The word of a slot: which use of it this is, whether it is being ended or free, how many hold
 * it. */
#define WORD_USE_SHIFT 32
#define WORD_ENDING    ((uint64_t)1 << 31)
#define WORD_HOLDERS   (WORD_ENDING - 1)

struct slot {
    _Atomic uint64_t word;
    struct sisci_object *object; /* NULL: free */
    struct slot *next_free;
    uint32_t index;
    uintptr_t ended; /* the latest handle of the slot that left something; 0: none has */
    struct sisci_remains remains;
};

/* Chunks are made as they are needed and stay. */
static struct slot *_Atomic chunks[CHUNKS];

/* A last holder, or a resource, has gone. */
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static struct slot *free_slots;
static unsigned chunk_count;
static struct sisci_object *descriptors; /* those of the library */

static atomic_uint library_users;
static atomic_bool was_used;

/* A child cannot use anything of its parent, and starts with an empty table: used slots lose their
 * owner, and their objects stay allocated. */
static void begin_anew(void)
{
    for (unsigned i = 0; i < chunk_count * CHUNK_SLOTS; i++) {
        struct slot *slot = &atomic_load(&chunks[i >> CHUNK_BITS])[i & (CHUNK_SLOTS - 1)];
        if (slot->object != NULL)
            atomic_store(&slot->word, WORD_ENDING);
    }
    descriptors = NULL;
    atomic_store(&library_users, 0);
    pthread_cond_init(&changed, NULL);
}

/* Guards the table and the tree. */
RSMCORE_FORK_PART(lock, RSMCORE_FORK_OBJECTS, begin_anew);

void sisci_library_begin(void)
{
    atomic_store(&was_used, true);
    atomic_fetch_add(&library_users, 1);
}

bool sisci_library_end(void)
{
    unsigned users = atomic_load(&library_users);
    while (users > 0)
        if (atomic_compare_exchange_weak(&library_users, &users, users - 1))
            return users == 1;
    return false;
}

sci_error_t sisci_check(unsigned flags, unsigned known)
{
    if (atomic_load_explicit(&library_users, memory_order_relaxed) == 0)
        return SCI_ERR_NOT_INITIALIZED;
    return (flags & ~known) != 0 ? SCI_ERR_ILLEGAL_FLAG : SCI_ERR_OK;
}

bool sisci_library_is_over(void)
{
    return atomic_load_explicit(&library_users, memory_order_relaxed) == 0 &&
           atomic_load_explicit(&was_used, memory_order_relaxed);
}

static uint64_t word_of_use(uint32_t use)
{
    return (uint64_t)(use & USE_MASK) << WORD_USE_SHIFT;
}

/* NULL: no slot has this number yet. */
static struct slot *slot_at(uintptr_t index)
{
    struct slot *chunk = atomic_load_explicit(&chunks[index >> CHUNK_BITS], memory_order_acquire);
    return chunk != NULL ? &chunk[index & (CHUNK_SLOTS - 1)] : NULL;
}

static struct slot *slot_of(const struct sisci_object *object)
{
    return slot_at(object->handle & SLOT_MASK);
}

/* The first use of a slot is not the same in each process, so that numbers of another one are
 * rarely taken for handles. Called with the lock held. */
static sci_error_t add_chunk(void)
{
    if (chunk_count == CHUNKS)
        return SCI_ERR_API_NOSPC;
    struct slot *chunk = calloc(CHUNK_SLOTS, sizeof *chunk);
    if (chunk == NULL)
        return SCI_ERR_NOSPC;
    uint32_t use = (uint32_t)((uintptr_t)chunk >> 12);
    for (unsigned i = CHUNK_SLOTS; i-- > 0;) {
        atomic_init(&chunk[i].word, word_of_use(use) | WORD_ENDING);
        chunk[i].index = chunk_count * CHUNK_SLOTS + i;
        chunk[i].next_free = free_slots;
        free_slots = &chunk[i];
    }
    atomic_store_explicit(&chunks[chunk_count++], chunk, memory_order_release);
    return SCI_ERR_OK;
}

/* Called with the lock held. */
static sci_error_t take_slot(struct sisci_object *object)
{
    sci_error_t error = free_slots == NULL ? add_chunk() : SCI_ERR_OK;
    if (error != SCI_ERR_OK)
        return error;
    struct slot *slot = free_slots;
    free_slots = slot->next_free;
    uintptr_t use = (uintptr_t)(atomic_load(&slot->word) >> WORD_USE_SHIFT);
    object->handle = MARK | (uintptr_t)object->type->kind << KIND_SHIFT | use << USE_SHIFT |
                     (uintptr_t)slot->index;
    slot->object = object;
    atomic_store_explicit(&slot->word, word_of_use((uint32_t)use), memory_order_release);
    return SCI_ERR_OK;
}

/* Called with the lock held. The object is not held. */
static void give_slot(struct sisci_object *object)
{
    struct slot *slot = slot_of(object);
    uint32_t use = (uint32_t)(atomic_load(&slot->word) >> WORD_USE_SHIFT);
    slot->object = NULL;
    atomic_store(&slot->word, word_of_use(use + 1) | WORD_ENDING);
    slot->next_free = free_slots;
    free_slots = slot;
}

void *sisci_hold(const void *handle, enum sisci_kind kind)
{
    uintptr_t number = (uintptr_t)handle;
    uint64_t use = number >> USE_SHIFT & USE_MASK;
    if ((number & ~(KIND_MASK << KIND_SHIFT | USE_MASK << USE_SHIFT | SLOT_MASK)) != MARK ||
        (number >> KIND_SHIFT & KIND_MASK) != (uintptr_t)kind)
        return NULL;
    struct slot *slot = slot_at(number & SLOT_MASK);
    if (slot == NULL)
        return NULL;
    uint64_t word = atomic_load_explicit(&slot->word, memory_order_relaxed);
    do
        if (word >> WORD_USE_SHIFT != use || (word & WORD_ENDING) != 0)
            return NULL;
    while (!atomic_compare_exchange_weak_explicit(&slot->word, &word, word + 1,
                                                  memory_order_acquire, memory_order_relaxed));
    if (slot->object->type->kind == kind)
        return slot->object;
    sisci_drop(slot->object); /* a forged handle */
    return NULL;
}

void *sisci_need(const void *handle, enum sisci_kind kind, sci_error_t *error)
{
    struct sisci_object *object = *error == SCI_ERR_OK ? sisci_hold(handle, kind) : NULL;
    if (*error == SCI_ERR_OK && object == NULL)
        *error = SCI_ERR_ILLEGAL_PARAMETER;
    return object;
}

void sisci_hold_again(struct sisci_object *object)
{
    atomic_fetch_add_explicit(&slot_of(object)->word, 1, memory_order_relaxed);
}

void sisci_drop(struct sisci_object *object)
{
    uint64_t before = atomic_fetch_sub_explicit(&slot_of(object)->word, 1, memory_order_acq_rel);
    if ((before & WORD_ENDING) == 0)
        return;
    rsmcore_fork_lock(&lock);
    pthread_cond_broadcast(&changed);
    rsmcore_fork_unlock(&lock);
}

static bool is_ending(const struct sisci_object *object)
{
    return (atomic_load(&slot_of(object)->word) & WORD_ENDING) != 0;
}

static struct sisci_object **list_of(struct sisci_object *owner)
{
    return owner != NULL ? &owner->first : &descriptors;
}

sci_error_t sisci_object_enter(struct sisci_object *object, const struct sisci_type *type,
                               struct sisci_object *owner, void **handle)
{
    struct sisci_object **list = list_of(owner);
    sci_error_t error = SCI_ERR_ILLEGAL_PARAMETER;
    object->type = type;
    object->owner = owner;
    object->first = NULL;
    object->is_left = false;
    rsmcore_fork_lock(&lock);
    if (owner == NULL || !is_ending(owner))
        error = take_slot(object);
    if (error == SCI_ERR_OK) {
        DL_PREPEND(*list, object);
        *handle = sisci_handle(object);
    }
    rsmcore_fork_unlock(&lock);
    return error;
}

/* Make the handle stale. Of several threads that try, one succeeds. Called with the lock held. */
static sci_error_t withdraw(struct sisci_object *object, enum sisci_end how)
{
    if (is_ending(object))
        return SCI_ERR_ILLEGAL_PARAMETER;
    if (how == SISCI_END_UNUSED && object->first != NULL)
        return SCI_ERR_BUSY;
    struct slot *slot = slot_of(object);
    atomic_fetch_or(&slot->word, WORD_ENDING);
    if (object->type->leave != NULL) {
        slot->ended = object->handle;
        object->type->leave(object, &slot->remains);
    }
    return SCI_ERR_OK;
}

struct sisci_remains sisci_remains_of(const void *handle)
{
    struct sisci_remains remains = {.size = 0};
    uintptr_t number = (uintptr_t)handle;
    rsmcore_fork_lock(&lock);
    const struct slot *slot = slot_at(number & SLOT_MASK);
    if (number != 0 && slot != NULL && slot->ended == number)
        remains = slot->remains;
    rsmcore_fork_unlock(&lock);
    return remains;
}

/* Called with the lock held, which is released meanwhile. */
static void wait_for_holders(struct sisci_object *object)
{
    struct slot *slot = slot_of(object);
    while ((atomic_load(&slot->word) & WORD_HOLDERS) > 0)
        rsmcore_fork_wait(&lock, &changed);
}

/* Release one that owns nothing any more, and owners that were left to it. */
static void release(struct sisci_object *object)
{
    while (object != NULL) {
        struct sisci_object *owner = object->owner, **list = list_of(owner);
        object->type->release(object);
        rsmcore_fork_lock(&lock);
        DL_DELETE(*list, object);
        give_slot(object);
        pthread_cond_broadcast(&changed);
        bool last = owner != NULL && owner->is_left && owner->first == NULL;
        rsmcore_fork_unlock(&lock);
        free(object);
        object = last ? owner : NULL;
    }
}

static bool end_list(struct sisci_object *owner);

/* One that this thread has withdrawn, and does not hold. */
static void finish(struct sisci_object *object)
{
    if (object->type->cancel != NULL)
        object->type->cancel(object);
    rsmcore_fork_lock(&lock);
    wait_for_holders(object);
    rsmcore_fork_unlock(&lock);
    if (end_list(object))
        release(object);
}

/* Withdraw the first one that no thread is ending; NULL: there is none. Called with the lock
 * held. */
static struct sisci_object *withdraw_first(struct sisci_object *owner)
{
    /* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): what finish() frees it has taken off the list */
    for (struct sisci_object *object = *list_of(owner); object != NULL; object = object->next)
        if (withdraw(object, SISCI_END_ALL) == SCI_ERR_OK)
            return object;
    return NULL;
}

/* All that an owner, or the library, owns. The latest goes first. One that another thread ends is
 * waited for, but not in a callback: false: the rest of the owner's end is left to that thread. */
static bool end_list(struct sisci_object *owner)
{
    bool leave = false;
    rsmcore_fork_lock(&lock);
    while (*list_of(owner) != NULL && !leave) {
        struct sisci_object *object = withdraw_first(owner);
        if (object != NULL) {
            rsmcore_fork_unlock(&lock);
            finish(object);
            rsmcore_fork_lock(&lock);
        } else if (sisci_in_callback()) {
            leave = true;
        } else {
            rsmcore_fork_wait(&lock, &changed);
        }
    }
    if (leave && owner != NULL)
        owner->is_left = true;
    rsmcore_fork_unlock(&lock);
    return !leave;
}

sci_error_t sisci_end(struct sisci_object *object, enum sisci_end how)
{
    rsmcore_fork_lock(&lock);
    sci_error_t error = withdraw(object, how);
    rsmcore_fork_unlock(&lock);
    sisci_drop(object);
    if (error == SCI_ERR_OK)
        finish(object);
    return error;
}

void *sisci_need_to_end(const void *handle, enum sisci_kind kind, sci_error_t *error)
{
    if (*error == SCI_ERR_NOT_INITIALIZED && sisci_library_is_over()) {
        *error = SCI_ERR_OK;
        return NULL;
    }
    return sisci_need(handle, kind, error);
}

sci_error_t sisci_remove(const void *handle, enum sisci_kind kind, unsigned flags)
{
    sci_error_t error = sisci_check(flags, 0);
    struct sisci_object *object = sisci_need_to_end(handle, kind, &error);
    return object != NULL ? sisci_end(object, SISCI_END_ALL) : error;
}

void sisci_end_everything(void)
{
    (void)end_list(NULL);
}
