/* SPDX-License-Identifier: BSD-3-Clause */
/* The interface of libmunge.so.2, without cryptography: a credential is its payload in hexadecimal,
 * and everything else is what the test wants. */
#include "fake_munge.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <time.h>

#define PUBLIC __attribute__((visibility("default")))

struct munge_ctx {
    time_t encoded, decoded;
    char socket[128];
};

PUBLIC struct fake_munge fake_munge;
PUBLIC struct munge_ctx *munge_ctx_create(void);
PUBLIC void munge_ctx_destroy(struct munge_ctx *context);
PUBLIC int munge_ctx_set(struct munge_ctx *context, int option, ...);
PUBLIC int munge_ctx_get(struct munge_ctx *context, int option, ...);
PUBLIC const char *munge_ctx_strerror(struct munge_ctx *context);
PUBLIC const char *munge_strerror(int result);
PUBLIC int munge_encode(char **credential, struct munge_ctx *context, const void *payload,
                        int length);
PUBLIC int munge_decode(const char *credential, struct munge_ctx *context, void **payload,
                        int *length, uid_t *uid, gid_t *gid);

struct munge_ctx *munge_ctx_create(void)
{
    return calloc(1, sizeof(struct munge_ctx));
}

void munge_ctx_destroy(struct munge_ctx *context)
{
    free(context);
}

int munge_ctx_set(struct munge_ctx *context, int option, ...)
{
    va_list arguments;
    va_start(arguments, option);
    const char *path = va_arg(arguments, const char *);
    va_end(arguments);
    snprintf(context->socket, sizeof context->socket, "%s", path);
    return option == 8 ? 0 : 2;
}

int munge_ctx_get(struct munge_ctx *context, int option, ...)
{
    va_list arguments;
    va_start(arguments, option);
    *va_arg(arguments, time_t *) = option == 6 ? context->encoded : context->decoded;
    va_end(arguments);
    return 0;
}

const char *munge_ctx_strerror(struct munge_ctx *context)
{
    return context->socket[0] != '\0' ? "no munged at the socket given" : "no munged at all";
}

const char *munge_strerror(int result)
{
    return result == 0 ? "success" : "failure";
}

static void wait_while_it_hangs(void)
{
    const struct timespec moment = {.tv_nsec = 2000000};
    atomic_fetch_add(&fake_munge.inside, 1);
    while (atomic_load(&fake_munge.hangs) != 0)
        nanosleep(&moment, NULL);
    atomic_fetch_sub(&fake_munge.inside, 1);
}

int munge_encode(char **credential, struct munge_ctx *context, const void *payload, int length)
{
    wait_while_it_hangs();
    atomic_fetch_add(&fake_munge.encoded, 1);
    int result = atomic_load(&fake_munge.encode);
    *credential = result == 0 ? malloc(2 * (size_t)length + 1) : NULL;
    for (int i = 0; *credential != NULL && i < length; i++)
        sprintf(*credential + 2 * (size_t)i, "%02x", ((const unsigned char *)payload)[i]);
    return result;
}

int munge_decode(const char *credential, struct munge_ctx *context, void **payload, int *length,
                 uid_t *uid, gid_t *gid)
{
    wait_while_it_hangs();
    int call = atomic_fetch_add(&fake_munge.decoded, 1) + 1;
    int failing = atomic_load(&fake_munge.failing_decode);
    size_t size = strlen(credential) / 2;
    unsigned char *bytes = malloc(size + 1);
    for (size_t i = 0; bytes != NULL && i < size; i++) {
        char digits[3] = {credential[2 * i], credential[2 * i + 1], '\0'};
        bytes[i] = (unsigned char)strtoul(digits, NULL, 16);
    }
    *payload = bytes;
    *length = (int)size;
    *uid = (uid_t)atomic_load(&fake_munge.uid);
    *gid = 0;
    context->decoded = 1000000;
    context->encoded = context->decoded - atomic_load(&fake_munge.age);
    return failing == 0 || failing == call ? atomic_load(&fake_munge.decode) : 0;
}
