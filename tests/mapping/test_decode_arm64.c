/* SPDX-License-Identifier: BSD-3-Clause */
/* The decoder of store instructions against the processor, or what emulates it. Each instruction
 * stores to memory that is refused; what the decoder says of it there is compared with what memory
 * and registers are after it has been let through. */
#include "cases.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include "mapping/decode.h"

enum {
    SCRATCH = 192 * 1024,
    MIDDLE = 64 * 1024, /* offsets reach 64 KiB up, and not that far down */
    STACK = 128 * 1024,
    REGISTERS = 31,
    BASE = 5,
    SECOND = 10, /* where the fields of the instruction begin */
    FIELD = 31,
};

#define BREAKPOINT UINT32_C(0xd4200000)

/* Where sums of two pointers into it, and multiples of one, reach nothing that is there. */
#define SCRATCH_AT ((uint8_t *)UINT64_C(0x200000000))

enum outcome { NO_STORE, NOT_DECODED, DECODED };

static struct trial {
    uint32_t *code;
    uint8_t *scratch;
    uint8_t before[SCRATCH], expected[SCRATCH];
    uint64_t registers[REGISTERS], stack_pointer;
    ucontext_t retired; /* as it should be afterwards */
    mcontext_t test;    /* the test's own registers */
    enum outcome outcome;
    bool started, atomic, store_reported;
    const char *wrong;
    unsigned short seed[3];
} trial = {.seed = {3, 1, 4}};

#define EXPECT(condition)                                                                          \
    do {                                                                                           \
        if (!(condition) && trial.wrong == NULL)                                                   \
            trial.wrong = #condition;                                                              \
    } while (0)

static uint64_t random_below(uint64_t limit)
{
    return (uint64_t)nrand48(trial.seed) % limit;
}

/* ------------------------------------------------------------------ one instruction */

static void back_to_the_test(ucontext_t *context)
{
    mcontext_t *now = &context->uc_mcontext;
    memcpy(now->regs, trial.test.regs, sizeof now->regs);
    now->sp = trial.test.sp;
    now->pc = trial.test.pc + sizeof(uint32_t);
    now->pstate = trial.test.pstate;
}

static void start(ucontext_t *context)
{
    mcontext_t *now = &context->uc_mcontext;
    trial.started = true;
    memcpy(trial.test.regs, now->regs, sizeof now->regs);
    trial.test.sp = now->sp;
    trial.test.pc = now->pc;
    trial.test.pstate = now->pstate;
    memcpy(now->regs, trial.registers, sizeof trial.registers);
    now->sp = trial.stack_pointer;
    now->pc = (uintptr_t)trial.code;
}

static void compare(const mcontext_t *is)
{
    const mcontext_t *should_be = &trial.retired.uc_mcontext;
    EXPECT(is->pc == should_be->pc);
    EXPECT(is->sp == should_be->sp);
    EXPECT(is->pstate == should_be->pstate);
    EXPECT(memcmp(is->regs, should_be->regs, sizeof trial.registers) == 0);
    EXPECT(memcmp(trial.scratch, trial.expected, SCRATCH) == 0);
}

static void on_breakpoint(int signal, siginfo_t *info, void *argument)
{
    (void)signal, (void)info;
    ucontext_t *context = argument;
    if (!trial.started) {
        start(context);
        return;
    }
    if (trial.outcome == DECODED)
        compare(&context->uc_mcontext);
    back_to_the_test(context);
}

static bool in_scratch(uintptr_t address, uint64_t length)
{
    uintptr_t from = address - (uintptr_t)trial.scratch;
    return from < SCRATCH && length <= SCRATCH - from;
}

static void foresee(ucontext_t *context, uintptr_t fault)
{
    struct mapping_store store;
    trial.outcome = NOT_DECODED;
    trial.atomic = mapping_is_atomic(context);
    trial.store_reported = mapping_is_store(context, true);
    EXPECT(mapping_instruction(context) == (uintptr_t)trial.code);
    if (!mapping_decode(context, fault, &store))
        return;
    EXPECT(!trial.atomic);
    EXPECT(store.width >= 1 && store.width <= MAPPING_STORE_MAX && store.source == 0);
    EXPECT(in_scratch(store.address, store.width * store.elements));
    if (trial.wrong != NULL)
        return;
    trial.outcome = DECODED;
    for (uint64_t i = 0; i < store.elements; i++)
        memcpy(trial.expected + (store.address - (uintptr_t)trial.scratch) + i * store.width,
               store.bytes, store.width);
    trial.retired = *context;
    mapping_retire(&trial.retired, &store, store.elements);
}

/* An instruction that is not known, or not here, and one that reaches beyond, ends the trial. */
static void on_refusal(int signal, siginfo_t *info, void *argument)
{
    ucontext_t *context = argument;
    uintptr_t fault = (uintptr_t)info->si_addr;
    if (signal == SIGSEGV && trial.outcome == NO_STORE && in_scratch(fault, 1))
        foresee(context, fault);
    if (trial.outcome != DECODED || signal != SIGSEGV) {
        back_to_the_test(context);
        return;
    }
    EXPECT(mprotect(trial.scratch, SCRATCH, PROT_READ | PROT_WRITE) == 0);
}

/* Vectors of 16 bytes, and of as many as this processor has; predicates with one stretch of active
 * elements (the first four) and with any. */
#define VECTORS                                                                                    \
    "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v8", "v9", "v10", "v11", "v12", "v13", "v14", \
        "v15", "v16", "v17", "v18", "v19", "v20", "v21", "v22", "v23", "v24", "v25", "v26", "v27", \
        "v28", "v29", "v30", "v31"

static bool has_scalable(void)
{
    return (getauxval(AT_HWCAP) & HWCAP_SVE) != 0;
}

static void execute_with_vectors(const uint8_t *vectors)
{
    __asm__ volatile(
        ".irp n,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,"
        "28,29,30,31\n ldr q\\n, [%0, 16 * \\n]\n .endr\n brk 0"
        :
        : "r"(vectors)
        : "memory", "cc", VECTORS);
}

static void execute_with_scalable(const uint8_t *vectors)
{
    uint64_t count = 1 + random_below(20), other = random_below(8);
    __asm__ volatile(
        ".arch_extension sve\n .irp n,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,"
        "20,21,22,23,24,25,26,27,28,29,30,31\n ldr z\\n, [%0, \\n, mul vl]\n .endr\n"
        "ptrue p0.b\n whilelo p1.b, xzr, %1\n whilelo p2.b, xzr, %2\n"
        "whilelo p3.b, xzr, %2\n bic p3.b, p0/z, p1.b, p3.b\n ldr p4, [%0]\n"
        "ldr p5, [%0, 1, mul vl]\n ldr p6, [%0, 2, mul vl]\n pfalse p7.b\n brk 0"
        :
        : "r"(vectors), "r"(count), "r"(other)
        : "memory", "cc", VECTORS);
}

__attribute__((noinline)) static void execute(void)
{
    enum { LARGEST = 256 };
    static _Alignas(16) uint8_t vectors[32 * LARGEST];
    for (size_t i = 0; i < sizeof vectors; i++)
        vectors[i] = (uint8_t)random_below(256);
    if (has_scalable())
        execute_with_scalable(vectors);
    else
        execute_with_vectors(vectors);
}

/* Mostly somewhere near the middle, of any alignment, or a small number to be an index, which may
 * be negative in its lower half. */
static uint64_t some_value(void)
{
    uint64_t form = random_below(256), middle = (uintptr_t)trial.scratch + MIDDLE;
    if (form < 160)
        return middle + random_below(256) - 128;
    if (form < 216)
        return random_below(64);
    if (form < 248)
        return (random_below(2) << 32) | (UINT32_MAX - random_below(64));
    return (uint64_t)nrand48(trial.seed) << 33 ^ (uint64_t)nrand48(trial.seed);
}

static void set_code(uint32_t word)
{
    trial.code[0] = word;
    trial.code[1] = BREAKPOINT;
    __builtin___clear_cache((char *)trial.code, (char *)(trial.code + 2));
}

/* Half of the scratch memory may be writable, so that a store is refused in its middle. */
static enum outcome try(uint32_t word)
{
    set_code(word);
    for (unsigned i = 0; i < REGISTERS; i++)
        trial.registers[i] = some_value();
    trial.stack_pointer = (uintptr_t)trial.scratch + MIDDLE + 16 * random_below(16) - 128;
    assert_int_equal(mprotect(trial.scratch, SCRATCH, PROT_READ | PROT_WRITE), 0);
    memcpy(trial.scratch, trial.before, SCRATCH);
    memcpy(trial.expected, trial.before, SCRATCH);
    size_t from = random_below(2) != 0 ? MIDDLE : 0;
    assert_int_equal(mprotect(trial.scratch + from, SCRATCH - from, PROT_READ), 0);
    trial.started = false;
    trial.outcome = NO_STORE;
    execute();
    if (trial.wrong != NULL)
        fail_msg("%08x: %s", word, trial.wrong);
    return trial.outcome;
}

/* cmocka has handlers of its own before each case. */
static void prepare(void)
{
    static uint8_t stack[STACK];
    const stack_t alternate = {.ss_sp = stack, .ss_size = sizeof stack};
    struct sigaction action = {.sa_flags = SA_SIGINFO | SA_ONSTACK};
    assert_int_equal(sigaltstack(&alternate, NULL), 0);
    action.sa_sigaction = on_breakpoint;
    assert_int_equal(sigaction(SIGTRAP, &action, NULL), 0);
    action.sa_sigaction = on_refusal;
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(sigaction((int[]){SIGSEGV, SIGILL, SIGBUS}[i], &action, NULL), 0);
    if (trial.code != NULL)
        return;
    trial.code =
        mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    trial.scratch = mmap(SCRATCH_AT, SCRATCH, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    assert_ptr_not_equal(trial.code, MAP_FAILED);
    assert_ptr_equal(trial.scratch, SCRATCH_AT);
    for (unsigned i = 0; i < SCRATCH; i++)
        trial.before[i] = (uint8_t)random_below(256);
    mapping_vector_init();
}

/* ------------------------------------------------------------------ forms */

/* The bits of an instruction from the highest down; what is not 0 or 1 may be either. */
struct form {
    const char *name, *bits;
};

static const struct form stores[] = {
    {"STR, offset", "??11100100iiiiiiiiiiiinnnnnttttt"},
    {"STR of a vector, offset", "??11110100iiiiiiiiiiiinnnnnttttt"},
    {"STR of a whole vector, offset", "0011110110iiiiiiiiiiiinnnnnttttt"},
    {"STUR", "??111000000iiiiiiiii00nnnnnttttt"},
    {"STUR of a vector", "??111100000iiiiiiiii00nnnnnttttt"},
    {"STUR of a whole vector", "00111100100iiiiiiiii00nnnnnttttt"},
    {"STR, before and after", "??111000000iiiiiiiii?1nnnnnttttt"},
    {"STR of a vector, before and after", "??111100000iiiiiiiii?1nnnnnttttt"},
    {"STR of a whole vector, before and after", "00111100100iiiiiiiii?1nnnnnttttt"},
    {"STTR", "??111000000iiiiiiiii10nnnnnttttt"},
    {"STR, register", "??111000001mmmmm?1?s10nnnnnttttt"},
    {"STR of a vector, register", "??111100001mmmmm?1?s10nnnnnttttt"},
    {"STR of a whole vector, register", "00111100101mmmmm?1?s10nnnnnttttt"},
    {"STP, STNP", "?010100??0iiiiiiisssssnnnnnttttt"},
    {"STP of vectors", "0?10110??0iiiiiiisssssnnnnnttttt"},
    {"STP of whole vectors", "1010110??0iiiiiiisssssnnnnnttttt"},
    {"STLR, STLLR", "??00100010011111?11111nnnnnttttt"},
    {"STLUR", "??011001000iiiiiiiii00nnnnnttttt"},
    {"ST4", "0?001100000000000000??nnnnnttttt"},
    {"ST1 of four", "0?001100000000000010??nnnnnttttt"},
    {"ST3", "0?001100000000000100??nnnnnttttt"},
    {"ST1 of three", "0?001100000000000110??nnnnnttttt"},
    {"ST1", "0?001100000000000111??nnnnnttttt"},
    {"ST2", "0?001100000000001000??nnnnnttttt"},
    {"ST1 of two", "0?001100000000001010??nnnnnttttt"},
    {"ST4, after", "0?001100100mmmmm0000??nnnnnttttt"},
    {"ST1 of four, after", "0?001100100mmmmm0010??nnnnnttttt"},
    {"ST3, after", "0?001100100mmmmm0100??nnnnnttttt"},
    {"ST1, after", "0?001100100mmmmm0111??nnnnnttttt"},
    {"ST2, after", "0?001100100mmmmm1000??nnnnnttttt"},
    {"ST1 of two, after", "0?001100100mmmmm1010??nnnnnttttt"},
    {"ST1 to ST4, one element", "0?00110100?00000??????nnnnnttttt"},
    {"ST1 to ST4, one element, after", "0?00110110?mmmmm??????nnnnnttttt"},
    {"DC ZVA", "110101010000101101110100001ttttt"},
    {NULL, NULL},
};

/* The predicate is one of those that have one stretch. */
static const struct form scalable[] = {
    {"ST1B to ST1D, vectors away", "1110010????0iiii1110??nnnnnttttt"},
    {"ST1B to ST1D, register", "1110010????mmmmm0100??nnnnnttttt"},
    {"STR of a scalable vector", "1110010110iiiiii010iiinnnnnttttt"},
    {NULL, NULL},
};

/* What also reads, loads, and what nobody compiles. */
static const struct form atomics[] = {
    {"STXR, STLXR", "??001000000sssss?11111nnnnnttttt"},
    {"STXP, STLXP", "1?001000001sssss?22222nnnnnttttt"},
    {"CAS", "??0010001?1sssss?11111nnnnnttttt"},
    {"CASP", "0?0010000?1sssss?11111nnnnnttttt"},
    {"LDADD to LDUMIN", "??111000??1sssss0???00nnnnnttttt"},
    {"SWP", "??111000??1sssss100000nnnnnttttt"},
    {NULL, NULL},
};
static const struct form others[] = {
    {"LDR, offset", "??11100101iiiiiiiiiiiinnnnnttttt"},
    {"LDRS and PRFM", "??1110011?iiiiiiiiiiiinnnnnttttt"},
    {"LDR of a vector", "??111101?1iiiiiiiiiiiinnnnnttttt"},
    {"LDUR", "??111000010iiiiiiiii??nnnnnttttt"},
    {"LDP", "??101?0??1iiiiiiisssssnnnnnttttt"},
    {"STGP", "0110100??0iiiiiiisssssnnnnnttttt"},
    {"STG", "11011001??1iiiiiiiii??nnnnnttttt"},
    {"LDAR", "??001000110sssss?22222nnnnnttttt"},
    {"LDXR", "??001000010sssss?22222nnnnnttttt"},
    {"LD1", "0?001100?10mmmmm??????nnnnnttttt"},
    {"LD1, one element", "0?001101?1?mmmmm??????nnnnnttttt"},
    {"DC CVAC", "110101010000101101111010001ttttt"},
    {"ADD", "?0001011000mmmmm000000nnnnnddddd"},
    {NULL, NULL},
};

static uint32_t some_instruction(const struct form *form)
{
    uint32_t word = 0;
    assert_int_equal(strlen(form->bits), 32);
    for (unsigned i = 0; i < 32; i++) {
        char c = form->bits[i];
        word = word << 1 | (c == '1' || (c != '0' && random_below(2) != 0));
    }
    return word;
}

/* Whether the base is also a register that is stored: with a new value of it, nobody says which of
 * the two. */
static bool is_unpredictable(uint32_t word)
{
    uint32_t base = word >> BASE & FIELD;
    return base == (word & FIELD) || base == (word >> SECOND & FIELD);
}

/* Not a base that is not near the scratch memory: that is tried again. */
static void each_store_of_a_form_is_decoded(const struct form *form)
{
    enum { WANTED = 60, TRIES = 4000 };
    unsigned decoded = 0;
    for (unsigned i = 0; i < TRIES && decoded < WANTED; i++) {
        uint32_t word = some_instruction(form);
        if (is_unpredictable(word))
            continue;
        enum outcome outcome = try(word);
        if (outcome == NOT_DECODED)
            fail_msg("%s: %08x is not decoded", form->name, word);
        if (outcome != NO_STORE && !trial.store_reported)
            fail_msg("%s: %08x is not reported as a store", form->name, word);
        decoded += outcome == DECODED;
    }
    if (decoded < WANTED)
        fail_msg("%s: decoded %u times", form->name, decoded);
}

TEST_ALONE(the_stores_that_compilers_use_are_decoded_as_they_are_executed)
{
    prepare();
    for (const struct form *form = stores; form->name != NULL; form++)
        each_store_of_a_form_is_decoded(form);
}

TEST_ALONE(so_are_those_of_scalable_vectors)
{
    prepare();
    if (!has_scalable())
        skip();
    for (const struct form *form = scalable; form->name != NULL; form++)
        each_store_of_a_form_is_decoded(form);
}

static unsigned decoded_of(const struct form *any)
{
    unsigned decoded = 0;
    for (unsigned i = 0; i < 8000; i++)
        decoded += try(some_instruction(any)) == DECODED;
    return decoded;
}

/* Whatever the bits are. */
TEST_ALONE(what_is_decoded_is_what_is_executed)
{
    static const struct form any = {"loads and stores", "????1?0?????????????????????????"};
    static const struct form any_scalable = {"of vectors", "1110010?????????????????????????"};
    prepare();
    assert_in_range(decoded_of(&any), 100, 8000);
    if (has_scalable())
        assert_in_range(decoded_of(&any_scalable), 100, 8000);
}

static void are_not_decoded(const struct form *form, bool are_atomic)
{
    static ucontext_t context;
    struct mapping_store store;
    for (; form->name != NULL; form++)
        for (unsigned i = 0; i < 2000; i++) {
            set_code(some_instruction(form));
            context.uc_mcontext.pc = (uintptr_t)trial.code;
            for (unsigned r = 0; r < REGISTERS; r++)
                context.uc_mcontext.regs[r] = some_value();
            if (mapping_decode(&context, 0, &store) ||
                mapping_decode(&context, store.address, &store) ||
                mapping_is_atomic(&context) != are_atomic)
                fail_msg("%s: %08x", form->name, trial.code[0]);
        }
}

TEST_ALONE(nothing_else_is_decoded_and_what_claims_to_be_atomic_is_known)
{
    prepare();
    are_not_decoded(atomics, true);
    are_not_decoded(others, false);
}

TEST_ALONE(a_new_base_that_is_stored_itself_is_not_decoded)
{
    prepare();
    assert_int_equal(mprotect(trial.scratch, SCRATCH, PROT_READ), 0);
    for (unsigned i = 0; i < 100; i++) {
        uint32_t base = (uint32_t)random_below(31), fields = base << BASE | base;
        enum outcome outcome = try(UINT32_C(0xf8008c00) | fields); /* STR Xn, [Xn, 8]! */
        assert_int_not_equal(outcome, DECODED);
    }
}
