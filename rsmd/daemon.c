/* SPDX-License-Identifier: BSD-3-Clause */
#include "daemon.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <sys/stat.h>
#include <unistd.h>

#include "conf_file.h"
#include "links.h"
#include "handover/handover.h"
#include "base/log.h"
#include "base/status.h"
#include "members/members.h"
#include "remote/remote.h"
#include "server/connection.h"
#include "server/instance_lock.h"
#include "node/node.h"
#include "server/notify.h"
#include "cluster/cluster.h"
#include "server/server.h"
#include "node/topology.h"

enum {
    WHY_MAX = 1024,
    RESTORE_END_MS = 1000, /* time limit for threads that clean up after a bad state */
};

/* All that lives as long as the daemon. */
struct daemon {
    const struct rsmd_options *options;
    bool everybody; /* a system daemon: any user may connect */
    struct rsmd_conf conf;
    struct rsmcore_runtime runtime;
    struct rsmd_instance instance;
    struct rsmd_node node;
    struct rsmd_server server;
    char config[PATH_MAX];         /* absolute name of rsm.conf */
    struct rsmd_handover received; /* from a predecessor */
    struct rsmd_members first;     /* of the start; then they are refresh's */
    struct rsmd_members_refresh *refresh;
    bool in_order;     /* at the end: all threads are idle */
    char why[WHY_MAX]; /* the start failed */
};

/* The first ones: a daemon without is none of the cluster. The predecessor's clients do not wait
 * for the source, which may take its time. */
static const struct rsmd_members *find_first(void *context, const struct rsmd_conf_members *rules,
                                             char *why)
{
    struct daemon *d = context;
    const char *directory = rsmd_runtime_directory(d->options);
    *why = '\0';
    if (d->received.present && rsmd_members_kept(directory, rules, &d->first)) {
        d->first.ttl_s = 0;
        return &d->first;
    }
    if (!rsmd_members_first(directory, rules, &d->first, why))
        return NULL;
    if (*why != '\0')
        rsm_log_warning("%s", why);
    return &d->first;
}

static bool read_configuration(struct daemon *d)
{
    const struct rsmd_options *options = d->options;
    const struct rsmd_conf_finder finder = {find_first, d};
    /* An embedded node is for a user without any configuration. */
    if (options->embedded && options->config == NULL) {
        rsmd_conf_defaults(&d->conf);
        return true;
    }
    return rsmd_conf_read(&d->conf, rsmd_conf_path(options), options->config == NULL, &finder,
                          d->why, WHY_MAX);
}

/* Whether the daemon serves several users, who must not act for each other. */
static bool serves_everybody(const struct rsmd_options *options)
{
    return !options->embedded && (geteuid() == 0 || options->all_users);
}

__attribute__((format(printf, 2, 3))) static bool fail(struct daemon *d, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(d->why, sizeof d->why, format, arguments);
    va_end(arguments);
    return false;
}

static bool prepare_runtime(struct daemon *d)
{
    const char *directory = rsmd_runtime_directory(d->options);
    struct rsmcore_runtime *runtime = &d->runtime;
    if (strlen(directory) >= sizeof runtime->directory)
        return fail(d, "runtime directory %s: expected a name of at most %zu characters", directory,
                    sizeof runtime->directory - 1);
    strcpy(runtime->directory, directory);
    runtime->system = d->everybody;
    if (d->everybody && mkdir(directory, 0755) < 0 && errno != EEXIST)
        return fail(d, "cannot create runtime directory %s: %s", directory, strerror(errno));
    enum rsm_status status = rsmcore_runtime_prepare(runtime);
    if (status != RSM_ST_OK)
        return fail(d, "cannot use runtime directory %s: %s", directory,
                    rsmcore_status_text(status));
    return true;
}

static bool open_listener(struct daemon *d, int *listener)
{
    *listener = d->received.listener;
    d->received.listener = -1;
    if (*listener >= 0 &&
        (rsmd_instance_relisten(&d->instance, *listener) ||
         (d->received.in_place && rsmd_instance_adopt(&d->instance, &d->runtime, *listener))))
        return true;
    if (*listener >= 0)
        close(*listener);
    *listener = rsmd_passed_socket();
    if (*listener == -2)
        return fail(d, "expected one listening SEQPACKET socket from the service manager");
    if (*listener >= 0)
        return rsmd_instance_adopt(&d->instance, &d->runtime, *listener) ||
               fail(d, "cannot make the service manager's socket known as %s: %s",
                    d->instance.socket_path, strerror(errno));
    *listener = rsmd_instance_listen(&d->instance, d->everybody);
    if (*listener >= 0)
        return true;
    return fail(d, "cannot listen at %s: %s", d->instance.socket_path, strerror(errno));
}

/* The predecessor's generation table, if there was one, or a new one. */
static enum rsm_status own_table(struct daemon *d)
{
    struct rsmd_generation_table **table = &d->node.generation_table;
    if (d->options->embedded)
        return rsmd_generation_table_own(*table);
    rsmd_generation_table_free(*table);
    *table = NULL;
    if (d->received.readable) {
        *table = d->received.table; /* already owned, by rsmd_handover_receive() */
        d->received.table = NULL;
        return RSM_ST_OK;
    }
    rsmd_generation_table_free(d->received.table); /* marks the end there */
    d->received.table = NULL;
    enum rsm_status status = rsmd_generation_table_create(table, true);
    return status == RSM_ST_OK ? rsmd_generation_table_own(*table) : status;
}

/* Restore the predecessor's state. If that fails, its clients learn that it has ended, and this
 * daemon starts empty. */
static enum rsm_status restore(struct daemon *d)
{
    enum rsm_status status = RSM_ST_OK;
    bool was_readable = d->received.readable;
    if (!d->received.present)
        return RSM_ST_OK;
    bool restored = rsmd_handover_restore(&d->received, &d->server);
    /* Free what clients that could not be resumed had, before the others continue. */
    rsmd_endings_finish(&d->server, RESTORE_END_MS);
    if (restored || !was_readable)
        return RSM_ST_OK;
    struct rsmd_generation_table *made = NULL;
    status = rsmd_generation_table_create(&made, true);
    if (status != RSM_ST_OK)
        return status;
    rsmd_generation_table_free(d->node.generation_table); /* marks the end there */
    d->node.generation_table = made;
    return rsmd_generation_table_own(made);
}

/* Start the node and its server. The lock is held. */
static bool start_serving(struct daemon *d)
{
    int listener;
    int linger_ms = d->options->embedded ? d->options->linger_ms : -1;
    if (!rsmd_node_init(&d->node, d->runtime.node, d->options->embedded, &d->runtime, &d->conf,
                        d->why, sizeof d->why))
        return false;
    d->node.one_user = !d->everybody;
    enum rsm_status status = own_table(d);
    if (status != RSM_ST_OK) {
        fail(d, "cannot hold the generation table: %s", rsmcore_status_text(status));
        goto end_node;
    }
    if (!open_listener(d, &listener))
        goto end_node;
    if (!rsmd_server_init(&d->server, &d->node, listener, linger_ms)) {
        fail(d, "cannot make the event loop: %s", strerror(errno));
        goto end_node;
    }
    status = restore(d);
    if (status != RSM_ST_OK)
        fail(d, "cannot begin anew: %s", rsmcore_status_text(status));
    else if (rsmd_links_start(&d->server, d->why, sizeof d->why))
        return true;
    rsmd_server_end(&d->server, &d->instance); /* there were no clients */
end_node:
    rsmd_node_end(&d->node);
    return false;
}

/* ------------------------------------------------------------------ members */

/* d->conf and the node's own copy share the nodes, whose table may have been moved. */
static void share_nodes(struct daemon *d)
{
    d->conf.nodes = d->node.conf.nodes;
    d->conf.node_count = d->node.conf.node_count;
}

/* The source has a new answer. */
static bool take_members(void *context, const struct rsmd_members *members, char *why)
{
    struct daemon *d = context;
    if (!rsmd_reload_members(&d->server, d->options, members, why))
        return false;
    share_nodes(d);
    rsmd_members_keep(d->runtime.directory, &d->node.conf.members, members);
    rsmd_report_state(&d->node);
    return true;
}

static void watch_members(struct daemon *d)
{
    const struct rsmd_conf_members *rules = &d->conf.members;
    if (d->first.count > 0)
        rsmd_members_keep(d->runtime.directory, rules, &d->first);
    d->refresh = rsmd_members_refresh_start(d->server.base, rules, &d->first, take_members, d);
    if (d->refresh == NULL)
        rsm_log_error("changes of the members are not noticed before a restart: out of memory");
    rsmd_members_free(&d->first);
}

/* ------------------------------------------------------------------ SIGHUP */

static void notify_reloading(void)
{
    struct timespec now;
    char state[64];
    clock_gettime(CLOCK_MONOTONIC, &now);
    snprintf(state, sizeof state, "RELOADING=1\nMONOTONIC_USEC=%lld",
             (long long)now.tv_sec * 1000000 + now.tv_nsec / 1000);
    rsmd_notify(state);
}

/* Those of the latest answer; a source that is new has none yet. */
static const struct rsmd_members *find_current(void *context, const struct rsmd_conf_members *rules,
                                               char *why)
{
    const struct daemon *d = context;
    *why = '\0';
    return rsmd_members_current(d->refresh, rules);
}

/* Read the configuration again, and ask for the members. A file with errors changes nothing. */
static void reload(void *context)
{
    struct daemon *d = context;
    const struct rsmd_conf_finder finder = {find_current, d};
    char why[WHY_MAX] = "out of memory";
    struct rsmd_conf *fresh = calloc(1, sizeof *fresh);
    notify_reloading();
    if (fresh != NULL &&
        rsmd_conf_read(fresh, d->config, d->options->config == NULL, &finder, why, WHY_MAX) &&
        rsmd_options_trust(fresh, d->options, why, WHY_MAX)) {
        rsmd_reload(&d->server, fresh, d->config);
        share_nodes(d);
        rsmd_members_refresh_now(d->refresh, &fresh->members);
    } else {
        rsm_log_error("the configuration stays as it is: %s", why);
    }
    if (fresh != NULL)
        rsmd_conf_free(fresh);
    free(fresh);
    rsmd_notify("READY=1");
    rsmd_report_state(&d->node);
}

/* Make the name of the configuration absolute. */
static bool note_config(struct daemon *d)
{
    const char *path = rsmd_conf_path(d->options);
    char here[PATH_MAX] = "";
    if (*path != '/' && getcwd(here, sizeof here) == NULL)
        return fail(d, "cannot tell the working directory: %s", strerror(errno));
    int length =
        snprintf(d->config, sizeof d->config, "%s%s%s", here, *here != '\0' ? "/" : "", path);
    return (length > 0 && (size_t)length < sizeof d->config) ||
           fail(d, "%s: too long a name", path);
}

/* ------------------------------------------------------------------ from start to end */

/* Serve until the end. Does not return if a successor takes over. */
static void serve_until_end(struct daemon *d)
{
    do {
        d->server.replaced = false;
        rsmd_server_run(&d->server);
    } while (d->server.replaced && !rsmd_handover_can_start());
    if (!d->server.replaced && !d->server.stored)
        return;
    if (d->server.replaced)
        notify_reloading();
    else
        rsmd_notify("STOPPING=1");
    rsmd_server_settle(&d->server);
    if (d->server.replaced)
        rsmd_handover_give(&d->server, &d->instance);
    else if (rsmd_handover_store(&d->server, &d->instance))
        _exit(EXIT_SUCCESS); /* open files and locks belong to the successor */
}

static void serve(struct daemon *d)
{
    const struct rsmd_conf *conf = &d->conf;
    /* An embedded node has no service manager: the variables in its environment are the
     * application's. */
    bool managed = !d->options->embedded;
    /* Leave the directory, unless relative names still depend on it. */
    if (d->runtime.directory[0] == '/' && chdir("/") < 0)
        rsm_log_debug("cannot leave the working directory: %m");
    rsm_log_info("node %u listens at %s", d->runtime.node, d->instance.socket_path);
    if (conf->ineffective_keys)
        rsm_log_info("segment-hashtable-size and enable-dynamic-reconfiguration have no effect");
    rsmd_start_ready(d->options->ready_fd);
    if (managed) {
        rsmd_notify("READY=1");
        rsmd_report_state(&d->node);
        d->server.reload = reload;
        d->server.reload_context = d;
        watch_members(d);
    }
    d->server.may_be_replaced = managed;
    d->server.keeps_state = managed && d->options->keep_state;
    serve_until_end(d);
    bool idle = rsmd_members_refresh_end(d->refresh);
    if (managed && !d->server.stored)
        rsmd_notify("STOPPING=1");
    rsm_log_info("node %u ends", d->runtime.node);
    d->in_order = rsmd_server_end(&d->server, &d->instance);
    if (d->in_order)
        rsmd_node_end(&d->node);
    d->in_order = d->in_order && idle;
}

/* Read and check the configuration and take the lock. False: d->why has the reason; it is empty if
 * another daemon has this node, or is to have it. */
static bool prepare(struct daemon *d)
{
    if (!note_config(d) || !read_configuration(d))
        return false;
    if (!rsmd_options_trust(&d->conf, d->options, d->why, WHY_MAX))
        return false;
    d->runtime.node = rsmd_own_node(&d->conf, d->options, d->why, WHY_MAX);
    if (d->runtime.node == 0 || !prepare_runtime(d))
        return false;
    const struct rsmd_conf_node *self = rsmd_conf_node(&d->conf, d->runtime.node);
    const char *path = self != NULL && self->socket[0] != '\0' ? self->socket : NULL;
    int lock = d->received.lock;
    d->received.lock = -1;
    switch (rsmd_instance_lock(&d->instance, &d->runtime, path, !d->options->embedded, lock)) {
    case RSMD_LOCK_TAKEN:
        return true;
    case RSMD_LOCK_RESERVED:
        return false;
    case RSMD_LOCK_BUSY:
        if (d->options->embedded)
            return false;
        return fail(d, "node %u is served by another rsmd already: %s is locked", d->runtime.node,
                    d->instance.lock_path);
    case RSMD_LOCK_FAILED:
        break;
    }
    return fail(d, "cannot lock %s: %s", d->instance.lock_path, strerror(errno));
}

int rsmd_run(const struct rsmd_options *options)
{
    struct daemon *d = calloc(1, sizeof *d);
    if (d == NULL) {
        rsmd_start_failed(options->ready_fd, "out of memory");
        return EXIT_FAILURE;
    }
    d->options = options;
    d->everybody = serves_everybody(options);
    rsmd_server_hold_signals(!options->embedded);
    umask(022);
    if (!options->embedded)
        rsmd_handover_receive(&d->received);
    else
        d->received.lock = d->received.listener = -1;
    bool started = prepare(d);
    if (started) {
        started = start_serving(d);
        if (started)
            serve(d);
        rsmd_handover_drop(&d->received);
        rsmd_instance_unlock(&d->instance);
        /* Running threads must not see what exit() destroys. */
        if (started && !d->in_order)
            _exit(EXIT_SUCCESS);
    }
    rsmd_handover_drop(&d->received);
    bool failed = !started && d->why[0] != '\0';
    if (failed) {
        rsm_log_error("%s", d->why);
        rsmd_start_failed(options->ready_fd, d->why);
    } else if (!started) {
        rsmd_start_not_needed(options->ready_fd);
    }
    rsmd_members_free(&d->first);
    rsmd_conf_free(&d->conf);
    free(d);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
