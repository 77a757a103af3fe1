/* SPDX-License-Identifier: BSD-3-Clause */
/* Sections [node N] and [cluster]: the nodes, their addresses, and how daemons authenticate. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/number.h"
#include "conf/address.h"
#include "conf/parser.h"

/* ------------------------------------------------------------------ keys */

static struct rsmd_conf_node *this_node(struct rsmd_conf_parser *p)
{
    return p->node;
}

/* A name, or an address of either kind. */
static bool is_host(const char *value)
{
    for (; *value != '\0'; value++)
        if (!isalnum((unsigned char)*value) && strchr("-_.:%", *value) == NULL)
            return false;
    return true;
}

static bool set_host(struct rsmd_conf_parser *p, const char *value)
{
    struct rsmd_conf_node *node = this_node(p);
    return (is_host(value) && rsmd_conf_text(node->host, sizeof node->host, value)) ||
           rsmd_conf_fail(p, "expected a host name or address after host =");
}

static bool set_socket(struct rsmd_conf_parser *p, const char *value)
{
    struct rsmd_conf_node *node = this_node(p);
    return (*value == '/' && rsmd_conf_text(node->socket, sizeof node->socket, value)) ||
           rsmd_conf_fail(p, "expected an absolute path of at most %zu characters after socket =",
                          sizeof node->socket - 1);
}

static bool set_names(struct rsmd_conf_parser *p, const char *value)
{
    struct rsmd_conf_node *node = p->node;
    return rsmd_conf_text(node->names, sizeof node->names, value) ||
           rsmd_conf_fail(
               p, "expected names of at most %zu characters after names =", sizeof node->names - 1);
}

static bool set_address(struct rsmd_conf_parser *p, const char *value)
{
    struct rsmd_conf_node *node = this_node(p);
    if (!rsmd_address_parse(value, node->address, &node->port)) {
        node->address[0] = '\0';
        return rsmd_conf_fail(
            p, "expected HOST, HOST:PORT, [IPv6] or [IPv6]:PORT after address =, HOST "
               "being a name or an IPv4 address of one machine");
    }
    node->address_line = p->line;
    return true;
}

static bool set_auth(struct rsmd_conf_parser *p, const char *value)
{
    p->conf->auth_line = p->line;
    p->conf->auth = strcmp(value, "munge") == 0  ? RSMD_AUTH_MUNGE
                    : strcmp(value, "tls") == 0  ? RSMD_AUTH_TLS
                    : strcmp(value, "none") == 0 ? RSMD_AUTH_NONE
                                                 : 0;
    return p->conf->auth != 0 || rsmd_conf_fail(p, "expected munge, tls or none after auth =");
}

static bool set_path(struct rsmd_conf_parser *p, char *path, const char *value, const char *key)
{
    return (*value == '/' && rsmd_conf_text(path, RSM_PROTO_PATH_MAX, value)) ||
           rsmd_conf_fail(p, "expected an absolute path of at most %d characters after %s =",
                          RSM_PROTO_PATH_MAX - 1, key);
}

static bool set_munge_socket(struct rsmd_conf_parser *p, const char *value)
{
    return set_path(p, p->conf->munge_socket, value, "munge-socket");
}

static bool set_tls_ca(struct rsmd_conf_parser *p, const char *value)
{
    return set_path(p, p->conf->tls_ca, value, "tls-ca");
}

static bool set_tls_certificate(struct rsmd_conf_parser *p, const char *value)
{
    return set_path(p, p->conf->tls_certificate, value, "tls-certificate");
}

static bool set_tls_key(struct rsmd_conf_parser *p, const char *value)
{
    return set_path(p, p->conf->tls_key, value, "tls-key");
}

static bool set_insecure(struct rsmd_conf_parser *p, const char *value)
{
    p->conf->insecure = strcmp(value, "yes") == 0;
    return p->conf->insecure || strcmp(value, "no") == 0 ||
           rsmd_conf_fail(p, "expected yes or no after insecure =");
}

const struct rsmd_conf_key rsmd_conf_node_keys[] = {{.name = "host", .set = set_host},
                                                    {.name = "socket", .set = set_socket},
                                                    {.name = "address", .set = set_address},
                                                    {.name = "names", .set = set_names},
                                                    {.name = NULL}};

const struct rsmd_conf_key rsmd_conf_cluster_keys[] = {
    {.name = "auth", .set = set_auth},
    {.name = "munge-socket", .set = set_munge_socket},
    {.name = "insecure", .set = set_insecure},
    {.name = "tls-ca", .set = set_tls_ca},
    {.name = "tls-certificate", .set = set_tls_certificate},
    {.name = "tls-key", .set = set_tls_key},
    {.name = "nodes", .set = rsmd_conf_set_nodes},
    {.name = "node-ids", .set = rsmd_conf_set_node_ids},
    {.name = NULL}};

/* ------------------------------------------------------------------ sections */

/* Grow the table by doubling. */
static bool make_room(struct rsmd_conf *conf)
{
    uint32_t count = conf->node_count;
    if ((count & (count - 1)) != 0)
        return true;
    struct rsmd_conf_node **grown =
        realloc(conf->nodes, (count > 0 ? 2 * (size_t)count : 1) * sizeof(struct rsmd_conf_node *));
    if (grown == NULL)
        return false;
    conf->nodes = grown;
    return true;
}

/* Add a node that is not in the table, at its place. NULL: no memory. */
static struct rsmd_conf_node *add_node(struct rsmd_conf *conf, uint32_t id)
{
    uint32_t at = rsmd_conf_node_from(conf, id);
    if (!make_room(conf))
        return NULL;
    struct rsmd_conf_node *made = calloc(1, sizeof *made);
    if (made == NULL)
        return NULL;
    made->id = id;
    memmove(conf->nodes + at + 1, conf->nodes + at,
            (conf->node_count - at) * sizeof(struct rsmd_conf_node *));
    conf->nodes[at] = made;
    conf->node_count++;
    return made;
}

struct rsmd_conf_node *rsmd_conf_add_node(struct rsmd_conf *conf, const struct rsmd_conf_node *like)
{
    struct rsmd_conf_node *made = add_node(conf, like->id);
    if (made != NULL)
        *made = *like;
    return made;
}

bool rsmd_conf_begin_node(struct rsmd_conf_parser *p, const char *argument)
{
    uint32_t id;
    if (!rsm_number(argument, 1, RSM_NODE_ID_MAX, &id))
        return rsmd_conf_fail(p, "expected a node id from 1 to %d, as in [node 1]",
                              RSM_NODE_ID_MAX);
    const struct rsmd_conf_node *other = rsmd_conf_node(p->conf, id);
    if (other != NULL)
        return rsmd_conf_fail(p, "expected each node once: node %u is also in line %u", id,
                              other->line);
    p->node = add_node(p->conf, id);
    if (p->node == NULL)
        return rsmd_conf_fail(p, "out of memory");
    p->node->line = p->line;
    p->section = RSMD_SECTION_NODE;
    return true;
}

bool rsmd_conf_end_node(struct rsmd_conf_parser *p)
{
    return this_node(p)->host[0] != '\0' ||
           rsmd_conf_fail_at(p, this_node(p)->line, "expected host = in the section of node %u",
                             this_node(p)->id);
}

/* ------------------------------------------------------------------ the whole */

static int by_address(const void *left, const void *right)
{
    const struct rsmd_conf_node *const *pair[] = {left, right};
    const struct rsmd_conf_node *one = *pair[0], *other = *pair[1];
    int order = strcasecmp(one->address, other->address);
    if (order == 0)
        order = (one->port > other->port) - (one->port < other->port);
    if (order == 0)
        order =
            (one->address_line > other->address_line) - (one->address_line < other->address_line);
    return order;
}

void rsmd_conf_settle_addresses(struct rsmd_conf_parser *p)
{
    const struct rsmd_conf *conf = p->conf;
    if (conf->node_count == 0)
        return;
    struct rsmd_conf_node **sorted = malloc(conf->node_count * sizeof(struct rsmd_conf_node *));
    if (sorted == NULL) {
        rsmd_conf_fail(p, "out of memory");
        return;
    }
    memcpy(sorted, conf->nodes, conf->node_count * sizeof(struct rsmd_conf_node *));
    qsort(sorted, conf->node_count, sizeof(struct rsmd_conf_node *), by_address);
    for (uint32_t i = 1; i < conf->node_count; i++) {
        const struct rsmd_conf_node *first = sorted[i - 1], *second = sorted[i];
        if (second->address[0] != '\0' && first->port == second->port &&
            strcasecmp(first->address, second->address) == 0)
            rsmd_conf_fail_at(p, second->address_line,
                              "expected another address or port: node %u has this one in line %u",
                              first->id, first->address_line);
    }
    free(sorted);
}

bool rsmd_conf_settle_auth(struct rsmd_conf_parser *p)
{
    const struct rsmd_conf_node *remote = NULL;
    for (uint32_t i = 0; i < p->conf->node_count && remote == NULL; i++)
        if (p->conf->nodes[i]->address[0] != '\0' &&
            !rsmd_host_is_loopback(p->conf->nodes[i]->address))
            remote = p->conf->nodes[i];
    if (remote == NULL)
        return true;
    if (p->conf->auth_line == 0)
        p->conf->auth = RSMD_AUTH_MUNGE;
    return p->conf->auth != RSMD_AUTH_NONE ||
           rsmd_conf_fail_at(
               p, p->conf->auth_line,
               "expected auth = munge or tls: node %u, line %u, has an address that is no loopback "
               "address",
               remote->id, remote->address_line);
}
