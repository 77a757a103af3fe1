/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * What goes wrong again and again, logged once. A few sentences are remembered; each is logged
 * again after an hour. A bucket bounds what strangers can make us write.
 */
#ifndef RSMD_COMMON_COMPLAINTS_H
#define RSMD_COMMON_COMPLAINTS_H

#include <stdbool.h>
#include <stdint.h>

enum {
    RSMD_COMPLAINTS_KNOWN = 4,
    RSMD_COMPLAINTS_AGAIN_MS = 3600 * 1000,
    RSMD_COMPLAINTS_BURST = 10, /* of a bucket, and so many a minute */
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

/** Buckets of many who can make us write. Few share one, and nobody can fill those of all. */
enum { RSMD_BUCKETS = 64 };
struct rsmd_buckets {
    struct rsmd_bucket bucket[RSMD_BUCKETS];
};

/** The bucket of a user of this host. */
struct rsmd_bucket *rsmd_bucket_of_user(struct rsmd_buckets *buckets, uint32_t uid);
/** That of everything that another node causes. */
struct rsmd_bucket *rsmd_bucket_of_node(struct rsmd_buckets *buckets, uint32_t node);
/** That of a sentence. */
struct rsmd_bucket *rsmd_bucket_of_text(struct rsmd_buckets *buckets, const char *text);

/** Whether a sentence is to be logged now, which is remembered. */
bool rsmd_complaint_is_new(struct rsmd_complaints *complaints, const char *text, int64_t now);

/** All is well again: whatever comes next is news. */
void rsmd_complaints_forget(struct rsmd_complaints *complaints);

/** Take one from the bucket. False: it is empty. *dropped: how many were refused before. */
bool rsmd_bucket_take(struct rsmd_bucket *bucket, int64_t now, unsigned *dropped);

#endif
