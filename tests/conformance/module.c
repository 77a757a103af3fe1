/* SPDX-License-Identifier: BSD-3-Clause */
#include "module.h"

#include <dirent.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/status.h"
#include "core/mapping.h"
#include "suite.h"
#include "transport/instance.h"
#include "transport/registry.h"

enum { PEER_TIMEOUT_MS = 3000, FOUND_SOUND = 0, FOUND_FLAW = 1, FOUND_NO_MAP = 2 };

static char name[RSM_TRANSPORT_NAME_MAX];
static char controller_name[] = "check0";
static char directory[] = "/tmp/rsm-check-XXXXXX";
static char modules[sizeof directory + 16]; /* below it */
static pid_t owner;
static struct rsm_controller_info controller = {.size = sizeof controller,
                                                .name = controller_name,
                                                .device = "",
                                                .options = "",
                                                .address = "",
                                                .peer_timeout_ms = PEER_TIMEOUT_MS,
                                                .node = 1};

const char *module_transport(void)
{
    return name;
}

const struct rsm_controller_info *module_controller(void)
{
    return &controller;
}

/* ---------------------------------------------------------------- the daemon */

bool module_find_daemon(void)
{
    /* As installed, and as built. */
    static const char *const places[] = {CONFORMANCE_SBINDIR "/rsmd", "../../bin/rsmd"};
    char self[PATH_MAX], path[PATH_MAX + 64];
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    if (getenv("RSM_RSMD") != NULL)
        return true;
    self[length > 0 ? length : 0] = '\0';
    const char *here = dirname(self);
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        snprintf(path, sizeof path, "%s/%s", here, places[i]);
        if (access(path, X_OK) == 0)
            return setenv("RSM_RSMD", path, 1) == 0;
    }
    fputs("no rsmd beside this program: set RSM_RSMD\n", stderr);
    return false;
}

/* ---------------------------------------------------------------- the directory */

static void empty(const char *path)
{
    struct dirent *entry;
    DIR *entries = opendir(path);
    while (entries != NULL && (entry = readdir(entries)) != NULL)
        if (entry->d_name[0] != '.')
            (void)unlinkat(dirfd(entries), entry->d_name, 0);
    if (entries != NULL)
        closedir(entries);
    rmdir(path);
}

static void forget(void)
{
    if (getpid() != owner)
        return;
    empty(modules);
    empty(directory);
}

static bool make_directory(void)
{
    if (mkdtemp(directory) == NULL || chmod(directory, 0755) < 0) {
        perror(directory);
        return false;
    }
    snprintf(modules, sizeof modules, "%s/modules", directory);
    owner = getpid();
    atexit(forget);
    return true;
}

/* ---------------------------------------------------------------- which transport */

static bool has_engine(const char *where)
{
    char path[PATH_MAX + 64];
    snprintf(path, sizeof path, "%s/librsm_" RSM_MAPPING_NAME ".so", where);
    return access(path, R_OK) == 0;
}

/* Where the mapping engine is: in RSM_MODULE_DIR, where librsm's modules are installed or built, as
 * seen from this program, or where they were configured to be. NULL: in none of them. */
static const char *engine_directory(void)
{
    static const char *const places[] = {CONFORMANCE_MODULEDIR, "../../lib/rsm"};
    static char path[PATH_MAX + 64];
    char self[PATH_MAX];
    const char *wanted = getenv("RSM_MODULE_DIR");
    if (wanted != NULL && has_engine(wanted))
        return wanted;
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    self[length > 0 ? length : 0] = '\0';
    const char *here = dirname(self);
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        snprintf(path, sizeof path, "%s/%s", here, places[i]);
        if (has_engine(path))
            return path;
    }
    return has_engine(RSM_MODULE_DIR) ? RSM_MODULE_DIR : NULL;
}

/* What is beside the module stays so: it may be what the module is linked with. */
static bool link_libraries(const char *from)
{
    char target[2 * PATH_MAX], link[PATH_MAX];
    struct dirent *entry;
    bool linked = true;
    DIR *entries = opendir(from);
    while (entries != NULL && linked && (entry = readdir(entries)) != NULL) {
        if (strncmp(entry->d_name, "lib", 3) != 0 || strstr(entry->d_name, ".so") == NULL)
            continue;
        snprintf(target, sizeof target, "%s/%s", from, entry->d_name);
        snprintf(link, sizeof link, "%s/%s", modules, entry->d_name);
        linked = symlink(target, link) == 0;
    }
    if (entries != NULL)
        closedir(entries);
    return linked && entries != NULL;
}

/* A directory with the module, what is beside it, and the mapping engine. The module's own, if that
 * has an engine, or if there is none anywhere. */
static bool take_directory(const char *from)
{
    char target[PATH_MAX + 128], link[PATH_MAX];
    const char *engine = engine_directory();
    if (has_engine(from) || engine == NULL)
        return setenv("RSM_MODULE_DIR", from, 1) == 0;
    snprintf(target, sizeof target, "%s/librsm_" RSM_MAPPING_NAME ".so", engine);
    snprintf(link, sizeof link, "%s/librsm_" RSM_MAPPING_NAME ".so", modules);
    if (mkdir(modules, 0755) < 0 || chmod(modules, 0755) < 0 || !link_libraries(from) ||
        symlink(target, link) < 0) {
        perror(modules);
        return false;
    }
    return setenv("RSM_MODULE_DIR", modules, 1) == 0;
}

static bool take_file(const char *file)
{
    char path[PATH_MAX];
    int end = 0;
    if (realpath(file, path) == NULL) {
        perror(file);
        return false;
    }
    /* 31 is RSM_TRANSPORT_NAME_MAX - 1 */
    const char *base = strrchr(path, '/') + 1;
    if (sscanf(base, "librsm_%31[a-z0-9_].so%n", name, &end) != 1 || base[end] != '\0' ||
        end == 0) {
        fprintf(stderr, "%s: the name of a module is librsm_NAME.so\n", file);
        return false;
    }
    return take_directory(dirname(path));
}

static bool take_choice(const struct module_choice *choice)
{
    if (choice->file != NULL && !take_file(choice->file))
        return false;
    if (choice->transport == NULL || choice->file != NULL)
        return choice->file != NULL;
    if (!rsmcore_transport_name_valid(choice->transport)) {
        fprintf(stderr, "%s: no name of a transport\n", choice->transport);
        return false;
    }
    strcpy(name, choice->transport);
    return true;
}

/* ---------------------------------------------------------------- the halves by themselves */

static int flaw(const char *half, const char *what)
{
    printf("FAILED  %s half: %s\n", half, what);
    return FOUND_FLAW;
}

static int examine_extent(struct rsm_node_port *port, uint64_t page)
{
    struct rsm_extent *extent;
    enum rsm_status status = port->ops->extent_make(port, page, &extent);
    if (status != RSM_ST_OK)
        return flaw("node", rsmcore_status_text(status));
    const char *what = rsmcore_extent_flaw(port, extent, page);
    port->ops->extent_free(port, extent);
    return what != NULL ? flaw("node", what) : FOUND_SOUND;
}

static int examine_node(const struct rsm_controller_info *info, uint32_t *caps)
{
    struct rsm_node_port *port;
    struct rsm_port_attr attr = {.page_size = 0};
    const struct rsm_node_ops *ops = rsmcore_transport_node(name);
    if (ops == NULL)
        return flaw("node", "it cannot be loaded");
    enum rsm_status status = rsmcore_node_port_open(ops, info, &port);
    if (status != RSM_ST_OK)
        return flaw("node", rsmcore_status_text(status));
    ops->attributes(port, &attr);
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    int found = attr.page_size == 0 || attr.page_size % page != 0 ||
                        attr.max_segment_size < attr.page_size || attr.max_segments == 0 ||
                        attr.max_imports == 0
                    ? flaw("node", "attributes that allow no segment")
                    : examine_extent(port, attr.page_size);
    *caps = port->caps;
    ops->close(port);
    return found;
}

static int examine_import(const struct rsm_controller_info *info, uint32_t node_caps)
{
    struct rsm_port *port;
    const struct rsm_import_ops *ops = rsmcore_transport_import(name);
    if (ops == NULL)
        return flaw("import", "it cannot be loaded");
    enum rsm_status status = rsmcore_port_open(ops, info, &port);
    if (status != RSM_ST_OK)
        return flaw("import", rsmcore_status_text(status));
    /* By itself, by the mapping engine, or by shm. */
    bool maps = (port->caps & (RSM_CAP_MAP | RSM_CAP_FAULT_SAFE)) != 0 ||
                (node_caps & RSM_NODE_EXTENTS_SHAREABLE) != 0;
    printf("ok      transport %s, interface version %u: capabilities %#x of the import half, %#x "
           "of the node half\n",
           name, RSM_TRANSPORT_ABI, (unsigned)port->caps, (unsigned)node_caps);
    rsmcore_port_close(port);
    return maps ? FOUND_SOUND : FOUND_NO_MAP;
}

/* In a process of its own, so that nothing of the module is in those of the tests. */
static int examine(void)
{
    int status = 0;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        uint32_t caps;
        setenv("RSM_LOG", "error", 0); /* why a table is refused */
        int found = examine_node(&controller, &caps);
        found = found == FOUND_SOUND ? examine_import(&controller, caps) : found;
        fflush(stdout);
        _exit(found);
    }
    if (child < 0 || waitpid(child, &status, 0) != child)
        return flaw("neither", "no process");
    return WIFEXITED(status) ? WEXITSTATUS(status) : flaw("one", "it crashed");
}

/* ---------------------------------------------------------------- the daemon's configuration */

static bool close_written(FILE *file, const char *path, mode_t mode)
{
    bool written = fflush(file) == 0 && fchmod(fileno(file), mode) == 0;
    written = fclose(file) == 0 && written;
    if (!written)
        perror(path);
    return written;
}

static bool write_configuration(const char *path, const struct module_choice *choice)
{
    FILE *file = fopen(path, "we");
    if (file == NULL)
        return false;
    fprintf(file, "[controller %s]\ntransport = %s\n", controller_name, name);
    if (choice->device != NULL)
        fprintf(file, "device = %s\n", choice->device);
    if (choice->options != NULL)
        fprintf(file, "options = %s\n", choice->options);
    return close_written(file, path, 0644);
}

/* The daemon as the library starts it, but with that configuration, and for a short time. */
static bool write_daemon(const char *path, const char *configuration)
{
    FILE *file = fopen(path, "we");
    if (file == NULL)
        return false;
    fprintf(file, "#!/bin/sh\nexec '%s' --config='%s' --linger-ms=50 \"$@\"\n", getenv("RSM_RSMD"),
            configuration);
    return close_written(file, path, 0755);
}

bool module_prepare(const struct module_choice *choice)
{
    char configuration[64], script[64];
    if (!make_directory() || !take_choice(choice))
        return false;
    controller.device = choice->device != NULL ? choice->device : "";
    controller.options = choice->options != NULL ? choice->options : "";
    int found = examine();
    if (found == FOUND_FLAW)
        return false;
    snprintf(configuration, sizeof configuration, "%s/rsm.conf", directory);
    snprintf(script, sizeof script, "%s/rsmd", directory);
    if (!write_configuration(configuration, choice) || !write_daemon(script, configuration) ||
        setenv("RSM_RSMD", script, 1) < 0 || setenv("RSM_SHORT_LIVED_RSMD", script, 1) < 0)
        return false;
    options.controller = controller_name;
    options.no_map |= found == FOUND_NO_MAP;
    return true;
}
