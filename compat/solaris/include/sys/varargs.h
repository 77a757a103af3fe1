/* SPDX-License-Identifier: BSD-3-Clause */
/* Solaris had the macros of standard C here too. */
#include <stdarg.h>
