/* SPDX-License-Identifier: BSD-3-Clause */
/* A mapping is memory: whatever stores to it, and whatever part of it is mapped. */
#include "litmus.h"

enum { WORD_GO, WORD_ACK, WORD_SUM, WORD_FROM, WORD_LENGTH, WORD_STOP };

static uint64_t hash(uint64_t sum, uint8_t byte)
{
    return (sum ^ byte) * UINT64_C(1099511628211);
}

/* On request the hash of part of the segment. */
static void sum_up(volatile uint8_t *segment, struct sync *sync)
{
    for (uint64_t request = 1;; request++) {
        AWAIT(atomic_load(&sync->word[WORD_GO]) == request || atomic_load(&sync->word[WORD_STOP]));
        if (atomic_load(&sync->word[WORD_STOP]))
            return;
        uint64_t sum = 0;
        size_t from = atomic_load(&sync->word[WORD_FROM]);
        size_t length = atomic_load(&sync->word[WORD_LENGTH]);
        for (size_t i = 0; i < length; i++)
            sum = hash(sum, segment[from + i]);
        atomic_store(&sync->word[WORD_SUM], sum);
        atomic_store(&sync->word[WORD_ACK], request);
    }
}

/* The segment has what `wanted` has, on the peer's side and in the mapping. */
static void compare(struct sync *sync, const volatile uint8_t *map, size_t offset,
                    const uint8_t *wanted, size_t length)
{
    uint64_t sum = 0, request = atomic_load(&sync->word[WORD_GO]) + 1;
    for (size_t i = 0; i < length; i++) {
        CHECK(map[i] == wanted[i]);
        sum = hash(sum, wanted[i]);
    }
    CHECK(bed_close() == 0);
    atomic_store(&sync->word[WORD_FROM], offset);
    atomic_store(&sync->word[WORD_LENGTH], length);
    atomic_store(&sync->word[WORD_GO], request);
    AWAIT(atomic_load(&sync->word[WORD_ACK]) == request);
    CHECK(atomic_load(&sync->word[WORD_SUM]) == sum);
}

static void finish(struct sync *sync, volatile uint8_t *map)
{
    atomic_store(&sync->word[WORD_STOP], 1);
    bed_unmap(map);
    bed_end();
}

/* ---------------------------------------------------------------- 8: functions of the C library */

enum { AREA = 20 * 4096 };

static void fill_string(char *string, size_t size, unsigned seed)
{
    for (size_t i = 0; i + 1 < size; i++)
        string[i] = (char)('a' + (i + seed) % 26);
    string[size - 1] = '\0';
}

static void library_functions(void)
{
    static const size_t sizes[] = {1,  2,  3,   5,   8,    15,   16,   17,    31,
                                   33, 64, 100, 255, 1000, 4096, 5000, 30000, 70000};
    static uint8_t wanted[AREA], source[AREA];
    struct sync *sync = bed_start(sum_up, 20);
    volatile uint8_t *map = bed_map(0, AREA, MAY_ALL);
    uint8_t *plain = (uint8_t *)(uintptr_t)map;
    unsigned dice = 1;
    for (size_t i = 0; i < AREA; i++)
        source[i] = (uint8_t)(i * 31 + i / 251);
    for (unsigned round = 0; round < 2 * 6 * 18; round++) {
        size_t size = sizes[round % (sizeof sizes / sizeof sizes[0])];
        if (mode_is("precise") && round / 18 % 6 == 2 && size > 10000)
            size = 10000; /* each piece of it waits for the one before to arrive */
        dice = dice * 1103515245u + 12345u;
        size_t to = dice / 7 % (AREA - size), from = dice / 3 % (AREA - size);
        switch (round / 18 % 6) {
        case 0:
            memset(plain + to, (int)round, size);
            memset(wanted + to, (int)round, size);
            break;
        case 1:
            memcpy(plain + to, source + from, size);
            memcpy(wanted + to, source + from, size);
            break;
        case 2: /* both in the mapping, and they may overlap */
            memmove(plain + to, plain + from, size);
            memmove(wanted + to, wanted + from, size);
            break;
        case 3: { /* out of the mapping */
            uint8_t *copy = malloc(size);
            memcpy(copy, plain + from, size);
            CHECK(memcmp(copy, wanted + from, size) == 0);
            free(copy);
            break;
        }
        case 4:
            fill_string((char *)source, size, round);
            strcpy((char *)plain + to, (char *)source);
            strcpy((char *)wanted + to, (char *)source);
            CHECK(strlen((char *)plain + to) == size - 1);
            break;
        default: /* of a large one some, for each store may be trapped */
            for (size_t i = 0; i < size; i += 1 + size / 1000)
                store8(map + to + i, wanted[to + i] = (uint8_t)(round + i));
        }
        if (round % 8 == 7)
            CHECK(bed_order() == 0);
    }
    compare(sync, map, 0, wanted, AREA);
    finish(sync, map);
}

/* ---------------------------------------------------------------- 9: instructions */

typedef void (*store_form)(volatile uint8_t *at);

/* Each is done to the mapping and to ordinary memory, which must be the same then. */
#if defined(__x86_64__)
#define FORM(name, instruction)                                                                    \
    static void name(volatile uint8_t *at)                                                         \
    {                                                                                              \
        __asm__ volatile(instruction                                                               \
                         :                                                                         \
                         : "b"(at)                                                                 \
                         : "rax", "rcx", "rdx", "rdi", "rsi", "xmm1", "memory", "cc");             \
    }
FORM(form_mov8, "movb $0x5a, (%0)")
FORM(form_mov16, "movw $0x5a5b, 2(%0)")
FORM(form_mov32, "movl $0x5a5b5c5d, 4(%0)")
FORM(form_mov64_imm, "movq $-3, 8(%0)")
FORM(form_mov64, "movabsq $0x1122334455667788, %%rax\n movq %%rax, 8(%0)")
FORM(form_high, "movl $0x4142, %%eax\n movb %%ah, 1(%0)")
FORM(form_index, "movl $5, %%ecx\n movl $0x77, %%edx\n movb %%dl, 3(%0,%%rcx,4)")
FORM(form_movnti, "movl $0x99887766, %%eax\n movnti %%eax, 16(%0)")
FORM(form_movaps, "movq %0, %%xmm1\n punpcklqdq %%xmm1, %%xmm1\n xorps %%xmm1, %%xmm1\n pcmpeqd "
                  "%%xmm1, %%xmm1\n movaps %%xmm1, 32(%0)")
FORM(form_movups, "pcmpeqd %%xmm1, %%xmm1\n psrld $7, %%xmm1\n movups %%xmm1, 49(%0)")
FORM(form_movq, "pcmpeqd %%xmm1, %%xmm1\n psrlw $3, %%xmm1\n movq %%xmm1, 72(%0)")
FORM(form_movd, "pcmpeqd %%xmm1, %%xmm1\n psrlw $5, %%xmm1\n movd %%xmm1, 84(%0)")
FORM(form_movntdq, "pcmpeqd %%xmm1, %%xmm1\n psllw $1, %%xmm1\n movntdq %%xmm1, 96(%0)")
FORM(form_movhps, "pcmpeqd %%xmm1, %%xmm1\n psllq $9, %%xmm1\n movhps %%xmm1, 112(%0)")
FORM(form_add, "addl $3, 120(%0)")
FORM(form_or_nothing, "orl $0, 124(%0)")
FORM(form_inc_locked, "lock incl 128(%0)")
FORM(form_xchg, "movl $0x31323334, %%eax\n xchgl %%eax, 132(%0)")
FORM(form_cmpxchg, "xorl %%eax, %%eax\n movl $7, %%ecx\n lock cmpxchgl %%ecx, 136(%0)")
FORM(form_xadd, "movl $9, %%ecx\n lock xaddl %%ecx, 140(%0)")
FORM(form_set, "cmpl %%eax, %%eax\n sete 144(%0)")
FORM(form_not, "notb 145(%0)")
FORM(form_bts, "lock btsl $3, 148(%0)")
FORM(form_stos, "leaq 160(%0), %%rdi\n movb $0x44, %%al\n movl $21, %%ecx\n rep stosb")
FORM(form_stosq, "leaq 200(%0), %%rdi\n movabsq $0x0102030405060708, %%rax\n stosq")
FORM(form_movs, "leaq 240(%0), %%rdi\n leaq 160(%0), %%rsi\n movl $3, %%ecx\n rep movsl")
FORM(form_movs_over, "leaq 301(%0), %%rdi\n leaq 300(%0), %%rsi\n movl $9, %%ecx\n movb $0x66, "
                     "300(%0)\n rep movsb")
FORM(form_movs_down, "leaq 340(%0), %%rdi\n leaq 168(%0), %%rsi\n movl $5, %%ecx\n std\n rep "
                     "movsb\n cld")
FORM(form_pop, "leaq -128(%%rsp), %%rsp\n pushq $0x55\n popq 400(%0)\n leaq 128(%%rsp), %%rsp")
FORM(form_fst, "fld1\n fstpl 408(%0)")
FORM(form_movbe_like, "movl $0x01020304, %%eax\n bswap %%eax\n movl %%eax, 416(%0)")
FORM(form_edge32, "movl $0xa1b2c3d4, 4094(%0)")
FORM(form_edge64, "movabsq $0x8877665544332211, %%rax\n movq %%rax, 8189(%0)")
FORM(form_edge_add, "addl $0x01010101, 4093(%0)")
FORM(form_edge_vector, "pcmpeqd %%xmm1, %%xmm1\n movdqu %%xmm1, 8185(%0)")

static void form_32_bit_address(volatile uint8_t *at)
{
    if ((uintptr_t)at >> 32 == 0)
        __asm__ volatile("movl $0x17, 420(%k0)" : : "r"(at) : "memory");
    else
        store32(at + 420, 0x17);
}

__attribute__((target("avx"))) static void form_avx(volatile uint8_t *at)
{
    __asm__ volatile("vpcmpeqd %%xmm1, %%xmm1, %%xmm1\n vinsertf128 $1, %%xmm1, %%ymm1, %%ymm1\n"
                     "vmovups %%ymm1, 440(%0)\n vmovntps %%ymm1, 480(%0)\n vzeroupper\n"
                     "vpcmpeqd %%xmm1, %%xmm1, %%xmm1\n vmovdqu %%xmm1, 513(%0)\n"
                     "vmovq %%xmm1, 536(%0)"
                     :
                     : "r"(at)
                     : "xmm1", "memory");
}

__attribute__((target("avx512f,avx512bw,avx512vl"))) static void form_avx512(volatile uint8_t *at)
{
    __asm__ volatile("vpternlogd $255, %%zmm17, %%zmm17, %%zmm17\n vpsrld $11, %%zmm17, %%zmm17\n"
                     "vmovdqu64 %%zmm17, 600(%0)\n vmovdqu8 %%ymm17, 670(%0)\n"
                     "vmovdqu32 %%xmm17, 710(%0)\n movl $0x5555, %%eax\n kmovw %%eax, %%k1\n"
                     "vmovdqu32 %%zmm17, 730(%0)%{%%k1%}\n vpxord %%zmm18, %%zmm18, %%zmm18\n"
                     "vmovdqa64 %%zmm18, %%zmm1\n vpternlogd $255, %%zmm1, %%zmm1, %%zmm1\n"
                     "vmovups %%zmm1, 4050(%0)\n vzeroupper"
                     :
                     : "r"(at)
                     : "rax", "xmm1", "memory");
}

static const store_form forms[] = {
    form_mov8,       form_mov16,    form_mov32,       form_mov64_imm,
    form_mov64,      form_high,     form_index,       form_movnti,
    form_movaps,     form_movups,   form_movq,        form_movd,
    form_movntdq,    form_movhps,   form_add,         form_or_nothing,
    form_inc_locked, form_xchg,     form_cmpxchg,     form_xadd,
    form_set,        form_not,      form_bts,         form_stos,
    form_stosq,      form_movs,     form_movs_over,   form_movs_down,
    form_pop,        form_fst,      form_movbe_like,  form_edge32,
    form_edge64,     form_edge_add, form_edge_vector, form_32_bit_address,
    form_avx,        form_avx512,
};

static bool has_form(store_form form)
{
    if (form == form_avx)
        return __builtin_cpu_supports("avx");
    return form != form_avx512 ||
           (__builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl"));
}

#elif defined(__aarch64__)

#define FORM(name, instruction)                                                                    \
    static void name(volatile uint8_t *at)                                                         \
    {                                                                                              \
        __asm__ volatile(instruction                                                               \
                         :                                                                         \
                         : "r"(at)                                                                 \
                         : "x9", "x10", "x11", "x12", "v1", "v2", "v3", "v4", "memory", "cc");     \
    }
FORM(form_byte, "mov w9, 0x5a\n strb w9, [%0]")
FORM(form_half, "mov w9, 0x5a5b\n strh w9, [%0, 2]")
FORM(form_word, "mov w9, 0x5c5d\n str w9, [%0, 4]")
FORM(form_double, "mov x9, -3\n str x9, [%0, 8]\n str xzr, [%0, 16]")
FORM(form_unscaled, "mov x9, 0x7f7e\n stur x9, [%0, 25]\n sturb w9, [%0, 33]")
FORM(form_index, "mov x9, 5\n mov w10, 0x77\n strb w10, [%0, x9]\n str w10, [%0, x9, lsl 2]")
FORM(form_index_32,
     "mov w9, -1\n mov x12, 99\n add x10, %0, 64\n str x12, [x10, w9, sxtw 3]\n mov w9, 3\n"
     "str w9, [x10, w9, uxtw 2]\n str xzr, [x10, w9, sxtw 3]")
FORM(form_before, "add x9, %0, 100\n mov w10, 0x1234\n str w10, [x9, 4]!\n str w10, [x9, 4]!")
FORM(form_after, "add x9, %0, 120\n mov x10, 0x4321\n str x10, [x9], -8\n strh w10, [x9], 2")
FORM(form_pair, "mov x9, 17\n mov x10, 18\n stp x9, x10, [%0, 128]\n stp w9, w10, [%0, 144]\n"
                "stnp x10, x9, [%0, 152]")
FORM(form_pair_before, "add x11, %0, 168\n mov x9, 19\n stp x9, x9, [x11, 8]!\n stp x9, x9, "
                       "[%0, 192]\n stp w9, wzr, [x11], 8")
FORM(form_vector, "movi v1.16b, 0x42\n str q1, [%0, 208]\n str d1, [%0, 224]\n str s1, [%0, 232]\n"
                  "str h1, [%0, 236]\n str b1, [%0, 238]\n stur q1, [%0, 241]")
FORM(form_vectors, "movi v1.16b, 0x43\n movi v2.8h, 0x44\n stp q1, q2, [%0, 272]\n stnp d2, d1, "
                   "[%0, 304]")
FORM(form_several, "movi v1.16b, 1\n movi v2.16b, 2\n movi v3.16b, 3\n movi v4.16b, 4\n"
                   "add x9, %0, 320\n st1 {v1.16b-v4.16b}, [x9], 64\n st1 {v1.8b}, [x9]")
FORM(form_in_turn, "movi v1.16b, 1\n movi v2.16b, 2\n movi v3.16b, 3\n movi v4.16b, 4\n"
                   "add x9, %0, 400\n st2 {v1.8h, v2.8h}, [x9], 32\n st3 {v1.8b-v3.8b}, [x9]\n"
                   "add x9, x9, 24\n st4 {v1.4s-v4.4s}, [x9]")
FORM(form_lane, "movi v1.16b, 0x61\n movi v2.8h, 0x62\n add x9, %0, 520\n st1 {v1.s}[2], [x9], 4\n"
                "st2 {v1.h, v2.h}[5], [x9]")
FORM(form_release, "mov w9, 0x55\n add x10, %0, 536\n stlr w9, [x10]\n stlrb w9, [%0]")
FORM(form_exclusive, "add x9, %0, 544\n 1: ldaxr w10, [x9]\n add w10, w10, 3\n"
                     "stlxr w11, w10, [x9]\n cbnz w11, 1b")
FORM(form_exclusive_pair, "add x9, %0, 560\n 1: ldxp x10, x11, [x9]\n add x10, x10, 5\n"
                          "stxp w12, x11, x10, [x9]\n cbnz w12, 1b")
FORM(form_zeros, "add x9, %0, 2048\n add x9, x9, 2048\n dc zva, x9")
FORM(form_edge_word, "mov w9, 0xa1b2\n add x10, %0, 4094\n str w9, [x10]")
FORM(form_edge_pair, "mov x9, 0x8877\n add x10, %0, 4085\n stp x9, x9, [x10]\n"
                     "add x10, %0, 8192\n stp x9, x9, [x10, -8]")
FORM(form_edge_vectors, "movi v1.16b, 0x71\n movi v2.16b, 0x72\n add x9, %0, 8192\n"
                        "sub x9, x9, 23\n st2 {v1.16b, v2.16b}, [x9]")

static const store_form forms[] = {
    form_byte,        form_half,      form_word,         form_double,         form_unscaled,
    form_index,       form_index_32,  form_before,       form_after,          form_pair,
    form_pair_before, form_vector,    form_vectors,      form_several,        form_in_turn,
    form_lane,        form_release,   form_exclusive,    form_exclusive_pair, form_zeros,
    form_edge_word,   form_edge_pair, form_edge_vectors,
};

static bool has_form(store_form form)
{
    (void)form;
    return true;
}
#endif

#if defined(__x86_64__) || defined(__aarch64__)
static void instructions(void)
{
    static _Alignas(4096) uint8_t wanted[3 * 4096];
    struct sync *sync = bed_start(sum_up, 3);
    volatile uint8_t *map = bed_map(0, 3 * PAGE, MAY_ALL);
    for (unsigned round = 0; round < 3; round++) {
        for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
            if (!has_form(forms[i]))
                continue;
            forms[i](wanted);
            forms[i](map);
            if (round == 1) /* each from a page that is not there */
                CHECK(bed_open() == 0);
            if (round == 2) /* each from a page that is only read */
                (void)(load8(map) + load8(map + PAGE) + load8(map + 2 * PAGE));
        }
        compare(sync, map, 0, wanted, sizeof wanted);
    }
    finish(sync, map);
}
#else
static void instructions(void)
{
    litmus_skip("written for x86-64 and arm64");
}
#endif

/* ---------------------------------------------------------------- 11: parts and several maps */

static void parts(void)
{
    static uint8_t wanted[4 * 4096];
    struct sync *sync = bed_start(sum_up, 6);
    volatile uint8_t *map = bed_map(2 * PAGE, PAGE + 100, MAY_ALL); /* page 2, and some of page 3 */
    for (size_t i = 0; i < PAGE + 100; i += 3)
        store8(map + i, wanted[PAGE + i] = (uint8_t)(i + 1));
    CHECK(bed_close() == 0);
    bed_unmap(map);
    map = bed_map(PAGE, 4 * PAGE, MAY_ALL);
    compare(sync, map, PAGE, wanted, sizeof wanted);
    finish(sync, map);
}

static void write_between(volatile uint8_t *segment, struct sync *sync)
{
    AWAIT(atomic_load(&sync->word[WORD_GO]) == 1);
    CHECK(load32(segment) == 5 && load32(segment + PAGE) == 6);
    store32(segment, 50);
    store32(segment + PAGE, 60);
    atomic_store(&sync->word[WORD_ACK], 1);
    AWAIT(atomic_load(&sync->word[WORD_GO]) == 2);
    CHECK(load32(segment) == 50 && load32(segment + PAGE) == 60);
}

/* Unmapping sends what was stored, and mapping again starts from what is there then. */
static void map_again(void)
{
    struct sync *sync = bed_start(write_between, 2);
    volatile uint8_t *map = bed_map(0, 2 * PAGE, MAY_ALL);
    (void)load32(map);
    for (unsigned i = 0; i < 100; i++)
        store32(map + PAGE, i);
    store32(map, 5);
    store32(map + PAGE, 6);
    bed_unmap(map);
    atomic_store(&sync->word[WORD_GO], 1);
    AWAIT(atomic_load(&sync->word[WORD_ACK]) == 1);
    map = bed_map(0, 2 * PAGE, MAY_ALL);
    CHECK(load32(map) == 50 && load32(map + PAGE) == 60);
    atomic_store(&sync->word[WORD_GO], 2);
    bed_unmap(map);
    bed_end();
}

static void two_maps(void)
{
    bed_start(NULL, 4);
    volatile uint8_t *first = bed_map(0, 3 * PAGE, MAY_ALL);
    volatile uint8_t *second = bed_map(PAGE, 3 * PAGE, MAY_ALL);
    for (uint32_t i = 1; i <= 300; i++) {
        store32(first + PAGE + 8, i);
        CHECK(load32(second + 8) == i);
        store32(second + PAGE + 8, i);
        CHECK(load32(first + 2 * PAGE + 8) == i);
        if (i % 50 == 0)
            CHECK(bed_close() == 0);
    }
    bed_unmap(first);
    store32(second, 9);
    CHECK(load32(second) == 9 && load32(second + 8) == 300);
    bed_unmap(second);
    bed_end();
}

/* ---------------------------------------------------------------- put and get beside a mapping */

static void put_and_get(void)
{
    bed_start(NULL, 4);
    volatile uint8_t *map = bed_map(0, 4 * PAGE, MAY_ALL);
    static uint8_t bytes[6000], back[6000];
    for (unsigned round = 1; round <= 20; round++) {
        memset(bytes, (int)round, sizeof bytes);
        (void)load8(map + 100);
        for (unsigned i = 0; i < 80; i++)
            store8(map + 20 + i, (uint8_t)(round + 100));
        CHECK(bed_put(100, bytes, sizeof bytes) == 0);
        CHECK(load8(map + 100) == round && load8(map + 6099) == round);
        CHECK(load8(map + 99) == round + 100);
        store8(map + 2000, 77);
        CHECK(bed_get(99, back, sizeof back) == 0);
        CHECK(back[0] == round + 100 && back[1] == round && back[2000 - 99] == 77);
    }
    /* Memory of the mapping as the other side of a transfer. */
    CHECK(bed_put(2 * PAGE, (const void *)(uintptr_t)(map + 50), 1000) == 0);
    CHECK(load8(map + 2 * PAGE + 49) == load8(map + 99));
    CHECK(bed_get(100, (void *)(uintptr_t)(map + 3 * PAGE), 3000) == 0);
    CHECK(load8(map + 3 * PAGE) == 20 && load8(map + 3 * PAGE + 1900) == 77);
    bed_unmap(map);
    bed_end();
}

const struct litmus litmus_memory[] = {
    {"library_functions", library_functions},
    {"instructions", instructions},
    {"parts", parts},
    {"map_again", map_again},
    {"two_maps", two_maps},
    {"put_and_get", put_and_get},
    {NULL, NULL},
};
