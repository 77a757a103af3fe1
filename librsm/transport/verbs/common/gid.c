/* SPDX-License-Identifier: BSD-3-Clause */
#include "transport/verbs/common/gid.h"

#include <netinet/in.h>
#include <string.h>

enum gid_rank { GID_USELESS, GID_IPV6, GID_IPV4 };

static enum gid_rank rank(const uint8_t bytes[16])
{
    struct in6_addr address;
    memcpy(&address, bytes, sizeof address);
    if (IN6_IS_ADDR_V4MAPPED(&address))
        return bytes[12] == 0 || bytes[12] == 127 ? GID_USELESS : GID_IPV4;
    if (IN6_IS_ADDR_UNSPECIFIED(&address) || IN6_IS_ADDR_LOOPBACK(&address) ||
        IN6_IS_ADDR_LINKLOCAL(&address) || IN6_IS_ADDR_MULTICAST(&address))
        return GID_USELESS;
    return GID_IPV6;
}

const struct verbs_gid *verbs_gid_choose(const struct verbs_gid *table, size_t count, int wanted)
{
    const struct verbs_gid *best = NULL;
    enum gid_rank best_rank = GID_USELESS;
    for (size_t i = 0; i < count; i++) {
        enum gid_rank here = rank(table[i].bytes);
        if (wanted >= 0 && table[i].index == (uint32_t)wanted)
            return here == GID_USELESS ? NULL : &table[i];
        if (wanted >= 0 || !table[i].rocev2 || here < best_rank || here == GID_USELESS)
            continue;
        if (here > best_rank || table[i].index < best->index) {
            best = &table[i];
            best_rank = here;
        }
    }
    return best;
}

bool verbs_gid_address(const uint8_t bytes[16], struct sockaddr_storage *address)
{
    memset(address, 0, sizeof *address);
    switch (rank(bytes)) {
    case GID_IPV4: {
        struct sockaddr_in *four = (struct sockaddr_in *)address;
        four->sin_family = AF_INET;
        memcpy(&four->sin_addr, bytes + 12, 4);
        return true;
    }
    case GID_IPV6: {
        struct sockaddr_in6 *six = (struct sockaddr_in6 *)address;
        six->sin6_family = AF_INET6;
        memcpy(&six->sin6_addr, bytes, 16);
        return true;
    }
    default:
        return false;
    }
}

void verbs_gid_of_address(const struct sockaddr *address, uint8_t bytes[16])
{
    memset(bytes, 0, 16);
    if (address->sa_family == AF_INET) {
        bytes[10] = bytes[11] = 0xff;
        memcpy(bytes + 12, &((const struct sockaddr_in *)address)->sin_addr, 4);
    } else if (address->sa_family == AF_INET6) {
        memcpy(bytes, &((const struct sockaddr_in6 *)address)->sin6_addr, 16);
    }
}
