/* SPDX-License-Identifier: BSD-3-Clause */
#include "conf_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "node/controllers.h"
#include "cluster/munge.h"

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

/* Whether what proves the nodes' identity is installed. */
static bool check_auth(const struct rsmd_conf *conf, struct rsmd_conf_error *error)
{
    char why[256];
    if (conf->auth != RSMD_AUTH_MUNGE || !rsmd_conf_has_address(conf))
        return true;
    struct rsmd_munge *munge = rsmd_munge_load(RSMD_MUNGE_LIBRARY, "", why, sizeof why);
    if (munge != NULL) {
        rsmd_munge_free(munge);
        return true;
    }
    error->line = conf->auth_line;
    for (uint32_t i = 0; error->line == 0 && i < conf->node_count; i++)
        error->line = conf->nodes[i]->address_line;
    snprintf(error->text, sizeof error->text,
             "expected MUNGE to be installed, which shows nodes who the others are: %s", why);
    return false;
}

static bool parse_file(struct rsmd_conf *conf, int fd, char *text, const char *path, char *why,
                       size_t why_size)
{
    struct rsmd_conf_error error = {.line = 0};
    ssize_t length = read_all(fd, text, RSMD_CONF_FILE_MAX);
    if (length < 0) {
        snprintf(why, why_size, "%s: cannot read: %s", path, strerror(errno));
        return false;
    }
    if (length == RSMD_CONF_FILE_MAX) {
        snprintf(why, why_size, "%s: expected less than %d bytes", path, RSMD_CONF_FILE_MAX);
        return false;
    }
    if (rsmd_conf_parse(conf, text, (size_t)length, &error) &&
        rsmd_controllers_check(conf, &error) && check_auth(conf, &error))
        return true;
    snprintf(why, why_size, "%s:%u: %s", path, error.line, error.text);
    return false;
}

bool rsmd_conf_read(struct rsmd_conf *conf, const char *path, bool optional, char *why,
                    size_t why_size)
{
    rsmd_conf_defaults(conf);
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0 && errno == ENOENT && optional)
        return true;
    if (fd < 0) {
        snprintf(why, why_size, "%s: cannot open: %s", path, strerror(errno));
        return false;
    }
    char *text = malloc(RSMD_CONF_FILE_MAX);
    bool good = text != NULL && parse_file(conf, fd, text, path, why, why_size);
    if (text == NULL)
        snprintf(why, why_size, "%s: out of memory", path);
    free(text);
    close(fd);
    return good;
}

bool rsmd_conf_check_trust(const struct rsmd_conf *conf, const char *path, char *why,
                           size_t why_size)
{
    unsigned line = conf->auth_line;
    if (conf->auth != RSMD_AUTH_NONE || conf->insecure || !rsmd_conf_has_address(conf))
        return true;
    for (uint32_t i = 0; line == 0 && i < conf->node_count; i++)
        line = conf->nodes[i]->address_line;
    snprintf(why, why_size,
             "%s:%u: expected auth = munge in [cluster], or insecure = yes beside auth = none: "
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
