/* SPDX-License-Identifier: BSD-3-Clause */
#include "node/generation_table.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/sealed.h"
#include "base/status.h"
#include "node/memfd.h"
#include "protocol/proto.h"

_Static_assert(RSM_GENERATION_TABLE_OWNER_DIED == FUTEX_OWNER_DIED,
               "clients look for the kernel's bit");

enum { SUCCESSOR_S = 30 }; /* how long clients wait for one */

struct rsmd_generation_table {
    struct rsm_generation_table *shared;
    int readable;     /* what clients get */
    int lasting;      /* what a successor gets; -1: this one ends with its owner */
    uint8_t *claimed; /* by slot, between take_over() and settle() */
    bool held;
    struct robust_list_head robust;
    struct robust_list alive_entry; /* the only one: leads the kernel to shared->alive */
    /* Free slots, first in first out, so that a slot rests as long as possible: those never used,
     * from `unused` on, before those given back. */
    uint32_t unused;
    uint32_t *free_slots; /* RSM_GENERATION_TABLE_SLOTS; its pages are allocated at first use */
    uint32_t free_first;
    uint32_t free_count;
};

/* NULL: no memory. */
static struct rsmd_generation_table *new_table(void)
{
    struct rsmd_generation_table *table = calloc(1, sizeof *table);
    if (table == NULL)
        return NULL;
    table->free_slots = malloc(RSM_GENERATION_TABLE_SLOTS * sizeof *table->free_slots);
    if (table->free_slots == NULL) {
        free(table);
        return NULL;
    }
    table->lasting = -1;
    return table;
}

/* Free one that is not mapped. */
static void free_table(struct rsmd_generation_table *table)
{
    if (table == NULL)
        return;
    free(table->claimed);
    free(table->free_slots);
    free(table);
}

static void say_newest(struct rsmd_generation_table *table)
{
    atomic_store(&table->shared->newest, (uint32_t)RSM_MSG_LAST);
}

static void fill(struct rsmd_generation_table *table)
{
    table->shared->magic = RSM_GENERATION_TABLE_MAGIC;
    table->shared->version = RSM_GENERATION_TABLE_VERSION;
    table->shared->slots = RSM_GENERATION_TABLE_SLOTS;
    table->unused = 1;
    say_newest(table);
}

/* Map and seal the file. The seals make this mapping the only writable one, also for the file's
 * owner. A lasting table seals only its size, because the successor has to map it; its mode
 * excludes other users. */
static int map_and_seal(struct rsmd_generation_table *table, int fd, int more_seals)
{
    size_t size = sizeof(struct rsm_generation_table);
    table->shared = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (table->shared == MAP_FAILED)
        return -1;
    int needed = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL | more_seals;
    int seals = fcntl(fd, F_GET_SEALS);
    bool sealed = seals >= 0 && (seals & needed) == needed; /* by a predecessor */
    if (sealed || fcntl(fd, F_ADD_SEALS, needed) == 0) {
        table->readable = rsmd_fd_reopen(fd, O_RDONLY);
        if (table->readable >= 0)
            return 0;
    }
    int error = errno;
    munmap(table->shared, size);
    errno = error;
    return -1;
}

enum rsm_status rsmd_generation_table_create(struct rsmd_generation_table **made, bool lasting)
{
    struct rsmd_generation_table *table = new_table();
    if (table == NULL)
        return RSM_ST_NO_MEMORY;
    int fd = rsmd_memfd_make("rsm-generations", sizeof *table->shared, S_IRUSR);
    if (fd < 0)
        goto fail;
    int result = map_and_seal(table, fd, lasting ? 0 : F_SEAL_FUTURE_WRITE);
    int error = errno;
    if (lasting && result == 0)
        table->lasting = fd;
    else
        close(fd);
    errno = error;
    if (result < 0)
        goto fail;
    fill(table);
    *made = table;
    return RSM_ST_OK;

fail:
    error = errno;
    free_table(table);
    return rsmcore_status_from_errno(error);
}

int rsmd_generation_table_lasting_fd(const struct rsmd_generation_table *table)
{
    return table->lasting;
}

/* ------------------------------------------------------------------ handover */

static bool is_table(const struct rsm_generation_table *shared)
{
    return shared->magic == RSM_GENERATION_TABLE_MAGIC &&
           shared->version == RSM_GENERATION_TABLE_VERSION &&
           shared->slots == RSM_GENERATION_TABLE_SLOTS;
}

enum rsm_status rsmd_generation_table_take_over(int fd, struct rsmd_generation_table **made)
{
    if (!rsm_is_sealed_memory(fd, sizeof(struct rsm_generation_table)))
        return RSM_ST_INVALID;
    struct rsmd_generation_table *table = new_table();
    uint8_t *claimed = calloc(RSM_GENERATION_TABLE_SLOTS, 1);
    if (table == NULL || claimed == NULL || map_and_seal(table, fd, 0) < 0) {
        enum rsm_status status =
            table == NULL || claimed == NULL ? RSM_ST_NO_MEMORY : rsmcore_status_from_errno(errno);
        free_table(table);
        free(claimed);
        return status;
    }
    table->claimed = claimed;
    table->unused = RSM_GENERATION_TABLE_SLOTS; /* free slots are known when all are claimed */
    table->lasting = -1;                        /* owned by the caller, until success */
    if (!is_table(table->shared)) {
        rsmd_generation_table_free(table);
        return RSM_ST_INVALID; /* the caller keeps the descriptor */
    }
    table->lasting = fd;
    say_newest(table);
    *made = table;
    return RSM_ST_OK;
}

bool rsmd_generation_table_claim(struct rsmd_generation_table *table, uint32_t slot)
{
    if (slot == 0 || slot >= RSM_GENERATION_TABLE_SLOTS || table->claimed == NULL ||
        table->claimed[slot])
        return false;
    table->claimed[slot] = 1;
    return true;
}

void rsmd_generation_table_settle(struct rsmd_generation_table *table)
{
    if (table->claimed == NULL)
        return;
    for (uint32_t slot = 1; slot < RSM_GENERATION_TABLE_SLOTS; slot++)
        if (!table->claimed[slot])
            rsmd_generation_table_release(table, slot);
    free(table->claimed);
    table->claimed = NULL;
}

static uint32_t seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint32_t)now.tv_sec & RSM_GENERATION_TABLE_UNTIL;
}

void rsmd_generation_table_leave(struct rsmd_generation_table *table)
{
    if (!table->held)
        return;
    /* In this order: a daemon that dies in between is marked as dead, or as having left. */
    atomic_store(&table->shared->alive, RSM_GENERATION_TABLE_LEFT | ((seconds() + SUCCESSOR_S) &
                                                                     RSM_GENERATION_TABLE_UNTIL));
    syscall(SYS_set_robust_list, NULL, sizeof table->robust);
    table->held = false;
}

void rsmd_generation_table_free(struct rsmd_generation_table *table)
{
    if (table == NULL)
        return;
    if (table->held) {
        /* The kernel cannot do it later: the mapping will have gone. */
        atomic_fetch_or(&table->shared->alive, RSM_GENERATION_TABLE_OWNER_DIED);
        syscall(SYS_set_robust_list, NULL, sizeof table->robust);
    }
    close(table->readable);
    if (table->lasting >= 0)
        close(table->lasting);
    munmap(table->shared, sizeof *table->shared);
    free_table(table);
}

/* Take the word of a new table, or of one that its owner has left and no client has given up. */
static bool take_word(struct rsm_generation_table *shared)
{
    uint32_t word = atomic_load(&shared->alive);
    bool left = (word & RSM_GENERATION_TABLE_LEFT) != 0;
    if ((word != 0 && !left) || (left && seconds() >= (word & RSM_GENERATION_TABLE_UNTIL)) ||
        !atomic_compare_exchange_strong(&shared->alive, &word, (uint32_t)gettid()))
        return false;
    /* A client may have given it up meanwhile. */
    if (!left || seconds() < (word & RSM_GENERATION_TABLE_UNTIL))
        return true;
    atomic_fetch_or(&shared->alive, RSM_GENERATION_TABLE_OWNER_DIED);
    return false;
}

enum rsm_status rsmd_generation_table_own(struct rsmd_generation_table *table)
{
    table->robust.list.next = &table->alive_entry;
    table->alive_entry.next = &table->robust.list;
    table->robust.futex_offset =
        (long)((intptr_t)&table->shared->alive - (intptr_t)&table->alive_entry);
    table->robust.list_op_pending = NULL;
    if (syscall(SYS_set_robust_list, &table->robust, sizeof table->robust) < 0)
        return rsmcore_status_from_errno(errno);
    table->held = take_word(table->shared);
    if (!table->held)
        syscall(SYS_set_robust_list, NULL, sizeof table->robust);
    return table->held ? RSM_ST_OK : RSM_ST_STALE;
}

int rsmd_generation_table_fd(const struct rsmd_generation_table *table)
{
    return table->readable;
}

void rsmd_generation_table_advance(struct rsmd_generation_table *table, uint32_t slot)
{
    atomic_fetch_add_explicit(&table->shared->slot[slot], 1, memory_order_release);
}

uint32_t rsmd_generation_table_value(const struct rsmd_generation_table *table, uint32_t slot)
{
    return atomic_load_explicit(&table->shared->slot[slot], memory_order_acquire);
}

uint32_t rsmd_generation_table_take(struct rsmd_generation_table *table)
{
    uint32_t slot;
    if (table->unused < RSM_GENERATION_TABLE_SLOTS) {
        slot = table->unused++;
    } else if (table->free_count > 0) {
        slot = table->free_slots[table->free_first];
        table->free_first = (table->free_first + 1) % RSM_GENERATION_TABLE_SLOTS;
        table->free_count--;
    } else {
        return 0;
    }
    rsmd_generation_table_advance(table, slot);
    return slot;
}

void rsmd_generation_table_release(struct rsmd_generation_table *table, uint32_t slot)
{
    rsmd_generation_table_advance(table, slot);
    uint32_t last = (table->free_first + table->free_count) % RSM_GENERATION_TABLE_SLOTS;
    table->free_slots[last] = slot;
    table->free_count++;
}
