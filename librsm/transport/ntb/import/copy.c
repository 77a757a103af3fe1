/* SPDX-License-Identifier: BSD-3-Clause */
#include "transport/ntb/import/copy.h"

#include <stdbool.h>
#include <string.h>

#include "base/elements.h"

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

enum { WORD = 8, LINE = 64 };

/* The local side may be aligned to anything. */
static inline uint64_t load_local(const uint8_t *from)
{
    uint64_t word;
    __builtin_memcpy(&word, from, sizeof word);
    return word;
}

static inline void store_local(uint8_t *to, uint64_t word)
{
    __builtin_memcpy(to, &word, sizeof word);
}

/* Up to @p length bytes by single accesses, none wider than its alignment in the window. */
RACES_BY_DESIGN static void words_out(uint8_t *window, const uint8_t *from, size_t length)
{
    while (length > 0 && (uintptr_t)window % WORD != 0) {
        *(volatile uint8_t *)window++ = *from++;
        length--;
    }
    for (; length >= WORD; window += WORD, from += WORD, length -= WORD)
        *(volatile uint64_t *)(void *)window = load_local(from);
    for (; length > 0; length--)
        *(volatile uint8_t *)window++ = *from++;
}

RACES_BY_DESIGN static void words_in(uint8_t *to, const uint8_t *window, size_t length)
{
    while (length > 0 && (uintptr_t)window % WORD != 0) {
        *to++ = *(const volatile uint8_t *)window++;
        length--;
    }
    for (; length >= WORD; window += WORD, to += WORD, length -= WORD)
        store_local(to, *(const volatile uint64_t *)(const void *)window);
    for (; length > 0; length--)
        *to++ = *(const volatile uint8_t *)window++;
}

#if defined(__x86_64__)

RACES_BY_DESIGN static void lines_out(uint8_t *window, const uint8_t *from, size_t lines)
{
    for (; lines > 0; lines--, window += LINE, from += LINE) {
        const __m128i *source = (const void *)from;
        __m128i *target = (void *)window;
        __m128i a = _mm_loadu_si128(source), b = _mm_loadu_si128(source + 1);
        __m128i c = _mm_loadu_si128(source + 2), d = _mm_loadu_si128(source + 3);
        _mm_stream_si128(target, a);
        _mm_stream_si128(target + 1, b);
        _mm_stream_si128(target + 2, c);
        _mm_stream_si128(target + 3, d);
    }
}

__attribute__((target("avx"))) RACES_BY_DESIGN static void
lines_out_avx(uint8_t *window, const uint8_t *from, size_t lines)
{
    for (; lines > 0; lines--, window += LINE, from += LINE) {
        const __m256i *source = (const void *)from;
        __m256i *target = (void *)window;
        __m256i a = _mm256_loadu_si256(source), b = _mm256_loadu_si256(source + 1);
        _mm256_stream_si256(target, a);
        _mm256_stream_si256(target + 1, b);
    }
}

RACES_BY_DESIGN static void lines_in(uint8_t *to, const uint8_t *window, size_t lines)
{
    for (; lines > 0; lines--, window += LINE, to += LINE) {
        const __m128i *source = (const void *)window;
        __m128i *target = (void *)to;
        __m128i a = _mm_load_si128(source), b = _mm_load_si128(source + 1);
        __m128i c = _mm_load_si128(source + 2), d = _mm_load_si128(source + 3);
        _mm_storeu_si128(target, a);
        _mm_storeu_si128(target + 1, b);
        _mm_storeu_si128(target + 2, c);
        _mm_storeu_si128(target + 3, d);
    }
}

/* Of write-combining memory these loads fetch a whole line at once. */
__attribute__((target("sse4.1"))) RACES_BY_DESIGN static void
lines_in_streaming(uint8_t *to, const uint8_t *window, size_t lines)
{
    for (; lines > 0; lines--, window += LINE, to += LINE) {
        __m128i *source = (void *)(uintptr_t)window;
        __m128i *target = (void *)to;
        __m128i a = _mm_stream_load_si128(source), b = _mm_stream_load_si128(source + 1);
        __m128i c = _mm_stream_load_si128(source + 2), d = _mm_stream_load_si128(source + 3);
        _mm_storeu_si128(target, a);
        _mm_storeu_si128(target + 1, b);
        _mm_storeu_si128(target + 2, c);
        _mm_storeu_si128(target + 3, d);
    }
}

static void copy_lines_out(uint8_t *window, const uint8_t *from, size_t lines)
{
    if (__builtin_cpu_supports("avx"))
        lines_out_avx(window, from, lines);
    else
        lines_out(window, from, lines);
}

static void copy_lines_in(uint8_t *to, const uint8_t *window, size_t lines)
{
    if (__builtin_cpu_supports("sse4.1"))
        lines_in_streaming(to, window, lines);
    else
        lines_in(to, window, lines);
}

#elif defined(__aarch64__)

RACES_BY_DESIGN static void copy_lines_out(uint8_t *window, const uint8_t *from, size_t lines)
{
    for (; lines > 0; lines--, window += LINE, from += LINE) {
        uint8x16_t a = vld1q_u8(from), b = vld1q_u8(from + 16);
        uint8x16_t c = vld1q_u8(from + 32), d = vld1q_u8(from + 48);
        __asm__ volatile("stnp %q1, %q2, [%0]\n\tstnp %q3, %q4, [%0, #32]"
                         :
                         : "r"(window), "w"(a), "w"(b), "w"(c), "w"(d)
                         : "memory");
    }
}

RACES_BY_DESIGN static void copy_lines_in(uint8_t *to, const uint8_t *window, size_t lines)
{
    for (; lines > 0; lines--, window += LINE, to += LINE) {
        uint8x16_t a, b, c, d;
        __asm__ volatile("ldnp %q0, %q1, [%4]\n\tldnp %q2, %q3, [%4, #32]"
                         : "=&w"(a), "=&w"(b), "=&w"(c), "=&w"(d)
                         : "r"(window)
                         : "memory");
        vst1q_u8(to, a);
        vst1q_u8(to + 16, b);
        vst1q_u8(to + 32, c);
        vst1q_u8(to + 48, d);
    }
}

#else

static void copy_lines_out(uint8_t *window, const uint8_t *from, size_t lines)
{
    words_out(window, from, lines * LINE);
}

static void copy_lines_in(uint8_t *to, const uint8_t *window, size_t lines)
{
    words_in(to, window, lines * LINE);
}

#endif

/* Bytes in front of the first whole line of the window, at most @p length. */
static size_t head_of(const uint8_t *window, size_t length)
{
    size_t head = (LINE - (uintptr_t)window % LINE) % LINE;
    return head < length ? head : length;
}

/* One word, the usual message, takes a third of the instructions that it takes by way of the
 * rest. */
static inline bool is_word(const void *window, size_t length)
{
    return length == WORD && (uintptr_t)window % WORD == 0;
}

RACES_BY_DESIGN void ntb_copy_out(void *window, const void *from, size_t length)
{
    uint8_t *target = window;
    const uint8_t *source = from;
    if (is_word(window, length)) {
        *(volatile uint64_t *)window = load_local(source);
        return;
    }
    size_t head = length < LINE ? length : head_of(target, length);
    words_out(target, source, head);
    size_t lines = (length - head) / LINE, done = head + lines * LINE;
    if (lines > 0)
        copy_lines_out(target + head, source + head, lines);
    words_out(target + done, source + done, length - done);
}

RACES_BY_DESIGN void ntb_copy_in(void *to, const void *window, size_t length)
{
    uint8_t *target = to;
    const uint8_t *source = window;
    if (is_word(window, length)) {
        store_local(target, *(const volatile uint64_t *)window);
        return;
    }
    size_t head = length < LINE ? length : head_of(source, length);
    words_in(target, source, head);
    size_t lines = (length - head) / LINE, done = head + lines * LINE;
    if (lines > 0)
        copy_lines_in(target + head, source + head, lines);
    words_in(target + done, source + done, length - done);
}
