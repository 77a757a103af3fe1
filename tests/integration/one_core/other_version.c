/* SPDX-License-Identifier: BSD-3-Clause */
/* A librsm.so.2 of another version, as far as its mapping engine asks for it. */
void rsmcore_log(void);

__attribute__((visibility("default"))) void rsmcore_log(void)
{
}
