/* SPDX-License-Identifier: BSD-3-Clause */
/** @file Which descriptors from another process may be mapped. */
#pragma once

#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>

/** Seals without which the maker of the memory could truncate it under a mapping. */
#define RSM_SEALS_NEEDED F_SEAL_SHRINK

/**
 * Whether the first @p length bytes of @p fd can be mapped, and whether loads and stores there can
 * never raise SIGBUS, whatever the maker of the memory does: a memfd of ordinary pages that is
 * sealed against shrinking and is at least so long. Huge pages do not qualify: the kernel raises
 * SIGBUS when it has none left.
 *
 * Everything that the library maps and that another process has sent passes through here. Never
 * blocks, whatever @p fd is.
 */
bool rsm_is_sealed_memory(int fd, uint64_t length);
