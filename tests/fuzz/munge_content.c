/* SPDX-License-Identifier: BSD-3-Clause */
/* The interface of libmunge.so.2. A credential is a name for what is in it, which the fuzzer changes. */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <time.h>

#include "fuzz_munge.h"

#define PUBLIC __attribute__((visibility("default")))

struct munge_ctx;

PUBLIC struct munge_content munge_content;
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
    return malloc(1);
}

void munge_ctx_destroy(struct munge_ctx *context)
{
    free(context);
}

int munge_ctx_set(struct munge_ctx *context, int option, ...)
{
    (void)context, (void)option;
    return 0;
}

int munge_ctx_get(struct munge_ctx *context, int option, ...)
{
    va_list arguments;
    va_start(arguments, option);
    *va_arg(arguments, time_t *) = option == 6 ? munge_content.encoded : munge_content.decoded;
    va_end(arguments);
    return 0;
}

const char *munge_ctx_strerror(struct munge_ctx *context)
{
    return NULL;
}

const char *munge_strerror(int result)
{
    return result == 0 ? "success" : "failure";
}

int munge_encode(char **credential, struct munge_ctx *context, const void *payload, int length)
{
    munge_content = (struct munge_content){.length = (size_t)length};
    memcpy(munge_content.payload, payload, munge_content.length);
    *credential = strdup("MUNGE:content:");
    return *credential != NULL ? 0 : 1;
}

int munge_decode(const char *credential, struct munge_ctx *context, void **payload, int *length,
                 uid_t *uid, gid_t *gid)
{
    (void)credential, (void)context;
    *payload = munge_content.length > 0 ? malloc(munge_content.length) : NULL;
    if (*payload != NULL)
        memcpy(*payload, munge_content.payload, munge_content.length);
    *length = (int)munge_content.length;
    *uid = munge_content.uid;
    *gid = 0;
    return munge_content.result;
}
