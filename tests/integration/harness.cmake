# SPDX-License-Identifier: BSD-3-Clause
# What tests of several processes are made of. A file of its own because rsm-transport-check is built
# without the other tests, too.
set(harness_sources harness.c hosts.c process.c sandbox.c memory.c party.c shared_node.c)
list(TRANSFORM harness_sources PREPEND ${CMAKE_CURRENT_LIST_DIR}/)
list(APPEND harness_sources ${PROJECT_SOURCE_DIR}/tests/client.c)
include(${CMAKE_CURRENT_LIST_DIR}/../cases.cmake)
add_library(integration_harness STATIC ${harness_sources})
target_include_directories(integration_harness PUBLIC ${CMAKE_CURRENT_LIST_DIR}
    ${PROJECT_SOURCE_DIR}/tests)
target_link_libraries(integration_harness PUBLIC rsm rsm_shared rsm_cases Threads::Threads)
rsm_warnings(integration_harness)
