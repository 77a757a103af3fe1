/* SPDX-License-Identifier: BSD-3-Clause */
/* Where nodes without a section come from, and how they become a part of the configuration. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/number.h"
#include "conf/parser.h"

enum { DNS_NAME_MAX = 253 };

/* ------------------------------------------------------------------ keys */

/* A name of labels, as the records of a service have it. */
static bool is_dns_name(const char *name)
{
    size_t length = strlen(name);
    for (size_t i = 0; i < length; i++)
        if (!isalnum((unsigned char)name[i]) && strchr("-_.", name[i]) == NULL)
            return false;
    return length > 0 && length <= DNS_NAME_MAX && name[0] != '.' && strstr(name, "..") == NULL;
}

bool rsmd_conf_set_nodes(struct rsmd_conf_parser *p, const char *value)
{
    static const char dns[] = "dns:", exec[] = "exec:";
    struct rsmd_conf_members *members = &p->conf->members;
    members->line = p->line;
    if (strcmp(value, "file") == 0)
        return true;
    if (strncmp(value, dns, strlen(dns)) == 0 && is_dns_name(value + strlen(dns))) {
        members->source = RSMD_NODES_DNS;
        return rsmd_conf_text(members->name, sizeof members->name, value + strlen(dns));
    }
    if (strncmp(value, exec, strlen(exec)) == 0 && value[strlen(exec)] == '/' &&
        rsmd_conf_text(members->name, sizeof members->name, value + strlen(exec))) {
        members->source = RSMD_NODES_EXEC;
        return true;
    }
    return rsmd_conf_fail(p, "expected file, dns:NAME or exec:/PROGRAM after nodes =, NAME being "
                             "that of SRV records and /PROGRAM an absolute path");
}

bool rsmd_conf_set_node_ids(struct rsmd_conf_parser *p, const char *value)
{
    static const char address[] = "address/";
    struct rsmd_conf_members *members = &p->conf->members;
    members->prefix_line = p->line;
    if (strcmp(value, "source") == 0)
        return true;
    return (strncmp(value, address, strlen(address)) == 0 &&
            rsm_number(value + strlen(address), 1, 127, &members->prefix)) ||
           rsmd_conf_fail(p, "expected source or address/BITS after node-ids =, BITS from 1 to 127 "
                             "being the length of the prefix that all addresses have");
}

bool rsmd_conf_settle_members(struct rsmd_conf_parser *p)
{
    const struct rsmd_conf_members *members = &p->conf->members;
    return members->prefix == 0 || members->source != RSMD_NODES_FILE || members->line != 0 ||
           rsmd_conf_fail_at(p, members->prefix_line,
                             "expected nodes = beside node-ids =, which is about nodes without a "
                             "section");
}

bool rsmd_conf_same_source(const struct rsmd_conf_members *one,
                           const struct rsmd_conf_members *other)
{
    return one->source == other->source && one->prefix == other->prefix &&
           strcmp(one->name, other->name) == 0;
}

/* ------------------------------------------------------------------ the nodes */

void rsmd_conf_add_members(struct rsmd_conf *conf, const struct rsmd_conf_node *list,
                           unsigned count, struct rsmd_conf_errors *errors)
{
    struct rsmd_conf_parser p = {.line = conf->members.line, .conf = conf, .errors = errors};
    for (unsigned i = 0; i < count; i++) {
        if (rsmd_conf_node(conf, list[i].id) != NULL)
            continue;
        struct rsmd_conf_node *made = rsmd_conf_add_node(conf, &list[i]);
        if (made == NULL) {
            rsmd_conf_fail(&p, "out of memory");
            return;
        }
        made->member = true;
        made->line = made->address_line = p.line;
    }
    rsmd_conf_settle_addresses(&p);
    if (errors->count == 0)
        (void)rsmd_conf_settle_auth(&p);
}
