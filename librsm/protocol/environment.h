/* SPDX-License-Identifier: BSD-3-Clause */
/** @file The environment variables of librsm, and mistakes in them that would otherwise have no
 *  effect. */
#pragma once

/** Log a warning for each variable whose name begins with RSM_ and that librsm does not know, and
 *  for values of RSM_LOG and RSM_SHM_DIRECT that it does not know. The code that reads another
 *  variable checks its value. In a set-user-id program, which ignores all of them, nothing is
 *  logged. */
void rsmcore_environment_check(void);

/** The same, the first time that a process calls it. */
void rsmcore_environment_check_once(void);
