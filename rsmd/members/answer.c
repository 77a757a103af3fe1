/* SPDX-License-Identifier: BSD-3-Clause */
/* What an answer is made of: members, each with an id, a host and an address. */
#include "members/members.h"

#include <netinet/in.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "conf/address.h"
#include "conf/interface.h"

void rsmd_members_free(struct rsmd_members *members)
{
    free(members->list);
    *members = (struct rsmd_members){.list = NULL};
}

bool rsmd_members_same(const struct rsmd_members *one, const struct rsmd_members *other)
{
    for (unsigned i = 0; i < one->count && one->count == other->count; i++) {
        const struct rsmd_conf_node *a = &one->list[i], *b = &other->list[i];
        if (a->id != b->id || a->port != b->port || strcmp(a->host, b->host) != 0 ||
            strcmp(a->address, b->address) != 0)
            return false;
    }
    return one->count == other->count;
}

__attribute__((format(printf, 2, 3))) static bool refuse(char *why, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(why, RSMD_MEMBERS_WHY_BYTES, format, arguments);
    va_end(arguments);
    return false;
}

/* ------------------------------------------------------------------ by the address */

/* The bits behind the prefix, as a number. False: there are none, or the number is too large. */
static bool rest_of(const struct rsmd_address *address, uint32_t prefix, uint32_t *rest)
{
    uint8_t bytes[16] = {0};
    size_t length = address->socket.ss_family == AF_INET ? 4 : 16;
    if (length == 4)
        memcpy(bytes, &((const struct sockaddr_in *)&address->socket)->sin_addr, 4);
    else
        memcpy(bytes, &((const struct sockaddr_in6 *)&address->socket)->sin6_addr, 16);
    uint64_t number = 0;
    for (size_t i = 0; i < length && number <= RSM_NODE_ID_MAX; i++) {
        unsigned before = prefix > 8 * i ? prefix - 8 * (unsigned)i : 0; /* bits of the prefix */
        number = number << 8 | (before >= 8 ? 0 : bytes[i] & (0xffu >> before));
    }
    *rest = (uint32_t)number;
    return prefix < 8 * length && number >= 1 && number <= RSM_NODE_ID_MAX;
}

/* The member's addresses, which may have to be looked up. */
static bool look_up(const struct rsmd_conf_node *member, struct rsmd_addresses *found, char *why)
{
    if (rsmd_address_literal(member->address, member->port, found))
        return true;
    const char *reason = rsmd_address_resolve(member->address, member->port, found);
    return reason == NULL ||
           refuse(why, "%.200s cannot be looked up: %.200s", member->address, reason);
}

static bool settle_id(struct rsmd_conf_node *member, const struct rsmd_conf_members *rules,
                      const struct rsmd_addresses *found, char *why)
{
    char text[RSMD_ADDRESS_TEXT_BYTES];
    if (rules->prefix == 0)
        return refuse(why, "no id for %.200s: set node-ids = address/BITS", member->address);
    if (rest_of(&found->list[0], rules->prefix, &member->id))
        return true;
    rsmd_address_text(&found->list[0], false, text);
    return refuse(
        why, "no id for %.200s: what follows the first %u bits of %s is no number from 1 to %d",
        member->address, (unsigned)rules->prefix, text, RSM_NODE_ID_MAX);
}

/* The host is this one if it has the address. */
static void settle_host(struct rsmd_conf_node *member, const struct rsmd_addresses *found)
{
    char interface[IF_NAMESIZE];
    memcpy(member->host, member->address, sizeof member->host);
    for (unsigned i = 0; i < found->count; i++)
        if (rsmd_interface_of(&found->list[i], interface)) {
            gethostname(member->host, sizeof member->host - 1);
            return;
        }
}

/* ------------------------------------------------------------------ members */

static bool is_name(const char *host)
{
    static const char allowed[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.:%";
    return strspn(host, allowed) == strlen(host) && strlen(host) < RSM_PROTO_NAME_MAX;
}

/* Grow the list by doubling. */
static struct rsmd_conf_node *next_place(struct rsmd_members *members)
{
    unsigned count = members->count;
    if ((count & (count - 1)) == 0) {
        void *grown =
            realloc(members->list, (count > 0 ? 2 * (size_t)count : 1) * sizeof *members->list);
        if (grown == NULL)
            return NULL;
        members->list = grown;
    }
    memset(&members->list[count], 0, sizeof *members->list);
    return &members->list[count];
}

bool rsmd_members_add(struct rsmd_members *members, const struct rsmd_conf_members *rules,
                      uint32_t id, const char *host, const char *address, char *why)
{
    if (members->count == RSMD_MEMBERS_MAX)
        return refuse(why, "there are more than %d nodes", RSMD_MEMBERS_MAX);
    struct rsmd_addresses found = {.count = 0};
    struct rsmd_conf_node *made = next_place(members);
    if (made == NULL)
        return refuse(why, "out of memory");
    if (!rsmd_address_parse(address, made->address, &made->port) || !is_name(made->address))
        return refuse(why, "expected HOST, HOST:PORT, [IPv6] or [IPv6]:PORT as an address");
    if (!is_name(host))
        return refuse(why, "expected the name of a host");
    made->id = id;
    memcpy(made->host, host, strlen(host) + 1);
    if ((id == 0 || *host == '\0') && !look_up(made, &found, why))
        return false;
    if (id == 0 && !settle_id(made, rules, &found, why))
        return false;
    if (*host == '\0')
        settle_host(made, &found);
    members->count++;
    return true;
}

static int by_id(const void *left, const void *right)
{
    const struct rsmd_conf_node *one = left, *other = right;
    return (one->id > other->id) - (one->id < other->id);
}

bool rsmd_members_settle(struct rsmd_members *members, char *why)
{
    if (members->count > 1)
        qsort(members->list, members->count, sizeof *members->list, by_id);
    for (unsigned i = 1; i < members->count; i++)
        if (members->list[i].id == members->list[i - 1].id)
            return refuse(why, "%.200s and %.200s are both node %u", members->list[i - 1].address,
                          members->list[i].address, (unsigned)members->list[i].id);
    return members->count > 0 || refuse(why, "it names no nodes");
}
