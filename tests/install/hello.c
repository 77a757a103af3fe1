/* SPDX-License-Identifier: BSD-3-Clause */
/* The least that a program can do with an installed librsm: export a page over loopback, and take
 * it back. */
#include <rsmapi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int failed(const char *what, int code)
{
    fprintf(stderr, "hello: %s: error %d\n", what, code);
    return 1;
}

int main(void)
{
    static char name[] = "loopback";
    rsmapi_controller_handle_t controller;
    rsm_memseg_export_handle_t segment;
    void *memory = NULL;
    size_t size = (size_t)sysconf(_SC_PAGESIZE);
    int code;

    if (posix_memalign(&memory, size, size) != 0)
        return failed("memory", RSMERR_INSUFFICIENT_MEM);
    strcpy(memory, "hello");
    if ((code = rsm_get_controller(name, &controller)) != RSM_SUCCESS)
        return failed("rsm_get_controller", code);
    code = rsm_memseg_export_create(controller, &segment, memory, size, 0);
    if (code != RSM_SUCCESS)
        return failed("rsm_memseg_export_create", code);
    if ((code = rsm_memseg_export_destroy(segment)) != RSM_SUCCESS)
        return failed("rsm_memseg_export_destroy", code);
    if ((code = rsm_release_controller(controller)) != RSM_SUCCESS)
        return failed("rsm_release_controller", code);
    puts(memory);
    free(memory);
    return 0;
}
