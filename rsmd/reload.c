/* SPDX-License-Identifier: BSD-3-Clause */
#include "daemon.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "cluster/cluster.h"
#include "common/tables.h"
#include "conf_file.h"
#include "node/controllers.h"
#include "node/fabric.h"

/* The state of a reload. */
struct reload {
    struct rsmd_server *server;
    struct rsmd_node *node;
    const struct rsmd_conf *fresh;
    const char *path;
    unsigned added, kept; /* numbers of what was applied, and what was not */
};

/* Log a change in the file that cannot be applied. */
static void keep(struct reload *r, unsigned line, const char *what, const char *which,
                 const char *value)
{
    rsm_log_warning("%s:%u: %s%s%s cannot change while rsmd runs: until a restart it stays%s%s",
                    r->path, line, what, *which != '\0' ? " of " : "", which,
                    *value != '\0' ? " " : " as it is", value);
    r->kept++;
}

/* ------------------------------------------------------------------ nodes */

static void keep_removed(struct reload *r, const char *kind, const char *name)
{
    rsm_log_warning("%s: %s %s is not there any more: until a restart it stays", r->path, kind,
                    name);
    r->kept++;
}

/* Whether a node of another host has another address now, and no link that is up. */
static bool moves(const struct reload *r, const struct rsmd_conf_node *old,
                  const struct rsmd_conf_node *now)
{
    enum rsmd_link_state state = rsmd_cluster_state(r->node->cluster, old->id, NULL);
    return now->address[0] != '\0' &&
           (strcmp(old->address, now->address) != 0 || old->port != now->port) &&
           (state == RSMD_LINK_DOWN || state == RSMD_LINK_STARTING || state == RSMD_LINK_IDLE);
}

static void move(struct reload *r, struct rsmd_conf_node *old, const struct rsmd_conf_node *now)
{
    memcpy(old->address, now->address, sizeof old->address);
    old->port = now->port;
    old->address_line = now->address_line;
    rsmd_cluster_moved(r->node->cluster, old->id);
    rsm_log_info("node %u is at %s, port %u, now", (unsigned)old->id, old->address,
                 (unsigned)old->port);
    r->added++;
}

static void compare_node(struct reload *r, struct rsmd_conf_node *old,
                         const struct rsmd_conf_node *now)
{
    char which[32], port[8];
    snprintf(which, sizeof which, "node %u", (unsigned)old->id);
    snprintf(port, sizeof port, "%u", (unsigned)old->port);
    if (moves(r, old, now))
        move(r, old, now);
    else if (strcmp(old->address, now->address) != 0)
        keep(r, now->address_line != 0 ? now->address_line : now->line, "address", which,
             old->address);
    else if (old->port != now->port)
        keep(r, now->address_line, "port", which, port);
    if (strcmp(old->socket, now->socket) != 0)
        keep(r, now->line, "socket", which, old->socket);
    memcpy(old->host, now->host, sizeof old->host);
    memcpy(old->names, now->names, sizeof old->names);
    old->member = now->member;
    old->line = now->line;
}

/* A node with an address needs a link; one without a possible link is not added. */
static void add_node(struct reload *r, const struct rsmd_conf_node *now)
{
    struct rsmd_node *node = r->node;
    bool own = now->id == node->id;
    bool linked = now->address[0] != '\0';
    if ((own && (linked || now->socket[0] != '\0')) ||
        (linked && (node->cluster == NULL || r->fresh->auth != node->conf.auth))) {
        rsm_log_warning("%s:%u: node %u cannot be added while rsmd runs: %s", r->path, now->line,
                        (unsigned)now->id,
                        own ? "it is this node, which had no entry when rsmd started"
                            : "auth has changed, which needs a restart");
        r->kept++;
        return;
    }
    const struct rsmd_conf_node *made = rsmd_conf_add_node(&node->conf, now);
    if (made == NULL) {
        rsm_log_error("%s:%u: node %u is not added: out of memory", r->path, now->line,
                      (unsigned)now->id);
        r->kept++;
        return;
    }
    r->added++;
    rsm_log_info("node %u is added", (unsigned)now->id);
    if (linked && !rsmd_cluster_add(node->cluster, made))
        rsm_log_warning("%s:%u: no link to node %u before a restart: this node had no address when "
                        "rsmd started, or there is no memory",
                        r->path, now->address_line, (unsigned)now->id);
}

static void take_nodes(struct reload *r)
{
    struct rsmd_conf *conf = &r->node->conf;
    for (uint32_t i = 0; i < conf->node_count; i++) {
        char id[16];
        snprintf(id, sizeof id, "%u", (unsigned)conf->nodes[i]->id);
        if (rsmd_conf_node(r->fresh, conf->nodes[i]->id) == NULL)
            keep_removed(r, "node", id);
    }
    for (uint32_t i = 0; i < r->fresh->node_count; i++) {
        const struct rsmd_conf_node *now = r->fresh->nodes[i];
        uint32_t at = rsmd_conf_node_from(conf, now->id);
        if (at < conf->node_count && conf->nodes[at]->id == now->id)
            compare_node(r, conf->nodes[at], now);
        else
            add_node(r, now);
    }
}

/* ------------------------------------------------------------------ controllers */

static void compare_controller(struct reload *r, struct rsmd_conf_controller *old,
                               const struct rsmd_conf_controller *now)
{
    char number[16] = "";
    if (old->adapter_line != 0)
        snprintf(number, sizeof number, "%u", (unsigned)old->adapter);
    if (strcmp(old->transport, now->transport) != 0)
        keep(r, now->line, "transport", old->name, old->transport);
    if (strcmp(old->device, now->device) != 0)
        keep(r, now->line, "device", old->name, old->device);
    if (strcmp(old->options, now->options) != 0)
        keep(r, now->line, "options", old->name, old->options);
    if ((old->adapter_line != 0) != (now->adapter_line != 0) || old->adapter != now->adapter)
        keep(r, now->line, "adapter", old->name, number);
}

/* Open it and watch its fabric. True: it is open. */
static bool open_controller(struct reload *r, const struct rsmd_conf_controller *now)
{
    struct rsmd_node *node = r->node;
    enum rsm_status status = rsmd_controller_add(node, now);
    struct rsmd_controller *made =
        status == RSM_ST_OK ? rsmd_controller_named(node, now->name) : NULL;
    if (made != NULL && !rsmd_fabric_add(r->server->fabric, r->server->base, node, made)) {
        rsmd_controller_remove(node, made);
        made = NULL;
        status = RSM_ST_NO_MEMORY;
    }
    if (status == RSM_ST_NO_MEMORY)
        rsm_log_error("%s:%u: controller %s is not added: out of memory", r->path, now->line,
                      now->name);
    if (made == NULL) {
        r->kept++;
        return false;
    }
    rsm_log_info("controller %s is added", made->name);
    r->added++;
    return true;
}

/* An adapter's number must not be in use, nor change the numbers of others. */
static void settle_adapter(struct reload *r, struct rsmd_conf_controller *made)
{
    const struct rsmd_conf *conf = &r->node->conf;
    bool numbered = false;
    bool taken = false;
    for (uint32_t i = 0; i < conf->controller_count; i++) {
        const struct rsmd_conf_controller *other = &conf->controllers[i];
        if (other == made)
            continue;
        numbered |= other->adapter_line != 0;
        taken |= other->adapter_line != 0 && other->adapter == made->adapter;
    }
    if (made->adapter_line == 0 || (numbered && !taken) || conf->controller_count == 1)
        return;
    rsm_log_warning("%s:%u: controller %s cannot get the adapter number %u before a restart",
                    r->path, made->adapter_line, made->name, (unsigned)made->adapter);
    made->adapter_line = 0;
    r->kept++;
}

static struct rsmd_conf_controller *entry_of(struct rsmd_conf *conf, const char *name)
{
    for (uint32_t i = 0; i < conf->controller_count; i++)
        if (rsmd_controller_same_name(conf->controllers[i].name, name))
            return &conf->controllers[i];
    return NULL;
}

static void take_controller(struct reload *r, const struct rsmd_conf_controller *now)
{
    struct rsmd_conf *conf = &r->node->conf;
    struct rsmd_conf_controller *entry = entry_of(conf, now->name);
    if (entry != NULL && rsmd_controller_named(r->node, entry->name) != NULL) {
        compare_controller(r, entry, now);
        return;
    }
    bool is_new = entry == NULL;
    if (is_new && conf->controller_count == RSMD_CONF_CONTROLLERS_MAX) {
        rsm_log_warning("%s:%u: controller %s is not added: there are %d until a restart", r->path,
                        now->line, now->name, RSMD_CONF_CONTROLLERS_MAX);
        r->kept++;
        return;
    }
    if (is_new)
        entry = &conf->controllers[conf->controller_count++];
    rsmd_controller_forget_failure(r->node, now->name);
    *entry = *now;
    settle_adapter(r, entry);
    (void)open_controller(r, entry);
}

static void take_controllers(struct reload *r)
{
    struct rsmd_conf *conf = &r->node->conf;
    for (uint32_t i = 0; i < conf->controller_count; i++) {
        const char *name = conf->controllers[i].name;
        if (rsmd_conf_controller(r->fresh, name) != NULL)
            continue;
        if (rsmd_controller_named(r->node, name) != NULL)
            keep_removed(r, "controller", name);
        else
            rsmd_controller_forget_failure(r->node, name);
    }
    for (uint32_t i = 0; i < r->fresh->controller_count; i++)
        take_controller(r, &r->fresh->controllers[i]);
}

/* ------------------------------------------------------------------ the rest */

static void take_cluster(struct reload *r)
{
    struct rsmd_conf *conf = &r->node->conf;
    if (conf->auth != r->fresh->auth)
        keep(r, r->fresh->auth_line, "auth", "", rsmd_conf_auth_name(conf->auth));
    if (strcmp(conf->munge_socket, r->fresh->munge_socket) != 0)
        keep(r, r->fresh->auth_line, "munge-socket", "", conf->munge_socket);
    conf->insecure = r->fresh->insecure;
    conf->members = r->fresh->members;
    memcpy(conf->tls_ca, r->fresh->tls_ca, sizeof conf->tls_ca);
    memcpy(conf->tls_certificate, r->fresh->tls_certificate, sizeof conf->tls_certificate);
    memcpy(conf->tls_key, r->fresh->tls_key, sizeof conf->tls_key);
    rsmd_cluster_reload(r->node->cluster);
}

static void take_limits(struct reload *r)
{
    struct rsmd_conf *conf = &r->node->conf;
    const struct rsmd_conf *fresh = r->fresh;
    char timeout[16];
    snprintf(timeout, sizeof timeout, "%u", (unsigned)conf->peer_timeout_ms);
    if (conf->peer_timeout_ms != fresh->peer_timeout_ms)
        keep(r, 0, "peer-timeout-ms", "", timeout);
    conf->permanent_links = fresh->permanent_links;
    conf->link_idle_ms = fresh->link_idle_ms;
    conf->max_exported_percent = fresh->max_exported_percent;
    conf->max_segments = fresh->max_segments;
    conf->max_user_share = fresh->max_user_share;
    rsmd_shares_update(&r->node->shares, conf);
    rsmd_controllers_limit_users(r->node);
}

/* Programs that open a controller from now on have the new settings. */
static void take_maps(struct reload *r)
{
    struct rsmd_conf *conf = &r->node->conf;
    if (conf->lend_userfaultfd != r->fresh->lend_userfaultfd)
        keep(r, 0, "lend-userfaultfd", "", conf->lend_userfaultfd ? "yes" : "no");
    memcpy(conf->maps, r->fresh->maps, sizeof conf->maps);
    conf->map_count = r->fresh->map_count;
}

/* The nodes as they would be: those of the file, and these. */
static bool with_members(const struct rsmd_node *node, const struct rsmd_options *options,
                         const struct rsmd_members *members, struct rsmd_conf *fresh, char *why)
{
    const struct rsmd_conf *conf = &node->conf;
    struct rsmd_conf_errors errors = {.count = 0};
    rsmd_conf_defaults(fresh);
    fresh->auth = conf->auth;
    fresh->auth_line = conf->auth_line;
    fresh->insecure = conf->insecure;
    fresh->members = conf->members;
    for (uint32_t i = 0; i < conf->node_count; i++)
        if (!conf->nodes[i]->member && rsmd_conf_add_node(fresh, conf->nodes[i]) == NULL)
            rsmd_conf_errors_add(&errors, 0, "out of memory");
    rsmd_conf_add_members(fresh, members->list, members->count, &errors);
    if (errors.count > 0)
        snprintf(why, RSMD_MEMBERS_WHY_BYTES, "%.500s", errors.list[0].text);
    return errors.count == 0 && rsmd_options_trust(fresh, options, why, RSMD_MEMBERS_WHY_BYTES);
}

bool rsmd_reload_members(struct rsmd_server *server, const struct rsmd_options *options,
                         const struct rsmd_members *members, char *why)
{
    char source[RSM_PROTO_NAME_MAX + 8];
    struct rsmd_conf *fresh = calloc(1, sizeof *fresh);
    if (fresh == NULL) {
        snprintf(why, RSMD_MEMBERS_WHY_BYTES, "out of memory");
        return false;
    }
    struct reload r = {.server = server, .node = server->node, .fresh = fresh, .path = source};
    bool good = with_members(r.node, options, members, fresh, why);
    if (good) {
        rsmd_members_source_text(&r.node->conf.members, source, sizeof source);
        take_nodes(&r);
        r.node->topology.generation++;
        rsm_log_info("%s has answered anew: %u added or moved, %u not taken over", source, r.added,
                     r.kept);
    }
    rsmd_conf_free(fresh);
    free(fresh);
    return good;
}

void rsmd_reload(struct rsmd_server *server, const struct rsmd_conf *fresh, const char *path)
{
    struct reload r = {.server = server, .node = server->node, .fresh = fresh, .path = path};
    take_nodes(&r); /* by the auth that holds, so before take_cluster() */
    take_limits(&r);
    take_cluster(&r); /* also by the limits that hold from now on */
    take_controllers(&r);
    take_maps(&r);
    r.node->topology.generation++;
    rsm_log_info("%s was read again: %u added, %u not taken over", path, r.added, r.kept);
}
