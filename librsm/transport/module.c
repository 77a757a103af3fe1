/* SPDX-License-Identifier: BSD-3-Clause */
#include "transport/module.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"

static const char *module_directory(void)
{
    const char *wanted = secure_getenv("RSM_MODULE_DIR");
    return wanted != NULL && wanted[0] != '\0' ? wanted : RSM_MODULE_DIR;
}

static void explain(char *reason, size_t capacity, const char *fallback)
{
    const char *text = dlerror();
    snprintf(reason, capacity, "%s", text != NULL ? text : fallback);
}

/* A module whose symbol has another version at its end says so better than the dynamic loader. */
static void explain_version(void *module, const char *symbol, char *reason, size_t capacity)
{
    enum { VERSIONS_MAX = 9 };
    char other[64];
    int stem = (int)strcspn(symbol, "0123456789");
    for (int version = 1; version <= VERSIONS_MAX; version++) {
        snprintf(other, sizeof other, "%.*s%d", stem, symbol, version);
        if (strcmp(other, symbol) != 0 && dlsym(module, other) != NULL) {
            snprintf(reason, capacity,
                     "it was built for version %d of the interface, and this is version %s",
                     version, symbol + stem);
            return;
        }
    }
}

static void log_for_module(int level, const char *text)
{
    if (level >= RSMCORE_LOG_ERROR && level <= RSMCORE_LOG_DEBUG)
        rsmcore_log((enum rsmcore_log_level)level, "%s", text);
}

static rsm_transport_log lent_log = log_for_module;

void rsmcore_module_log_to(rsm_transport_log log)
{
    lent_log = log;
}

/* Pass this process's log to a module that has its own copy of the logging code. */
static void lend_log(void *module)
{
    void (*take)(rsm_transport_log log);
    void *symbol = dlsym(module, RSM_MODULE_LOG_SYMBOL);
    memcpy(&take, &symbol, sizeof take); /* ISO C knows no cast from object to function */
    if (symbol != NULL)
        take(lent_log);
    dlerror();
}

const void *rsmcore_module_symbol(const char *name, const char *symbol, char *reason,
                                  size_t capacity)
{
    char path[PATH_MAX];
    /* The slash keeps the loader from searching its own path for the file. */
    int length = snprintf(path, sizeof path, "%s/librsm_%s.so", module_directory(), name);
    if (length < 0 || (size_t)length >= sizeof path) {
        snprintf(reason, capacity, "path of the module directory is too long");
        return NULL;
    }
    void *module = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (module == NULL) {
        explain(reason, capacity, path);
        return NULL;
    }
    lend_log(module);
    const void *address = dlsym(module, symbol);
    if (address == NULL) {
        explain(reason, capacity, "symbol is null");
        explain_version(module, symbol, reason, capacity);
    }
    dlclose(module); /* RTLD_NODELETE keeps the code and data where they are */
    return address;
}
