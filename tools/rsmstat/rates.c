/* SPDX-License-Identifier: BSD-3-Clause */
#include "collect.h"

enum { NS_PER_SECOND = 1000000000 };

static uint64_t carried(const struct snapshot *s, bool sent)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < s->link_count; i++)
        bytes += sent ? s->links[i].sent_bytes : s->links[i].received_bytes;
    return bytes;
}

/* Counters only grow, but a link may have been taken out of the daemon's list. */
static double rate(uint64_t now, uint64_t before, double seconds)
{
    return now > before ? (double)(now - before) / seconds : 0;
}

void snapshot_compare(struct snapshot *snapshot, const struct snapshot *before)
{
    struct rates *rates = &snapshot->rates;
    double seconds = (double)(snapshot->taken_ns - before->taken_ns) / NS_PER_SECOND;
    bool answered = snapshot->failure[0] == '\0' && before->failure[0] == '\0';
    bool same = snapshot->node == before->node && snapshot->pid == before->pid &&
                snapshot->totals.connects >= before->totals.connects &&
                snapshot->totals.events >= before->totals.events;
    if (!answered || !same || !(seconds > 0))
        return;
    rates->known = true;
    rates->connects = rate(snapshot->totals.connects, before->totals.connects, seconds);
    rates->events = rate(snapshot->totals.events, before->totals.events, seconds);
    rates->sent = rate(carried(snapshot, true), carried(before, true), seconds);
    rates->received = rate(carried(snapshot, false), carried(before, false), seconds);
}
