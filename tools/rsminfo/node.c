/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/status.h"
#include "protocol/runtime.h"
#include "info.h"
#include "rsmstat/collect.h"
#include "rsmstat/options.h"
#include "rsmstat/text.h"

enum {
    LINES_MAX = 40, /* of a configuration that are shown */
    WHEN_BYTES = 128
};

/* What rsm.conf says, without comments. */
static void show_configuration(const char *path)
{
    char line[256];
    FILE *file = fopen(path, "re");
    unsigned shown = 0;
    if (file == NULL) {
        info_line("rsm.conf", "%s: %s", path, errno == ENOENT ? "not there" : strerror(errno));
        return;
    }
    info_line("rsm.conf", "%s", path);
    while (shown < LINES_MAX && fgets(line, sizeof line, file) != NULL) {
        const char *text = line + strspn(line, " \t");
        line[strcspn(line, "\r\n")] = '\0';
        if (*text == '\0' || *text == '#' || *text == ';')
            continue;
        info_line("", "%s", text);
        shown++;
    }
    if (shown == LINES_MAX)
        info_line("", "(and more)");
    fclose(file);
}

/* How the daemon was started, with the file that it was given, if this user may see that. */
static void show_command(pid_t pid, char *config, size_t size)
{
    char path[64], words[1024];
    snprintf(path, sizeof path, "/proc/%d/cmdline", (int)pid);
    FILE *file = fopen(path, "re");
    size_t length = file != NULL ? fread(words, 1, sizeof words - 1, file) : 0;
    if (file != NULL)
        fclose(file);
    words[length] = '\0';
    for (size_t at = 0; at < length; at += strlen(words + at) + 1) {
        const char *next =
            at + strlen(words + at) + 1 < length ? words + at + strlen(words + at) + 1 : "";
        if (strncmp(words + at, "--config=", 9) == 0)
            snprintf(config, size, "%s", words + at + 9);
        else if (strcmp(words + at, "--config") == 0 || strcmp(words + at, "-c") == 0)
            snprintf(config, size, "%s", next);
        else if (strncmp(words + at, "-c", 2) == 0)
            snprintf(config, size, "%s", words + at + 2);
    }
    for (size_t i = 0; i + 1 < length; i++)
        if (words[i] == '\0')
            words[i] = ' ';
    if (length > 0)
        info_line("", "%s", words);
}

static void show_daemon_limits(pid_t pid)
{
    char path[64], line[256];
    snprintf(path, sizeof path, "/proc/%d/limits", (int)pid);
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return;
    while (fgets(line, sizeof line, file) != NULL) {
        char soft[32];
        if (sscanf(line, "Max locked memory %31s", soft) == 1)
            info_line("", "memlock: %s", soft);
        else if (sscanf(line, "Max open files %31s", soft) == 1)
            info_line("", "descriptors: %s", soft);
    }
    fclose(file);
}

/* "at DATE, ago: AGE": the clock is for a comparison with logs. Empty if the time is not known. */
static const char *when(uint64_t ago_ms, char text[WHEN_BYTES])
{
    char age[TEXT_BYTES], date[32];
    time_t then = time(NULL) - (time_t)(ago_ms / 1000);
    struct tm local;
    text[0] = '\0';
    if (ago_ms == 0 || localtime_r(&then, &local) == NULL)
        return text;
    text_age(age, ago_ms);
    strftime(date, sizeof date, "%Y-%m-%d %H:%M:%S", &local);
    snprintf(text, WHEN_BYTES, " at %s, ago: %s", date, age);
    return text;
}

static void show_controllers(const struct snapshot *s)
{
    char tried[WHEN_BYTES];
    for (size_t i = 0; i < s->controller_count; i++) {
        const struct rsm_controller_reply *about = &s->controllers[i].about;
        info_line(i == 0 ? "controllers" : "", "%s: %s%s%s%s%s", about->name, about->transport,
                  about->device[0] != '\0' ? " on " : "", about->device,
                  about->options[0] != '\0' ? ", options " : "", about->options);
    }
    for (uint32_t i = 0; i < s->failed_count; i++)
        info_line("", "%s: FAILED%s: %s", s->failed[i].name, when(s->failed[i].ago_ms, tried),
                  s->failed[i].text);
}

static void show_failure(const struct rsm_links_item *link)
{
    char failed[WHEN_BYTES];
    if (link->text[0] != '\0')
        info_line("", "last failure%s: %s", when(link->failure_ms, failed), link->text);
}

static void show_refusal(const struct rsm_refusal *refusal)
{
    char refused[WHEN_BYTES];
    if (refusal->ago_ms == 0)
        info_line("refusal", "none that this user may see");
    else
        info_line("refusal", "the last one%s: %s by process %" PRIu32 " of user %s: %s",
                  when(refusal->ago_ms, refused), text_request(refusal->type), refusal->pid,
                  text_user(refusal->uid), rsmcore_status_text((enum rsm_status)refusal->status));
}

static void show_links(const struct snapshot *s)
{
    for (uint32_t i = 0; i < s->link_count; i++) {
        const struct rsm_links_item *link = &s->links[i];
        char age[TEXT_BYTES], since[TEXT_BYTES + 8] = "";
        text_age(age, link->up_ms);
        if (link->up_ms != 0)
            snprintf(since, sizeof since, " for %s", age);
        info_line(i == 0 ? "links" : "", "node %" PRIu32 " at %s, port %" PRIu32 ": %s%s, %s",
                  link->node, link->address, link->port, text_link_state(link->state), since,
                  text_link_auth(s->link_auth));
        show_failure(link);
    }
}

/* The file that the node's daemon, if there is one, has read. */
static void show_daemon(const struct rsmcore_runtime *runtime, char *config, size_t size)
{
    char path[RSM_PROTO_PATH_MAX];
    rsmcore_runtime_socket(runtime, runtime->node, path);
    struct snapshot *s =
        snapshot_take(runtime->node, path, SECTION_CONTROLLERS | SECTION_LINKS, -1);
    if (s == NULL)
        return;
    if (s->failure[0] != '\0') {
        info_line("rsmd", "%s", s->failure);
    } else {
        info_line("rsmd", "%d of user %s, %s", (int)s->pid, text_user(s->uid),
                  s->hello.embedded != 0 ? "embedded" : "system");
        if (s->hello.embedded != 0)
            *config = '\0';
        show_command(s->pid, config, size);
        show_daemon_limits(s->pid);
        show_controllers(s);
        show_links(s);
        show_refusal(&s->totals.refusal);
    }
    snapshot_free(s);
}

void info_node(void)
{
    char config[4096] = RSM_CONFIG_DIR "/rsm.conf";
    struct rsmcore_runtime runtime;
    if (rsmcore_runtime_find(&runtime) != RSM_ST_OK) {
        info_line("node", "cannot be determined: see above");
        return;
    }
    info_line("node", "%" PRIu32 " in %s%s", runtime.node, runtime.directory,
              rsmcore_runtime_is_configured(&runtime, runtime.node) ? ", configured" : "");
    show_daemon(&runtime, config, sizeof config);
    if (config[0] != '\0')
        show_configuration(config);
    else
        info_line("rsm.conf", "an embedded daemon reads none");
}
