/* SPDX-License-Identifier: BSD-3-Clause */
#include "ring.h"

#include <string.h>

bool ring_send(struct ring *ring, const void *message)
{
    uint64_t sent = atomic_load_explicit(&ring->sent, memory_order_relaxed);
    if (sent - atomic_load_explicit(&ring->received, memory_order_acquire) >= RING_SLOTS)
        return false;
    memcpy(ring->slots[sent % RING_SLOTS], message, RING_MESSAGE_BYTES);
    atomic_store_explicit(&ring->sent, sent + 1, memory_order_release);
    return true;
}

bool ring_receive(struct ring *ring, void *message)
{
    uint64_t received = atomic_load_explicit(&ring->received, memory_order_relaxed);
    if (atomic_load_explicit(&ring->sent, memory_order_acquire) == received)
        return false;
    memcpy(message, ring->slots[received % RING_SLOTS], RING_MESSAGE_BYTES);
    atomic_store_explicit(&ring->received, received + 1, memory_order_release);
    return true;
}
