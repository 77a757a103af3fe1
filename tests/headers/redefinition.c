/* SPDX-License-Identifier: BSD-3-Clause */
/* Old programs define the permissions themselves, after including the header, and bring Solaris's
 * base types along: neither may be noticed (H-10). Nor may <rsmapi.h> and <rsm/rsmpai.h> disturb
 * each other. Compiled with every warning an error. */
#ifdef RSM_TEST_RSMPAI
#include <rsm/rsmpai.h>
#endif
#include <rsmapi.h>
#include <rsm/rsmpai.h>
#include <sys/rsm/rsm_common.h>
#include <sys/rsm/rsmapi_common.h>

/* clang-format off */
#define RSM_PERM_READ 0400
#define RSM_PERM_WRITE 0200
#define RSM_PERM_RDWR (RSM_PERM_READ|RSM_PERM_WRITE)
#define RSM_ACCESS_TRUSTED 0666
/* clang-format on */
#define MAXNAMELEN 256

/* Before C11 a type may not be defined twice; there the guards are what such a program has. */
#if __STDC_VERSION__ >= 201112L || defined(__cplusplus)
typedef unsigned int uint_t;
typedef unsigned long ulong_t;
typedef unsigned char uchar_t;
typedef unsigned short ushort_t;
#endif

struct pollfd readable = {0, POLLRDNORM, 0};
rsm_access_entry_t everybody = {0, RSM_ACCESS_TRUSTED};
rsmapi_access_entry_t *same_type = &everybody;
rsm_permission_t both = RSM_PERM_RDWR;
