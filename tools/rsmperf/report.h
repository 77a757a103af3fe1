/* SPDX-License-Identifier: BSD-3-Clause */
/** @file What went wrong, in words. */
#pragma once

enum { REPORT_BYTES = 320 };

/* Failures beside those of RSMAPI, which are positive. */
enum trouble {
    TROUBLE_NO_ANSWER = -1, /**< the remote side is silent */
    TROUBLE_SYSTEM = -2,    /**< a system call failed: errno */
    TROUBLE_PARTNER = -3,   /**< the process that the limits need has gone */
    TROUBLE_BUSY = -4,      /**< the server has no room for another importer */
    TROUBLE_NO_TCP = -5,    /**< the server has no TCP to compare with */
};

/** An error of SISCI beside these, and beside those of RSMAPI. */
int trouble_of_sisci(unsigned error);

/** One line on standard error. */
void complain(const char *format, ...) __attribute__((format(printf, 1, 2)));

/** What a failure of @p call means. @p error: of RSMAPI, or an enum trouble. */
void report_error(char text[REPORT_BYTES], const char *call, int error);
