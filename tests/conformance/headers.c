/* SPDX-License-Identifier: BSD-3-Clause */
/* H and X: what a compiler, the linker and the published example decide. Other tests look there. */
#include "suite.h"

#define BY_HEADERS(number, says)                                                                   \
    CONFORMANCE(H, number, says)                                                                   \
    {                                                                                              \
        does_not_apply("checked at build and by the tests headers.*");                             \
    }
#define BY_PUBLISHED(number, says)                                                                 \
    CONFORMANCE(X, number, says)                                                                   \
    {                                                                                              \
        does_not_apply("checked by the tests published.*");                                        \
    }

BY_HEADERS(01, "rsmapi.h alone compiles and declares everything")
BY_HEADERS(02, "the two common headers compile alone")
BY_HEADERS(03, "rsmapi.h brings struct pollfd and POLLRDNORM, also in strict C99")
BY_HEADERS(04, "values of the constants")
BY_HEADERS(05, "sizes of the structures")
BY_HEADERS(06, "offsets of their members")
BY_HEADERS(07, "MAXNAMELEN")
BY_HEADERS(08, "values of the barrier modes")
BY_HEADERS(09, "values of the thread barrier types")
BY_HEADERS(10, "a program may define the permissions again")
BY_HEADERS(11, "soname, and linking with -lrsm")
BY_HEADERS(12, "version of the plain names")
BY_HEADERS(13, "underscore names are the same functions")
BY_HEADERS(14, "nothing else is exported")
BY_HEADERS(15, "a program's own common names do not clash")
BY_HEADERS(16, "element puts take pointers")
BY_HEADERS(17, "freeing a topology returns nothing")

CONFORMANCE(H, 18, "offset_t in 32-bit builds")
{
    APPLIES_IF(sizeof(long) == 4, "this is no 32-bit build");
    HOLDS(sizeof(offset_t) == 8);
}

BY_PUBLISHED(01, "the published example compiles")
BY_PUBLISHED(02, "... with optimisation, feature macros and in every C mode")
BY_PUBLISHED(03, "calls with all arguments work with its header")
BY_PUBLISHED(04, "so do addresses of functions")
BY_PUBLISHED(05, "exporter and importer exchange ten messages")
BY_PUBLISHED(06, "the importer may start first")
BY_PUBLISHED(07, "another user is refused under umask 022")
BY_PUBLISHED(08, "a second run follows at once")
