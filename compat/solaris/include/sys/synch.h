/* SPDX-License-Identifier: BSD-3-Clause */
/* Where Solaris had the types of <synch.h>. The included one has the guard. */
#include <synch.h>
