/* SPDX-License-Identifier: BSD-3-Clause */
#include "conf/options.h"

#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/number.h"
#include "protocol/runtime.h"

enum { LINGER_DEFAULT_MS = 1000, LINGER_MAX_MS = 3600000 };

enum option_code {
    OPTION_CHECK = 256,
    OPTION_VERSION,
    OPTION_CAN_TAKE_OVER,
    OPTION_LOG_LEVEL,
    OPTION_SYSLOG,
    OPTION_STDERR,
    OPTION_ALL_USERS,
    OPTION_KEEP_STATE,
    OPTION_EMBEDDED,
    OPTION_READY_FD,
    OPTION_LINGER_MS,
};

static const struct option known[] = {
    {"foreground", no_argument, NULL, 'f'},
    {"config", required_argument, NULL, 'c'},
    {"node", required_argument, NULL, 'n'},
    {"runtime-dir", required_argument, NULL, 'd'},
    {"check", no_argument, NULL, OPTION_CHECK},
    {"version", no_argument, NULL, OPTION_VERSION},
    {"can-take-over", required_argument, NULL, OPTION_CAN_TAKE_OVER},
    {"help", no_argument, NULL, 'h'},
    {"log-level", required_argument, NULL, OPTION_LOG_LEVEL},
    {"syslog", no_argument, NULL, OPTION_SYSLOG},
    {"stderr", no_argument, NULL, OPTION_STDERR},
    {"all-users", no_argument, NULL, OPTION_ALL_USERS},
    {"keep-state", no_argument, NULL, OPTION_KEEP_STATE},
    {"embedded", no_argument, NULL, OPTION_EMBEDDED},
    {"ready-fd", required_argument, NULL, OPTION_READY_FD},
    {"linger-ms", required_argument, NULL, OPTION_LINGER_MS},
    {NULL, 0, NULL, 0},
};

void rsmd_options_help(void)
{
    fputs("Usage: rsmd [OPTION]...\n"
          "Node daemon of remote shared memory (RSMAPI).\n"
          "\n"
          "  -f, --foreground       stay in the foreground\n"
          "  -c, --config FILE      read FILE, not " RSM_CONFIG_DIR "/rsm.conf\n"
          "  -n, --node N           be node N (1 to 65535)\n"
          "  -d, --runtime-dir DIR  make socket and lock in DIR, not " RSM_SYSTEM_RUNTIME_DIR "\n"
          "      --all-users        serve all users, as a daemon of root does\n"
          "      --keep-state       at SIGTERM leave what clients have to the service\n"
          "                         manager, for the next rsmd that it starts\n"
          "      --check            check the configuration and exit\n"
          "      --can-take-over VERSION\n"
          "                         also whether it can take over clients; see rsmd(8)\n"
          "      --log-level LEVEL  error, warning, info (default) or debug\n"
          "      --syslog           log to syslog (default in the background)\n"
          "      --stderr           log to standard error (default in the foreground)\n"
          "      --version          print the version and exit\n"
          "  -h, --help             print this and exit\n"
          "\n"
          "Used by the library when it starts a node of its own:\n"
          "      --embedded         serve this user until nobody is left; read no\n"
          "                         configuration unless one is given\n"
          "      --ready-fd FD      write R to descriptor FD when clients are served, B if\n"
          "                         another rsmd is this node\n"
          "      --linger-ms MS     end so long after the last client (default 1000)\n",
          stdout);
}

static bool complain(const char *option, const char *expected, const char *value)
{
    fprintf(stderr, "rsmd: --%s: expected %s, not '%s'\n", option, expected, value);
    return false;
}

static bool number(const char *text, uint32_t max, int *value)
{
    uint32_t parsed;
    if (!rsm_number(text, 0, max, &parsed))
        return false;
    *value = (int)parsed;
    return true;
}

static bool take_value(struct rsmd_options *options, int code, const char *value)
{
    switch (code) {
    case 'c':
        options->config = value;
        return true;
    case 'd':
        options->runtime_dir = value;
        return true;
    case OPTION_SYSLOG:
    case OPTION_STDERR:
        options->to_syslog = code == OPTION_SYSLOG;
        return true;
    case 'n':
        options->node = rsmcore_node_id_parse(value);
        return options->node != 0 || complain("node", "a node id from 1 to 65535", value);
    case OPTION_LOG_LEVEL:
        options->log_level = rsmcore_log_level_named(value);
        return options->log_level >= 0 ||
               complain("log-level", "error, warning, info or debug", value);
    case OPTION_CAN_TAKE_OVER:
        return (number(value, 1 << 20, &options->take_over) && options->take_over > 0) ||
               complain("can-take-over", "a version of the state", value);
    case OPTION_READY_FD:
        return (number(value, 1 << 20, &options->ready_fd) &&
                fcntl(options->ready_fd, F_SETFD, FD_CLOEXEC) == 0) ||
               complain("ready-fd", "an open descriptor", value);
    case OPTION_LINGER_MS:
        return number(value, LINGER_MAX_MS, &options->linger_ms) ||
               complain("linger-ms", "milliseconds, at most an hour", value);
    default:
        return false;
    }
}

/* Options that are true where they are given. */
static bool *flag_of(struct rsmd_options *options, int code)
{
    switch (code) {
    case 'f':
        return &options->foreground;
    case 'h':
        return &options->help;
    case OPTION_CHECK:
        return &options->check;
    case OPTION_VERSION:
        return &options->version;
    case OPTION_ALL_USERS:
        return &options->all_users;
    case OPTION_KEEP_STATE:
        return &options->keep_state;
    case OPTION_EMBEDDED:
        return &options->embedded;
    default:
        return NULL;
    }
}

static bool take(struct rsmd_options *options, int code)
{
    bool *flag = flag_of(options, code);
    if (flag == NULL)
        return take_value(options, code, optarg);
    *flag = true;
    return true;
}

bool rsmd_options_parse(struct rsmd_options *options, int argc, char **argv)
{
    *options =
        (struct rsmd_options){.log_level = -1, .ready_fd = -1, .linger_ms = LINGER_DEFAULT_MS};
    bool log_chosen = false;
    int code;
    while ((code = getopt_long(argc, argv, "fc:hn:d:", known, NULL)) != -1) {
        log_chosen |= code == OPTION_SYSLOG || code == OPTION_STDERR;
        if (code == '?' || !take(options, code))
            return false;
    }
    if (optind < argc) {
        fprintf(stderr, "rsmd: expected an option, not '%s'\n", argv[optind]);
        return false;
    }
    if (options->embedded && (options->node == 0 || options->runtime_dir == NULL)) {
        fputs("rsmd: --embedded needs --node and --runtime-dir\n", stderr);
        return false;
    }
    if (options->embedded && options->all_users) {
        fputs("rsmd: --embedded and --all-users exclude each other\n", stderr);
        return false;
    }
    if (!log_chosen)
        options->to_syslog = !options->foreground && !options->embedded;
    return true;
}
