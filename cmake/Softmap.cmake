# SPDX-License-Identifier: BSD-3-Clause
#
# softmap_engine(target [DEFECT n] [WITHOUT_DECODER]): the mapping engine as a static library; the
# tests link several. The decoder library is wanted by it alone, and it works without.
find_package(Zydis QUIET)
set(softmap_sources atomics.c barrier.c faultfd.c faultthread.c flush.c lock.c mechanism.c memory.c
    mirror.c module.c notes.c options.c pages.c runs.c service.c transfer.c trap.c views.c wire.c)
if(Zydis_FOUND AND CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64")
    set(softmap_decoder decode_x86.c vector.c)
    set(softmap_definitions SOFTMAP_HAS_DECODER=1)
    set(softmap_libraries Zydis::Zydis)
else()
    set(softmap_decoder decode_none.c)
endif()

function(softmap_engine target)
    cmake_parse_arguments(E "WITHOUT_DECODER" "DEFECT" "" ${ARGN})
    set(decoder ${softmap_decoder})
    set(libraries ${softmap_libraries})
    set(definitions ${softmap_definitions})
    if(E_WITHOUT_DECODER)
        set(decoder decode_none.c)
        set(libraries "")
        set(definitions "")
    endif()
    set(sources ${softmap_sources} ${decoder})
    list(TRANSFORM sources PREPEND ${PROJECT_SOURCE_DIR}/librsm/mapping/)
    add_library(${target} STATIC ${sources})
    target_include_directories(${target} PUBLIC ${PROJECT_SOURCE_DIR}/include
                                                ${PROJECT_SOURCE_DIR}/librsm)
    target_compile_definitions(${target} PUBLIC ${definitions})
    if(E_DEFECT)
        target_compile_definitions(${target} PRIVATE RSM_SOFTMAP_DEFECT=${E_DEFECT})
    endif()
    # Who links it brings the core: librsm.so.2, or rsm_fault and rsm_shared.
    target_link_libraries(${target} PUBLIC ${libraries} Threads::Threads)
    rsm_warnings(${target})
endfunction()
