/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Copy pages while other threads and processes store to them.
 *
 * Eight bytes at a time and never twice from the same place in one pass, so that an aligned word is
 * copied whole. The functions are exempt from sanitizers: the race is intended, and the memory is
 * the application's, including redzones.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/** Copy @p length bytes, a multiple of 8, between addresses aligned to 8. */
void rsmcore_copy_words(void *to, const void *from, size_t length);

/** As rsmcore_copy_words(), but only words that differ are stored. @return whether any did. */
bool rsmcore_copy_changed_words(void *to, const void *from, size_t length);
