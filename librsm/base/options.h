/* SPDX-License-Identifier: BSD-3-Clause */
/** @file Options with names and values, as rows of a table: a value is one of some words, or a
 *  number in a range. Configuration files, environment and the `options` of controllers are read by
 *  them. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { RSM_OPTION_WORDS = 5 };

struct rsm_option {
    const char *name;
    const char *expected; /**< what its values are, to be said after "expected" */
    size_t offset, size;  /**< of the settings' member: see RSM_OPTION() */
    struct {
        const char *text;
        uint64_t value;
    } words[RSM_OPTION_WORDS];
    uint64_t min, max; /**< most 0: the words alone */
    bool digits_only;  /**< else K, M or G may follow, as in rsm_number_bytes() */
    /** Reads a value that is neither word nor number. NULL: there is none such. */
    bool (*set)(void *settings, const char *text);
};

/** The member of settings of a type that gets the value: a bool, or an integer of 4 or 8 bytes. */
#define RSM_OPTION(type, member)                                                                   \
    .offset = offsetof(type, member), .size = sizeof(((type *)NULL)->member)

/** The value that @p text means. False, and *value is undefined: it is none of the option's. */
bool rsm_option_read(const struct rsm_option *option, const char *text, uint64_t *value);

/** Whether a text means this value. */
bool rsm_option_has(const struct rsm_option *option, uint64_t value);

/** Set the option's member of @p settings from @p text. False, and nothing is changed: it is none
 *  of the option's values. */
bool rsm_option_set(const struct rsm_option *option, const char *text, void *settings);

/**
 * Read words NAME=VALUE, separated by commas or blanks, into @p settings.
 * @param known  the options that there are, @p count of them.
 * @param owner  whose they are, for the log.
 * @param why    on failure, what was expected instead, for the log.
 */
bool rsm_options_parse(const struct rsm_option *known, size_t count, const char *owner,
                       const char *text, void *settings, char *why, size_t why_size);
