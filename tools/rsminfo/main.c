/* SPDX-License-Identifier: BSD-3-Clause */
/* rsminfo: what a report of a problem should say about this host. See rsminfo(1). */
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/log.h"
#include "protocol/runtime.h"
#include "info.h"
#include "table.h"

enum { EXIT_USAGE = 2 };

void info_line(const char *label, const char *format, ...)
{
    char text[8192];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    printf("%-12s ", label);
    table_print_safe(stdout, text);
    putchar('\n');
}

bool info_first_line(const char *path, char *text, size_t size)
{
    FILE *file = fopen(path, "re");
    bool read = file != NULL && fgets(text, (int)size, file) != NULL;
    if (file != NULL)
        fclose(file);
    if (!read)
        return false;
    text[strcspn(text, "\n")] = '\0';
    return *text != '\0';
}

static void on_log(enum rsmcore_log_level level, const char *text)
{
    info_line(level == RSMCORE_LOG_ERROR ? "ERROR" : "WARNING", "%s", text);
}

static void show_time(void)
{
    char date[64];
    time_t now = time(NULL);
    struct tm local;
    localtime_r(&now, &local);
    strftime(date, sizeof date, "%Y-%m-%d %H:%M:%S %z", &local);
    info_line("time", "%s", date);
}

static void help(void)
{
    fputs("Usage: rsminfo [OPTION]...\n"
          "Shows what a report of a problem with librsm should say about this host.\n"
          "\n"
          "  -n, --node N           look at node N (default: RSM_NODE, else the system\n"
          "                         daemon's node, else 1)\n"
          "  -d, --runtime-dir DIR  where nodes have their sockets\n"
          "                         (default: RSM_RUNTIME_DIR)\n"
          "  -h, --help             print this\n"
          "  --version              print the version\n",
          stdout);
}

/* Options stand in for the environment. -1: go on; else the exit status. */
static int take_options(int argc, char *argv[])
{
    static const struct option known[] = {{"node", required_argument, NULL, 'n'},
                                          {"runtime-dir", required_argument, NULL, 'd'},
                                          {"help", no_argument, NULL, 'h'},
                                          {"version", no_argument, NULL, 'V'},
                                          {NULL, 0, NULL, 0}};
    int code;
    while ((code = getopt_long(argc, argv, "d:hn:", known, NULL)) != -1)
        switch (code) {
        case 'n':
            if (rsmcore_node_id_parse(optarg) == 0) {
                fprintf(stderr, "rsminfo: --node: expected a node id from 1 to 65535, not '%s'\n",
                        optarg);
                return EXIT_USAGE;
            }
            setenv("RSM_NODE", optarg, 1);
            break;
        case 'd':
            setenv("RSM_RUNTIME_DIR", optarg, 1);
            break;
        case 'h':
            help();
            return EXIT_SUCCESS;
        case 'V':
            puts("rsminfo (librsm) " RSM_RELEASE);
            return EXIT_SUCCESS;
        default:
            return EXIT_USAGE;
        }
    if (optind == argc)
        return -1;
    fprintf(stderr, "rsminfo: expected an option, not '%s'\n", argv[optind]);
    return EXIT_USAGE;
}

int main(int argc, char *argv[])
{
    int status = take_options(argc, argv);
    if (status >= 0)
        return fflush(stdout) == 0 ? status : EXIT_FAILURE;
    rsmcore_log_to(on_log, RSMCORE_LOG_WARNING);
    show_time();
    info_library();
    info_kernel();
    info_devices();
    info_node();
    return fflush(stdout) == 0 && !ferror(stdout) ? EXIT_SUCCESS : EXIT_FAILURE;
}
