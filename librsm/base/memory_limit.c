/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/memory_limit.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/number.h"
#include "base/procfile.h"

enum {
    PATH_BYTES = 4096,
    CREDIT_PART = 16, /* of the room, that is given away without asking again */
    CREDIT_MS = 1000,
    SPARE_PART = 256, /* of what is asked for, on top: page tables */
    SPARE_BYTES = 2 << 20,
};

/* The names of the kernel's files, which the two versions of control groups have. */
struct version {
    const char *folder; /* below the tree */
    const char *limit, *usage;
    const char *cache[2];             /* in memory.stat */
    const char *swap_max, *swap_used; /* NULL: not asked */
};

static const struct version versions[] = {
    {.folder = "/memory",
     .limit = "memory.limit_in_bytes",
     .usage = "memory.usage_in_bytes",
     .cache = {"total_inactive_file ", "total_active_file "}},
    {.folder = "",
     .limit = "memory.max",
     .usage = "memory.current",
     .cache = {"inactive_file ", "active_file "},
     .swap_max = "memory.swap.max",
     .swap_used = "memory.swap.current"},
};

static bool open_in(struct rsmcore_procfile *file, const char *folder, const char *name)
{
    char path[PATH_BYTES + 64];
    int length = snprintf(path, sizeof path, "%s/%s", folder, name);
    return length > 0 && (size_t)length < sizeof path &&
           rsmcore_procfile_open(file, AT_FDCWD, path);
}

/* The number that the file consists of; another one if there is no file, or it says "max". */
static uint64_t number_in(const char *folder, const char *name, uint64_t otherwise)
{
    struct rsmcore_procfile file;
    char line[32];
    uint64_t number;
    if (name == NULL || !open_in(&file, folder, name))
        return otherwise;
    if (!rsmcore_procfile_line(&file, line, sizeof line) ||
        !rsm_number_bytes(line, 0, UINT64_MAX, &number))
        number = otherwise;
    rsmcore_procfile_close(&file);
    return number;
}

/* The sum of lines that begin with these words. */
static uint64_t sum_in(const char *folder, const char *name, const char *const words[2])
{
    struct rsmcore_procfile file;
    char line[128];
    uint64_t sum = 0;
    if (!open_in(&file, folder, name))
        return 0;
    while (rsmcore_procfile_line(&file, line, sizeof line))
        for (int i = 0; i < 2; i++)
            if (words[i] != NULL && strncmp(line, words[i], strlen(words[i])) == 0)
                sum += strtoull(line + strlen(words[i]), NULL, 10);
    rsmcore_procfile_close(&file);
    return sum;
}

static uint64_t less(uint64_t one, uint64_t other)
{
    return one < other ? one : other;
}

/* What remains of an amount, 0 if more than that is taken. */
static uint64_t rest(uint64_t amount, uint64_t taken)
{
    return amount - less(amount, taken);
}

/* How much of the group can go to swap. */
static uint64_t swap_room(const struct version *version, const char *folder)
{
    static const char *const words[2] = {"SwapFree:"};
    if (version->swap_max == NULL)
        return 0;
    uint64_t max = number_in(folder, version->swap_max, UINT64_MAX);
    return less(rest(max, number_in(folder, version->swap_used, 0)),
                sum_in("/proc", "meminfo", words) << 10);
}

/* One group's limit. */
static void bound_by(const struct version *version, const char *folder,
                     struct rsm_memory_bounds *bounds)
{
    uint64_t limit = number_in(folder, version->limit, UINT64_MAX);
    if (limit == UINT64_MAX)
        return;
    uint64_t used = number_in(folder, version->usage, 0);
    uint64_t cache = less(sum_in(folder, "memory.stat", version->cache), used);
    uint64_t room = rest(limit, used - cache) + swap_room(version, folder);
    bounds->limit = less(bounds->limit, limit);
    bounds->room = less(bounds->room, room);
}

/* The group and those above it. In a container the path may be that of the host, where only the
 * container's own group is seen, at the top. */
static void bound_by_all(const struct version *version, const char *tree, const char *path,
                         struct rsm_memory_bounds *bounds)
{
    char folder[PATH_BYTES];
    size_t top = strlen(tree) + strlen(version->folder);
    int length = snprintf(folder, sizeof folder, "%s%s%s", tree, version->folder,
                          strcmp(path, "/") == 0 ? "" : path);
    if (length < 0 || (size_t)length >= sizeof folder)
        return;
    for (;;) {
        bound_by(version, folder, bounds);
        char *end = strrchr(folder, '/');
        if (end == NULL || (size_t)(end - folder) < top)
            return;
        *end = '\0';
    }
}

/* "4:cpu,memory:/path" or "0::/path": the path, if this is the group that limits memory. */
static const char *path_of_line(char *line, const struct version **version)
{
    char *controllers = strchr(line, ':');
    char *path = controllers != NULL ? strchr(controllers + 1, ':') : NULL;
    if (path == NULL)
        return NULL;
    *controllers++ = '\0';
    *path++ = '\0';
    if (*controllers == '\0') {
        *version = &versions[1];
        return path;
    }
    *version = &versions[0];
    char *others;
    for (char *word = strtok_r(controllers, ",", &others); word != NULL;
         word = strtok_r(NULL, ",", &others))
        if (strcmp(word, "memory") == 0)
            return path;
    return NULL;
}

void rsm_memory_bounds(const char *list, const char *tree, struct rsm_memory_bounds *bounds)
{
    struct rsmcore_procfile file;
    char line[PATH_BYTES];
    *bounds = (struct rsm_memory_bounds){.limit = UINT64_MAX, .room = UINT64_MAX};
    if (!rsmcore_procfile_open(&file, AT_FDCWD, list))
        return;
    while (rsmcore_procfile_line(&file, line, sizeof line)) {
        const struct version *version;
        const char *path = path_of_line(line, &version);
        if (path != NULL)
            bound_by_all(version, tree, path, bounds);
    }
    rsmcore_procfile_close(&file);
}

static void own_bounds(struct rsm_memory_bounds *bounds)
{
    rsm_memory_bounds("/proc/self/cgroup", "/sys/fs/cgroup", bounds);
}

uint64_t rsmcore_memory_size(void)
{
    struct rsm_memory_bounds bounds;
    own_bounds(&bounds);
    return less(bounds.limit, (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE));
}

bool rsm_memory_fits(uint64_t bytes)
{
    static _Atomic uint64_t credit;
    static _Atomic int64_t credit_ends;
    int64_t now = rsm_clock_ms();
    if (now < atomic_load_explicit(&credit_ends, memory_order_relaxed)) {
        uint64_t left = atomic_load_explicit(&credit, memory_order_relaxed);
        while (left >= bytes)
            if (atomic_compare_exchange_weak_explicit(&credit, &left, left - bytes,
                                                      memory_order_relaxed, memory_order_relaxed))
                return true;
    }
    struct rsm_memory_bounds bounds;
    own_bounds(&bounds);
    if (rest(bounds.room, bytes) < bytes / SPARE_PART + SPARE_BYTES)
        return false;
    atomic_store_explicit(&credit, (bounds.room - bytes) / CREDIT_PART, memory_order_relaxed);
    atomic_store_explicit(&credit_ends, now + CREDIT_MS, memory_order_relaxed);
    return true;
}
