# SPDX-License-Identifier: BSD-3-Clause
# Compiler settings shared by every target.
add_compile_definitions(_GNU_SOURCE)
add_compile_options(-fvisibility=hidden -fno-strict-aliasing)

# rsm_exports(TARGET): these objects become part of librsm.so.2, which exports what base/exports.h
# says. Exported or not, nobody replaces a function under the library (it is linked with -Bsymbolic),
# so the compiler may go by what it sees.
function(rsm_exports target)
    target_compile_definitions(${target} PRIVATE RSMCORE_BUILDS_LIBRSM)
    target_compile_options(${target} PRIVATE -fno-semantic-interposition)
endfunction()

if(RSM_SANITIZE)
    add_compile_options(-fsanitize=${RSM_SANITIZE} -fno-omit-frame-pointer
                        -fno-sanitize-recover=all)
    add_link_options(-fsanitize=${RSM_SANITIZE})
endif()

option(RSM_COVERAGE "Count the lines that the tests run" OFF)
if(RSM_COVERAGE)
    add_compile_options(--coverage -fprofile-update=atomic)
    add_link_options(--coverage)
endif()

# Where things are at run time. An installed library starts the daemon that was installed with it,
# wherever that is, else the configured one; the build tree's tests say otherwise by RSM_RSMD.
file(RELATIVE_PATH RSM_RSMD_FROM_LIBRARY /prefix/${CMAKE_INSTALL_LIBDIR}
     /prefix/${CMAKE_INSTALL_SBINDIR}/rsmd)
set(RSM_RSMD_PATH "${CMAKE_INSTALL_FULL_SBINDIR}/rsmd" CACHE STRING
    "Daemon that the library starts for an embedded node")
set(RSM_MODULE_DIR "${CMAKE_INSTALL_FULL_LIBDIR}/rsm" CACHE STRING "Transport modules")
set(RSM_CONFIG_DIR "/etc/rsm" CACHE STRING "Directory of rsm.conf and rsm.segmentid")
set(RSM_SYSTEM_RUNTIME_DIR "/run/rsm" CACHE STRING "Runtime directory of the system rsmd")
add_compile_definitions(
    RSM_RSMD_PATH="${RSM_RSMD_PATH}"
    RSM_RSMD_FROM_LIBRARY="${RSM_RSMD_FROM_LIBRARY}"
    RSM_MODULE_DIR="${RSM_MODULE_DIR}"
    RSM_CONFIG_DIR="${RSM_CONFIG_DIR}"
    RSM_SYSTEM_RUNTIME_DIR="${RSM_SYSTEM_RUNTIME_DIR}"
    RSM_RELEASE="${PROJECT_VERSION}")
