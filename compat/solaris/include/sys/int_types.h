/* SPDX-License-Identifier: BSD-3-Clause */
/* On Linux these types are in <stdint.h>. */
#include <stdint.h>
