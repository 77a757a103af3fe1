# SPDX-License-Identifier: BSD-3-Clause
# rsm_warnings(TARGET): the warnings this project is built with; all of them are errors.
function(rsm_warnings target)
    target_compile_options(${target} PRIVATE
        -Wall -Wextra -Werror -Wshadow -Wconversion -Wstrict-prototypes -Wmissing-prototypes
        -Wpointer-arith -Wundef -Wvla -Wformat=2 -Wwrite-strings)
endfunction()
