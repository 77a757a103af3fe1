/* SPDX-License-Identifier: BSD-3-Clause */
#include <sys/processor.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "registry.h"

/* More than any kernel is built for. */
#define PROCESSORS_MAX 65536

/* Affinity masks are as large as the kernel wants them. */
struct cpus {
    cpu_set_t *set;
    size_t size;
};

static int fail(int error)
{
    errno = error;
    return -1;
}

static int cpus_alloc(struct cpus *cpus)
{
    cpus->size = CPU_ALLOC_SIZE(PROCESSORS_MAX);
    cpus->set = calloc(1, cpus->size);
    return cpus->set != NULL ? 0 : fail(ENOMEM);
}

/* The processor that a thread is bound to, PBIND_NONE, or with -1 and errno PBIND_QUERY. */
static processorid_t binding_of(pid_t tid, struct cpus *cpus)
{
    if (sched_getaffinity(tid, cpus->size, cpus->set) != 0)
        return PBIND_QUERY;
    if (CPU_COUNT_S(cpus->size, cpus->set) != 1)
        return PBIND_NONE;
    processorid_t processor = 0;
    while (!CPU_ISSET_S((size_t)processor, cpus->size, cpus->set))
        processor++;
    return processor;
}

/* With PBIND_NONE the kernel takes those that the thread may use. */
static int bind_thread(pid_t tid, processorid_t processor, struct cpus *cpus)
{
    CPU_ZERO_S(cpus->size, cpus->set);
    if (processor >= 0)
        CPU_SET_S((size_t)processor, cpus->size, cpus->set);
    else
        for (size_t i = 0; i < PROCESSORS_MAX; i++)
            CPU_SET_S(i, cpus->size, cpus->set);
    return sched_setaffinity(tid, cpus->size, cpus->set);
}

static int bind_process(pid_t pid, processorid_t processor, struct cpus *cpus)
{
    char path[32];
    snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
    DIR *tasks = opendir(path);
    if (tasks == NULL)
        return fail(errno == ENOENT ? ESRCH : errno);
    int result = 0;
    const struct dirent *entry;
    while (result == 0 && (entry = readdir(tasks)) != NULL) {
        pid_t tid = (pid_t)strtol(entry->d_name, NULL, 10);
        if (tid > 0 && bind_thread(tid, processor, cpus) != 0 && errno != ESRCH)
            result = -1; /* ESRCH: it has ended in the meantime */
    }
    int error = errno;
    closedir(tasks);
    return result == 0 ? 0 : fail(error);
}

/* The kernel's id of the thread or process to bind; 0: there is none. */
static pid_t target_of(int idtype, id_t id)
{
    if (idtype == P_PID)
        return id == (id_t)P_MYID ? getpid() : (pid_t)id;
    if (id == (id_t)P_MYID)
        return gettid();
    sigset_t saved;
    rsm_solaris_self();
    rsm_solaris_registry_lock(&saved);
    const struct rsm_solaris_thread *thread = rsm_solaris_find((thread_t)id);
    pid_t tid = thread != NULL && !thread->exited ? thread->tid : 0;
    rsm_solaris_registry_unlock(&saved);
    return tid;
}

int processor_bind(int idtype, id_t id, processorid_t processor, processorid_t *previous)
{
    if ((idtype != P_PID && idtype != P_LWPID) || processor < PBIND_QUERY ||
        processor >= PROCESSORS_MAX)
        return fail(EINVAL);
    pid_t target = target_of(idtype, id);
    if (target <= 0)
        return fail(ESRCH);
    struct cpus cpus;
    if (cpus_alloc(&cpus) != 0)
        return -1;
    int result = 0;
    processorid_t before = binding_of(target, &cpus);
    if (before == PBIND_QUERY)
        result = -1;
    else if (processor != PBIND_QUERY)
        result = idtype == P_PID ? bind_process(target, processor, &cpus)
                                 : bind_thread(target, processor, &cpus);
    if (result == 0 && previous != NULL)
        *previous = before;
    int error = errno;
    free(cpus.set);
    return result == 0 ? 0 : fail(error);
}

int p_online(processorid_t processor, int flag)
{
    char path[64];
    char state = '1';
    if (flag != P_STATUS)
        return fail(ENOTSUP);
    snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%d", processor);
    if (processor < 0 || access(path, F_OK) != 0)
        return fail(EINVAL);
    snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%d/online", processor);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd >= 0) { /* a processor that cannot be switched off has no such file */
        if (read(fd, &state, 1) != 1)
            state = '1';
        close(fd);
    }
    return state == '0' ? P_OFFLINE : P_ONLINE;
}

processorid_t getcpuid(void)
{
    return sched_getcpu();
}
