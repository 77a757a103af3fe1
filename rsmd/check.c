/* SPDX-License-Identifier: BSD-3-Clause */
#include "check.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/log.h"
#include "conf_file.h"
#include "node/controllers.h"

enum { WHY_MAX = 1024 };

const char *rsmd_conf_path(const struct rsmd_options *options)
{
    return options->config != NULL ? options->config : RSM_CONFIG_DIR "/rsm.conf";
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

/* Print all errors of a file that could be read. */
static bool judge(const struct rsmd_conf *conf, struct rsmd_conf_errors *errors,
                  const struct rsmd_options *options)
{
    const char *path = rsmd_conf_path(options);
    struct rsmd_conf_errors warnings = {.count = 0};
    rsmd_controllers_look(conf, errors, &warnings);
    print("warning: ", path, &warnings);
    print("", path, errors);
    return errors->count == 0 && is_trusted(conf, options) && has_own_node(conf, options);
}

int rsmd_check(const struct rsmd_options *options)
{
    const char *path = rsmd_conf_path(options);
    struct rsmd_conf *conf = calloc(1, sizeof *conf);
    struct rsmd_conf_errors *errors = calloc(1, sizeof *errors);
    char why[WHY_MAX] = "out of memory";
    bool there = false;
    rsmcore_log_to(ignore, RSMCORE_LOG_ERROR);
    bool good =
        conf != NULL && errors != NULL &&
        rsmd_conf_examine(conf, path, options->config == NULL, errors, &there, why, sizeof why);
    if (good) {
        good = judge(conf, errors, options);
        rsmd_conf_free(conf);
    } else {
        fprintf(stderr, "%s\n", why);
    }
    if (good)
        printf(there ? "%s: ok\n" : "%s: ok: it is not there, so the defaults are used\n", path);
    free(conf);
    free(errors);
    return good ? EXIT_SUCCESS : EXIT_FAILURE;
}
