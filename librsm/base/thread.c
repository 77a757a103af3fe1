/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/thread.h"

#include <signal.h>

int rsm_thread_start(pthread_t *thread, const char *name, size_t stack_bytes, void *(*run)(void *),
                     void *argument)
{
    pthread_attr_t attributes;
    pthread_t made;
    sigset_t all, before;
    int error = pthread_attr_init(&attributes);
    if (error != 0)
        return error;
    if (stack_bytes > 0)
        pthread_attr_setstacksize(&attributes, stack_bytes);
    if (thread == NULL)
        pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before); /* the new thread inherits the mask */
    error = pthread_create(&made, &attributes, run, argument);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    if (error != 0)
        return error;
    if (thread != NULL) {
        /* Not for a detached thread, which may have ended already. */
        pthread_setname_np(made, name);
        *thread = made;
    }
    return 0;
}
