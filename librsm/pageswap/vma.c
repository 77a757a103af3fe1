/* SPDX-License-Identifier: BSD-3-Clause */
#include "pageswap/vma.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/sysmacros.h>

/* Parse a number; *text ends up behind it and behind one separator. */
static uint64_t number(const char **text, unsigned base)
{
    uint64_t value = 0;
    for (;; (*text)++) {
        char c = **text;
        unsigned digit;
        if (c >= '0' && c <= '9')
            digit = (unsigned)(c - '0');
        else if (c >= 'a' && c <= 'f')
            digit = (unsigned)(c - 'a') + 10;
        else
            break;
        if (digit >= base)
            break;
        value = value * base + digit;
    }
    if (**text != '\0')
        (*text)++;
    return value;
}

/* One line: "start-end rwxp offset major:minor inode      path" */
static bool parse(const char *text, struct rsmcore_vma *vma)
{
    vma->start = (uintptr_t)number(&text, 16);
    vma->end = (uintptr_t)number(&text, 16);
    if (vma->end <= vma->start || strnlen(text, 5) < 5)
        return false;
    vma->protection = (text[0] == 'r' ? PROT_READ : 0) | (text[1] == 'w' ? PROT_WRITE : 0) |
                      (text[2] == 'x' ? PROT_EXEC : 0);
    vma->shared = text[3] == 's';
    text += 5;
    vma->offset = number(&text, 16);
    unsigned device_major = (unsigned)number(&text, 16);
    unsigned device_minor = (unsigned)number(&text, 16);
    vma->device = makedev(device_major, device_minor);
    vma->inode = number(&text, 10);
    text += strspn(text, " ");
    size_t length = strnlen(text, sizeof vma->path - 1);
    memcpy(vma->path, text, length);
    vma->path[length] = '\0';
    return true;
}

/* "/proc/PID/maps"; no stdio, as signal handlers come this way. */
static void maps_path(pid_t pid, char path[32])
{
    if (pid == 0) {
        strcpy(path, "/proc/self/maps");
        return;
    }
    char digits[16];
    size_t count = 0;
    for (unsigned rest = (unsigned)pid; rest != 0; rest /= 10)
        digits[count++] = (char)('0' + rest % 10);
    char *end = stpcpy(path, "/proc/");
    while (count > 0)
        *end++ = digits[--count];
    strcpy(end, "/maps");
}

bool rsmcore_vma_open(struct rsmcore_vma_reader *reader, pid_t pid, uintptr_t from)
{
    char path[32];
    maps_path(pid, path);
    reader->from = from;
    reader->by_query = true;
    return rsmcore_procfile_open(&reader->file, AT_FDCWD, path);
}

/* Since Linux 6.11; newer than the headers that this must build with. */
struct query {
    uint64_t size, flags, address;             /* in */
    uint64_t start, end, vma_flags, page_size; /* out */
    uint64_t offset, inode;                    /* out */
    uint32_t device_major, device_minor;       /* out */
    uint32_t name_size, build_id_size;         /* in and out */
    uint64_t name, build_id;                   /* in: addresses */
};
#define QUERY_VMAS _IOWR('f', 17, struct query)

enum {
    QUERY_READABLE = 0x01,
    QUERY_WRITABLE = 0x02,
    QUERY_EXECUTABLE = 0x04,
    QUERY_SHARED = 0x08,
    QUERY_COVERING_OR_NEXT = 0x10,
};

/* 1: done; 0: there is no further mapping; -1: it has to be read from the text. */
static int query(struct rsmcore_vma_reader *reader, struct rsmcore_vma *vma)
{
    memset(vma->path, 0, sizeof vma->path);
    struct query asked = {.size = sizeof asked,
                          .flags = QUERY_COVERING_OR_NEXT,
                          .address = reader->from,
                          .name_size = sizeof vma->path,
                          .name = (uintptr_t)vma->path};
    if (ioctl(reader->file.fd, QUERY_VMAS, &asked) != 0)
        return errno == ENOENT ? 0 : -1;
    vma->start = (uintptr_t)asked.start;
    vma->end = (uintptr_t)asked.end;
    vma->protection = (asked.vma_flags & QUERY_READABLE ? PROT_READ : 0) |
                      (asked.vma_flags & QUERY_WRITABLE ? PROT_WRITE : 0) |
                      (asked.vma_flags & QUERY_EXECUTABLE ? PROT_EXEC : 0);
    vma->shared = (asked.vma_flags & QUERY_SHARED) != 0;
    vma->offset = asked.offset;
    vma->device = makedev(asked.device_major, asked.device_minor);
    vma->inode = asked.inode;
    return 1;
}

static bool read_next(struct rsmcore_vma_reader *reader, struct rsmcore_vma *vma)
{
    char line[sizeof vma->path + 96]; /* every number as long as it can be */
    while (rsmcore_procfile_line(&reader->file, line, sizeof line))
        if (parse(line, vma) && vma->end > reader->from)
            return true;
    return false;
}

bool rsmcore_vma_next(struct rsmcore_vma_reader *reader, struct rsmcore_vma *vma)
{
    int found = reader->by_query ? query(reader, vma) : -1;
    if (found < 0) {
        reader->by_query = false;
        found = read_next(reader, vma);
    }
    if (found > 0)
        reader->from = vma->end;
    return found > 0;
}

void rsmcore_vma_close(struct rsmcore_vma_reader *reader)
{
    rsmcore_procfile_close(&reader->file);
}

enum rsm_status rsmcore_vma_find(uintptr_t address, struct rsmcore_vma *vma)
{
    struct rsmcore_vma_reader reader;
    if (!rsmcore_vma_open(&reader, 0, address))
        return RSM_ST_NO_MEMORY;
    bool found = rsmcore_vma_next(&reader, vma);
    bool failed = reader.file.failed;
    rsmcore_vma_close(&reader);
    return found ? RSM_ST_OK : failed ? RSM_ST_NO_MEMORY : RSM_ST_NOT_FOUND;
}

bool rsmcore_vma_from(uintptr_t address, struct rsmcore_vma *vma)
{
    return rsmcore_vma_find(address, vma) == RSM_ST_OK;
}

void rsmcore_vma_clip(struct rsmcore_vma *vma, uintptr_t start, uintptr_t end)
{
    if (vma->start < start) {
        vma->offset += start - vma->start;
        vma->start = start;
    }
    if (vma->end > end)
        vma->end = end;
}
