/* SPDX-License-Identifier: BSD-3-Clause */
/* Where Solaris had this header. The included one has the guard. */
#include <rsm/rsmapi.h>
