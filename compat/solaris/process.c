/* SPDX-License-Identifier: BSD-3-Clause */
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <unistd.h>

static char exec_name[PATH_MAX];

static void find_exec_name(void)
{
    ssize_t length = readlink("/proc/self/exe", exec_name, sizeof(exec_name) - 1);
    exec_name[length > 0 ? length : 0] = '\0';
}

const char *getexecname(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, find_exec_name);
    return exec_name[0] != '\0' ? exec_name : NULL;
}

pid_t fork1(void)
{
    return fork();
}

int issetugid(void)
{
    return getauxval(AT_SECURE) != 0;
}
