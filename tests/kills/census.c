/* SPDX-License-Identifier: BSD-3-Clause */
#include "census.h"

#include <dirent.h>

#include "process.h"

enum { INODES_MAX = 4096, SLACK_MAPPINGS = 24 };

/* Sanitizers map memory of their own as they go. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { MAPPINGS_COUNT = 0 };
#else
enum { MAPPINGS_COUNT = 1 };
#endif

struct inodes {
    unsigned count;
    uint64_t number[INODES_MAX];
};

struct counting {
    struct census *census;
    struct inodes inodes;
};

static void add(struct inodes *inodes, uint64_t number)
{
    for (unsigned i = 0; i < inodes->count; i++)
        if (inodes->number[i] == number)
            return;
    if (inodes->count < INODES_MAX)
        inodes->number[inodes->count++] = number;
}

static void add_mapped(struct inodes *inodes, pid_t pid)
{
    char path[64], line[512];
    snprintf(path, sizeof path, "/proc/%d/maps", (int)pid);
    FILE *file = fopen(path, "re");
    unsigned long inode;
    while (file != NULL && fgets(line, sizeof line, file) != NULL)
        if (strstr(line, "/memfd:") != NULL && sscanf(line, "%*s %*s %*s %*s %lu", &inode) == 1)
            add(inodes, inode);
    if (file != NULL)
        fclose(file);
}

static void add_open(struct inodes *inodes, pid_t pid)
{
    char path[64], link[64];
    struct stat status;
    snprintf(path, sizeof path, "/proc/%d/fd", (int)pid);
    DIR *directory = opendir(path);
    for (struct dirent *entry; directory != NULL && (entry = readdir(directory)) != NULL;) {
        ssize_t length = readlinkat(dirfd(directory), entry->d_name, link, sizeof link - 1);
        link[length > 0 ? length : 0] = '\0';
        if (strncmp(link, "/memfd:", 7) == 0 &&
            fstatat(dirfd(directory), entry->d_name, &status, 0) == 0)
            add(inodes, status.st_ino);
    }
    if (directory != NULL)
        closedir(directory);
}

/* One that has ended and whose parent, this process, has not yet waited for it. */
static bool is_zombie(pid_t pid)
{
    char path[64], state = 0;
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    FILE *file = fopen(path, "re");
    if (file != NULL && fscanf(file, "%*d (%*[^)]) %c", &state) != 1)
        state = 0;
    if (file != NULL)
        fclose(file);
    return state == 'Z' || state == 0;
}

static bool count_child(pid_t pid, void *context)
{
    struct counting *counting = context;
    if (is_zombie(pid))
        return true;
    counting->census->processes++;
    add_mapped(&counting->inodes, pid);
    add_open(&counting->inodes, pid);
    return true;
}

void census_take(struct census *census, const pid_t *pids)
{
    static struct counting counting;
    counting.census = census;
    counting.inodes.count = 0;
    census->processes = 0;
    children_visit(count_child, &counting);
    census->memfds = counting.inodes.count;
    for (unsigned i = 0; i < CENSUS_PIDS; i++) {
        census->descriptors[i] = pids[i] != 0 ? process_descriptors(pids[i]) : 0;
        census->mappings[i] = MAPPINGS_COUNT && pids[i] != 0 ? process_mappings(pids[i]) : 0;
    }
}

unsigned census_files(const char *directory)
{
    unsigned count = 0;
    DIR *entries = opendir(directory);
    for (struct dirent *entry; entries != NULL && (entry = readdir(entries)) != NULL;)
        count += entry->d_type != DT_DIR;
    if (entries != NULL)
        closedir(entries);
    return count;
}

static bool is_more(const char *what, unsigned now, unsigned before, char *text)
{
    size_t used = strlen(text);
    if (now <= before)
        return false;
    snprintf(text + used, CENSUS_TEXT - used, " %s %u, before %u;", what, now, before);
    return true;
}

bool census_fits(const struct census *now, const struct census *before, char *text)
{
    char what[64];
    text[0] = '\0';
    bool more = is_more("processes", now->processes, before->processes, text);
    more |= is_more("memfds", now->memfds, before->memfds, text);
    more |= is_more("files", now->files, before->files, text);
    more |= is_more("segments", now->segments, before->segments, text);
    for (unsigned i = 0; i < CENSUS_PIDS; i++) {
        snprintf(what, sizeof what, "descriptors of process %u", i);
        more |= is_more(what, now->descriptors[i], before->descriptors[i], text);
        snprintf(what, sizeof what, "mappings of process %u", i);
        more |= is_more(what, now->mappings[i], before->mappings[i] + SLACK_MAPPINGS, text);
    }
    return !more;
}
