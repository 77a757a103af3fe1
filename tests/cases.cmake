# SPDX-License-Identifier: BSD-3-Clause
# The cases of a program of cmocka; for rsm-transport-check(1), which is built without the other tests, too.
include_guard(GLOBAL)
add_library(rsm_cases STATIC ${CMAKE_CURRENT_LIST_DIR}/cases.c)
target_include_directories(rsm_cases PUBLIC ${CMAKE_CURRENT_LIST_DIR})
target_compile_options(rsm_cases PUBLIC -Wno-unused-parameter) # cases and stand-ins take what they are given
target_link_libraries(rsm_cases PUBLIC PkgConfig::CMOCKA)
rsm_warnings(rsm_cases)
