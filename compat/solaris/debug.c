/* SPDX-License-Identifier: BSD-3-Clause */
/* What the assertions of <sys/debug.h> call. */
#include <sys/debug.h>

#include <stdio.h>
#include <stdlib.h>

int assfail(const char *assertion, const char *file, int line)
{
    (void)fprintf(stderr, "assertion failed: %s, file: %s, line: %d\n", assertion, file, line);
    abort();
}

void assfail3(const char *assertion, unsigned long long left, const char *comparison,
              unsigned long long right, const char *file, int line)
{
    (void)fprintf(stderr, "assertion failed: %s (0x%llx %s 0x%llx), file: %s, line: %d\n",
                  assertion, left, comparison, right, file, line);
    abort();
}
