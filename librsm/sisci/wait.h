/* SPDX-License-Identifier: BSD-3-Clause */
/** @file Waits of the API: cancellation points that no signal ends. */
#pragma once

#include "object.h"

/** One attempt: wait up to @p timeout_ms milliseconds, 0 or more, and take what has come. */
typedef enum rsm_status (*sisci_attempt)(void *argument, int timeout_ms);

/**
 * Wait until an attempt ends otherwise than by RSM_ST_TIMEOUT or RSM_ST_INTERRUPTED, or for
 * @p timeout milliseconds (SCI_INFINITE_TIMEOUT: for ever; 0: one attempt).
 *
 * A thread that is cancelled meanwhile (pthread_cancel(3)) ends within a tenth of a second, drops
 * @p held and takes nothing.
 */
enum rsm_status sisci_wait(struct sisci_object *held, unsigned timeout, sisci_attempt attempt,
                           void *argument);
