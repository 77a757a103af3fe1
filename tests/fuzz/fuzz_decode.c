/* SPDX-License-Identifier: BSD-3-Clause */
/* The decoder of store instructions against the processor. An input is an instruction and what the
 * registers hold. Whatever the bytes are, none is read beyond a page that the processor would not
 * have read; and what the decoder says the instruction stores is what it stores: it is executed,
 * and memory and registers afterwards are compared with those after mapping_retire(). */
#include <Zydis/Zydis.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "check.h"
#include "mapping/decode.h"
#include "fuzz.h"
#include "input.h"

enum {
    PAGE = 4096,
    SCRATCH = 2 * PAGE,
    GREGS = 16, /* gregs[0..15]: r8 to r15, then rdi to rsp */
    FLAGS = 0x8d5 | 0x400 /* DF */,
    FLAGS_ON = 0x202,
    STACK = 128 * 1024,
};

static struct trial {
    uint8_t *code;    /* two pages, and where the instruction begins */
    uint8_t *scratch; /* what registers point into */
    uint8_t before[SCRATCH], expected[SCRATCH];
    uint64_t gregs[GREGS];
    uint64_t flags;
    uintptr_t begin;
    bool started, willing;
    ucontext_t retired;    /* registers, as they should be afterwards */
    gregset_t interrupted; /* those of the fuzzer itself */
} trial;

/* ------------------------------------------------------------------ what should be */

static bool in_scratch(uintptr_t address, uint64_t length)
{
    uintptr_t start = (uintptr_t)trial.scratch;
    return address >= start && address - start < SCRATCH && length <= SCRATCH - (address - start);
}

/* Zydis's own idea of what the instruction would store to, if that is memory. */
static bool operand_address(const ucontext_t *context, uintptr_t *address)
{
    static const ZydisRegister names[] = {
        ZYDIS_REGISTER_R8,  ZYDIS_REGISTER_R9,  ZYDIS_REGISTER_R10, ZYDIS_REGISTER_R11,
        ZYDIS_REGISTER_R12, ZYDIS_REGISTER_R13, ZYDIS_REGISTER_R14, ZYDIS_REGISTER_R15,
        ZYDIS_REGISTER_RDI, ZYDIS_REGISTER_RSI, ZYDIS_REGISTER_RBP, ZYDIS_REGISTER_RBX,
        ZYDIS_REGISTER_RDX, ZYDIS_REGISTER_RAX, ZYDIS_REGISTER_RCX, ZYDIS_REGISTER_RSP};
    ZydisDecoder decoder;
    ZydisDecodedInstruction instruction;
    ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
    ZydisRegisterContext registers;
    ZyanU64 found;
    memset(&registers, 0, sizeof registers);
    for (unsigned i = 0; i < GREGS; i++) {
        uint64_t value = (uint64_t)context->uc_mcontext.gregs[i];
        registers.values[names[i]] = value;
        /* It looks up the register that is named, not the whole one. */
        registers.values[ZYDIS_REGISTER_EAX + ZydisRegisterGetId(names[i])] = (uint32_t)value;
    }
    ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
    if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, (const void *)trial.begin,
                                             ZYDIS_MAX_INSTRUCTION_LENGTH, &instruction,
                                             operands)) ||
        instruction.operand_count == 0 || operands[0].type != ZYDIS_OPERAND_TYPE_MEMORY ||
        !ZYAN_SUCCESS(ZydisCalcAbsoluteAddressEx(&instruction, &operands[0], trial.begin,
                                                 &registers, &found)))
        return false;
    *address = found;
    return true;
}

static void store(const struct mapping_store *decoded, uint64_t element)
{
    uintptr_t start = (uintptr_t)trial.scratch;
    const uint8_t *from = decoded->bytes;
    if (decoded->source != 0)
        from = trial.expected + (decoded->source + element * decoded->width - start);
    memmove(trial.expected + (decoded->address + element * decoded->width - start), from,
            decoded->width);
}

/* Decode, and note what memory and registers should become. True: it may be executed. */
static bool foresee(ucontext_t *context)
{
    struct mapping_store decoded;
    uintptr_t fault = 0;
    bool known = operand_address(context, &fault);
    bool stores = mapping_decode(context, fault, &decoded);
    bool atomic = mapping_is_atomic(context);
    if (!stores)
        return false;
    CHECK(known && !(atomic && decoded.elements != 1));
    CHECK(decoded.address == fault);
    CHECK(decoded.width >= 1 && decoded.width <= MAPPING_STORE_MAX && decoded.elements >= 1);
    CHECK(decoded.instruction >= 1 && decoded.instruction <= ZYDIS_MAX_INSTRUCTION_LENGTH);
    if (decoded.elements > SCRATCH / decoded.width ||
        !in_scratch(decoded.address, decoded.elements * decoded.width) ||
        (decoded.source != 0 && !in_scratch(decoded.source, decoded.elements * decoded.width)))
        return false;
    for (uint64_t i = 0; i < decoded.elements; i++)
        store(&decoded, i);
    trial.retired = *context;
    mapping_retire(&trial.retired, &decoded, decoded.elements);
    CHECK((uintptr_t)trial.retired.uc_mcontext.gregs[REG_RIP] == trial.begin + decoded.instruction);
    return true;
}

/* ------------------------------------------------------------------ what is */

static void back_to_the_fuzzer(ucontext_t *context)
{
    memcpy(context->uc_mcontext.gregs, trial.interrupted, sizeof trial.interrupted);
}

static void compare(const ucontext_t *context)
{
    const greg_t *is = context->uc_mcontext.gregs;
    const greg_t *should_be = trial.retired.uc_mcontext.gregs;
    CHECK(is[REG_RIP] == should_be[REG_RIP] + 1); /* behind the breakpoint */
    for (unsigned i = 0; i < GREGS; i++)
        CHECK(is[i] == should_be[i]);
    CHECK(((is[REG_EFL] ^ should_be[REG_EFL]) & FLAGS) == 0);
    CHECK(memcmp(trial.scratch, trial.expected, SCRATCH) == 0);
}

/* The first breakpoint is the fuzzer's own: from there on the registers are those of the input. The
 * second one stands behind the instruction. */
static void on_breakpoint(int signal, siginfo_t *info, void *argument)
{
    (void)signal, (void)info;
    ucontext_t *context = argument;
    if (trial.started) {
        compare(context);
        back_to_the_fuzzer(context);
        return;
    }
    trial.started = true;
    greg_t *gregs = context->uc_mcontext.gregs;
    memcpy(trial.interrupted, gregs, sizeof trial.interrupted);
    memcpy(gregs, trial.gregs, sizeof trial.gregs);
    gregs[REG_EFL] = (greg_t)trial.flags;
    gregs[REG_RIP] = (greg_t)trial.begin;
    trial.willing = foresee(context);
    CHECK(mprotect(trial.code, 2 * PAGE, PROT_READ | PROT_WRITE | PROT_EXEC) == 0);
    if (trial.willing)
        *(uint8_t *)trial.retired.uc_mcontext.gregs[REG_RIP] = 0xcc;
    else
        back_to_the_fuzzer(context);
}

/* This processor does not have the instruction, or refuses it for its alignment: then it would
 * never have come to a page fault. A page fault outside the scratch memory is what must not be. */
static void on_refusal(int signal, siginfo_t *info, void *argument)
{
    CHECK(trial.started && (signal == SIGILL || info->si_addr == NULL));
    back_to_the_fuzzer(argument);
}

static void start(void)
{
    static uint8_t stack[STACK];
    struct sigaction action = {.sa_flags = SA_SIGINFO | SA_ONSTACK};
    const stack_t alternate = {.ss_sp = stack, .ss_size = sizeof stack};
    trial.code = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE | PROT_EXEC,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    /* Where 32-bit addresses reach it, too. */
    trial.scratch =
        mmap(NULL, SCRATCH, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
    CHECK(trial.code != MAP_FAILED && trial.scratch != MAP_FAILED);
    CHECK(sigaltstack(&alternate, NULL) == 0);
    action.sa_sigaction = on_breakpoint;
    CHECK(sigaction(SIGTRAP, &action, NULL) == 0);
    action.sa_sigaction = on_refusal;
    CHECK(sigaction(SIGILL, &action, NULL) == 0 && sigaction(SIGSEGV, &action, NULL) == 0);
    mapping_vector_init();
}

/* ------------------------------------------------------------------ one input */

/* Mostly somewhere in the scratch memory, or a small number to be an index. */
static uint64_t register_make(struct input *in)
{
    unsigned form = input_u8(in);
    uint64_t middle = (uintptr_t)trial.scratch + SCRATCH / 2;
    if (form < 128)
        return middle + form * 8;
    return form < 240 ? form % 32 : input_u64(in);
}

/* Put the instruction near the end of a page, and the page behind it out of reach unless the
 * instruction goes on there. False: it would have no end. */
static bool place(struct input *in)
{
    uint8_t bytes[ZYDIS_MAX_INSTRUCTION_LENGTH];
    ZydisDecoder decoder;
    ZydisDecodedInstruction instruction;
    memset(bytes, 0x90, sizeof bytes);
    size_t before = 1 + input_below(in, 2 * ZYDIS_MAX_INSTRUCTION_LENGTH);
    input_bytes(in, bytes, sizeof bytes);
    trial.begin = (uintptr_t)trial.code + PAGE - before;
    memcpy((void *)trial.begin, bytes, sizeof bytes);
    ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
    size_t there = before < sizeof bytes ? before : sizeof bytes;
    ZyanStatus status = ZydisDecoderDecodeInstruction(&decoder, NULL, bytes, there, &instruction);
    if (status == ZYDIS_STATUS_NO_MORE_DATA)
        return before < sizeof bytes; /* the processor reads the next page as well */
    return mprotect(trial.code + PAGE, PAGE, PROT_NONE) == 0;
}

static void set_vectors(void)
{
    if (__builtin_cpu_supports("avx"))
        __asm__ volatile("vmovdqu (%0), %%ymm0\n\tvmovdqu 32(%0), %%ymm1\n\t"
                         "vmovdqu 64(%0), %%ymm7\n\tvmovdqu 96(%0), %%ymm15"
                         :
                         : "r"(trial.before)
                         : "xmm0", "xmm1", "xmm7", "xmm15");
    __asm__ volatile("int3"
                     :
                     :
                     : "memory", "cc", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6",
                       "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14",
                       "xmm15");
}

void fuzz_input(const uint8_t *data, size_t size)
{
    struct input in = {.at = data, .left = size};
    if (trial.code == NULL)
        start();
    uint32_t noise = 1;
    for (unsigned i = 0; i < SCRATCH; i++) {
        noise = noise * 1664525 + 1013904223;
        trial.before[i] = (uint8_t)(noise >> 24);
    }
    memcpy(trial.scratch, trial.before, SCRATCH);
    memcpy(trial.expected, trial.before, SCRATCH);
    bool sensible = place(&in);
    trial.flags = FLAGS_ON | (input_u64(&in) & FLAGS);
    for (unsigned i = 0; i < GREGS; i++)
        trial.gregs[i] = register_make(&in);
    trial.started = false;
    if (sensible)
        set_vectors();
    CHECK(mprotect(trial.code, 2 * PAGE, PROT_READ | PROT_WRITE | PROT_EXEC) == 0);
}
