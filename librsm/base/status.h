/* SPDX-License-Identifier: BSD-3-Clause */
/** @file Texts for the status codes of <rsm/transport.h>. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/exports.h"
#include "rsm/transport.h"

RSMCORE_EXPORTS_BEGIN

/** English text for a status, never NULL; unknown numbers get a text that says so. */
const char *rsmcore_status_text(enum rsm_status status);

/** Whether a number received from another process is a status that this version knows. */
bool rsmcore_status_known(uint32_t number);

/** The status that fits an errno value of memory and descriptor system calls. */
enum rsm_status rsmcore_status_from_errno(int error);

RSMCORE_EXPORTS_END
