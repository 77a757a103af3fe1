/* SPDX-License-Identifier: BSD-3-Clause */
#include "node/controllers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "node/call.h"
#include "node/fabric.h"
#include "node/refusals.h"
#include "base/clock.h"
#include "base/log.h"
#include "protocol/sharedmem.h"
#include "base/status.h"
#include "transport/instance.h"
#include "transport/registry.h"

static const struct rsmd_conf_controller loopback = {.name = "loopback",
                                                     .transport = RSM_TRANSPORT_LOCAL};

static void limit_users(const struct rsmd_node *node, const struct rsmd_controller *controller)
{
    const struct rsm_user_share share = rsmd_shares_of_ports(&node->shares);
    controller->ops->limit_users(controller->port, &share);
}

void rsmd_controllers_limit_users(const struct rsmd_node *node)
{
    const struct rsmd_controller *controller;
    LL_FOREACH(node->controllers, controller)
    limit_users(node, controller);
}

/* MUNGE proves who a node is, and leaves what follows as it is. */
static bool has_private_links(const struct rsmd_conf *conf)
{
    return conf->auth != RSMD_AUTH_MUNGE || !rsmd_conf_has_address(conf);
}

static enum rsm_status open_port(const struct rsmd_node *node, struct rsmd_controller *controller)
{
    struct rsm_controller_info info = {.name = controller->name,
                                       .device = controller->device,
                                       .options = controller->options,
                                       .peer_timeout_ms = node->conf.peer_timeout_ms,
                                       .node = node->id,
                                       .address = rsmd_conf_address(&node->conf, node->id),
                                       .links_private = has_private_links(&node->conf)};
    enum rsm_status status = rsmcore_node_port_open(controller->ops, &info, &controller->port);
    if (status != RSM_ST_OK)
        return status;
    limit_users(node, controller);
    controller->attr.size = sizeof controller->attr;
    controller->ops->attributes(controller->port, &controller->attr);
    /* Each export and each import takes a slot, whatever the fabric allows. */
    if (controller->attr.max_segments > RSM_GENERATION_TABLE_SLOTS)
        controller->attr.max_segments = RSM_GENERATION_TABLE_SLOTS;
    if (controller->attr.max_imports > RSM_GENERATION_TABLE_SLOTS)
        controller->attr.max_imports = RSM_GENERATION_TABLE_SLOTS;
    controller->event_fd = controller->ops->event_fd(controller->port);
    return RSM_ST_OK;
}

/* Append a controller to the node's list. */
static enum rsm_status add(struct rsmd_node *node, const struct rsmd_conf_controller *configured)
{
    const struct rsm_node_ops *ops = rsmcore_transport_node(configured->transport);
    if (ops == NULL)
        return RSM_ST_UNSUPPORTED;
    struct rsmd_controller *made = calloc(1, sizeof *made);
    if (made == NULL)
        return RSM_ST_NO_MEMORY;
    memcpy(made->name, configured->name, sizeof made->name);
    memcpy(made->device, configured->device, sizeof made->device);
    memcpy(made->options, configured->options, sizeof made->options);
    made->loopback = configured == &loopback;
    made->ops = ops;
    enum rsm_status status = open_port(node, made);
    if (status == RSM_ST_OK)
        LL_APPEND(node->controllers, made);
    else
        free(made);
    return status;
}

/* Note that a controller is left out. @p said: the transport's log line, or "". */
static void note_failure(struct rsmd_node *node, const struct rsmd_conf_controller *configured,
                         enum rsm_status status, const char *said)
{
    const char *why = said[0] != '\0' ? said : rsmcore_status_text(status);
    struct rsmd_failed *made = calloc(1, sizeof *made);
    rsm_log_error("controller %s is left out: cannot open transport %s%s%s: %s", configured->name,
                  configured->transport, configured->device[0] != '\0' ? " on " : "",
                  configured->device, rsmcore_status_text(status));
    if (made == NULL)
        return;
    memcpy(made->name, configured->name, sizeof made->name);
    memcpy(made->transport, configured->transport, sizeof made->transport);
    memcpy(made->device, configured->device, sizeof made->device);
    snprintf(made->why, sizeof made->why, "%s", why);
    made->failed_ms = rsm_clock_ms();
    LL_APPEND(node->failed, made);
}

enum rsm_status rsmd_controller_add(struct rsmd_node *node,
                                    const struct rsmd_conf_controller *configured)
{
    char said[RSM_PROTO_NAME_MAX];
    rsmcore_log_keep(said, sizeof said);
    enum rsm_status status = add(node, configured);
    rsmcore_log_keep(NULL, 0);
    /* Lack of memory passes, and is no failure of this controller. */
    if (status != RSM_ST_OK && status != RSM_ST_NO_MEMORY)
        note_failure(node, configured, status, said);
    return status;
}

bool rsmd_controllers_open(struct rsmd_node *node, char *why, size_t why_size)
{
    enum rsm_status status = add(node, &loopback);
    if (status != RSM_ST_OK) {
        snprintf(why, why_size, "cannot open controller loopback: %s", rsmcore_status_text(status));
        return false;
    }
    for (uint32_t i = 0; i < node->conf.controller_count; i++) {
        const struct rsmd_conf_controller *configured = &node->conf.controllers[i];
        status = rsmd_controller_add(node, configured);
        if (status == RSM_ST_NO_MEMORY) {
            snprintf(why, why_size, "cannot open controller %s: %s", configured->name,
                     rsmcore_status_text(status));
            return false;
        }
    }
    return true;
}

void rsmd_controller_remove(struct rsmd_node *node, struct rsmd_controller *controller)
{
    LL_DELETE(node->controllers, controller);
    controller->ops->close(controller->port);
    rsmd_reach_forget(controller);
    free(controller);
}

static void drop_failure(struct rsmd_node *node, struct rsmd_failed *failed)
{
    LL_DELETE(node->failed, failed);
    free(failed);
}

void rsmd_controller_forget_failure(struct rsmd_node *node, const char *name)
{
    struct rsmd_failed *failed, *next;
    LL_FOREACH_SAFE(node->failed, failed, next)
    {
        if (rsmd_controller_same_name(failed->name, name))
            drop_failure(node, failed);
    }
}

void rsmd_controllers_close(struct rsmd_node *node)
{
    while (node->controllers != NULL)
        rsmd_controller_remove(node, node->controllers);
    while (node->failed != NULL)
        drop_failure(node, node->failed);
}

void rsmd_controllers_check(const struct rsmd_conf *conf, struct rsmd_conf_errors *errors)
{
    for (uint32_t i = 0; i < conf->controller_count; i++) {
        const struct rsmd_conf_controller *controller = &conf->controllers[i];
        if (controller->transport[0] == '\0' ||
            rsmcore_transport_node(controller->transport) != NULL)
            continue;
        rsmd_conf_errors_add(errors, controller->line,
                             "expected an installed transport for controller %s, and %s is not: "
                             "Debian's package would be librsm2-%s",
                             controller->name, controller->transport, controller->transport);
    }
}

void rsmd_controllers_look(const struct rsmd_conf *conf, struct rsmd_conf_errors *errors,
                           struct rsmd_conf_errors *warnings)
{
    char said[RSM_PROTO_NAME_MAX];
    for (uint32_t i = 0; i < conf->controller_count; i++) {
        const struct rsmd_conf_controller *controller = &conf->controllers[i];
        const struct rsm_node_ops *ops = rsmcore_transport_node(controller->transport);
        struct rsm_controller_info info = {.size = sizeof info,
                                           .name = controller->name,
                                           .device = controller->device,
                                           .options = controller->options,
                                           .peer_timeout_ms = conf->peer_timeout_ms,
                                           .address = "",
                                           .links_private = has_private_links(conf)};
        if (ops == NULL || ops->check == NULL)
            continue;
        rsmcore_log_keep(said, sizeof said);
        enum rsm_status status = ops->check(&info);
        rsmcore_log_keep(NULL, 0);
        if (status != RSM_ST_OK)
            rsmd_conf_errors_add(status == RSM_ST_INVALID ? errors : warnings, controller->line,
                                 "rsmd would leave out controller %s: %s", controller->name,
                                 said[0] != '\0' ? said : rsmcore_status_text(status));
        else if (said[0] != '\0') /* usable, but not as configured */
            rsmd_conf_errors_add(warnings, controller->line, "controller %s: %s", controller->name,
                                 said);
    }
}

struct rsmd_controller *rsmd_controller_named(const struct rsmd_node *node, const char *name)
{
    struct rsmd_controller *controller;
    LL_FOREACH(node->controllers, controller)
    if (strcasecmp(controller->name, name) == 0)
        return controller;
    return NULL;
}

struct rsmd_controller *rsmd_controller_loopback(const struct rsmd_node *node)
{
    return node->controllers; /* the first that was opened */
}

uint64_t rsmd_controller_address(const struct rsmd_controller *controller, uint32_t node)
{
    return controller->attr.hardware_address != 0 ? controller->attr.hardware_address : node;
}

/* The controller that a request names; NULL: there is none. */
static const struct rsmd_controller *find(const struct rsmd_node *node,
                                          const struct rsm_controller_request *asked)
{
    const struct rsmd_controller *controller;
    uint32_t unit = 0;
    if ((asked->flags & RSM_CONTROLLER_BY_ADAPTER) != 0) {
        const struct rsmd_conf_controller *configured = rsmd_conf_adapter(&node->conf, asked->unit);
        return configured != NULL ? rsmd_controller_named(node, configured->name) : NULL;
    }
    LL_FOREACH(node->controllers, controller)
    {
        if (asked->name[0] != '\0') {
            if (strcmp(controller->name, asked->name) == 0)
                return controller;
        } else if (!controller->loopback &&
                   (asked->transport[0] == '\0' ||
                    strcmp(controller->ops->name, asked->transport) == 0) &&
                   unit++ == asked->unit) {
            return controller;
        }
    }
    return NULL;
}

enum rsm_status rsmd_answer_controller(struct rsmd_call *call)
{
    const struct rsm_controller_request *asked = &call->request->u.controller;
    struct rsm_controller_reply *reply = &call->reply->u.controller_reply;
    if ((asked->flags & ~RSM_CONTROLLER_BY_ADAPTER) != 0)
        return RSM_ST_INVALID;
    const struct rsmd_controller *controller = find(call->node, asked);
    if (controller == NULL)
        return RSM_ST_NO_CONTROLLER;
    memcpy(reply->name, controller->name, sizeof reply->name);
    memcpy(reply->device, controller->device, sizeof reply->device);
    memcpy(reply->options, controller->options, sizeof reply->options);
    snprintf(reply->transport, sizeof reply->transport, "%s", controller->ops->name);
    reply->loopback = controller->loopback;
    reply->map = rsmd_conf_map(&call->node->conf, controller->name);
    reply->attr = controller->attr;
    reply->attr.hardware_address = rsmd_controller_address(controller, call->node->id);
    strcpy(reply->address, rsmd_conf_address(&call->node->conf, call->node->id));
    if (call->node->userfaultfd >= 0)
        call->attached.fds[call->attached.count++] = call->node->userfaultfd;
    return RSM_ST_OK;
}

enum rsm_status rsmd_answer_tunables(struct rsmd_call *call)
{
    struct rsm_tunables_reply *reply = &call->reply->u.tunables_reply;
    const struct rsmd_controller *controller =
        rsmd_controller_named(call->node, call->request->u.tunables.controller);
    if (controller == NULL)
        return RSM_ST_NO_CONTROLLER;
    const struct mapping_settings map = rsmd_conf_map(&call->node->conf, controller->name);
    reply->given = map.given;
    reply->count = MAPPING_TUNABLES;
    memcpy(reply->value, map.value, sizeof map.value);
    return RSM_ST_OK;
}

/* The next item of the requested page; NULL: this one is on another page. */
static struct rsm_failed_item *next_item(const struct rsmd_call *call)
{
    struct rsm_failed_reply *reply = &call->reply->u.failed_reply;
    if (reply->total++ < call->request->u.failed.first || reply->count == RSM_PROTO_FAILED_MAX)
        return NULL;
    return &reply->items[reply->count++];
}

/* Report an open controller whose transport knows why it reaches no other host. */
static void report_trouble(const struct rsmd_call *call, const struct rsmd_controller *controller)
{
    char text[RSM_PROTO_NAME_MAX] = "";
    if (controller->ops->trouble == NULL)
        return;
    controller->ops->trouble(controller->port, text, sizeof text);
    text[sizeof text - 1] = '\0';
    struct rsm_failed_item *item = text[0] != '\0' ? next_item(call) : NULL;
    if (item == NULL)
        return;
    memcpy(item->name, controller->name, sizeof item->name);
    snprintf(item->transport, sizeof item->transport, "%s", controller->ops->name);
    memcpy(item->device, controller->device, sizeof item->device);
    memcpy(item->text, text, sizeof item->text);
}

enum rsm_status rsmd_answer_failed(struct rsmd_call *call)
{
    const struct rsmd_failed *failed;
    const struct rsmd_controller *controller;
    LL_FOREACH(call->node->failed, failed)
    {
        struct rsm_failed_item *item = next_item(call);
        if (item == NULL)
            continue;
        memcpy(item->name, failed->name, sizeof item->name);
        memcpy(item->transport, failed->transport, sizeof item->transport);
        memcpy(item->device, failed->device, sizeof item->device);
        item->ago_ms = rsmd_ago_ms(failed->failed_ms);
        memcpy(item->text, failed->why, sizeof item->text);
    }
    LL_FOREACH(call->node->controllers, controller)
    report_trouble(call, controller);
    return RSM_ST_OK;
}
