/* SPDX-License-Identifier: BSD-3-Clause */
#include "mapping/options.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/log.h"
#include "base/memory_limit.h"
#include "mapping/decode.h"
#include "mapping/mechanism.h"

enum { SHARE = 8 }; /* of the memory, for the cache of one connection */

struct mapping_options mapping_options_default(void)
{
    return (struct mapping_options){
        .mode = MAPPING_AUTO, .threshold = 64, .flush_us = 50, .refresh_us = 50, .grain = 1};
}

static enum rsm_status read_environment(struct mapping_settings *settings)
{
    for (unsigned i = 0; i < MAPPING_TUNABLES; i++) {
        enum mapping_tunable tunable = (enum mapping_tunable)i;
        const char *text = secure_getenv(rsmcore_map_tunable_variable(tunable));
        if (text == NULL || rsmcore_map_settings_parse(settings, tunable, text))
            continue;
        rsm_log_error("%s=%s is not valid: expected %s", rsmcore_map_tunable_variable(tunable),
                      text, rsmcore_map_tunable_expected(tunable));
        return RSM_ST_INVALID;
    }
    return RSM_ST_OK;
}

static void apply(struct mapping_options *options, const struct mapping_settings *settings)
{
    uint32_t *numbers[MAPPING_TUNABLES] = {
        [MAPPING_TUNABLE_K] = &options->threshold,
        [MAPPING_TUNABLE_FLUSH_US] = &options->flush_us,
        [MAPPING_TUNABLE_REFRESH_US] = &options->refresh_us,
        [MAPPING_TUNABLE_GRAIN] = &options->grain,
    };
    for (unsigned i = 0; i < MAPPING_TUNABLES; i++)
        if (numbers[i] != NULL && (settings->given >> i & 1))
            *numbers[i] = settings->value[i];
    options->cache_bytes = (settings->given >> MAPPING_TUNABLE_CACHE_MIB & 1) != 0
                               ? (uint64_t)settings->value[MAPPING_TUNABLE_CACHE_MIB] << 20
                               : rsmcore_memory_size() / SHARE;
    if (settings->given >> MAPPING_TUNABLE_MODE & 1)
        options->mode = (enum mapping_mode)settings->value[MAPPING_TUNABLE_MODE];
    if (settings->given >> MAPPING_TUNABLE_TRAP & 1)
        options->trap = (enum mapping_trap)settings->value[MAPPING_TUNABLE_TRAP];
    if (settings->given >> MAPPING_TUNABLE_ATOMICS & 1)
        options->atomics = (enum mapping_atomics)settings->value[MAPPING_TUNABLE_ATOMICS];
}

/* Whether a thread can serve all accesses here, the kernel's own among them: by trying.
 * MAPPING_REASON_NONE: it can. */
static enum mapping_trap_reason try_thread(void)
{
    bool kernel_faults = false;
    int fd = mapping_faultfd_open(&kernel_faults);
    if (fd < 0)
        return MAPPING_REASON_NO_USERFAULTFD;
    close(fd);
    return kernel_faults ? MAPPING_REASON_NONE : MAPPING_REASON_NO_PERMISSION;
}

/* The mechanism of that name has gone: what it did for a program, signal does. */
static void replace_sigbus(struct mapping_options *options)
{
    static atomic_flag logged = ATOMIC_FLAG_INIT;
    options->trap = MAPPING_TRAP_SIGNAL;
    if (!atomic_flag_test_and_set(&logged))
        rsm_log_warning("trap=sigbus has been removed and means trap=signal, see rsm_map(7)");
}

/* What trap=auto comes to. What takes the decoder takes a signal. */
static void choose_trap(struct mapping_options *options)
{
    options->trap = MAPPING_TRAP_SIGNAL;
    if (options->mode == MAPPING_MIRROR || options->mode == MAPPING_OFF)
        return; /* nothing is trapped */
    bool decodes = options->mode == MAPPING_PRECISE || options->atomics == MAPPING_ATOMICS_SIGBUS;
    options->reason = decodes ? MAPPING_REASON_DECODING : try_thread();
    if (options->reason == MAPPING_REASON_NONE)
        options->trap = MAPPING_TRAP_THREAD;
    rsm_log_info("trap=auto is trap=%s here: %s",
                 options->trap == MAPPING_TRAP_THREAD ? "thread" : "signal",
                 rsmcore_map_reason_text(options->reason));
}

/* Why instructions are not decoded; NULL: they are. */
static const char *why_not_decoded(const struct mapping_options *options)
{
    if (!MAPPING_HAS_DECODER)
        return "for this processor";
    if (options->mode == MAPPING_MIRROR)
        return "with mode=mirror";
    return options->trap == MAPPING_TRAP_THREAD && !mapping_handover_is_possible()
               ? "with trap=thread here"
               : NULL;
}

enum rsm_status mapping_options_read(struct mapping_options *options,
                                     const struct mapping_settings *configured)
{
    struct mapping_settings settings = *configured;
    *options = mapping_options_default();
    enum rsm_status status = read_environment(&settings);
    if (status != RSM_ST_OK)
        return status;
    apply(options, &settings);
    options->reason = MAPPING_REASON_REQUESTED;
    if (options->trap == MAPPING_TRAP_SIGBUS)
        replace_sigbus(options);
    if (options->trap == MAPPING_TRAP_AUTO)
        choose_trap(options);
    const char *why = why_not_decoded(options);
    if (why != NULL &&
        (options->mode == MAPPING_PRECISE || options->atomics == MAPPING_ATOMICS_SIGBUS)) {
        rsm_log_error("mapping with %s decodes instructions, which is not done %s",
                      options->mode == MAPPING_PRECISE ? "mode=precise" : "atomics=sigbus", why);
        return RSM_ST_UNSUPPORTED;
    }
    if (why != NULL && options->mode == MAPPING_AUTO)
        options->mode = MAPPING_TWIN;
    return RSM_ST_OK;
}
