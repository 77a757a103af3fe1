/* SPDX-License-Identifier: BSD-3-Clause */
#include "conf/address.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* ------------------------------------------------------------------ as written */

static bool parse_port(const char *text, uint16_t *port)
{
    unsigned value = 0;
    if (*text == '\0')
        return false;
    for (; *text != '\0'; text++) {
        if (*text < '0' || *text > '9')
            return false;
        value = value * 10 + (unsigned)(*text - '0');
        if (value > UINT16_MAX)
            return false;
    }
    *port = (uint16_t)value;
    return value != 0;
}

static bool is_ipv6(const char *host)
{
    char bare[INET6_ADDRSTRLEN];
    struct in6_addr address;
    const char *scope = strchr(host, '%');
    size_t length = scope != NULL ? (size_t)(scope - host) : strlen(host);
    if (length >= sizeof bare || (scope != NULL && (scope[1] == '\0' || strlen(scope) > 16)))
        return false;
    for (; scope != NULL && *++scope != '\0';)
        if (!isalnum((unsigned char)*scope) && strchr("-_.", *scope) == NULL)
            return false;
    memcpy(bare, host, length);
    bare[length] = '\0';
    return inet_pton(AF_INET6, bare, &address) == 1 && !IN6_IS_ADDR_UNSPECIFIED(&address) &&
           !IN6_IS_ADDR_MULTICAST(&address);
}

static bool is_name_or_ipv4(const char *host)
{
    struct in_addr address;
    if (*host == '\0' || *host == '-' || *host == '.')
        return false;
    for (const char *at = host; *at != '\0'; at++)
        if (!isalnum((unsigned char)*at) && strchr("-_.", *at) == NULL)
            return false;
    if (strspn(host, "0123456789.") != strlen(host))
        return true;
    /* Not a name: the resolver would take 10.0.1 for an address, and another one. */
    return inet_pton(AF_INET, host, &address) == 1 && address.s_addr != htonl(INADDR_ANY) &&
           !IN_MULTICAST(ntohl(address.s_addr)) && address.s_addr != htonl(INADDR_BROADCAST);
}

bool rsmd_address_parse(const char *text, char *host, uint16_t *port)
{
    bool bracket = *text == '[';
    text += bracket;
    size_t length = strcspn(text, bracket ? "]" : ":");
    const char *rest = text + length;
    if (length >= RSM_PROTO_NAME_MAX || (bracket && *rest++ != ']'))
        return false;
    memcpy(host, text, length);
    host[length] = '\0';
    *port = RSM_CLUSTER_PORT;
    if (!(bracket ? is_ipv6(host) : is_name_or_ipv4(host)))
        return false;
    return *rest == '\0' || (*rest == ':' && parse_port(rest + 1, port));
}

/* ------------------------------------------------------------------ as socket addresses */

bool rsmd_address_is_loopback(const struct rsmd_address *address)
{
    if (address->socket.ss_family == AF_INET) {
        const struct sockaddr_in *in = (const struct sockaddr_in *)&address->socket;
        return ntohl(in->sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
    }
    const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)&address->socket;
    return address->socket.ss_family == AF_INET6 && IN6_IS_ADDR_LOOPBACK(&in6->sin6_addr);
}

/* Look a name up. NULL, or the error of getaddrinfo(). */
static const char *look_up(const char *host, uint16_t port, int flags, struct rsmd_addresses *found)
{
    char service[8];
    struct addrinfo *list = NULL,
                    hints = {.ai_socktype = SOCK_STREAM, .ai_flags = flags | AI_NUMERICSERV};
    snprintf(service, sizeof service, "%u", (unsigned)port);
    found->count = 0;
    int error = getaddrinfo(host, service, &hints, &list);
    if (error != 0)
        return gai_strerror(error);
    for (const struct addrinfo *at = list; at != NULL; at = at->ai_next) {
        if (found->count == RSMD_ADDRESSES_MAX || at->ai_addrlen > sizeof found->list[0].socket ||
            (at->ai_family != AF_INET && at->ai_family != AF_INET6))
            continue;
        struct rsmd_address *made = &found->list[found->count++];
        memset(made, 0, sizeof *made);
        made->length = at->ai_addrlen;
        memcpy(&made->socket, at->ai_addr, at->ai_addrlen);
    }
    freeaddrinfo(list);
    return found->count > 0 ? NULL : "there is no address of this name";
}

bool rsmd_address_literal(const char *host, uint16_t port, struct rsmd_addresses *found)
{
    return look_up(host, port, AI_NUMERICHOST, found) == NULL;
}

const char *rsmd_address_resolve(const char *host, uint16_t port, struct rsmd_addresses *found)
{
    return look_up(host, port, 0, found);
}

/* Whether two addresses are of one host's interface: a scope counts if both have one. */
static bool is_same_host(const struct rsmd_address *a, const struct rsmd_address *b)
{
    if (a->socket.ss_family != b->socket.ss_family)
        return false;
    if (a->socket.ss_family == AF_INET) {
        const struct sockaddr_in *one = (const struct sockaddr_in *)&a->socket;
        const struct sockaddr_in *other = (const struct sockaddr_in *)&b->socket;
        return one->sin_addr.s_addr == other->sin_addr.s_addr;
    }
    const struct sockaddr_in6 *one = (const struct sockaddr_in6 *)&a->socket;
    const struct sockaddr_in6 *other = (const struct sockaddr_in6 *)&b->socket;
    bool scope = one->sin6_scope_id == other->sin6_scope_id || one->sin6_scope_id == 0 ||
                 other->sin6_scope_id == 0;
    return scope && memcmp(&one->sin6_addr, &other->sin6_addr, sizeof one->sin6_addr) == 0;
}

bool rsmd_addresses_have(const struct rsmd_addresses *found, const struct rsmd_address *address)
{
    for (unsigned i = 0; i < found->count; i++)
        if (is_same_host(&found->list[i], address))
            return true;
    return false;
}

static struct rsmd_address without_port(const struct rsmd_address *address)
{
    struct rsmd_address copy = *address;
    if (copy.socket.ss_family == AF_INET)
        ((struct sockaddr_in *)&copy.socket)->sin_port = 0;
    else
        ((struct sockaddr_in6 *)&copy.socket)->sin6_port = 0;
    return copy;
}

bool rsmd_addresses_bind(const struct rsmd_addresses *own, int socket,
                         const struct rsmd_address *to)
{
    int on = 1;
    setsockopt(socket, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &on, sizeof on);
    for (unsigned i = 0; i < own->count; i++) {
        struct rsmd_address from = without_port(&own->list[i]);
        if (from.socket.ss_family == to->socket.ss_family &&
            rsmd_address_is_loopback(&from) == rsmd_address_is_loopback(to) &&
            bind(socket, (const struct sockaddr *)&from.socket, from.length) == 0)
            return true;
    }
    return false;
}

void rsmd_addresses_text(const struct rsmd_addresses *found, char *text, size_t size)
{
    char address[RSMD_ADDRESS_TEXT_BYTES];
    size_t used = 0;
    text[0] = '\0';
    for (unsigned i = 0; i < found->count && used < size; i++) {
        rsmd_address_text(&found->list[i], false, address);
        used += (size_t)snprintf(text + used, size - used, "%s%s", i > 0 ? ", " : "", address);
    }
}

bool rsmd_host_is_loopback(const char *host)
{
    struct rsmd_addresses found = {.count = 0};
    if (strcasecmp(host, "localhost") == 0)
        return true;
    return rsmd_address_literal(host, RSM_CLUSTER_PORT, &found) &&
           rsmd_address_is_loopback(&found.list[0]);
}

void rsmd_address_text(const struct rsmd_address *address, bool port, char *text)
{
    char host[INET6_ADDRSTRLEN + 16] = "?", service[8] = "?";
    bool six = address->socket.ss_family == AF_INET6;
    getnameinfo((const struct sockaddr *)&address->socket, address->length, host, sizeof host,
                service, sizeof service, NI_NUMERICHOST | NI_NUMERICSERV);
    if (port)
        snprintf(text, RSMD_ADDRESS_TEXT_BYTES, six ? "[%s]:%s" : "%s:%s", host, service);
    else
        snprintf(text, RSMD_ADDRESS_TEXT_BYTES, "%s", host);
}
