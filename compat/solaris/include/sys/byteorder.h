/* SPDX-License-Identifier: BSD-3-Clause */
/** @file Byte order: conversion of values (BE_16), access to bytes of any alignment (BE_IN16,
 * BE_OUT16) and the network's order, up to 64 bits. */
#ifndef _RSM_SOLARIS_SYS_BYTEORDER_H
#define _RSM_SOLARIS_SYS_BYTEORDER_H

#include <netinet/in.h>
#include <stdint.h>
#include <sys/isa_defs.h>

#define BSWAP_8(x)  ((uint8_t)(x))
#define BSWAP_16(x) ((uint16_t)__builtin_bswap16((uint16_t)(x)))
#define BSWAP_32(x) ((uint32_t)__builtin_bswap32((uint32_t)(x)))
#define BSWAP_64(x) ((uint64_t)__builtin_bswap64((uint64_t)(x)))

/* Between the machine's order and another one; the same in both directions. */
#ifdef _BIG_ENDIAN
#define BE_8(x)  ((uint8_t)(x))
#define BE_16(x) ((uint16_t)(x))
#define BE_32(x) ((uint32_t)(x))
#define BE_64(x) ((uint64_t)(x))
#define LE_8(x)  BSWAP_8(x)
#define LE_16(x) BSWAP_16(x)
#define LE_32(x) BSWAP_32(x)
#define LE_64(x) BSWAP_64(x)
#else
#define BE_8(x)  BSWAP_8(x)
#define BE_16(x) BSWAP_16(x)
#define BE_32(x) BSWAP_32(x)
#define BE_64(x) BSWAP_64(x)
#define LE_8(x)  ((uint8_t)(x))
#define LE_16(x) ((uint16_t)(x))
#define LE_32(x) ((uint32_t)(x))
#define LE_64(x) ((uint64_t)(x))
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Bytes in a given order, wherever they lie. */
#define RSM_SOLARIS_BYTES(bits, convert)                                                           \
    static __inline__ uint##bits##_t rsm_solaris_in_##convert(const void *bytes)                   \
    {                                                                                              \
        uint##bits##_t value;                                                                      \
        __builtin_memcpy(&value, bytes, sizeof(value));                                            \
        return convert(value);                                                                     \
    }                                                                                              \
    static __inline__ void rsm_solaris_out_##convert(void *bytes, uint##bits##_t value)            \
    {                                                                                              \
        value = convert(value);                                                                    \
        __builtin_memcpy(bytes, &value, sizeof(value));                                            \
    }

RSM_SOLARIS_BYTES(8, BE_8)
RSM_SOLARIS_BYTES(16, BE_16)
RSM_SOLARIS_BYTES(32, BE_32)
RSM_SOLARIS_BYTES(64, BE_64)
RSM_SOLARIS_BYTES(8, LE_8)
RSM_SOLARIS_BYTES(16, LE_16)
RSM_SOLARIS_BYTES(32, LE_32)
RSM_SOLARIS_BYTES(64, LE_64)
#undef RSM_SOLARIS_BYTES

#ifdef __cplusplus
}
#endif

#define BE_IN8(from)  rsm_solaris_in_BE_8(from)
#define BE_IN16(from) rsm_solaris_in_BE_16(from)
#define BE_IN32(from) rsm_solaris_in_BE_32(from)
#define BE_IN64(from) rsm_solaris_in_BE_64(from)
#define LE_IN8(from)  rsm_solaris_in_LE_8(from)
#define LE_IN16(from) rsm_solaris_in_LE_16(from)
#define LE_IN32(from) rsm_solaris_in_LE_32(from)
#define LE_IN64(from) rsm_solaris_in_LE_64(from)

#define BE_OUT8(to, value)  rsm_solaris_out_BE_8((to), (uint8_t)(value))
#define BE_OUT16(to, value) rsm_solaris_out_BE_16((to), (uint16_t)(value))
#define BE_OUT32(to, value) rsm_solaris_out_BE_32((to), (uint32_t)(value))
#define BE_OUT64(to, value) rsm_solaris_out_BE_64((to), (uint64_t)(value))
#define LE_OUT8(to, value)  rsm_solaris_out_LE_8((to), (uint8_t)(value))
#define LE_OUT16(to, value) rsm_solaris_out_LE_16((to), (uint16_t)(value))
#define LE_OUT32(to, value) rsm_solaris_out_LE_32((to), (uint32_t)(value))
#define LE_OUT64(to, value) rsm_solaris_out_LE_64((to), (uint64_t)(value))

/* 64 bits in the network's order. */
#ifndef htonll
#define htonll(x) BE_64(x)
#endif
#ifndef ntohll
#define ntohll(x) BE_64(x)
#endif

#endif
