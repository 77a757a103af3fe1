/* SPDX-License-Identifier: BSD-3-Clause */
#include "pageswap/exchange.h"

#include <errno.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/madvise.h"
#include "base/memory_limit.h"
#include "pageswap/freeze.h"

/* Bytes that are frozen together. */
#define CHUNK ((size_t)1024 * 1024)

/* Up to here two writes into the memfd and one mapping are cheaper than a mapping to copy through,
 * populated and moved. */
#define FEW ((size_t)64 * 1024)

/* How often a chunk is copied again because importers were storing into it. */
#define COLLECT_ROUNDS 8

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

/* Copies of pages to which other threads and processes store meanwhile: eight bytes at a time and
 * never twice from the same place, so that an aligned word is copied whole. They are exempt from
 * sanitizers: the race is intended, and the memory is the application's, including redzones. */
#define UNWATCHED __attribute__((no_sanitize_thread, no_sanitize_address))

UNWATCHED static void copy_words(void *to, const void *from, size_t length)
{
    volatile uint64_t *target = to;
    const volatile uint64_t *source = from;
    for (size_t i = 0; i < length / sizeof *target; i++)
        target[i] = source[i];
}

/* The same, but only words that differ are stored. Returns whether any did. */
UNWATCHED static bool copy_changed_words(void *to, const void *from, size_t length)
{
    volatile uint64_t *target = to;
    const volatile uint64_t *source = from;
    bool changed = false;
    for (size_t i = 0; i < length / sizeof *target; i++) {
        uint64_t word = source[i];
        if (target[i] != word) {
            target[i] = word;
            changed = true;
        }
    }
    return changed;
}

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

static enum rsm_status stop_stores(struct rsmcore_freezer *freezer, void *at, size_t length,
                                   int protection)
{
#ifdef RSM_DEFECT_NAIVE_COPY
    /* The tests' proof that they would notice: built with this they have to fail. */
    (void)freezer, (void)at, (void)length, (void)protection;
    return RSM_ST_OK;
#else
    return rsmcore_freeze(freezer, (uintptr_t)at, length, protection);
#endif
}

static void resume_stores(struct rsmcore_freezer *freezer, bool replaced)
{
#ifdef RSM_DEFECT_NAIVE_COPY
    (void)freezer, (void)replaced;
#else
    rsmcore_thaw(freezer, replaced);
#endif
}

/* Touch pages to be read, many at a time. Kernels without this call do it one by one, in the copy.
 * False: there is nothing behind some of them, as behind the end of a mapped file. */
static bool populate(void *at, size_t length)
{
    return madvise(at, length, MADV_POPULATE_READ) == 0 || errno != EFAULT;
}

/* Make the kernel give the memory behind a mapping now, instead of a SIGBUS in the copy.
 * fallocate(2) is not used: importers that have the memory could hold its inode's lock for ever. */
static enum rsm_status reserve(char *at, size_t length)
{
    int result;
    do
        result = madvise(at, length, MADV_POPULATE_WRITE);
    while (result < 0 && errno == EINTR);
    return result == 0 ? RSM_ST_OK : RSM_ST_NO_MEMORY;
}

/* The kernel takes the old mapping away before it moves the new one there. Should it then run out
 * of memory there is a hole, into which the memfd, whose contents are right, is mapped instead. */
static bool fill_hole(void *at, size_t length, int protection, int fd, uint64_t offset)
{
    void *mapped =
        mmap(at, length, protection, MAP_SHARED | MAP_FIXED_NOREPLACE, fd, (off_t)offset);
    if (mapped == at)
        return true;
    if (mapped != MAP_FAILED) /* a kernel that takes the flag for no more than a hint */
        munmap(mapped, length);
    return false;
}

/* Where it goes. */
struct swap_in {
    int fd;
    bool regular; /* memory, and no device: it can be asked for */
    bool fresh;   /* and no other process has had it */
};

/* scratch is a mapping of the memfd at this offset; it is gone on success. */
static enum rsm_status put_chunk_in(struct rsmcore_freezer *freezer, char *at, size_t length,
                                    int protection, char *scratch, int fd, uint64_t offset)
{
    if (!populate(at, length))
        return RSM_ST_FAULT;
    copy_words(scratch, at, length);
    enum rsm_status status = stop_stores(freezer, at, length, protection);
    if (status != RSM_ST_OK)
        return status;
    copy_words(scratch, at, length);
    bool moved = mremap(scratch, length, length, MREMAP_MAYMOVE | MREMAP_FIXED, at) != MAP_FAILED;
    bool filled = !moved && fill_hole(at, length, protection, fd, offset);
    resume_stores(freezer, moved || filled);
    if (filled)
        munmap(scratch, length);
    return moved || filled ? RSM_ST_OK : RSM_ST_NO_MEMORY;
}

/* Not by the C library's functions: a sanitizer would object to memory that it guards or that other
 * threads store into, all of which goes along. */
#ifdef __LP64__
static long write_at(int fd, const void *from, size_t length, uint64_t offset)
{
    return syscall(SYS_pwrite64, fd, from, length, offset);
}

static bool map_over(void *at, size_t length, int protection, int fd, uint64_t offset)
{
    return syscall(SYS_mmap, at, length, protection, MAP_SHARED | MAP_FIXED, fd, offset) ==
           (long)(uintptr_t)at;
}
#else /* where 64 bits of offset are passed in ways of their own */
static long write_at(int fd, const void *from, size_t length, uint64_t offset)
{
    return pwrite(fd, from, length, (off_t)offset);
}

static bool map_over(void *at, size_t length, int protection, int fd, uint64_t offset)
{
    return mmap(at, length, protection, MAP_SHARED | MAP_FIXED, fd, (off_t)offset) != MAP_FAILED;
}
#endif

/* RSM_ST_UNSUPPORTED: what the descriptor stands for cannot be written. */
static enum rsm_status write_in(const char *from, size_t length, int fd, uint64_t offset)
{
    while (length > 0) {
        long written = write_at(fd, from, length, offset);
        if (written > 0) {
            from += written;
            offset += (uint64_t)written;
            length -= (size_t)written;
        } else if (written < 0 && errno == EFAULT) {
            return RSM_ST_FAULT;
        } else if (written < 0 && (errno == ENOSPC || errno == ENOMEM)) {
            return RSM_ST_NO_MEMORY;
        } else if (written == 0 || errno != EINTR) {
            return RSM_ST_UNSUPPORTED;
        }
    }
    return RSM_ST_OK;
}

/* RSM_ST_UNSUPPORTED: it has to be done the other way. */
static enum rsm_status put_few_in(struct rsmcore_freezer *freezer, char *at, size_t length,
                                  int protection, int fd, uint64_t offset)
{
    enum rsm_status status = write_in(at, length, fd, offset);
    if (status == RSM_ST_OK)
        status = stop_stores(freezer, at, length, protection);
    if (status != RSM_ST_OK)
        return status;
    status = write_in(at, length, fd, offset);
    bool mapped = status == RSM_ST_OK && map_over(at, length, protection, fd, offset);
    bool filled = status == RSM_ST_OK && !mapped && fill_hole(at, length, protection, fd, offset);
    resume_stores(freezer, mapped || filled);
    if (status == RSM_ST_OK && !mapped && !filled)
        status = RSM_ST_NO_MEMORY;
    return status;
}

/* The limit of file sizes holds for writes into a memfd, too, though not for stores into a mapping
 * of it: what goes beyond ends the process by SIGXFSZ. */
static bool is_within_limit(uint64_t end)
{
    struct rlimit limit;
    return getrlimit(RLIMIT_FSIZE, &limit) < 0 || limit.rlim_cur == RLIM_INFINITY ||
           end <= limit.rlim_cur;
}

static bool is_in_file(const struct stat *file, uint64_t offset, size_t length)
{
    return offset <= (uint64_t)file->st_size && length <= (uint64_t)file->st_size - offset;
}

/* Copy through a second mapping, chunk by chunk, and move that over the first. */
static enum rsm_status put_much_in(struct rsmcore_freezer *freezer, const struct rsmcore_vma *vma,
                                   const struct swap_in *swap, uint64_t offset)
{
    size_t length = vma->end - vma->start;
    enum rsm_status status = RSM_ST_OK;
    char *scratch = mmap(NULL, length, vma->protection, MAP_SHARED, swap->fd, (off_t)offset);
    if (scratch == MAP_FAILED)
        return RSM_ST_NO_MEMORY;
    size_t done = 0;
    while (done < length && status == RSM_ST_OK) {
        size_t chunk = smaller(length - done, CHUNK);
        if (swap->regular)
            status = reserve(scratch + done, chunk);
        if (status == RSM_ST_OK)
            status = put_chunk_in(freezer, (char *)vma->start + done, chunk, vma->protection,
                                  scratch + done, swap->fd, offset + done);
        if (status == RSM_ST_OK)
            done += chunk;
    }
    if (done < length)
        munmap(scratch + done, length - done);
    return status;
}

/* Whether there is memory for what the file does not have yet of this part. The kernel would end
 * the process instead of telling it, where a control group has a limit. */
static bool has_room(const struct stat *file, size_t length)
{
    uint64_t size = (uint64_t)file->st_size, has = (uint64_t)file->st_blocks * 512;
    uint64_t lacks = has < size ? size - has : 0;
    return !S_ISREG(file->st_mode) || rsm_memory_fits(lacks < length ? lacks : length);
}

static enum rsm_status put_part_in(struct rsmcore_freezer *freezer, const struct rsmcore_vma *vma,
                                   const struct swap_in *swap, uint64_t offset)
{
    size_t length = vma->end - vma->start;
    enum rsm_status status = RSM_ST_UNSUPPORTED;
    if (swap->fresh && length <= FEW && is_within_limit(offset + length))
        status = put_few_in(freezer, (char *)vma->start, length, vma->protection, swap->fd, offset);
    return status == RSM_ST_UNSUPPORTED ? put_much_in(freezer, vma, swap, offset) : status;
}

enum rsm_status rsmcore_exchange_in(const struct rsmcore_parts *parts, uintptr_t base, int fd,
                                    uint64_t offset, bool fresh)
{
    struct rsmcore_freezer freezer;
    struct stat file;
    enum rsm_status status = RSM_ST_OK;
    if (fstat(fd, &file) != 0)
        return RSM_ST_NO_MEMORY;
    /* The size of a device means nothing; the caller knows it. */
    bool regular = S_ISREG(file.st_mode);
    const struct swap_in swap = {.fd = fd, .regular = regular, .fresh = fresh && regular};
    for (size_t i = 0; regular && i < parts->count; i++) {
        const struct rsmcore_vma *vma = &parts->list[i].vma;
        if (!is_in_file(&file, offset + (vma->start - base), vma->end - vma->start))
            return RSM_ST_RANGE;
    }
    rsmcore_freezer_open(&freezer);
    for (size_t i = 0; i < parts->count && status == RSM_ST_OK; i++) {
        const struct rsmcore_vma *vma = &parts->list[i].vma;
        status = has_room(&file, vma->end - vma->start)
                     ? put_part_in(&freezer, vma, &swap, offset + (vma->start - base))
                     : RSM_ST_NO_MEMORY;
    }
    rsmcore_freezer_close(&freezer);
    return status;
}

/* The work on one run. */
struct swap_out {
    const struct rsmcore_origin_run *run;
    char *destination; /* private pages for the run, or the alias of the original */
    size_t spent;      /* bytes of the private pages that were moved away or unmapped */
    const struct rsmcore_swap_file *file;
    uint64_t offset; /* of the run in the memfd */
};

/* Copy until two passes in a row have seen the same: then what was copied was in the memfd at one
 * time, although importers may be storing there. */
static void collect(char *to, const char *from, size_t length)
{
    for (int round = 0; round < COLLECT_ROUNDS; round++)
        if (!copy_changed_words(to, from, length))
            break;
}

static bool is_private(const struct swap_out *swap)
{
    return swap->run->origin.kind == RSMCORE_ORIGIN_PRIVATE;
}

/* Unmap private pages that no chunk has needed, up to this position. What was moved away must not
 * be unmapped again: by now another thread may have got that address. */
static void unmap_unneeded(struct swap_out *swap, size_t position)
{
    if (is_private(swap) && position > swap->spent)
        munmap(swap->destination + swap->spent, position - swap->spent);
    swap->spent = position;
}

/* Map the chunk a second time, readable, whatever the application has made of its own mapping; NULL
 * if that is not possible. */
static char *map_again(const struct swap_out *swap, char *at, size_t position, size_t length,
                       int protection)
{
    void *again;
    if (swap->file->fd >= 0) {
        again = mmap(NULL, length, PROT_READ, MAP_SHARED, swap->file->fd,
                     (off_t)(swap->offset + position));
        return again == MAP_FAILED ? NULL : again;
    }
    /* An old length of 0 asks for a second mapping of the same shared pages. Where the application
     * has locked them it would be locked, too, and may be one too many; the pages that come in
     * their place are not locked anyway. */
    again = mremap(at, 0, length, MREMAP_MAYMOVE);
    if (again == MAP_FAILED && errno == EAGAIN && munlock(at, length) == 0)
        again = mremap(at, 0, length, MREMAP_MAYMOVE);
    if (again == MAP_FAILED)
        return NULL;
    if ((protection & PROT_READ) != 0 || mprotect(again, length, PROT_READ) == 0)
        return again;
    munmap(again, length);
    return NULL;
}

static bool move_out(const struct swap_out *swap, char *destination, char *at, size_t length)
{
    /* Length 0 maps shared memory once more instead of moving it: should a later part fail, the
     * run can still be taken out with the alias that it has. */
    return mremap(destination, is_private(swap) ? length : 0, length, MREMAP_MAYMOVE | MREMAP_FIXED,
                  at) != MAP_FAILED;
}

/* See fill_hole(): with the second mapping, which is used up on success. */
static bool fill_hole_again(char *at, size_t length, int protection, char *again)
{
    void *claimed = mmap(at, length, PROT_NONE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
    if (claimed == at)
        return mprotect(again, length, protection) == 0 &&
               mremap(again, length, length, MREMAP_MAYMOVE | MREMAP_FIXED, at) != MAP_FAILED;
    if (claimed != MAP_FAILED)
        munmap(claimed, length);
    return false;
}

static enum rsm_status take_chunk_out(struct rsmcore_freezer *freezer, const struct swap_out *swap,
                                      size_t position, size_t length, int protection)
{
    char *at = (char *)swap->run->start + position;
    char *to = swap->destination + position;
    char *from = map_again(swap, at, position, length, protection);
    if (from == NULL)
        return RSM_ST_NO_MEMORY;
    (void)populate(from, length);
    (void)copy_changed_words(to, from, length);

    bool freeze = protection & PROT_WRITE; /* the application may have taken that away itself */
    enum rsm_status status = freeze ? stop_stores(freezer, at, length, protection) : RSM_ST_OK;
    if (status != RSM_ST_OK) {
        munmap(from, length);
        return status;
    }
    collect(to, from, length);
    bool moved = mprotect(to, length, protection) == 0 && move_out(swap, to, at, length);
    bool filled = !moved && fill_hole_again(at, length, protection, from);
    if (freeze)
        resume_stores(freezer, moved || filled);
    if (!moved)
        (void)mprotect(to, length, PROT_READ | PROT_WRITE);
    if (!filled)
        munmap(from, length);
    return moved ? RSM_ST_OK : RSM_ST_NO_MEMORY;
}

bool rsmcore_exchange_is_in(const struct rsmcore_origin_run *run,
                            const struct rsmcore_swap_file *file, uint64_t offset,
                            struct rsmcore_vma *vma)
{
    rsmcore_vma_clip(vma, run->start, run->start + run->length);
    return vma->shared && vma->device == file->device && vma->inode == file->inode &&
           vma->offset == offset + (vma->start - run->start);
}

/* What the application has made of the run meanwhile is looked up again for each chunk. */
static enum rsm_status take_all_out(struct swap_out *swap)
{
    struct rsmcore_freezer freezer;
    struct rsmcore_vma vma;
    uintptr_t end = swap->run->start + swap->run->length;
    uintptr_t at = swap->run->start;
    enum rsm_status status = RSM_ST_OK;
    rsmcore_freezer_open(&freezer);
    while (status == RSM_ST_OK && at < end) {
        status = rsmcore_vma_find(at, &vma);
        if (status != RSM_ST_OK || vma.start >= end)
            break;
        rsmcore_vma_clip(&vma, at, end);
        at = vma.end;
        if (!rsmcore_exchange_is_in(swap->run, swap->file, swap->offset, &vma))
            continue;
        size_t length = smaller(vma.end - vma.start, CHUNK);
        at = vma.start + length;
        size_t position = vma.start - swap->run->start;
        unmap_unneeded(swap, position);
        status = take_chunk_out(&freezer, swap, position, length, vma.protection);
        if (status == RSM_ST_OK)
            swap->spent = position + length;
    }
    unmap_unneeded(swap, swap->run->length);
    rsmcore_freezer_close(&freezer);
    return status == RSM_ST_NOT_FOUND ? RSM_ST_OK : status;
}

enum rsm_status rsmcore_exchange_out(const struct rsmcore_origin_run *run,
                                     const struct rsmcore_swap_file *file, uint64_t offset)
{
    struct swap_out swap = {.run = run, .file = file, .offset = offset};
    if (is_private(&swap)) {
        swap.destination =
            mmap(NULL, run->length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (swap.destination == MAP_FAILED)
            return RSM_ST_NO_MEMORY;
    } else {
        swap.destination = (char *)run->origin.alias;
        (void)madvise(swap.destination, run->length, MADV_DOFORK);
    }
    return take_all_out(&swap);
}
