# SPDX-License-Identifier: BSD-3-Clause
#
# mapping_engine(target [DEFECTS] [WITHOUT_DECODER] [OLDER_KERNEL]): the mapping engine as a static library; the
# tests link several. The decoder library is wanted by it alone, and it works without.
if(NOT RSM_WITH_DECODER STREQUAL "OFF")
    find_package(Zydis QUIET)
endif()
set(mapping_missing "")
if(NOT CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64")
    set(mapping_missing "an x86-64 processor")
elseif(NOT Zydis_FOUND)
    set(mapping_missing "Zydis (Debian: libzydis-dev)")
endif()
rsm_decide(mapping_has_decoder DECODER "instruction decoder" "${mapping_missing}")
set(mapping_sources ahead.c atomics.c barrier.c cache.c clean.c compare.c faultcopy.c faultfd.c faultthread.c flush.c handover.c lock.c
    mechanism.c memory.c mirror.c module.c notes.c options.c pages.c prefer.c runs.c service.c signal.c transfer.c trap.c views.c wire.c)
if(mapping_has_decoder)
    set(mapping_decoder decode_x86.c vector.c)
    set(mapping_definitions MAPPING_HAS_DECODER=1)
    set(mapping_libraries Zydis::Zydis)
else()
    set(mapping_decoder decode_none.c)
endif()

function(mapping_engine target)
    cmake_parse_arguments(E "DEFECTS;WITHOUT_DECODER;OLDER_KERNEL" "" "" ${ARGN})
    set(decoder ${mapping_decoder})
    set(libraries ${mapping_libraries})
    set(definitions ${mapping_definitions})
    if(E_WITHOUT_DECODER)
        set(decoder decode_none.c)
        set(libraries "")
        set(definitions "")
    endif()
    set(sources ${mapping_sources} ${decoder})
    list(TRANSFORM sources PREPEND ${PROJECT_SOURCE_DIR}/librsm/mapping/)
    add_library(${target} STATIC ${sources})
    target_include_directories(${target} PUBLIC ${PROJECT_SOURCE_DIR}/include
                                                ${PROJECT_SOURCE_DIR}/librsm)
    target_compile_definitions(${target} PUBLIC ${definitions})
    if(E_DEFECTS) # the program says which of those in mapping/defects.h it has
        target_compile_definitions(${target} PUBLIC RSM_MAPPING_DEFECTS)
    endif()
    if(E_OLDER_KERNEL) # which cannot show a page of the copy write-protected
        target_compile_definitions(${target} PRIVATE MAPPING_OLDER_KERNEL=1)
    endif()
    # Who links it brings the core: librsm.so.2, or rsm_fault and rsm_shared.
    target_link_libraries(${target} PUBLIC ${libraries} Threads::Threads)
    rsm_warnings(${target})
endfunction()
