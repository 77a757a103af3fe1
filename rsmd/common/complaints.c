/* SPDX-License-Identifier: BSD-3-Clause */
#include "common/complaints.h"

#include <string.h>

enum { MINUTE_MS = 60000 };

_Static_assert(RSMD_BUCKETS == 1 << (32 - 26), "bucket_of() finds all of them");

/* FNV-1a; 0 stands for an empty place. */
static uint64_t hash_of(const char *text)
{
    uint64_t hash = UINT64_C(14695981039346656037);
    for (; *text != '\0'; text++)
        hash = (hash ^ (unsigned char)*text) * UINT64_C(1099511628211);
    return hash != 0 ? hash : 1;
}

bool rsmd_complaint_is_new(struct rsmd_complaints *complaints, const char *text, int64_t now)
{
    uint64_t hash = hash_of(text);
    for (unsigned i = 0; i < RSMD_COMPLAINTS_KNOWN; i++) {
        if (complaints->known[i].hash != hash)
            continue;
        if (now - complaints->known[i].at < RSMD_COMPLAINTS_AGAIN_MS)
            return false;
        complaints->known[i].at = now;
        return true;
    }
    complaints->known[complaints->next].hash = hash;
    complaints->known[complaints->next].at = now;
    complaints->next = (complaints->next + 1) % RSMD_COMPLAINTS_KNOWN;
    return true;
}

void rsmd_complaints_forget(struct rsmd_complaints *complaints)
{
    memset(complaints, 0, sizeof *complaints);
}

bool rsmd_bucket_take(struct rsmd_bucket *bucket, int64_t now, unsigned *dropped)
{
    if (bucket->filled_at == 0 || now - bucket->filled_at >= MINUTE_MS) {
        bucket->filled_at = now;
        bucket->left = RSMD_COMPLAINTS_BURST;
    }
    if (bucket->left == 0) {
        bucket->dropped++;
        return false;
    }
    bucket->left--;
    *dropped = bucket->dropped;
    bucket->dropped = 0;
    return true;
}

/* A multiplier of Knuth's: it spreads consecutive numbers. */
static struct rsmd_bucket *bucket_of(struct rsmd_buckets *buckets, uint32_t number)
{
    return &buckets->bucket[(number * UINT32_C(2654435761)) >> 26];
}

struct rsmd_bucket *rsmd_bucket_of_user(struct rsmd_buckets *buckets, uint32_t uid)
{
    return bucket_of(buckets, uid);
}

struct rsmd_bucket *rsmd_bucket_of_node(struct rsmd_buckets *buckets, uint32_t node)
{
    return bucket_of(buckets, UINT32_MAX - node);
}

struct rsmd_bucket *rsmd_bucket_of_text(struct rsmd_buckets *buckets, const char *text)
{
    return bucket_of(buckets, (uint32_t)hash_of(text));
}
