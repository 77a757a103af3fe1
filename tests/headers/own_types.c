/* SPDX-License-Identifier: BSD-3-Clause */
/* A program whose own compatibility header has the base types already, with other spellings: it
 * says so by the guards and keeps them, even where C knows no second typedef. */
typedef unsigned char uchar_t;
typedef unsigned short int ushort_t;
typedef unsigned uint_t;
typedef unsigned long int ulong_t;
typedef long own_offset_t;
#define __uchar_t_defined
#define __ushort_t_defined
#define __uint_t_defined
#define __ulong_t_defined
#define __offset_t_defined
#define offset_t own_offset_t
#include <rsmapi.h>

struct pollfd readable = {0, POLLRDNORM, 0};
char name[MAXNAMELEN];
