# SPDX-License-Identifier: BSD-3-Clause
# rsm_warnings(TARGET): the warnings this project is built with; all of them are errors.
# But in the build of the fuzzers (tests/fuzz), which takes whatever clang there is.
function(rsm_warnings target)
    target_compile_options(${target} PRIVATE
        -Wall -Wextra $<$<NOT:$<BOOL:${RSM_FUZZ}>>:-Werror> -Wshadow -Wconversion -Wstrict-prototypes -Wmissing-prototypes
        -Wpointer-arith -Wundef -Wvla -Wformat=2 -Wwrite-strings)
endfunction()
