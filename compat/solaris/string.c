/* SPDX-License-Identifier: BSD-3-Clause */
/* Exported with every glibc, so that programs run with later ones than they were linked with. */
#include <string.h>

size_t strlcpy(char *dst, const char *src, size_t size)
{
    size_t length = strlen(src);
    if (size > 0) {
        size_t copied = length < size ? length : size - 1;
        memcpy(dst, src, copied);
        dst[copied] = '\0';
    }
    return length;
}

size_t strlcat(char *dst, const char *src, size_t size)
{
    size_t used = strnlen(dst, size);
    return used + strlcpy(dst + used, src, size - used);
}
