/* SPDX-License-Identifier: BSD-3-Clause */
#include "in_front.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <string.h>

void *behind(const char *name)
{
    return dlsym(RTLD_NEXT, name);
}

__thread bool no_threads;

typedef void *thread_function(void *argument);
typedef int create_function(pthread_t *thread, const pthread_attr_t *attributes,
                            thread_function *begin, void *argument);

IN_FRONT int pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                            thread_function *begin, void *argument)
{
    create_function *create;
    void *found = behind("pthread_create");
    memcpy(&create, &found, sizeof create);
    return no_threads ? EAGAIN : create(thread, attributes, begin, argument);
}
