/* SPDX-License-Identifier: BSD-3-Clause */
/* To be loaded before other libraries (LD_PRELOAD): a kernel that lets sockets have the smallest send
 * buffers only. Standard error gets a line for each socket that wanted more. */
#include <dlfcn.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

__attribute__((visibility("default"))) int setsockopt(int socket, int level, int name,
                                                      const void *value, socklen_t size)
{
    static const char told[] = "a send buffer is small\n";
    int (*real)(int, int, int, const void *, socklen_t);
    void *symbol = dlsym(RTLD_NEXT, "setsockopt");
    int least = 1;
    memcpy(&real, &symbol, sizeof real);
    if (level != SOL_SOCKET || name != SO_SNDBUF)
        return real(socket, level, name, value, size);
    (void)!write(STDERR_FILENO, told, sizeof told - 1);
    return real(socket, level, name, &least, sizeof least);
}
