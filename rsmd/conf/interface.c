/* SPDX-License-Identifier: BSD-3-Clause */
#include "conf/interface.h"

#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <limits.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* An address of the same family and host; the scope of IPv6 counts where both have one. */
static bool is_same_host(const struct sockaddr *one, const struct sockaddr_storage *other)
{
    if (one == NULL || one->sa_family != other->ss_family)
        return false;
    if (one->sa_family == AF_INET)
        return memcmp(&((const struct sockaddr_in *)one)->sin_addr,
                      &((const struct sockaddr_in *)other)->sin_addr, sizeof(struct in_addr)) == 0;
    if (one->sa_family != AF_INET6)
        return false;
    const struct sockaddr_in6 *a = (const struct sockaddr_in6 *)one;
    const struct sockaddr_in6 *b = (const struct sockaddr_in6 *)other;
    return memcmp(&a->sin6_addr, &b->sin6_addr, sizeof a->sin6_addr) == 0 &&
           (a->sin6_scope_id == 0 || b->sin6_scope_id == 0 || a->sin6_scope_id == b->sin6_scope_id);
}

bool rsmd_interface_of(const struct rsmd_address *address, char name[IF_NAMESIZE])
{
    struct ifaddrs *all = NULL;
    bool found = false;
    if (getifaddrs(&all) != 0)
        return false;
    for (const struct ifaddrs *one = all; one != NULL && !found; one = one->ifa_next) {
        found = is_same_host(one->ifa_addr, &address->socket);
        if (found)
            snprintf(name, IF_NAMESIZE, "%s", one->ifa_name);
    }
    freeifaddrs(all);
    return found;
}

bool rsmd_interface_is_wireguard(const char *directory, const char *name)
{
    static const char type[] = "DEVTYPE=wireguard\n";
    char path[PATH_MAX], text[4096];
    if (strchr(name, '/') != NULL ||
        snprintf(path, sizeof path, "%s/%s/uevent", directory, name) >= (int)sizeof path)
        return false;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return false;
    ssize_t length = read(fd, text, sizeof text - 1);
    close(fd);
    if (length <= 0)
        return false;
    text[length] = '\0';
    const char *at = strstr(text, type);
    return at != NULL && (at == text || at[-1] == '\n');
}
