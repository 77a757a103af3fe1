/* SPDX-License-Identifier: BSD-3-Clause */
/* Where Solaris 10 had <sys/atomic.h> too. The included one has the guard. */
#include <sys/atomic.h>
