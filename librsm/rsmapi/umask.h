/* SPDX-License-Identifier: BSD-3-Clause */
/** @file The process's umask, read without changing it. */
#pragma once

/** 0 to 0777. umask(2) can only swap it, which files that other threads create would feel. */
unsigned rsmapi_umask(void);
