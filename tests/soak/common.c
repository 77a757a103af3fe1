/* SPDX-License-Identifier: BSD-3-Clause */
#include "line.h"

struct soak *soak;

int64_t soak_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

void violation(const char *format, ...)
{
    va_list arguments;
    uint32_t number = atomic_fetch_add(&soak->violations, 1);
    if (number >= VIOLATIONS_MAX)
        return;
    va_start(arguments, format);
    vsnprintf(soak->texts[number], VIOLATION_TEXT, format, arguments);
    va_end(arguments);
    fprintf(stderr, "soak: violation: %s\n", soak->texts[number]);
}

void count(enum counted what, uint64_t more)
{
    atomic_fetch_add(&soak->counts[what], more);
}

uint32_t draw(uint64_t *seed, uint32_t below)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    return (uint32_t)(*seed >> 16) % below;
}

uint64_t soak_word(const struct round_header *header, uint64_t index)
{
    return (header->session << 40 ^ header->round << 20 ^ index) * 0x9e3779b97f4a7c15u;
}

uint64_t soak_sum(const struct round_header *header)
{
    return (header->session * 3 + header->round * 5 + header->events * 7) ^ 0x5eed5eed5eed5eedu;
}

bool line_is_troubled(const struct line *line, uint64_t deaths)
{
    int64_t died = atomic_load(&line->daemon_death_ns);
    return (deaths & 1) != 0 || atomic_load(&line->deaths) != deaths ||
           (died != 0 && soak_now_ns() - died < (int64_t)SOAK_GRACE_MS * 1000000);
}
