/* SPDX-License-Identifier: BSD-3-Clause */
/* Loops that are carried out by the engine and by the processor: registers and memory must be the
 * same afterwards. The loops are put together at random, of instructions that the engine knows and
 * some that it does not; where it stops the processor goes on. */
#include <signal.h>
#include <sys/mman.h>

#include "cases.h"
#include "mapping/decode.h"
#include "mapping/loop.h"
#include "mapping/mapping_internal.h"
#include "mapping/x86.h"

enum { AREA = 64 * 4096, CODE = 1024, PIECES = 8, TIMES = 40, VECTOR = 64 };
enum { MANY_TIMES = 1000, MANY_PIECES = 2 };

/* ---------------------------------------------------------------- pieces of code */

#define PIECE(name, text)                                                                          \
    extern const uint8_t piece_##name[], piece_##name##_end[];                                     \
    __asm__(".pushsection .rodata\n piece_" #name ":\n" text "\n piece_" #name                     \
            "_end:\n .popsection\n")

/* rdi and rdx: where to store, upward and downward; rsi and rcx: where to load. r15 counts. */
PIECE(store8, "movq %rax, (%rdi)\n addq $8, %rdi");
PIECE(store4, "movl %r9d, (%rdi)\n addq $4, %rdi");
PIECE(store2, "movw %r10w, (%rdi)\n addq $2, %rdi");
PIECE(store1, "movb %r11b, (%rdi)\n incq %rdi");
PIECE(store1_low, "movb %sil, (%rdi)\n incq %rdi");
PIECE(store1_high, "movb %ah, (%rdi)\n incq %rdi");
PIECE(store_number, "movq $-77, (%rdi)\n movw $0x1234, 8(%rdi)\n addq $10, %rdi");
PIECE(store_index, "xorl %r13d, %r13d\n movq %r8, 8(%rdi,%r13,4)\n movq %r8, (%rdi,%r13,2)\n"
                   "leaq 16(%rdi,%r13), %rdi");
PIECE(store_direct, "movnti %rbx, (%rdi)\n addq $8, %rdi");
PIECE(store_down, "subq $8, %rdx\n movq %rax, (%rdx)");
PIECE(store_over, "movq %rax, -3(%rdi)\n addq $5, %rdi");
PIECE(store_ahead, "movq %rax, 64(%rdi)\n addq $8, %rdi");
PIECE(copy8, "movq (%rsi), %rax\n movq %rax, (%rdi)\n addq $8, %rsi\n addq $8, %rdi");
PIECE(copy4, "movl (%rsi), %eax\n movl %eax, (%rdi)\n leaq 4(%rsi), %rsi\n leaq 4(%rdi), %rdi");
PIECE(copy1, "movzbl (%rsi), %r8d\n movb %r8b, (%rdi)\n incq %rsi\n incq %rdi");
PIECE(copy2, "movzwl (%rsi), %ebx\n movw %bx, (%rdi)\n subq $-2, %rsi\n subq $-2, %rdi");
PIECE(copy16, "movups (%rsi), %xmm3\n movups %xmm3, (%rdi)\n addq $16, %rsi\n addq $16, %rdi");
PIECE(copy_whole, "movdqu (%rsi), %xmm9\n movdqu 16(%rsi), %xmm10\n movdqu %xmm9, (%rdi)\n"
                  "movdqu %xmm10, 16(%rdi)\n addq $32, %rsi\n addq $32, %rdi");
PIECE(copy_down, "movdqu -16(%rcx), %xmm9\n movdqu %xmm9, -16(%rdx)\n subq $16, %rcx\n"
                 "subq $16, %rdx");
PIECE(aligned, "addq $63, %rdi\n andq $-64, %rdi\n movdqa %xmm4, (%rdi)\n movntdq %xmm5, 16(%rdi)\n"
               "addq $32, %rdi");
PIECE(vex16, "vmovdqu (%rsi), %xmm5\n vmovups %xmm5, (%rdi)\n addq $16, %rsi\n addq $16, %rdi");
PIECE(vex32, "vmovdqu (%rsi), %ymm6\n vmovdqu %ymm6, (%rdi)\n addq $32, %rsi\n addq $32, %rdi");
PIECE(vex_down, "vmovdqu -32(%rcx), %ymm7\n vmovdqu %ymm7, -32(%rdx)\n addq $-32, %rcx\n"
                "addq $-32, %rdx");
PIECE(vex_aligned, "addq $31, %rdi\n andq $-32, %rdi\n vmovdqa %ymm8, (%rdi)\n addq $32, %rdi");
PIECE(evex32, "vmovdqu64 (%rsi), %ymm18\n vmovdqu64 %ymm18, (%rdi)\n addq $32, %rsi\n"
              "addq $32, %rdi");
PIECE(evex64, "vmovdqu64 (%rsi), %zmm17\n vmovdqu8 %zmm17, (%rdi)\n addq $64, %rsi\n"
              "addq $64, %rdi");
PIECE(evex_low, "vmovups (%rsi), %zmm2\n vmovups %zmm2, (%rdi)\n addq $64, %rsi\n addq $64, %rdi");
PIECE(evex_masked, "movl $0x5a5a, %r8d\n kmovw %r8d, %k1\n vmovdqu32 (%rsi), %zmm19{%k1}\n"
                   "vmovdqu32 (%rsi), %zmm20{%k1}{z}");
PIECE(add, "addq %rbx, %rax\n addl %r9d, %r10d");
PIECE(subtract, "subq %r11, %rbx\n subl $1000, %r9d");
PIECE(bits, "andq %r12, %r11\n orl $0x700, %r11d\n xorq %rax, %r12\n testq %rax, %rax");
PIECE(count, "incl %r8d\n decq %rbx");
PIECE(carry, "addq %rax, %r8\n incq %r9\n jnc 1f\n addq $3, %r10\n 1: decl %r12d\n jb 2f\n"
             "incq %r11\n 2:");
PIECE(signs,
      "cmpq %rax, %rbx\n jle 1f\n addq $7, %r8\n 1: cmpl %r9d, %r10d\n jg 2f\n subq $5, %r9\n"
      "2: jo 3f\n incq %r11\n 3: jns 4f\n incq %r12\n 4: jp 5f\n incq %r10\n 5:");
PIECE(orders,
      "cmpq %r11, %r12\n jbe 1f\n addq %r12, %r11\n 1: cmpl $0x7fffffff, %eax\n jae 2f\n"
      "movl $5, %r12d\n 2: jl 3f\n movq %rbx, %rax\n 3: jne 4f\n nop\n 4: jmp 5f\n ud2\n 5:");
PIECE(moves,
      "movl %eax, %ebx\n movq $-5, %r8\n movabsq $0x123456789abcdef, %r12\n xchg %rax, %rax");
PIECE(addresses, "leal 7(%rax,%rbx,4), %r9d\n leaq piece_add(%rip), %r10\n leaq (,%r11,8), %r8");
PIECE(hints, "prefetcht0 512(%rsi)\n nopw 8(%rax,%rax)\n endbr64\n prefetchnta (%rsi)");
/* Loops that are steady, with what they store. */
PIECE(fill8, "movq %rax, (%rdi)\n addq %rbx, %rax\n addq $8, %rdi");
PIECE(fill4, "movl %eax, (%rdi)\n incl %eax\n addq $4, %rdi");
PIECE(fill2, "movw %ax, (%rdi)\n leal -3(%rax), %eax\n leaq 2(%rdi), %rdi");
PIECE(fill1, "movb %r9b, (%rdi)\n subq $7, %r9\n incq %rdi");
PIECE(fill_down, "subq $8, %rdx\n movq %r9, (%rdx)\n leaq (%r9,%rbx,2), %r9");
PIECE(fill16, "movups %xmm4, (%rdi)\n movups %xmm5, 16(%rdi)\n addq $32, %rdi");
PIECE(fill16_down, "movups %xmm4, -16(%rdx)\n subq $16, %rdx");
PIECE(fill_index, "movq %rax, (%rdi,%r13,8)\n addq $1, %r13\n leaq (%r13,%r13,2), %rax");
PIECE(fill_pointer, "movq piece_source(%rip), %r8\n leaq 5(%r8,%r13), %r8\n movq %r8, (%rdi)\n"
                    "incq %r13\n addq $8, %rdi");
PIECE(doubled, "addq %r9, %r9\n movq %r9, (%rdi)\n addq $8, %rdi");
PIECE(swapped, "movups (%rsi), %xmm3\n movups 16(%rsi), %xmm4\n movups %xmm4, (%rdi)\n"
               "movups %xmm3, 16(%rdi)\n addq $32, %rsi\n addq $32, %rdi");
PIECE(late, "movq %r10, (%rdi)\n movq (%rsi), %r10\n addq $8, %rsi\n addq $8, %rdi");
PIECE(apart, "movq %rax, (%rdi)\n addq $16, %rdi");
PIECE(copy_index, "movq (%rsi,%r13,8), %rbx\n movq %rbx, (%rdi,%r13,8)\n incq %r13");
PIECE(copy_more, "movq (%rsi), %rbx\n movq %rbx, (%rdi)\n addq $16, %rsi\n addq $8, %rdi");
PIECE(copy_aligned, "movdqa (%r12), %xmm8\n movdqu %xmm8, (%rdi)\n addq $16, %r12\n"
                    "addq $16, %rdi");
PIECE(source, ".quad 0x0123456789abcdef");

/* What ends a loop, but for the branch; r15 counts, to r14. */
PIECE(end_dec, "decq %r15");
PIECE(end_dec4, "decl %r15d");
PIECE(end_sub, "subq $1, %r15");
PIECE(end_add, "addq $-1, %r15");
PIECE(end_lea, "leaq -1(%r15), %r15\n testq %r15, %r15");
PIECE(end_up, "addq $3, %r15\n cmpq %r14, %r15");
PIECE(end_up4, "addl $3, %r15d\n cmpl %r14d, %r15d");
PIECE(end_up_one, "incq %r15\n cmpq %r14, %r15");
PIECE(end_up_late, "cmpq %r15, %r14\n leaq 3(%r15), %r15");
PIECE(end_down, "subq $5, %r15\n cmpq %r14, %r15");
PIECE(end_carry_kept, "subq $5, %r15\n cmpq %r14, %r15\n incq %r8");
PIECE(end_carry, "addq %rbx, %rax\n decq %r15");

PIECE(unknown, "bswapq %rax\n imulq $77, %rbx, %rbx\n rolq $9, %r12");
PIECE(unknown_vector, "paddb %xmm3, %xmm9\n pxor %xmm10, %xmm3");
PIECE(unknown_load, "addq (%rsi), %r11\n cmpq %rax, 8(%rsi)\n movw (%rsi), %r8w");

enum needs { ANY, AVX, AVX512 };

static const struct piece {
    const uint8_t *from, *end;
    enum needs needs;
} pieces[] = {
#define P(name)                                                                                    \
    {                                                                                              \
        piece_##name, piece_##name##_end, ANY                                                      \
    }
#define V(name, needs)                                                                             \
    {                                                                                              \
        piece_##name, piece_##name##_end, needs                                                    \
    }
    P(store8),
    P(store4),
    P(store2),
    P(store1),
    P(store1_low),
    P(store1_high),
    P(store_number),
    P(store_index),
    P(store_direct),
    P(store_down),
    P(store_over),
    P(store_ahead),
    P(copy8),
    P(copy4),
    P(copy1),
    P(copy2),
    P(copy16),
    P(copy_whole),
    P(copy_down),
    P(add),
    P(subtract),
    P(bits),
    P(count),
    P(carry),
    P(signs),
    P(orders),
    P(moves),
    P(addresses),
    P(hints),
    P(unknown),
    P(unknown_vector),
    P(unknown_load),
    V(vex16, AVX),
    V(vex32, AVX),
    V(vex_down, AVX),
    V(evex32, AVX512),
    V(evex64, AVX512),
    V(evex_low, AVX512),
    V(evex_masked, AVX512),
    P(aligned),
    V(vex_aligned, AVX),
};
enum { COUNT = sizeof pieces / sizeof pieces[0] };

static const struct piece steady[] = {
    P(fill8),         P(fill4),          P(fill2),          P(fill1),      P(fill_down),
    P(fill16),        P(fill16_down),    P(fill_index),     P(doubled),    P(fill_pointer),
    P(swapped),       P(late),           P(apart),          P(copy_index), P(copy_more),
    P(copy_aligned),  P(copy8),          P(copy4),          P(copy1),      P(copy2),
    P(copy16),        P(copy_whole),     P(copy_down),      V(vex16, AVX), V(vex32, AVX),
    V(vex_down, AVX), V(evex32, AVX512), V(evex64, AVX512), P(store8),     P(store_number),
    P(store_down),    P(count),          P(hints)};
enum { STEADY = sizeof steady / sizeof steady[0] };

/* The numbers of the processor's conditions. */
enum {
    BELOW = 2,
    NOT_BELOW,
    ZERO,
    NOT_ZERO,
    NOT_ABOVE,
    ABOVE,
    SIGN,
    NO_SIGN,
    LESS = 12,
    NOT_LESS,
    NOT_GREATER,
    GREATER
};

/* A loop that goes round @p times times has @p step for each between r15 and r14. */
static const struct ending {
    struct piece piece;
    uint8_t condition;
    int step;
} endings[] = {{P(end_dec), NOT_ZERO, -1},   {P(end_dec), GREATER, -1},
               {P(end_dec), NO_SIGN, -1},    {P(end_dec4), NOT_ZERO, -1},
               {P(end_dec4), GREATER, -1},   {P(end_sub), NOT_ZERO, -1},
               {P(end_sub), ABOVE, -1},      {P(end_sub), NOT_BELOW, -1},
               {P(end_sub), NO_SIGN, -1},    {P(end_add), BELOW, -1},
               {P(end_add), GREATER, -1},    {P(end_lea), NOT_ZERO, -1},
               {P(end_lea), GREATER, -1},    {P(end_up), BELOW, 3},
               {P(end_up), LESS, 3},         {P(end_up), NOT_ABOVE, 3},
               {P(end_up), NOT_GREATER, 3},  {P(end_up), SIGN, 3},
               {P(end_up4), BELOW, 3},       {P(end_up4), NOT_GREATER, 3},
               {P(end_up_one), NOT_ZERO, 1}, {P(end_up_late), ABOVE, 3},
               {P(end_up_late), GREATER, 3}, {P(end_down), ABOVE, -5},
               {P(end_down), NOT_BELOW, -5}, {P(end_down), NOT_LESS, -5},
               {P(end_down), GREATER, -5},   {P(end_carry_kept), NOT_BELOW, -5},
               {P(end_carry), NOT_ZERO, -1}};
enum { ENDINGS = sizeof endings / sizeof endings[0] };

static bool have(enum needs needs)
{
    return needs == ANY || (needs == AVX && __builtin_cpu_supports("avx2")) ||
           (needs == AVX512 && __builtin_cpu_supports("avx512vl") &&
            __builtin_cpu_supports("avx512bw"));
}

/* ---------------------------------------------------------------- the world */

static uint32_t dice = 1;

static uint32_t roll(uint32_t sides)
{
    dice = dice * 1664525u + 1013904223u;
    return (dice >> 8) % sides;
}

/* What a loop begins and ends with. */
struct state {
    uint64_t reg[16], flags;
    uint8_t vector[32][VECTOR];
};

static uint8_t *code, *target, *source; /* the latter two between pages that are not there */
static struct state first, last, saved;
static uint64_t saved_rip;
static struct mapping_loop *loop;
static bool inside;
static uint64_t runs, taken;
static uint32_t patience; /* stores that the sink takes, 0: all */

bool mapping_view_shows(uintptr_t from, size_t length)
{
    return from < (uintptr_t)target + AREA && from + length > (uintptr_t)target;
}

/* The memory of the target is elsewhere, as that of a segment is. */
static uint8_t segment[AREA];
static uint32_t left;

bool mapping_loop_take(struct mapping_loop_sink *sink, uintptr_t address, const void *bytes,
                       size_t length)
{
    (void)sink;
    size_t at = address - (uintptr_t)target;
    if (at >= AREA || length > AREA - at || (patience > 0 && left-- == 0))
        return false;
    memcpy(segment + at, bytes, length);
    return true;
}

static uint64_t at_once; /* bytes */

/* As much as fits, or less. */
void *mapping_loop_room(struct mapping_loop_sink *sink, uintptr_t address, size_t *length,
                        bool down)
{
    uintptr_t from = address - (uintptr_t)target, to = from + *length;
    (void)sink;
    if (patience > 0 || roll(8) == 0)
        return NULL;
    if (down) {
        from = from < to ? from : 0;
        from += roll(2) == 0 ? roll((uint32_t)(to - from)) : 0;
    } else {
        to = to < AREA ? to : AREA;
        to -= roll(2) == 0 ? roll((uint32_t)(to - from)) : 0;
    }
    *length = to - from;
    return segment + from;
}

void mapping_loop_took(struct mapping_loop_sink *sink, size_t length)
{
    (void)sink;
    at_once += length;
}

static void get_state(const ucontext_t *context, struct state *state)
{
    for (unsigned i = 0; i < 16; i++) {
        state->reg[i] = (uint64_t)context->uc_mcontext.gregs[mapping_x86_greg[i]];
        (void)mapping_vector_whole(context, i, state->vector[i]);
        (void)mapping_vector_whole(context, i + 16, state->vector[i + 16]);
    }
    state->flags =
        (uint64_t)context->uc_mcontext.gregs[REG_EFL] & 0x8c5; /* not that of half bytes */
}

static void set_state(ucontext_t *context, const struct state *state)
{
    for (unsigned i = 0; i < 32; i++) {
        uint8_t now[VECTOR];
        size_t length = mapping_vector_whole(context, i, now);
        if (length > 0)
            mapping_vector_change(context, i, length, state->vector[i]);
        if (i < 16 && i != 4) /* the stack stays where it is */
            context->uc_mcontext.gregs[mapping_x86_greg[i]] = (greg_t)state->reg[i];
    }
}

static void on_end(int signal, siginfo_t *info, void *argument)
{
    ucontext_t *context = argument;
    (void)signal, (void)info;
    if (!inside) {
        get_state(context, &saved);
        saved_rip = (uint64_t)context->uc_mcontext.gregs[REG_RIP];
        set_state(context, &first);
        context->uc_mcontext.gregs[REG_RIP] = (greg_t)code;
    } else {
        get_state(context, &last);
        last.reg[4] = 0;
        set_state(context, &saved);
        context->uc_mcontext.gregs[REG_RIP] = (greg_t)saved_rip + 2; /* behind the ud2 */
    }
    inside = !inside;
}

/* The one store that a loop stops at is made by hand. */
static void store_once(ucontext_t *context, uintptr_t address)
{
    struct mapping_store store;
    if (!inside || !mapping_decode(context, address, &store))
        abort();
    memcpy(segment + (store.address - (uintptr_t)target), store.bytes, store.width);
    mapping_retire(context, &store, 1);
}

static void on_fault(int signal, siginfo_t *info, void *argument)
{
    ucontext_t *context = argument;
    (void)signal;
    if (!inside || (uintptr_t)info->si_addr - (uintptr_t)target >= AREA)
        abort();
    left = patience > 0 ? roll(patience) : 0;
    struct mapping_loop_run run = mapping_loop_run(loop, context, NULL);
    runs++;
    taken += run.stores;
    if (run.stores == 0)
        store_once(context, (uintptr_t)info->si_addr);
}

__attribute__((noinline)) static void enter(void)
{
    __asm__ volatile("ud2" ::: "memory");
}

static uint8_t *between_nothing(void)
{
    uint8_t *all = mmap(NULL, AREA + 8192, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(all, MAP_FAILED);
    assert_int_equal(mprotect(all + 4096, AREA, PROT_READ | PROT_WRITE), 0);
    return all + 4096;
}

static void make_world(void)
{
    struct sigaction end = {.sa_sigaction = on_end, .sa_flags = SA_SIGINFO};
    struct sigaction fault = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};
    assert_int_equal(sigaction(SIGILL, &end, NULL), 0);
    assert_int_equal(sigaction(SIGSEGV, &fault, NULL), 0); /* cmocka has its own for each case */
    if (loop != NULL)
        return;
    mapping_vector_init();
    code = mmap(NULL, CODE, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(code, MAP_FAILED);
    target = between_nothing();
    source = between_nothing();
    loop = calloc(1, mapping_loop_bytes());
    assert_non_null(loop);
}

/* ---------------------------------------------------------------- one loop, both ways */

static size_t append(size_t at, const uint8_t *from, const uint8_t *end)
{
    assert_true(at + (size_t)(end - from) < CODE - 16);
    memcpy(code + at, from, (size_t)(end - from));
    return at + (size_t)(end - from);
}

/* The branch to the beginning, and ud2. */
static void end_code(size_t at, uint8_t condition)
{
    static const uint8_t stop[] = {0x0f, 0x0b};
    const uint8_t branch[] = {0x0f, 0x80 | condition};
    at = append(at, branch, branch + sizeof branch);
    int32_t back = -(int32_t)(at + 4);
    memcpy(code + at, &back, sizeof back);
    (void)append(at + 4, stop, stop + sizeof stop);
}

static void prepare(unsigned times)
{
    uint8_t *bytes = (uint8_t *)&first;
    for (size_t i = 0; i < sizeof first; i++)
        bytes[i] = (uint8_t)roll(256);
    for (size_t i = 0; i < AREA; i += sizeof(uint64_t)) {
        uint64_t word = (roll(1u << 24) + UINT64_C(1)) * UINT64_C(0x9e3779b97f4a7c15);
        memcpy(source + i, &word, sizeof word);
    }
    first.reg[7] = (uintptr_t)target + 512 + roll(8192);           /* rdi */
    first.reg[2] = (uintptr_t)target + AREA - 64 - 32 * roll(200); /* rdx */
    first.reg[6] = (uintptr_t)source + roll(2 * 4096);             /* rsi */
    first.reg[1] = (uintptr_t)source + AREA - 32 * roll(200);      /* rcx */
    first.reg[15] = times;
}

static void run(bool engine, struct state *state, uint8_t *memory)
{
    memset(segment, 0x5a, AREA);
    assert_int_equal(mprotect(target, AREA, PROT_READ | PROT_WRITE), 0);
    memset(target, 0x5a, AREA);
    if (engine)
        assert_int_equal(mprotect(target, AREA, PROT_NONE), 0);
    enter();
    *state = last;
    memcpy(memory, engine ? segment : target, AREA);
}

static void compare(void)
{
    static struct state by_processor, carried_out;
    static uint8_t wanted[AREA], found[AREA];
    run(false, &by_processor, wanted);
    run(true, &carried_out, found);
    assert_memory_equal(found, wanted, AREA);
    assert_memory_equal(carried_out.reg, by_processor.reg, sizeof by_processor.reg);
    assert_int_equal(carried_out.flags, by_processor.flags);
    assert_memory_equal(carried_out.vector, by_processor.vector, sizeof by_processor.vector);
}

static const struct piece *any_piece(const struct piece *from, size_t count)
{
    const struct piece *piece;
    do
        piece = &from[roll((uint32_t)count)];
    while (!have(piece->needs));
    return piece;
}

TEST_ALONE(as_the_processor_does)
{
    make_world();
    for (unsigned round = 0; round < 3000; round++) {
        size_t at = 0;
        for (unsigned i = 1 + roll(PIECES); i > 0; i--) {
            const struct piece *piece = any_piece(pieces, COUNT);
            at = append(at, piece->from, piece->end);
        }
        end_code(append(at, piece_end_dec, piece_end_dec_end), NOT_ZERO);
        prepare(1 + roll(TIMES));
        patience = roll(3) == 0 ? 1 + roll(200) : 0;
        compare();
    }
    assert_true(taken > runs * 3);
}

/* Counters begin on either side of 0, and of where 4 bytes end. */
static void prepare_steady(const struct ending *ending, unsigned times)
{
    static const int64_t from[] = {0, -1500, INT32_MAX - 1500, UINT32_MAX - INT64_C(1500), 1 << 20};
    prepare(times);
    if (ending->step != -1) {
        int64_t near = from[roll(5)], end = near + (int64_t)times * ending->step;
        first.reg[15] = (uint64_t)near;
        first.reg[14] = (uint64_t)end;
    }
    first.reg[13] = 0;
    first.reg[0] = roll(2) == 0 ? UINT32_MAX - roll(2000) : first.reg[0];
    first.reg[3] = roll(3) == 0 ? roll(100) : first.reg[3];
    first.reg[12] = (uintptr_t)source + 16 * roll(500);
    patience = roll(8) == 0 ? 1 + roll(200) : 0;
}

TEST_ALONE(many_rounds_at_once_are_as_many_alone)
{
    uint64_t loops_at_once = 0;
    make_world();
    for (unsigned round = 0; round < 2000; round++) {
        const struct ending *ending = &endings[roll(ENDINGS)];
        uint64_t before = at_once;
        size_t at = 0;
        for (unsigned i = 1 + roll(MANY_PIECES); i > 0; i--) {
            const struct piece *piece = any_piece(steady, STEADY);
            at = append(at, piece->from, piece->end);
        }
        end_code(append(at, ending->piece.from, ending->piece.end), ending->condition);
        prepare_steady(ending, 1 + roll(MANY_TIMES));
        compare();
        loops_at_once += at_once > before;
    }
    assert_true(loops_at_once > 500);
}
