/* SPDX-License-Identifier: BSD-3-Clause */
#include "conf_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/log.h"
#include "conf/address.h"
#include "conf/interface.h"
#include "members/members.h"
#include "node/controllers.h"
#include "cluster/munge.h"
#include "cluster/tls.h"

enum { WHY_MAX = 1024 };

/* What the source has answered while a file is checked. */
struct checked_members {
    const struct rsmd_options *options;
    struct rsmd_conf_members asked;
    struct rsmd_members found;
};

/* Read up to `capacity` bytes; -1 with errno. */
static ssize_t read_all(int fd, char *text, size_t capacity)
{
    size_t length = 0;
    while (length < capacity) {
        ssize_t got = read(fd, text + length, capacity - length);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return -1;
        if (got == 0)
            break;
        length += (size_t)got;
    }
    return (ssize_t)length;
}

/* Check that the library that authenticates nodes is installed. */
static void check_auth(const struct rsmd_conf *conf, struct rsmd_conf_errors *errors)
{
    char why[256];
    if (conf->auth != RSMD_AUTH_MUNGE || !rsmd_conf_has_address(conf))
        return;
    struct rsmd_munge *munge = rsmd_munge_load(RSMD_MUNGE_LIBRARY, "", why, sizeof why);
    if (munge != NULL) {
        rsmd_munge_free(munge);
        return;
    }
    unsigned line = conf->auth_line;
    for (uint32_t i = 0; line == 0 && i < conf->node_count; i++)
        line = conf->nodes[i]->address_line;
    rsmd_conf_errors_add(errors, line,
                         "expected MUNGE to be installed, which shows nodes who the others are: %s",
                         why);
}

/* Read the file's text, which may contain NULs. The caller frees it. NULL: *why has the reason. */
static char *read_text(int fd, const char *path, size_t *length, char *why, size_t why_size)
{
    char *text = malloc(RSMD_CONF_FILE_MAX);
    ssize_t got = text != NULL ? read_all(fd, text, RSMD_CONF_FILE_MAX) : -1;
    if (got >= 0 && got < RSMD_CONF_FILE_MAX) {
        *length = (size_t)got;
        return text;
    }
    if (got < 0)
        snprintf(why, why_size, "%s: cannot read: %s", path, strerror(errno));
    else
        snprintf(why, why_size, "%s: expected less than %d bytes", path, RSMD_CONF_FILE_MAX);
    free(text);
    return NULL;
}

/* Add the members to what the file has. A file with mistakes is not asked for. */
static bool add_members(struct rsmd_conf *conf, const char *path,
                        const struct rsmd_conf_finder *finder, struct rsmd_conf_errors *errors,
                        char *why, size_t why_size)
{
    char reason[RSMD_MEMBERS_WHY_BYTES] = "";
    if (conf->members.source == RSMD_NODES_FILE || errors->count > 0)
        return true;
    const struct rsmd_members *found = finder->find(finder->context, &conf->members, reason);
    if (found != NULL)
        rsmd_conf_add_members(conf, found->list, found->count, errors);
    else if (reason[0] != '\0')
        snprintf(why, why_size, "%s:%u: %s", path, conf->members.line, reason);
    return found != NULL || reason[0] == '\0';
}

bool rsmd_conf_examine(struct rsmd_conf *conf, const char *path, bool optional,
                       const struct rsmd_conf_finder *finder, struct rsmd_conf_errors *errors,
                       bool *there, char *why, size_t why_size)
{
    rsmd_conf_defaults(conf);
    errors->count = 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    *there = fd >= 0;
    if (fd < 0 && errno == ENOENT && optional)
        return true;
    if (fd < 0) {
        snprintf(why, why_size, "%s: cannot open: %s", path, strerror(errno));
        return false;
    }
    size_t length = 0;
    char *text = read_text(fd, path, &length, why, why_size);
    close(fd);
    if (text == NULL)
        return false;
    rsmd_conf_parse_all(conf, text, length, errors);
    free(text);
    if (!add_members(conf, path, finder, errors, why, why_size)) {
        rsmd_conf_free(conf);
        return false;
    }
    rsmd_controllers_check(conf, errors);
    check_auth(conf, errors);
    return true;
}

bool rsmd_conf_read(struct rsmd_conf *conf, const char *path, bool optional,
                    const struct rsmd_conf_finder *finder, char *why, size_t why_size)
{
    struct rsmd_conf_errors errors;
    bool there;
    if (!rsmd_conf_examine(conf, path, optional, finder, &errors, &there, why, why_size))
        return false;
    if (errors.count == 0)
        return true;
    snprintf(why, why_size, "%s:%u: %s", path, errors.list[0].line, errors.list[0].text);
    rsmd_conf_free(conf);
    return false;
}

bool rsmd_conf_check_trust(const struct rsmd_conf *conf, const char *path, char *why,
                           size_t why_size)
{
    unsigned line = conf->auth_line;
    if (conf->auth != RSMD_AUTH_NONE || conf->insecure || !rsmd_conf_has_address(conf))
        return true;
    for (uint32_t i = 0; line == 0 && i < conf->node_count; i++)
        line = conf->nodes[i]->address_line;
    snprintf(
        why, why_size,
        "%s:%u: expected auth = munge or tls in [cluster], or insecure = yes beside auth = none: "
        "without authentication every user of this host can speak for the other nodes and "
        "for all of their users, root among them",
        path, line);
    return false;
}

bool rsmd_host_is_local(const char *host, const char *hostname)
{
    if (strcasecmp(host, "localhost") == 0 || strcmp(host, "127.0.0.1") == 0 ||
        strcmp(host, "::1") == 0 || strcasecmp(host, hostname) == 0)
        return true;
    if (strspn(host, "0123456789.:") == strlen(host))
        return false; /* an address has no domain to leave out */
    /* One of the two may be without domain. */
    size_t host_short = strcspn(host, "."), name_short = strcspn(hostname, ".");
    bool one_is_short = host[host_short] == '\0' || hostname[name_short] == '\0';
    return one_is_short && host_short == name_short && strncasecmp(host, hostname, host_short) == 0;
}

uint32_t rsmd_conf_own_node(const struct rsmd_conf *conf, uint32_t wanted, const char *hostname,
                            char *why, size_t why_size)
{
    if (conf->node_count == 0)
        return wanted != 0 ? wanted : 1;
    if (wanted != 0) {
        if (rsmd_conf_node(conf, wanted) != NULL)
            return wanted;
        snprintf(why, why_size, "node %u is not in the configuration", wanted);
        return 0;
    }
    uint32_t found = 0, count = 0;
    for (uint32_t i = 0; i < conf->node_count; i++) {
        if (!rsmd_host_is_local(conf->nodes[i]->host, hostname))
            continue;
        found = conf->nodes[i]->id;
        count++;
    }
    if (count == 1)
        return found;
    snprintf(why, why_size,
             count == 0 ? "no node of the configuration is on host %s: say which with --node"
                        : "several nodes of the configuration are on host %s: say which with "
                          "--node",
             hostname);
    return 0;
}

/* ------------------------------------------------------------------ as options have it */

const char *rsmd_conf_path(const struct rsmd_options *options)
{
    return options->config != NULL ? options->config : RSM_CONFIG_DIR "/rsm.conf";
}

const char *rsmd_runtime_directory(const struct rsmd_options *options)
{
    return options->runtime_dir != NULL ? options->runtime_dir : RSM_SYSTEM_RUNTIME_DIR;
}

bool rsmd_options_trust(const struct rsmd_conf *conf, const struct rsmd_options *options, char *why,
                        size_t why_size)
{
    bool trusted = geteuid() == 0 || options->all_users;
    return !trusted || rsmd_conf_check_trust(conf, rsmd_conf_path(options), why, why_size);
}

uint32_t rsmd_own_node(const struct rsmd_conf *conf, const struct rsmd_options *options, char *why,
                       size_t why_size)
{
    char hostname[256] = "";
    gethostname(hostname, sizeof hostname - 1);
    return rsmd_conf_own_node(conf, options->node, hostname, why, why_size);
}

/* What transports log is among the errors and warnings already. */
static void ignore(enum rsmcore_log_level level, const char *text)
{
    (void)level, (void)text;
}

static void print(const char *before, const char *path, const struct rsmd_conf_errors *errors)
{
    for (unsigned i = 0; i < errors->count; i++)
        fprintf(stderr, "%s%s:%u: %s\n", before, path, errors->list[i].line, errors->list[i].text);
    if (errors->count == RSMD_CONF_ERRORS_MAX)
        fprintf(stderr, "%s: further ones are not shown\n", path);
}

/* Whether this user's daemon may use a configuration without errors. */
static bool is_trusted(const struct rsmd_conf *conf, const struct rsmd_options *options)
{
    char why[WHY_MAX];
    if (!rsmd_options_trust(conf, options, why, sizeof why)) {
        fprintf(stderr, "%s\n", why);
        return false;
    }
    /* The user that checks need not be the one that will run it. */
    if (!rsmd_conf_check_trust(conf, rsmd_conf_path(options), why, sizeof why))
        fprintf(stderr, "warning: root's rsmd refuses this: %s\n", why);
    return true;
}

/* Whether a daemon with these options can determine its node. The file is the same on all hosts,
 * and may be checked on one that is not in it: only a warning if nothing depends on it. */
static bool has_own_node(const struct rsmd_conf *conf, const struct rsmd_options *options)
{
    char why[WHY_MAX];
    if (rsmd_own_node(conf, options, why, sizeof why) != 0)
        return true;
    bool needed = options->node != 0 || options->take_over != 0;
    fprintf(stderr, "%s%s: %s\n", needed ? "" : "warning: ", rsmd_conf_path(options), why);
    return !needed;
}

/* Whether this host's node has what it needs for auth = tls. Where it is not known which node that
 * is, or the user may not read its key, nothing is said. */
static bool has_certificate(const struct rsmd_conf *conf, const struct rsmd_options *options)
{
    char why[WHY_MAX], key[RSM_PROTO_PATH_MAX];
    if (conf->auth != RSMD_AUTH_TLS || !rsmd_conf_has_address(conf) || options->take_over != 0)
        return true;
    uint32_t own = rsmd_own_node(conf, options, why, sizeof why);
    if (own == 0 || rsmd_conf_address(conf, own)[0] == '\0')
        return true;
    rsmd_conf_tls_path(conf, RSMD_TLS_KEY, own, key);
    if (access(key, R_OK) != 0 && errno == EACCES) {
        fprintf(stderr, "warning: only its owner can check tls-key %s\n", key);
        return true;
    }
    if (rsmd_tls_check(conf, own, why, sizeof why))
        return true;
    fprintf(stderr, "%s:%u: auth = tls: %s\n", rsmd_conf_path(options), conf->auth_line, why);
    return false;
}

/* Print all errors of a file that could be read. */
static bool judge(const struct rsmd_conf *conf, struct rsmd_conf_errors *errors,
                  const struct rsmd_options *options)
{
    const char *path = rsmd_conf_path(options);
    struct rsmd_conf_errors warnings = {.count = 0};
    rsmd_controllers_look(conf, errors, &warnings);
    print("warning: ", path, &warnings);
    print("", path, errors);
    return errors->count == 0 && is_trusted(conf, options) && has_own_node(conf, options) &&
           has_certificate(conf, options);
}

/* Whether a node is on this host, as far as its own entry and the options say so. Only then is a
 * name looked up here, which can take long. */
static bool is_here(const struct rsmd_conf_node *node, const struct rsmd_options *options)
{
    char hostname[256] = "";
    gethostname(hostname, sizeof hostname - 1);
    return node->id == options->node || rsmd_host_is_local(node->host, hostname);
}

/* Report of each node's addresses that this host has, whether WireGuard protects them. That is for
 * information: other tunnels do, too. */
static void report_interfaces(const struct rsmd_conf *conf, const struct rsmd_options *options)
{
    for (uint32_t i = 0; i < conf->node_count; i++) {
        const struct rsmd_conf_node *node = conf->nodes[i];
        struct rsmd_addresses found = {.count = 0};
        if (node->address[0] == '\0' ||
            (!rsmd_address_literal(node->address, node->port, &found) &&
             (!is_here(node, options) ||
              rsmd_address_resolve(node->address, node->port, &found) != NULL)))
            continue;
        for (unsigned j = 0; j < found.count; j++) {
            char name[IF_NAMESIZE], text[RSMD_ADDRESS_TEXT_BYTES];
            if (rsmd_address_is_loopback(&found.list[j]) ||
                !rsmd_interface_of(&found.list[j], name))
                continue;
            rsmd_address_text(&found.list[j], false, text);
            printf("node %u: %s is on %s, which is %s WireGuard interface\n", (unsigned)node->id,
                   text, name, rsmd_interface_is_wireguard(RSMD_INTERFACES, name) ? "a" : "no");
        }
    }
}

/* What the source answers now; a successor of a running daemon is content with what is kept. */
static const struct rsmd_members *find_members(void *context, const struct rsmd_conf_members *rules,
                                               char *why)
{
    struct checked_members *checked = context;
    const char *directory = rsmd_runtime_directory(checked->options);
    checked->asked = *rules;
    if (checked->options->take_over != 0 && rsmd_members_kept(directory, rules, &checked->found))
        return &checked->found;
    return rsmd_members_ask(rules, &checked->found, why) ? &checked->found : NULL;
}

static void report_members(const struct checked_members *checked)
{
    char source[RSM_PROTO_NAME_MAX + 8];
    if (checked->found.count == 0)
        return;
    rsmd_members_source_text(&checked->asked, source, sizeof source);
    printf("%s: nodes: %u\n", source, checked->found.count);
}

int rsmd_check(const struct rsmd_options *options)
{
    const char *path = rsmd_conf_path(options);
    struct rsmd_conf *conf = calloc(1, sizeof *conf);
    struct rsmd_conf_errors *errors = calloc(1, sizeof *errors);
    char why[WHY_MAX] = "out of memory";
    bool there = false;
    struct checked_members checked = {.options = options};
    const struct rsmd_conf_finder finder = {find_members, &checked};
    rsmcore_log_to(ignore, RSMCORE_LOG_ERROR);
    bool good = conf != NULL && errors != NULL &&
                rsmd_conf_examine(conf, path, options->config == NULL, &finder, errors, &there, why,
                                  sizeof why);
    if (good) {
        good = judge(conf, errors, options);
        if (good && options->take_over == 0) {
            report_members(&checked);
            report_interfaces(conf, options);
        }
        rsmd_conf_free(conf);
    } else {
        fprintf(stderr, "%s\n", why);
    }
    if (good)
        printf(there ? "%s: ok\n" : "%s: ok: it is not there, so the defaults are used\n", path);
    rsmd_members_free(&checked.found);
    free(conf);
    free(errors);
    return good ? EXIT_SUCCESS : EXIT_FAILURE;
}
