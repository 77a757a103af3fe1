/* SPDX-License-Identifier: BSD-3-Clause */
/* On Linux these types are in <signal.h>. */
#include <signal.h>
