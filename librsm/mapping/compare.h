/* SPDX-License-Identifier: BSD-3-Clause */
/** @file Where two copies of memory begin to differ, and where they stop. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/** The first byte of [at, end) that differs; @p end if there is none. */
size_t mapping_next_difference(const uint8_t *copy, const uint8_t *twin, size_t at, size_t end);

/** The first byte of [at, end) that does not differ; @p end if there is none. */
size_t mapping_next_equality(const uint8_t *copy, const uint8_t *twin, size_t at, size_t end);
