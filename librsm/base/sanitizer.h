/* SPDX-License-Identifier: BSD-3-Clause */
/** @file Whether this is a build with the thread sanitizer, which gcc and clang say in ways of
 *  their own. */
#pragma once

#if defined(__SANITIZE_THREAD__)
#define RSM_THREAD_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define RSM_THREAD_SANITIZER 1
#endif
#endif
#ifndef RSM_THREAD_SANITIZER
#define RSM_THREAD_SANITIZER 0
#endif
