/* SPDX-License-Identifier: BSD-3-Clause */
/* What threads have besides their life: signals, priorities, values of their own. */
#include "registry.h"

#include <errno.h>
#include <sched.h>
#include <sys/lwp.h>
#include <sys/syscall.h>
#include <unistd.h>

/* --- signals --- */

/* By the kernel's ids: the main thread's pthread_t is not known. A thread that is in the registry
 * and has not ended is there. */
int thr_kill(thread_t id, int sig)
{
    sigset_t saved;
    int error = ESRCH;
    int keep = errno;
    rsm_solaris_self();
    rsm_solaris_registry_lock(&saved);
    const struct rsm_solaris_thread *thread = rsm_solaris_find(id);
    if (thread != NULL && !thread->exited)
        error = syscall(SYS_tgkill, getpid(), thread->tid, sig) == 0 ? 0 : errno;
    rsm_solaris_registry_unlock(&saved);
    errno = keep;
    return error;
}

int thr_sigsetmask(int how, const sigset_t *set, sigset_t *old)
{
    return pthread_sigmask(how, set, old);
}

lwpid_t _lwp_self(void)
{
    return (lwpid_t)thr_self();
}

int _lwp_kill(lwpid_t lwp, int sig)
{
    return thr_kill((thread_t)lwp, sig);
}

/* --- scheduling --- */

int thr_setconcurrency(int level)
{
    return pthread_setconcurrency(level);
}

int thr_getconcurrency(void)
{
    return pthread_getconcurrency();
}

int thr_setprio(thread_t id, int priority)
{
    sigset_t saved;
    int error = ESRCH;
    int keep = errno;
    struct sched_param param = {.sched_priority = priority};
    rsm_solaris_self();
    rsm_solaris_registry_lock(&saved);
    const struct rsm_solaris_thread *thread = rsm_solaris_find(id);
    if (thread != NULL && !thread->exited)
        error = sched_setparam(thread->tid, &param) == 0 ? 0 : errno;
    rsm_solaris_registry_unlock(&saved);
    errno = keep;
    return error;
}

int thr_getprio(thread_t id, int *priority)
{
    sigset_t saved;
    int error = ESRCH;
    int keep = errno;
    struct sched_param param = {0};
    if (priority == NULL)
        return EINVAL;
    rsm_solaris_self();
    rsm_solaris_registry_lock(&saved);
    const struct rsm_solaris_thread *thread = rsm_solaris_find(id);
    if (thread != NULL && !thread->exited)
        error = sched_getparam(thread->tid, &param) == 0 ? 0 : errno;
    rsm_solaris_registry_unlock(&saved);
    errno = keep;
    if (error == 0)
        *priority = param.sched_priority;
    return error;
}

/* --- values of their own --- */

int thr_keycreate(thread_key_t *key, void (*destructor)(void *))
{
    pthread_key_t made;
    if (key == NULL)
        return EINVAL;
    int error = pthread_key_create(&made, destructor);
    if (error == 0)
        *key = made;
    return error;
}

int thr_keycreate_once(thread_key_t *key, void (*destructor)(void *))
{
    static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    pthread_key_t made;
    int error = 0;
    if (key == NULL)
        return EINVAL;
    if (__atomic_load_n(key, __ATOMIC_ACQUIRE) != THR_ONCE_KEY)
        return 0;
    pthread_mutex_lock(&mutex);
    if (*key == THR_ONCE_KEY) {
        error = pthread_key_create(&made, destructor);
        if (error == 0)
            __atomic_store_n(key, (thread_key_t)made, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&mutex);
    return error;
}

int thr_setspecific(thread_key_t key, void *value)
{
    return pthread_setspecific(key, value);
}

/* POSIX returns NULL also for a key that does not exist; only setting it shows the difference.
 */
int thr_getspecific(thread_key_t key, void **value)
{
    if (value == NULL)
        return EINVAL;
    void *found = pthread_getspecific(key);
    int error = found == NULL ? pthread_setspecific(key, NULL) : 0;
    if (error == 0)
        *value = found;
    return error;
}
