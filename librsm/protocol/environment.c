/* SPDX-License-Identifier: BSD-3-Clause */
#include "protocol/environment.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "base/log.h"
#include "protocol/map_settings.h"

enum { NAME_MAX_BYTES = 64 }; /* of a name in a message; a longer one is cut */

static const char *const known[] = {"RSM_NODE",      "RSM_RUNTIME_DIR", "RSM_LOG",
                                    "RSM_RSMD",      "RSM_MODULE_DIR",  "RSM_SEGMENTID_FILE",
                                    "RSM_SHM_DIRECT"};

static bool is_called(const char *entry, size_t length, const char *name)
{
    return strlen(name) == length && memcmp(entry, name, length) == 0;
}

static bool is_known(const char *entry, size_t length)
{
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (is_called(entry, length, known[i]))
            return true;
    for (unsigned i = 0; i < MAPPING_TUNABLES; i++)
        if (is_called(entry, length, rsmcore_map_tunable_variable((enum mapping_tunable)i)))
            return true;
    return false;
}

static void check_values(void)
{
    const char *log = getenv("RSM_LOG");
    const char *direct = getenv("RSM_SHM_DIRECT");
    if (log != NULL && *log != '\0' && rsmcore_log_level_named(log) < 0)
        rsm_log_warning("RSM_LOG=%.64s: expected error, warning, info or debug; this is as warning",
                        log);
    if (direct != NULL && strcmp(direct, "0") != 0 && strcmp(direct, "1") != 0)
        rsm_log_warning("RSM_SHM_DIRECT=%.64s: expected 0 or 1; this is as 1", direct);
}

void rsmcore_environment_check(void)
{
    if (getauxval(AT_SECURE) != 0)
        return;
    check_values();
    for (char *const *entry = environ; entry != NULL && *entry != NULL; entry++) {
        size_t length = strcspn(*entry, "=");
        if (strncmp(*entry, "RSM_", 4) == 0 && !is_known(*entry, length))
            rsm_log_warning(
                "the environment variable %.*s is not one of librsm's: it has no effect",
                (int)(length < NAME_MAX_BYTES ? length : NAME_MAX_BYTES), *entry);
    }
}

void rsmcore_environment_check_once(void)
{
    static atomic_flag done = ATOMIC_FLAG_INIT;
    if (!atomic_flag_test_and_set(&done))
        rsmcore_environment_check();
}
