/* SPDX-License-Identifier: BSD-3-Clause */
/* What the headers bring that needs no library: types, macros, atomic operations, byte order; and
 * the small functions on strings. */
#include "support.h"

#include <errno.h>
#include <rsmapi.h>
#include <stdio.h>
#include <sys/atomic.h>
#include <sys/byteorder.h>
#include <sys/inttypes.h>
#include <sys/isa_defs.h>
#include <sys/loadavg.h>
#include <sys/procfs.h>
#include <sys/shm.h>
#include <sys/sysmacros.h>
#include <sys/time.h>
#include <sys/varargs.h>
#include <thread.h>

/* --- types --- */

#define SAME_TYPE(a, b)   _Static_assert(__builtin_types_compatible_p(a, b), #a " is not " #b)
#define HAS_SIZE(type, n) _Static_assert(sizeof(type) == (n), #type " has another size")

SAME_TYPE(uchar_t, unsigned char);
SAME_TYPE(unchar, unsigned char);
SAME_TYPE(ushort_t, unsigned short);
SAME_TYPE(uint_t, unsigned int);
SAME_TYPE(ulong_t, unsigned long);
SAME_TYPE(longlong_t, long long);
SAME_TYPE(u_longlong_t, unsigned long long);
SAME_TYPE(offset_t, long long);
SAME_TYPE(u_offset_t, unsigned long long);
SAME_TYPE(hrtime_t, long long);
SAME_TYPE(timespec_t, struct timespec);
SAME_TYPE(timestruc_t, struct timespec);
SAME_TYPE(caddr_t, char *);
SAME_TYPE(thread_t, unsigned int);
SAME_TYPE(thread_key_t, unsigned int);
SAME_TYPE(lwpid_t, int);
SAME_TYPE(lwp_mutex_t, mutex_t);
SAME_TYPE(lwp_cond_t, cond_t);
SAME_TYPE(processorid_t, int);
SAME_TYPE(psetid_t, int);
SAME_TYPE(zoneid_t, int);
SAME_TYPE(projid_t, int);
SAME_TYPE(taskid_t, int);
SAME_TYPE(chipid_t, int);
SAME_TYPE(sysid_t, short);
SAME_TYPE(index_t, short);
SAME_TYPE(cnt_t, short);
SAME_TYPE(pgcnt_t, unsigned long);
SAME_TYPE(spgcnt_t, long);
HAS_SIZE(major_t, 4);
HAS_SIZE(minor_t, 4);
HAS_SIZE(pfn_t, sizeof(void *));
HAS_SIZE(paddr_t, sizeof(void *));
HAS_SIZE(diskaddr_t, 8);
HAS_SIZE(len_t, 8);
HAS_SIZE(use_t, 1);
HAS_SIZE(boolean_t, sizeof(int));
_Static_assert(B_FALSE == 0 && B_TRUE == 1, "truth has other values");
_Static_assert(MAXNAMELEN == 256, "names have another length");
_Static_assert(SEC *NANOSEC == 1000000000 && MICROSEC == 1000000 && MILLISEC == 1000, "seconds");

#if (defined(_LITTLE_ENDIAN) && defined(_BIG_ENDIAN)) ||                                           \
    (!defined(_LITTLE_ENDIAN) && !defined(_BIG_ENDIAN))
#error "one byte order, please"
#endif
#if defined(_LP64) == defined(_ILP32)
#error "one data model, please"
#endif

TEST_ALONE(macros_compute)
{
    assert_int_equal(PAGESIZE, sysconf(_SC_PAGESIZE));
    assert_int_equal((PAGESIZE + 5) & PAGEOFFSET, 5);
    assert_int_equal((3 * PAGESIZE + 5) & PAGEMASK, 3 * PAGESIZE);
    assert_int_equal(MIN(3, 5), 3);
    assert_int_equal(MAX(3, 5), 5);
    assert_int_equal(ABS(-3), 3);
    assert_int_equal(howmany(17, 8), 3);
    assert_int_equal(roundup(17, 8), 24);
    assert_true(ISP2(64) && !ISP2(65));
    assert_true(IS_P2ALIGNED(64, 32) && !IS_P2ALIGNED(65, 32));
    assert_int_equal(P2ALIGN(37, 8), 32);
    assert_int_equal(P2PHASE(37, 8), 5);
    assert_int_equal(P2NPHASE(37, 8), 3);
    assert_int_equal(P2ROUNDUP(37, 8), 40);
    assert_int_equal(P2ROUNDUP(40, 8), 40);
    assert_int_equal(P2END(37, 8), 39);
}

/* --- atomic operations --- */

#define CHECK_ATOMICS(suffix, add_suffix, type)                                                    \
    do {                                                                                           \
        volatile type value = 10;                                                                  \
        const type top = (type) ~(type)0;                                                          \
        atomic_inc_##suffix(&value);                                                               \
        assert_int_equal(atomic_inc_##suffix##_nv(&value), 12);                                    \
        atomic_dec_##suffix(&value);                                                               \
        assert_int_equal(atomic_dec_##suffix##_nv(&value), 10);                                    \
        atomic_add_##add_suffix(&value, 5);                                                        \
        assert_int_equal(atomic_add_##add_suffix##_nv(&value, -15), 0);                            \
        assert_true(atomic_dec_##suffix##_nv(&value) == top);                                      \
        assert_int_equal(atomic_swap_##suffix(&value, 0x11), top);                                 \
        atomic_or_##suffix(&value, 0x22);                                                          \
        assert_int_equal(atomic_or_##suffix##_nv(&value, 0x44), 0x77);                             \
        atomic_and_##suffix(&value, 0x0f);                                                         \
        assert_int_equal(atomic_and_##suffix##_nv(&value, 0x05), 0x05);                            \
        assert_int_equal(atomic_cas_##suffix(&value, 6, 9), 5);                                    \
        assert_int_equal(value, 5);                                                                \
        assert_int_equal(atomic_cas_##suffix(&value, 5, 9), 5);                                    \
        assert_int_equal(value, 9);                                                                \
    } while (0)

TEST_ALONE(atomics_compute)
{
    CHECK_ATOMICS(8, 8, uint8_t);
    CHECK_ATOMICS(16, 16, uint16_t);
    CHECK_ATOMICS(32, 32, uint32_t);
    CHECK_ATOMICS(64, 64, uint64_t);
    CHECK_ATOMICS(uchar, char, uchar_t);
    CHECK_ATOMICS(ushort, short, ushort_t);
    CHECK_ATOMICS(uint, int, uint_t);
    CHECK_ATOMICS(ulong, long, ulong_t);
}

TEST_ALONE(pointers_and_bits_are_atomic)
{
    static char text[] = "pointer";
    void *pointer = text;
    volatile ulong_t bits = 0;
    atomic_add_ptr(&pointer, 3);
    assert_ptr_equal(pointer, text + 3);
    assert_ptr_equal(atomic_add_ptr_nv(&pointer, -1), text + 2);
    assert_ptr_equal(atomic_cas_ptr(&pointer, text, NULL), text + 2);
    assert_ptr_equal(atomic_cas_ptr(&pointer, text + 2, text), text + 2);
    assert_ptr_equal(atomic_swap_ptr(&pointer, NULL), text);
    assert_null(pointer);
    assert_int_equal(atomic_set_long_excl(&bits, 31), 0);
    assert_int_equal(atomic_set_long_excl(&bits, 31), -1);
    assert_int_equal(bits, 1ul << 31);
    assert_int_equal(atomic_clear_long_excl(&bits, 31), 0);
    assert_int_equal(atomic_clear_long_excl(&bits, 31), -1);
    assert_int_equal(bits, 0);
}

static volatile uint32_t counter;

static void *count(void *arg)
{
    for (int i = 0; i < 20000; i++)
        atomic_inc_32(&counter);
    membar_exit();
    return arg;
}

TEST_ALONE(atomics_lose_nothing)
{
    thread_t ids[4];
    for (int i = 0; i < 4; i++)
        assert_int_equal(thr_create(NULL, 0, count, NULL, THR_BOUND, &ids[i]), 0);
    for (int i = 0; i < 4; i++)
        assert_int_equal(thr_join(ids[i], NULL, NULL), 0);
    membar_enter();
    membar_producer();
    membar_consumer();
    assert_int_equal(counter, 80000);
}

/* --- byte order --- */

TEST_ALONE(byte_orders_are_converted)
{
    static const uchar_t bytes[] = {0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08, 0x09};
    uchar_t out[9] = {0};
    uint16_t big16 = BE_16(0x0102), little16 = LE_16(0x0201);
    uint32_t big32 = BE_32(0x01020304), little32 = LE_32(0x04030201);
    uint64_t big64 = BE_64(0x0102030405060708), little64 = LE_64(0x0807060504030201);
    assert_memory_equal(&big16, bytes, 2);
    assert_memory_equal(&little16, bytes, 2);
    assert_memory_equal(&big32, bytes, 4);
    assert_memory_equal(&little32, bytes, 4);
    assert_memory_equal(&big64, bytes, 8);
    assert_memory_equal(&little64, bytes, 8);
    assert_int_equal(BE_8(0x12), 0x12);
    assert_int_equal(LE_8(0x12), 0x12);
    assert_int_equal(BSWAP_16(0x1234), 0x3412);
    assert_int_equal(BSWAP_32(0x12345678), 0x78563412);
    assert_true(BSWAP_64(0x0102030405060708) == 0x0807060504030201);
    assert_int_equal(BSWAP_8(0x12), 0x12);
    assert_true(htonll(0x0102030405060708) == big64 && ntohll(big64) == 0x0102030405060708);
    assert_int_equal(htonl(0x01020304), big32);
    /* Odd addresses. */
    assert_int_equal(BE_IN8(bytes + 1), 0x02);
    assert_int_equal(BE_IN16(bytes + 1), 0x0203);
    assert_int_equal(BE_IN32(bytes + 1), 0x02030405);
    assert_true(BE_IN64(bytes + 1) == 0x0203040506070809);
    assert_int_equal(LE_IN8(bytes + 1), 0x02);
    assert_int_equal(LE_IN16(bytes + 1), 0x0302);
    assert_int_equal(LE_IN32(bytes + 1), 0x05040302);
    assert_true(LE_IN64(bytes + 1) == 0x0908070605040302);
    BE_OUT64(out + 1, 0x0203040506070809);
    assert_memory_equal(out + 1, bytes + 1, 8);
    LE_OUT64(out + 1, 0x0203040506070809);
    assert_int_equal(out[1], 9);
    BE_OUT32(out + 1, 0x02030405);
    assert_memory_equal(out + 1, bytes + 1, 4);
    LE_OUT32(out + 1, 0x02030405);
    assert_int_equal(out[1], 5);
    BE_OUT16(out + 1, 0x0203);
    assert_memory_equal(out + 1, bytes + 1, 2);
    LE_OUT16(out + 1, 0x0203);
    assert_int_equal(out[1], 3);
    BE_OUT8(out + 1, 7);
    LE_OUT8(out + 2, 8);
    assert_int_equal(out[1] * 16 + out[2], 0x78);
}

/* --- strings --- */

TEST_ALONE(copies_are_bounded)
{
    char text[8] = "xxxxxxx";
    assert_int_equal(strlcpy(text, "abc", sizeof text), 3);
    assert_string_equal(text, "abc");
    assert_int_equal(text[4], 'x');
    assert_int_equal(strlcat(text, "def", sizeof text), 6);
    assert_string_equal(text, "abcdef");
    assert_int_equal(strlcat(text, "ghi", sizeof text), 9);
    assert_string_equal(text, "abcdefg");
    assert_int_equal(strlcpy(text, "0123456789", sizeof text), 10);
    assert_string_equal(text, "0123456");
    assert_int_equal(strlcpy(text, "zz", 0), 2);
    assert_string_equal(text, "0123456");
    assert_int_equal(strlcpy(text, "zz", 1), 2);
    assert_string_equal(text, "");
    memset(text, 'h', sizeof text);
    assert_int_equal(strlcat(text, "zz", 4), 6); /* no NUL within the size */
    assert_memory_equal(text, "hhhhhhhh", 8);
}

static int sum(int count_of, ...)
{
    va_list list, again;
    int result = 0;
    va_start(list, count_of);
    va_copy(again, list);
    while (count_of-- > 0)
        result += va_arg(again, int);
    va_end(again);
    va_end(list);
    return result;
}

TEST_ALONE(the_rest_of_the_headers_serves)
{
    char text[64];
    double load[LOADAVG_NSTATS];
    char *arguments[] = {(char[]){"program"}, (char[]){"-x"}, NULL};
    assert_int_equal(sum(3, 1, 2, 3), 6);
    assert_int_equal(strerror_r(ENOENT, text, sizeof text), 0); /* the one that returns int */
    assert_string_equal(text, strerror(ENOENT));
    assert_int_equal(strerror_r(ENOENT, text, 1), ERANGE);
    assert_int_equal(getloadavg(load, LOADAVG_NSTATS), 3);
    assert_true(load[LOADAVG_15MIN] >= 0);
    optind = 1;
    assert_int_equal(getopt(2, arguments, "x"), 'x');
    void *aligned = memalign(256, 10);
    assert_true(IS_P2ALIGNED(aligned, 256));
    free(aligned);
    int segment = shmget(IPC_PRIVATE, 4096, IPC_CREAT | 0600);
    assert_true(segment >= 0);
    char *attached = shmat(segment, NULL, SHM_SHARE_MMU);
    shmctl(segment, IPC_RMID, NULL);
    assert_true(attached != (char *)-1);
    attached[0] = 1; /* may be written: the flag asked for nothing */
    shmdt(attached);
}
