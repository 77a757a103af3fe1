/* SPDX-License-Identifier: BSD-3-Clause */
#include "cluster/munge.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Declarations of libmunge.so.2, whose header need not be installed. */
typedef struct munge_ctx *munge_context;
enum munge_option { OPTION_ENCODE_TIME = 6, OPTION_DECODE_TIME = 7, OPTION_SOCKET = 8 };
enum munge_result {
    RESULT_SUCCESS = 0,
    RESULT_BAD_CREDENTIAL = 8,
    RESULT_BAD_VERSION = 9,
    RESULT_INVALID = 14,
    RESULT_EXPIRED = 15,
    RESULT_REWOUND = 16,
    RESULT_REPLAYED = 17,
    RESULT_UNAUTHORIZED = 18,
};

struct rsmd_munge {
    const char *socket;
    munge_context (*create)(void);
    void (*destroy)(munge_context context);
    int (*set)(munge_context context, int option, ...);
    int (*get)(munge_context context, int option, ...);
    const char *(*explain)(munge_context context);
    const char *(*text)(int result);
    int (*encode)(char **credential, munge_context context, const void *payload, int length);
    int (*decode)(const char *credential, munge_context context, void **payload, int *length,
                  uid_t *uid, gid_t *gid);
};

/* ------------------------------------------------------------------ the library */

static bool find_functions(struct rsmd_munge *munge, void *library, char *why, size_t why_size)
{
    const struct {
        const char *name;
        void *place; /* of a pointer to a function */
    } wanted[] = {
        {"munge_ctx_create", &munge->create},    {"munge_ctx_destroy", &munge->destroy},
        {"munge_ctx_set", &munge->set},          {"munge_ctx_get", &munge->get},
        {"munge_ctx_strerror", &munge->explain}, {"munge_strerror", &munge->text},
        {"munge_encode", &munge->encode},        {"munge_decode", &munge->decode},
    };
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
        void *symbol = dlsym(library, wanted[i].name);
        if (symbol == NULL) {
            snprintf(why, why_size, "it has no %s", wanted[i].name);
            return false;
        }
        /* POSIX: a function's address from dlsym() has the representation of a pointer to it. */
        memcpy(wanted[i].place, &symbol, sizeof symbol);
    }
    return true;
}

struct rsmd_munge *rsmd_munge_load(const char *library, const char *socket, char *why,
                                   size_t why_size)
{
    /* Never closed: a thread may be running in it when the daemon ends. */
    void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    if (handle == NULL) {
        snprintf(why, why_size, "%s", dlerror());
        return NULL;
    }
    struct rsmd_munge *munge = calloc(1, sizeof *munge);
    if (munge == NULL) {
        snprintf(why, why_size, "out of memory");
        return NULL;
    }
    munge->socket = socket;
    if (find_functions(munge, handle, why, why_size))
        return munge;
    free(munge);
    return NULL;
}

void rsmd_munge_free(struct rsmd_munge *munge)
{
    free(munge);
}

/* One context for each call: a context keeps the error text, and threads must not share it. */
static munge_context begin(const struct rsmd_munge *munge, char *why, size_t why_size)
{
    munge_context context = munge->create();
    if (context == NULL) {
        snprintf(why, why_size, "out of memory");
        return NULL;
    }
    if (munge->socket[0] == '\0' || munge->set(context, OPTION_SOCKET, munge->socket) == 0)
        return context;
    snprintf(why, why_size, "munge-socket %s cannot be used", munge->socket);
    munge->destroy(context);
    return NULL;
}

/* ------------------------------------------------------------------ words */

static const char *details(const struct rsmd_munge *munge, munge_context context, int result)
{
    const char *text = munge->explain(context);
    return text != NULL ? text : munge->text(result);
}

/* The difference of the clocks, rounded, so that repeated attempts have the same text. */
static void distance(char *text, size_t size, time_t seconds)
{
    if (seconds < 0)
        seconds = -seconds;
    if (seconds < 120)
        snprintf(text, size, "2 minutes or less");
    else if (seconds < 7200)
        snprintf(text, size, "%ld minutes", (long)(seconds + 30) / 60);
    else
        snprintf(text, size, "%ld hours", (long)(seconds + 1800) / 3600);
}

static void explain_clock(const struct rsmd_munge *munge, munge_context context, bool early,
                          char *why, size_t why_size)
{
    time_t made = 0, checked = 0;
    char apart[32];
    munge->get(context, OPTION_ENCODE_TIME, &made);
    munge->get(context, OPTION_DECODE_TIME, &checked);
    distance(apart, sizeof apart, checked - made);
    if (early)
        snprintf(why, why_size, "it is from the future, its clock being %s ahead", apart);
    else
        snprintf(why, why_size,
                 "it has expired, its clock being %s behind or the network that slow", apart);
}

static enum rsmd_munge_verdict explain_decode(const struct rsmd_munge *munge, munge_context context,
                                              int result, char *why, size_t why_size)
{
    switch (result) {
    case RESULT_EXPIRED:
    case RESULT_REWOUND:
        explain_clock(munge, context, result == RESULT_REWOUND, why, why_size);
        return RSMD_MUNGE_BAD;
    case RESULT_REPLAYED:
        snprintf(why, why_size, "it was used before, in a replay");
        return RSMD_MUNGE_BAD;
    case RESULT_INVALID:
        snprintf(why, why_size, "the MUNGE keys of the two hosts differ");
        return RSMD_MUNGE_BAD;
    case RESULT_BAD_CREDENTIAL:
    case RESULT_BAD_VERSION:
        snprintf(why, why_size, "it is no MUNGE credential");
        return RSMD_MUNGE_BAD;
    case RESULT_UNAUTHORIZED:
        snprintf(why, why_size, "it is for another user to check");
        return RSMD_MUNGE_BAD;
    default:
        snprintf(why, why_size, "%s", details(munge, context, result));
        return RSMD_MUNGE_BROKEN;
    }
}

/* ------------------------------------------------------------------ credentials */

size_t rsmd_munge_encode(const struct rsmd_munge *munge, const void *payload, size_t length,
                         char *credential, size_t capacity, char *why, size_t why_size)
{
    char *made = NULL;
    size_t used = 0;
    munge_context context = begin(munge, why, why_size);
    if (context == NULL)
        return 0;
    int result = munge->encode(&made, context, payload, (int)length);
    if (result != RESULT_SUCCESS || made == NULL)
        snprintf(why, why_size, "%s", details(munge, context, result));
    else if ((used = strlen(made)) >= capacity)
        snprintf(why, why_size, "a credential of %zu bytes", used);
    else
        memcpy(credential, made, used + 1);
    free(made);
    munge->destroy(context);
    return used < capacity ? used : 0;
}

enum rsmd_munge_verdict rsmd_munge_decode(const struct rsmd_munge *munge, const char *credential,
                                          struct rsmd_munge_content *content, char *why,
                                          size_t why_size)
{
    void *payload = NULL;
    int length = 0;
    gid_t gid;
    enum rsmd_munge_verdict verdict = RSMD_MUNGE_GOOD;
    munge_context context = begin(munge, why, why_size);
    if (context == NULL)
        return RSMD_MUNGE_BROKEN;
    int result = munge->decode(credential, context, &payload, &length, &content->uid, &gid);
    if (result != RESULT_SUCCESS) {
        verdict = explain_decode(munge, context, result, why, why_size);
    } else if (length < 0 || (size_t)length > sizeof content->payload) {
        snprintf(why, why_size, "it carries %d bytes", length);
        verdict = RSMD_MUNGE_BAD;
    } else {
        content->length = (size_t)length;
        if (length > 0)
            memcpy(content->payload, payload, content->length);
    }
    free(payload);
    munge->destroy(context);
    return verdict;
}
