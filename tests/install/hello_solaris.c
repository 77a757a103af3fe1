/* SPDX-License-Identifier: BSD-3-Clause */
/* A program from Solaris: its types and threads, and RSMAPI beside them. */
#include <rsmapi.h>
#include <stdio.h>
#include <sys/time.h>
#include <sys/types.h>
#include <thread.h>

static void *body(void *argument)
{
    return argument;
}

int main(void)
{
    rsmapi_controller_handle_t controller;
    static char name[] = "loopback";
    hrtime_t start = gethrtime();
    thread_t thread;
    void *result = NULL;

    if (rsm_get_controller(name, &controller) != RSM_SUCCESS ||
        rsm_release_controller(controller) != RSM_SUCCESS)
        return 1;
    if (thr_create(NULL, 0, body, name, 0, &thread) != 0 || thr_join(thread, NULL, &result) != 0 ||
        result != name)
        return 2;
    if (gethrtime() < start)
        return 3;
    puts("hello");
    return 0;
}
