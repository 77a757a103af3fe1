/* SPDX-License-Identifier: BSD-3-Clause */
/* Where Solaris had <inttypes.h> too. */
#include <inttypes.h>
