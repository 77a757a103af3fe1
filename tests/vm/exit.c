/* SPDX-License-Identifier: BSD-3-Clause */
/* lab-exit STATUS: end the virtual machine that this runs in, with that status of QEMU's, by its device isa-debug-exit.
 * guest/report calls it where the kernel has no /dev/port, as those for clouds. */
#include <stdlib.h>
#include <sys/io.h>

enum { PORT = 0xf4 };

int main(int count, char **words)
{
    if (count != 2 || ioperm(PORT, 1, 1) < 0)
        return EXIT_FAILURE;
    outb((unsigned char)(strtoul(words[1], NULL, 10) >> 1), PORT); /* twice that and one */
    return EXIT_FAILURE;
}
