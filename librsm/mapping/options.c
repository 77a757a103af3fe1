/* SPDX-License-Identifier: BSD-3-Clause */
#include "mapping/options.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/log.h"
#include "mapping/decode.h"
#include "mapping/mechanism.h"

struct softmap_options softmap_options_default(void)
{
    return (struct softmap_options){
        .mode = SOFTMAP_AUTO, .threshold = 64, .flush_us = 50, .refresh_us = 50, .grain = 1};
}

static enum rsm_status read_environment(struct softmap_settings *settings)
{
    for (unsigned i = 0; i < SOFTMAP_TUNABLES; i++) {
        enum softmap_tunable tunable = (enum softmap_tunable)i;
        const char *text = secure_getenv(rsmcore_map_tunable_variable(tunable));
        if (text == NULL || rsmcore_map_settings_parse(settings, tunable, text))
            continue;
        rsm_log_error("%s=%s is not valid: expected %s", rsmcore_map_tunable_variable(tunable),
                      text, rsmcore_map_tunable_expected(tunable));
        return RSM_ST_INVALID;
    }
    return RSM_ST_OK;
}

static void apply(struct softmap_options *options, const struct softmap_settings *settings)
{
    uint32_t *numbers[SOFTMAP_TUNABLES] = {
        [SOFTMAP_TUNABLE_K] = &options->threshold,
        [SOFTMAP_TUNABLE_FLUSH_US] = &options->flush_us,
        [SOFTMAP_TUNABLE_REFRESH_US] = &options->refresh_us,
        [SOFTMAP_TUNABLE_GRAIN] = &options->grain,
    };
    for (unsigned i = 0; i < SOFTMAP_TUNABLES; i++)
        if (numbers[i] != NULL && (settings->given >> i & 1))
            *numbers[i] = settings->value[i];
    if (settings->given >> SOFTMAP_TUNABLE_MODE & 1)
        options->mode = (enum softmap_mode)settings->value[SOFTMAP_TUNABLE_MODE];
    if (settings->given >> SOFTMAP_TUNABLE_TRAP & 1)
        options->trap = (enum softmap_trap)settings->value[SOFTMAP_TUNABLE_TRAP];
    if (settings->given >> SOFTMAP_TUNABLE_ATOMICS & 1)
        options->atomics = (enum softmap_atomics)settings->value[SOFTMAP_TUNABLE_ATOMICS];
}

/* Whether a thread can serve all accesses here, the kernel's own among them: by trying.
 * SOFTMAP_REASON_NONE: it can. */
static enum softmap_trap_reason try_thread(void)
{
    bool kernel_faults = false;
    int fd = softmap_faultfd_open(&kernel_faults);
    if (fd < 0)
        return SOFTMAP_REASON_NO_USERFAULTFD;
    close(fd);
    return kernel_faults ? SOFTMAP_REASON_NONE : SOFTMAP_REASON_NO_PERMISSION;
}

/* The mechanism of that name has gone: what it did for a program, signal does. */
static void replace_sigbus(struct softmap_options *options)
{
    static atomic_flag told = ATOMIC_FLAG_INIT;
    options->trap = SOFTMAP_TRAP_SIGNAL;
    if (!atomic_flag_test_and_set(&told))
        rsm_log_warning("trap=sigbus has been removed and means trap=signal, see rsm_map(7)");
}

/* What trap=auto comes to. What takes the decoder takes a signal. */
static void choose_trap(struct softmap_options *options)
{
    options->trap = SOFTMAP_TRAP_SIGNAL;
    if (options->mode == SOFTMAP_MIRROR || options->mode == SOFTMAP_OFF)
        return; /* nothing is trapped */
    bool decodes = options->mode == SOFTMAP_PRECISE || options->atomics == SOFTMAP_ATOMICS_SIGBUS;
    options->reason = decodes ? SOFTMAP_REASON_DECODING : try_thread();
    if (options->reason == SOFTMAP_REASON_NONE)
        options->trap = SOFTMAP_TRAP_THREAD;
    rsm_log_info("trap=auto is trap=%s here: %s",
                 options->trap == SOFTMAP_TRAP_THREAD ? "thread" : "signal",
                 rsmcore_map_reason_text(options->reason));
}

/* Why instructions are not decoded; NULL: they are. */
static const char *why_not_decoded(const struct softmap_options *options)
{
    if (!SOFTMAP_HAS_DECODER)
        return "for this processor";
    if (options->mode == SOFTMAP_MIRROR)
        return "with mode=mirror";
    return options->trap == SOFTMAP_TRAP_THREAD ? "with trap=thread" : NULL;
}

enum rsm_status softmap_options_read(struct softmap_options *options,
                                     const struct softmap_settings *configured)
{
    struct softmap_settings settings = *configured;
    *options = softmap_options_default();
    enum rsm_status status = read_environment(&settings);
    if (status != RSM_ST_OK)
        return status;
    apply(options, &settings);
    options->reason = SOFTMAP_REASON_REQUESTED;
    if (options->trap == SOFTMAP_TRAP_SIGBUS)
        replace_sigbus(options);
    if (options->trap == SOFTMAP_TRAP_AUTO)
        choose_trap(options);
    const char *why = why_not_decoded(options);
    if (why != NULL &&
        (options->mode == SOFTMAP_PRECISE || options->atomics == SOFTMAP_ATOMICS_SIGBUS)) {
        rsm_log_error("mapping with %s decodes instructions, which is not done %s",
                      options->mode == SOFTMAP_PRECISE ? "mode=precise" : "atomics=sigbus", why);
        return RSM_ST_UNSUPPORTED;
    }
    if (why != NULL && options->mode == SOFTMAP_AUTO)
        options->mode = SOFTMAP_TWIN;
    return RSM_ST_OK;
}
