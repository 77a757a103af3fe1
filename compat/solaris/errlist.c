/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of error messages. A program that is linked in the old way has a copy of the table in
 * its own data, which has this size for ever; it is filled before the program's code runs. */
#include <errno.h>
#include <string.h>

enum { ROOM = 256, FIRST_UNUSED = EHWPOISON + 1 };

char *sys_errlist[ROOM];
int sys_nerr = FIRST_UNUSED;

_Static_assert(FIRST_UNUSED <= ROOM, "the table holds all errors");

__attribute__((constructor)) static void fill(void)
{
    static char unknown[] = "Unknown error";
    for (int error = 0; error < FIRST_UNUSED; error++) {
        const char *text = strerrordesc_np(error);
        sys_errlist[error] = text != NULL ? (char *)(size_t)text : unknown;
    }
}
