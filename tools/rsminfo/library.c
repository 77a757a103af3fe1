/* SPDX-License-Identifier: BSD-3-Clause */
#include <dirent.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "info.h"
#include "rsm/rsmapi.h"

static const char *compiler(void)
{
#if defined(__clang__)
    return "clang " __clang_version__;
#else
    return "gcc " __VERSION__;
#endif
}

static const char *sanitizers(void)
{
#if defined(__SANITIZE_ADDRESS__)
    return ", address sanitizer";
#elif defined(__SANITIZE_THREAD__)
    return ", thread sanitizer";
#else
    return "";
#endif
}

static int by_name(const struct dirent **left, const struct dirent **right)
{
    return strcmp((*left)->d_name, (*right)->d_name);
}

static int is_module(const struct dirent *entry)
{
    size_t length = strlen(entry->d_name);
    return strncmp(entry->d_name, "librsm_", 7) == 0 && length > 10 &&
           strcmp(entry->d_name + length - 3, ".so") == 0;
}

/* A module is of use if the dynamic loader finds all that it needs. */
static void show_module(const char *directory, const char *name)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    void *module = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    const char *why = module == NULL ? dlerror() : NULL;
    info_line("", "%.*s: %s", (int)strcspn(name + 7, "."), name + 7, why != NULL ? why : "loads");
}

static void show_modules(void)
{
    const char *given = getenv("RSM_MODULE_DIR");
    const char *directory = given != NULL && *given != '\0' ? given : RSM_MODULE_DIR;
    struct dirent **found = NULL;
    int count = scandir(directory, &found, is_module, by_name);
    info_line("modules", "%s%s", directory, count <= 0 ? ": none" : "");
    for (int i = 0; i < count; i++) {
        show_module(directory, found[i]->d_name);
        free(found[i]);
    }
    free(found);
}

static void show_environment(void)
{
    const char *label = "environment";
    for (char *const *entry = environ; *entry != NULL; entry++) {
        if (strncmp(*entry, "RSM_", 4) != 0)
            continue;
        info_line(label, "%s", *entry);
        label = "";
    }
}

void info_library(void)
{
    Dl_info library = {.dli_fname = "not found"};
    /* The address of a function is where the dynamic loader has found the library. */
    dladdr((void *)(uintptr_t)&rsm_get_controller, &library);
    info_line("rsminfo", "%s, built by %s%s", RSM_RELEASE, compiler(), sanitizers());
    info_line("librsm", "%s", library.dli_fname);
    info_line("daemon", "%s%s", RSM_RSMD_PATH,
              access(RSM_RSMD_PATH, X_OK) == 0 ? "" : ": not there");
    show_modules();
    show_environment();
}
