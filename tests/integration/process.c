/* SPDX-License-Identifier: BSD-3-Clause */
#include "process.h"

#include <dirent.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

int64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

unsigned process_descriptors_to(pid_t pid, const char *target)
{
    char path[64], link[256];
    unsigned count = 0;
    snprintf(path, sizeof path, "/proc/%d/fd", (int)pid);
    DIR *directory = opendir(path);
    if (directory == NULL)
        return 0;
    for (struct dirent *entry; (entry = readdir(directory)) != NULL;) {
        ssize_t length = readlinkat(dirfd(directory), entry->d_name, link, sizeof link - 1);
        link[length > 0 ? length : 0] = '\0';
        bool ours = pid == getpid() && atoi(entry->d_name) == dirfd(directory);
        count += length > 0 && !ours && strncmp(link, target, strlen(target)) == 0;
    }
    closedir(directory);
    return count;
}

bool process_sees_others(void)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3];
    return syscall(SYS_capget, &header, sets) == 0 &&
           (sets[0].effective >> CAP_SYS_PTRACE & 1) != 0;
}

bool build_is_reachable(void)
{
    char path[PATH_MAX];
    const char *build = getenv("RSM_BUILD_DIR");
    if (build == NULL || strlen(build) >= sizeof path)
        return false;
    strcpy(path, build);
    for (char *end = path + strlen(path); end > path; end = strrchr(path, '/')) {
        struct stat status;
        *end = '\0';
        if (stat(path, &status) < 0 || (status.st_mode & S_IXOTH) == 0)
            return false;
    }
    return true;
}

int64_t process_delay_ns(pid_t pid)
{
    char path[64];
    long long delay = 0;
    snprintf(path, sizeof path, "/proc/%d/schedstat", (int)pid);
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return 0;
    if (fscanf(file, "%*d %lld", &delay) != 1)
        delay = 0;
    fclose(file);
    return delay;
}

unsigned process_descriptors(pid_t pid)
{
    return process_descriptors_to(pid, "");
}

unsigned process_mappings(pid_t pid)
{
    char path[64];
    unsigned lines = 0;
    snprintf(path, sizeof path, "/proc/%d/maps", (int)pid);
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return 0;
    for (int c; (c = getc(file)) != EOF;)
        lines += c == '\n';
    fclose(file);
    return lines;
}

unsigned long process_resident_kib(pid_t pid)
{
    char path[64], line[256];
    unsigned long resident = 0;
    snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return 0;
    while (fgets(line, sizeof line, file) != NULL)
        if (strncmp(line, "VmRSS:", 6) == 0)
            resident = strtoul(line + 6, NULL, 10);
    fclose(file);
    return resident;
}

static void only_sigchld(sigset_t *set)
{
    sigemptyset(set);
    sigaddset(set, SIGCHLD);
}

void children_watch(void)
{
    sigset_t set;
    only_sigchld(&set);
    sigprocmask(SIG_BLOCK, &set, NULL);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
}

void children_unwatch(void)
{
    sigset_t set;
    only_sigchld(&set);
    sigprocmask(SIG_UNBLOCK, &set, NULL);
}

pid_t child_await(pid_t pid, int options, int timeout_ms, int *status)
{
    sigset_t set;
    only_sigchld(&set);
    for (int64_t deadline = now_ms() + timeout_ms;;) {
        pid_t found = waitpid(pid, status, options | WNOHANG);
        if (found != 0)
            return found;
        int64_t left = deadline - now_ms();
        if (left <= 0)
            return 0;
        struct timespec time = {.tv_sec = left / 1000, .tv_nsec = left % 1000 * 1000000};
        sigtimedwait(&set, NULL, &time);
    }
}

/* The beginning of /proc/<pid>/<name>; -1 if there is none. */
static ssize_t read_about(pid_t pid, const char *name, char *text, size_t size)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, name);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -1;
    ssize_t length = read(fd, text, size - 1);
    close(fd);
    if (length >= 0)
        text[length] = '\0';
    return length;
}

static bool command_contains(pid_t pid, const char *wanted)
{
    char text[4096];
    ssize_t length = read_about(pid, "cmdline", text, sizeof text);
    return length > 0 && memmem(text, (size_t)length, wanted, strlen(wanted)) != NULL;
}

/* Its parent and its threads. */
static bool read_stat(pid_t pid, pid_t *parent, unsigned *threads)
{
    char text[512];
    if (read_about(pid, "stat", text, sizeof text) <= 0)
        return false;
    const char *rest = strrchr(text, ')'); /* the name may contain anything */
    return rest != NULL &&
           sscanf(rest + 1,
                  " %*c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %u", parent,
                  threads) == 2;
}

static bool is_child(pid_t pid, const char *unused)
{
    pid_t parent;
    unsigned threads;
    return read_stat(pid, &parent, &threads) && parent == getpid();
}

unsigned process_threads(pid_t pid)
{
    pid_t parent;
    unsigned threads;
    return read_stat(pid, &parent, &threads) ? threads : 0;
}

static void visit_those(bool (*wanted)(pid_t pid, const char *text), const char *text,
                        bool (*visit)(pid_t pid, void *context), void *context)
{
    DIR *directory = opendir("/proc");
    bool more = directory != NULL;
    for (struct dirent *entry; more && (entry = readdir(directory)) != NULL;) {
        pid_t pid = (pid_t)atoi(entry->d_name);
        if (pid > 0 && wanted(pid, text))
            more = visit(pid, context);
    }
    if (directory != NULL)
        closedir(directory);
}

void children_visit(bool (*visit)(pid_t pid, void *context), void *context)
{
    visit_those(is_child, NULL, visit, context);
}

void processes_with(const char *text, bool (*visit)(pid_t pid, void *context), void *context)
{
    visit_those(command_contains, text, visit, context);
}

struct kinship {
    pid_t parent, child;
};

static bool find_child(pid_t pid, void *context)
{
    struct kinship *kinship = context;
    pid_t parent;
    unsigned threads;
    if (read_stat(pid, &parent, &threads) && parent == kinship->parent)
        kinship->child = pid;
    return kinship->child == 0;
}

pid_t process_child_of(pid_t parent)
{
    struct kinship kinship = {.parent = parent};
    processes_with("", find_child, &kinship);
    return kinship.child;
}
