# SPDX-License-Identifier: BSD-3-Clause
# Static probes (librsm/base/probe.h): a header at build time, nothing at run time.
include(CheckIncludeFile)
set(probes_missing "")
if(NOT RSM_WITH_USDT STREQUAL "OFF")
    check_include_file(sys/sdt.h RSM_HAVE_SYS_SDT_H)
    if(NOT RSM_HAVE_SYS_SDT_H)
        set(probes_missing "sys/sdt.h (Debian: systemtap-sdt-dev)")
    endif()
endif()
rsm_decide(RSM_HAS_USDT USDT "static probes (USDT)" "${probes_missing}")
if(RSM_HAS_USDT)
    add_compile_definitions(RSM_HAS_USDT=1)
endif()
