/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Log repeated complaints once. A few sentences are remembered; each is logged again after an hour.
 * A bucket bounds the lines that others can cause.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum {
    RSMD_COMPLAINTS_KNOWN = 4,
    RSMD_COMPLAINTS_AGAIN_MS = 3600 * 1000,
    RSMD_COMPLAINTS_BURST = 10, /* of a bucket, which gets as many a minute */
};

struct rsmd_complaints {
    unsigned next;
    struct {
        uint64_t hash;
        int64_t at; /* milliseconds */
    } known[RSMD_COMPLAINTS_KNOWN];
};

struct rsmd_bucket {
    int64_t filled_at; /* milliseconds */
    unsigned left;
    unsigned dropped;
};

/** Buckets for many users or nodes. Few share one, and none can empty those of all. */
enum { RSMD_BUCKETS = 64 };
struct rsmd_buckets {
    struct rsmd_bucket bucket[RSMD_BUCKETS];
};

/** The bucket of a user of this host. */
struct rsmd_bucket *rsmd_bucket_of_user(struct rsmd_buckets *buckets, uint32_t uid);
/** The bucket of all that another node causes. */
struct rsmd_bucket *rsmd_bucket_of_node(struct rsmd_buckets *buckets, uint32_t node);
/** The bucket of a sentence. */
struct rsmd_bucket *rsmd_bucket_of_text(struct rsmd_buckets *buckets, const char *text);

/** Whether a sentence is to be logged now. It is remembered. */
bool rsmd_complaint_is_new(struct rsmd_complaints *complaints, const char *text, int64_t now);

/** Forget all sentences, after a success: the next complaint is new. */
void rsmd_complaints_forget(struct rsmd_complaints *complaints);

/** Take one from the bucket. False: it is empty. *dropped: how many were refused before. */
bool rsmd_bucket_take(struct rsmd_bucket *bucket, int64_t now, unsigned *dropped);
