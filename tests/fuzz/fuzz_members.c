/* SPDX-License-Identifier: BSD-3-Clause */
/* Members: what a DNS server answers, and what a program prints. Whatever it is, it is refused with a
 * reason, or a list of nodes that a configuration could have. */
#include <netdb.h>

#include "fuzz.h"
#include "members/members.h"

int __real_getaddrinfo(const char *host, const char *service, const struct addrinfo *hints,
                       struct addrinfo **found);
int __wrap_getaddrinfo(const char *host, const char *service, const struct addrinfo *hints,
                       struct addrinfo **found);

/* Nothing is looked up: what is no address has none. */
int __wrap_getaddrinfo(const char *host, const char *service, const struct addrinfo *hints,
                       struct addrinfo **found)
{
    struct addrinfo literal = *hints;
    literal.ai_flags |= AI_NUMERICHOST;
    return __real_getaddrinfo(host, service, &literal, found);
}

static void check(const struct rsmd_members *members)
{
    if (members->count == 0 || members->count > RSMD_MEMBERS_MAX)
        abort();
    for (unsigned i = 0; i < members->count; i++) {
        const struct rsmd_conf_node *node = &members->list[i];
        if (node->id < 1 || node->id > RSM_NODE_ID_MAX || node->port == 0 ||
            node->address[0] == '\0' || node->host[0] == '\0' ||
            (i > 0 && node->id <= members->list[i - 1].id))
            abort();
    }
}

/* What is kept is read again. */
static void keep(const struct rsmd_members *members, const struct rsmd_conf_members *rules)
{
    struct rsmd_members again = {.list = NULL};
    char why[RSMD_MEMBERS_WHY_BYTES];
    char *text = rsmd_members_write(members);
    if (text == NULL)
        return;
    if (!rsmd_members_read(&again, rules, text, strlen(text), why) ||
        !rsmd_members_settle(&again, why) || !rsmd_members_same(members, &again))
        abort();
    rsmd_members_free(&again);
    free(text);
}

void fuzz_input(const uint8_t *data, size_t size)
{
    struct rsmd_members members = {.list = NULL};
    struct rsmd_conf_members rules = {.source = RSMD_NODES_EXEC};
    char why[RSMD_MEMBERS_WHY_BYTES] = "";
    if (size < 2)
        return;
    rules.prefix = data[1] < 128 ? data[1] : 0;
    bool good = (data[0] & 1) != 0
                    ? rsmd_members_read(&members, &rules, (const char *)data + 2, size - 2, why)
                    : rsmd_members_read_srv(&members, &rules, data + 2, size - 2, why);
    good = good && rsmd_members_settle(&members, why);
    if (good) {
        check(&members);
        keep(&members, &rules);
    } else if (why[0] == '\0' || memchr(why, '\0', sizeof why) == NULL) {
        abort();
    }
    rsmd_members_free(&members);
}
