/* SPDX-License-Identifier: BSD-3-Clause */
/* On Linux these limits are in <stdint.h>. */
#include <stdint.h>
