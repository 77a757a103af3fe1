/* SPDX-License-Identifier: BSD-3-Clause */
/* Where Solaris had <stropts.h> too. The included one has the guard. */
#include <stropts.h>
