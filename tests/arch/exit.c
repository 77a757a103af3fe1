/* SPDX-License-Identifier: BSD-3-Clause */
/* lab-exit STATUS: end the virtual machine that this runs in, with that status of QEMU's, by a call of
 * Arm's semihosting: SYS_EXIT with the reason "application exit". tests/vm/guest/init calls it. */
#include <stdint.h>
#include <stdlib.h>

int main(int count, char **words)
{
    if (count != 2)
        return EXIT_FAILURE;
    const uint64_t block[2] = {0x20026, strtoul(words[1], NULL, 10)};
    register uint64_t operation __asm__("x0") = 0x18;
    register const uint64_t *parameters __asm__("x1") = block;
    __asm__ volatile("hlt #0xf000" : "+r"(operation) : "r"(parameters) : "memory");
    return EXIT_FAILURE;
}
