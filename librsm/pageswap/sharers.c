/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/descriptor.h"
#include "pageswap/vma.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/kcmp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Bits of an entry of /proc/PID/pagemap. */
#define PAGEMAP_PRESENT   (UINT64_C(1) << 63)
#define PAGEMAP_EXCLUSIVE (UINT64_C(1) << 56)

static bool same_file(const struct rsmcore_vma *a, const struct rsmcore_vma *b)
{
    return a->shared && b->shared && a->device == b->device && a->inode == b->inode;
}

static bool same_pages(const struct rsmcore_vma *a, const struct rsmcore_vma *b)
{
    return same_file(a, b) && a->offset < b->offset + (b->end - b->start) &&
           b->offset < a->offset + (a->end - a->start);
}

/* How process pid (0: this one) maps the file of *vma: *mappings of it in all, and how many of them
 * hold pages of *vma. -1: this process has run out of what it takes to look. */
static int count_mappings(pid_t pid, const struct rsmcore_vma *vma, unsigned *mappings)
{
    struct rsmcore_vma_reader reader;
    int overlapping = 0;
    *mappings = 0;
    if (!rsmcore_vma_open(&reader, pid, 0))
        return errno == EMFILE || errno == ENFILE || errno == ENOMEM || pid == 0 ? -1 : 0;
    struct rsmcore_vma other;
    while (rsmcore_vma_next(&reader, &other)) {
        *mappings += same_file(vma, &other);
        overlapping += same_pages(vma, &other);
    }
    bool failed = reader.file.failed && pid == 0;
    rsmcore_vma_close(&reader);
    return failed ? -1 : overlapping;
}

enum verdict {
    ALONE,
    NOT_ALONE,
    UNKNOWN,
};

/* The attach count of a System V segment counts its mappings in all processes. */
static enum verdict ask_sysv(const struct rsmcore_vma *vma, unsigned own_mappings)
{
    struct shmid_ds segment;
    if (!rsmcore_backing_is_sysv(vma) || shmctl((int)vma->inode, IPC_STAT, &segment) != 0 ||
        segment.shm_nattch < own_mappings)
        return UNKNOWN; /* the last: the id is another segment's, in this IPC namespace */
    return segment.shm_nattch == own_mappings ? ALONE : NOT_ALONE;
}

static enum verdict ask_page_tables(const struct rsmcore_vma *vma)
{
    enum verdict verdict = UNKNOWN;
    int fd = rsmcore_fd_place(open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC));
    if (fd < 0)
        return verdict;
    uintptr_t page_size = (uintptr_t)sysconf(_SC_PAGESIZE);
    uint64_t entries[256];
    for (uintptr_t at = vma->start; at < vma->end && verdict == UNKNOWN;) {
        size_t want = (vma->end - at) / page_size;
        if (want > sizeof entries / sizeof entries[0])
            want = sizeof entries / sizeof entries[0];
        ssize_t got = pread(fd, entries, want * sizeof entries[0],
                            (off_t)(at / page_size * sizeof entries[0]));
        size_t count = got > 0 ? (size_t)got / sizeof entries[0] : 0;
        if (count == 0)
            break;
        for (size_t i = 0; i < count; i++)
            if ((entries[i] & PAGEMAP_PRESENT) && !(entries[i] & PAGEMAP_EXCLUSIVE))
                verdict = NOT_ALONE;
        at += count * page_size;
    }
    close(fd);
    return verdict;
}

/* A process between vfork() and exec() runs on this process's memory and is not another. */
static bool shares_our_memory(pid_t pid)
{
    return syscall(SYS_kcmp, getpid(), pid, KCMP_VM, 0, 0) == 0;
}

static enum verdict ask_processes(const struct rsmcore_vma *vma)
{
    DIR *processes = rsmcore_procfile_directory("/proc");
    if (processes == NULL)
        return UNKNOWN;
    /* /proc may be that of another process namespace, where this process has another number. */
    char own[16] = "";
    if (readlink("/proc/self", own, sizeof own - 1) < 0)
        own[0] = '\0';
    enum verdict verdict = ALONE;
    const struct dirent *entry;
    while (verdict == ALONE && (entry = readdir(processes)) != NULL) {
        pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);
        unsigned mappings;
        if (pid <= 0 || strcmp(entry->d_name, own) == 0)
            continue;
        int overlapping = count_mappings(pid, vma, &mappings);
        if (overlapping < 0)
            verdict = UNKNOWN;
        else if (overlapping > 0 && !shares_our_memory(pid))
            verdict = NOT_ALONE;
    }
    closedir(processes);
    return verdict;
}

enum rsmcore_sharers rsmcore_sharers_of(const struct rsmcore_vma *vma)
{
    unsigned own_mappings;
    int own = count_mappings(0, vma, &own_mappings);
    if (own != 0 && own != 1)
        return own < 0 ? RSMCORE_SHARERS_OTHERS : RSMCORE_SHARERS_SELF;
    enum verdict verdict = ask_sysv(vma, own_mappings);
    if (verdict == UNKNOWN)
        verdict = ask_page_tables(vma);
    if (verdict == UNKNOWN)
        verdict = ask_processes(vma);
    /* A sharer may exist unseen, and a swap would cut it off silently. */
    return verdict == ALONE ? RSMCORE_SHARERS_NONE : RSMCORE_SHARERS_OTHERS;
}
