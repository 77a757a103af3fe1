/* SPDX-License-Identifier: BSD-3-Clause */
/* 9, 8: instructions whose operand is not just a register away, and what runs backwards. */
#include "litmus.h"

#if defined(__x86_64__)

enum { AREA = 3 * 4096 };

/* The segment must end up with what ordinary memory has after the same. */
static void check_same(volatile uint8_t *map, const uint8_t *wanted)
{
    static uint8_t back[AREA];
    for (size_t i = 0; i < AREA; i++)
        CHECK(load8(map + i) == wanted[i]);
    CHECK(bed_close() == 0);
    CHECK(bed_get(0, back, AREA) == 0 && memcmp(back, wanted, AREA) == 0);
}

/* ---------------------------------------------------------------- addresses */

static void by_segment(volatile uint8_t *at)
{
    __asm__ volatile("subq %%fs:0, %0\n movl $0x10203040, %%fs:16(%0)\n movb $0x51, %%fs:(%0)\n"
                     "movl $0x61626364, %%eax\n movl %%eax, %%fs:4090(%0)"
                     : "+r"(at)
                     :
                     : "rax", "memory", "cc");
}

static void by_stack_pointer(volatile uint8_t *at)
{
    __asm__ volatile("subq %%rsp, %0\n movl $0x71727374, 24(%%rsp,%0)\n movb $0x75, (%%rsp,%0)\n"
                     "movabsq $0x0807060504030201, %%rax\n movq %%rax, 4093(%%rsp,%0)"
                     : "+r"(at)
                     :
                     : "rax", "memory", "cc");
}

static void by_stack(volatile uint8_t *at)
{
    __asm__ volatile("leaq -128(%%rsp), %%rsp\n pushq $0x55\n popq 32(%0)\n pushq 32(%0)\n"
                     "popq 4092(%0)\n pushq 8191(%0)\n popq 48(%0)\n leaq 128(%%rsp), %%rsp"
                     :
                     : "b"(at)
                     : "memory", "cc");
}

/* The address of the function is read from there. */
static void by_call(volatile uint8_t *at)
{
    uint64_t address = 0;
    __asm__ volatile(
        "leaq -128(%%rsp), %%rsp\n leaq 1f(%%rip), %%rax\n movq %%rax, 64(%2)\n"
        "movq $3, %0\n callq *64(%2)\n jmp 2f\n 1: incq %0\n ret\n 2: movq $0, 64(%2)\n"
        "movq %0, 72(%1)\n leaq 128(%%rsp), %%rsp"
        : "=&r"(address)
        : "r"(at), "b"(at)
        : "rax", "memory", "cc");
}

/* ---------------------------------------------------------------- downwards */

static void downwards(volatile uint8_t *at)
{
    __asm__ volatile(
        "std\n leaq 4100(%0), %%rdi\n movl $7, %%ecx\n movl $0x0a0b0c0d, %%eax\n"
        "rep stosl\n leaq 8195(%0), %%rdi\n movl $50, %%ecx\n rep stosb\n"
        "leaq 8300(%0), %%rdi\n leaq 4104(%0), %%rsi\n movl $70, %%ecx\n rep movsw\n cld"
        :
        : "b"(at)
        : "rax", "rcx", "rdi", "rsi", "memory", "cc");
}

/* ---------------------------------------------------------------- more than one place at once */

static void by_mask(volatile uint8_t *at)
{
    __asm__ volatile("pcmpeqd %%xmm1, %%xmm1\n movdqa %%xmm1, %%xmm2\n psrlq $20, %%xmm2\n"
                     "psllw $7, %%xmm1\n leaq 100(%0), %%rdi\n maskmovdqu %%xmm2, %%xmm1\n"
                     "leaq 4090(%0), %%rdi\n maskmovdqu %%xmm2, %%xmm1"
                     :
                     : "b"(at)
                     : "rdi", "xmm1", "xmm2", "memory");
}

static void by_pair(volatile uint8_t *at)
{
    __asm__ volatile("movq $0, %%rax\n movq $0, %%rdx\n movq $5, %%rcx\n leaq 128(%0), %%rdi\n"
                     "movq $7, %%rbx\n lock cmpxchg16b (%%rdi)"
                     :
                     : "S"(at)
                     : "rax", "rbx", "rcx", "rdx", "rdi", "memory", "cc");
}

__attribute__((target("avx2"))) static void by_avx_mask(volatile uint8_t *at)
{
    __asm__ volatile("vpcmpeqd %%xmm1, %%xmm1, %%xmm1\n vpsllq $32, %%xmm1, %%xmm2\n"
                     "vpmaskmovd %%xmm1, %%xmm2, 160(%0)\n vpmaskmovd %%xmm1, %%xmm2, 8184(%0)"
                     :
                     : "r"(at)
                     : "xmm1", "xmm2", "memory");
}

__attribute__((target("avx512f"))) static void by_scatter(volatile uint8_t *at)
{
    static const int32_t where[16] = {0,    2000, 100,  1030, 1023, 1024, 2047, 2048,
                                      3000, 7,    2049, 600,  1025, 50,   2999, 51};
    __asm__ volatile("vmovdqu32 %1, %%zmm1\n vpslld $3, %%zmm1, %%zmm2\n movl $0xfbdf, %%eax\n"
                     "kmovw %%eax, %%k1\n vpscatterdd %%zmm2, (%0,%%zmm1,4)%{%%k1%}\n vzeroupper"
                     :
                     : "r"(at), "m"(where)
                     : "rax", "xmm1", "xmm2", "memory");
}

/* ---------------------------------------------------------------- the tests */

typedef void (*form)(volatile uint8_t *at);

static unsigned forms_here(form made[16])
{
    unsigned count = 0;
    made[count++] = by_segment;
    made[count++] = by_stack_pointer;
    made[count++] = by_stack;
    made[count++] = by_call;
    made[count++] = downwards;
    made[count++] = by_mask;
    made[count++] = by_pair;
    if (__builtin_cpu_supports("avx2"))
        made[count++] = by_avx_mask;
    if (__builtin_cpu_supports("avx512f"))
        made[count++] = by_scatter;
    return count;
}

/* Each to pages that are not there, that are only read, and that have a twin. */
static void operands(void)
{
    static _Alignas(4096) uint8_t wanted[AREA];
    form made[16];
    unsigned count = forms_here(made);
    bed_start(NULL, 3);
    volatile uint8_t *map = bed_map(0, AREA, MAY_ALL);
    for (unsigned round = 0; round < 3 * count; round++) {
        /* What is there matters to some, and is told from 0. */
        for (size_t i = 0; i < AREA; i++)
            wanted[i] = (uint8_t)(round * 77 + i * 13 + i / 256 + 1);
        memcpy((uint8_t *)(uintptr_t)map, wanted, AREA);
        if (round % 3 < 2)
            CHECK(bed_open() == 0);
        if (round % 3 == 1)
            (void)(load8(map) + load8(map + PAGE) + load8(map + 2 * PAGE));
        made[round / 3](wanted);
        made[round / 3](map);
        check_same(map, wanted);
    }
    bed_unmap(map);
    bed_end();
}

/* The mapping is where the program has a variable: instructions reach it from where they are. */
static _Alignas(4096) uint8_t variable[AREA];

static void store_to_variable(uint32_t value)
{
    __asm__ volatile("movl %1, %0" : "=m"(*(uint32_t *)(void *)&variable[40]) : "r"(value));
    __asm__ volatile("movb $0x42, %0" : "=m"(variable[4095]));
    __asm__ volatile("movw $0x4344, %0" : "=m"(*(uint16_t *)(void *)&variable[8191]));
    __asm__ volatile("addl $5, %0" : "+m"(*(uint32_t *)(void *)&variable[8200]));
}

static void variables(void)
{
    static uint8_t wanted[AREA];
    store_to_variable(1);
    memcpy(wanted, variable, AREA);
    bed_start(NULL, 3);
    volatile uint8_t *map = bed_map_at(variable, 0, AREA, MAY_ALL);
    CHECK(map == variable && load8(map + 4095) == 0);
    store_to_variable(1);
    check_same(map, wanted);
    CHECK(bed_open() == 0);
    store_to_variable(0x01020304);
    CHECK(load32(map + 40) == 0x01020304 && load32(map + 8200) == 10);
    bed_unmap(map);
    /* There must be memory again: whoever ends the process may look at its variables. */
    CHECK(mmap(variable, AREA, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
               0) == variable);
    bed_end();
}

#else /* of arm64 all are in instructions */
static void operands(void)
{
    litmus_skip("written for x86-64");
}

static void variables(void)
{
    litmus_skip("written for x86-64");
}
#endif

const struct litmus litmus_forms[] = {
    {"operands", operands},
    {"variables", variables},
    {NULL, NULL},
};
