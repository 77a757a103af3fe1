# SPDX-License-Identifier: BSD-3-Clause
# rsm_warnings(TARGET): the warnings this project is built with. They are errors in the presets of
# developers, whose compilers are known.
option(RSM_WERROR "Warnings are errors" OFF)

function(rsm_warnings target)
    target_compile_options(${target} PRIVATE
        -Wall -Wextra $<$<BOOL:${RSM_WERROR}>:-Werror> -Wshadow -Wconversion -Wstrict-prototypes -Wmissing-prototypes
        -Wpointer-arith -Wundef -Wvla -Wformat=2 -Wwrite-strings)
endfunction()
