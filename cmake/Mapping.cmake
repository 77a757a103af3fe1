# SPDX-License-Identifier: BSD-3-Clause
#
# mapping_engine(target [DEFECTS] [WITHOUT_DECODER] [OLDER_KERNEL]): the mapping engine as a static library; the
# tests link several. x86-64 takes a decoder library, which is wanted by the engine alone; it works without a decoder.
set(mapping_missing "")
if(CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64")
    if(NOT RSM_WITH_DECODER STREQUAL "OFF")
        find_package(Zydis QUIET)
    endif()
    if(NOT Zydis_FOUND)
        set(mapping_missing "Zydis (Debian: libzydis-dev)")
    endif()
elseif(NOT CMAKE_SYSTEM_PROCESSOR STREQUAL "aarch64")
    set(mapping_missing "an x86-64 or arm64 processor")
endif()
rsm_decide(mapping_has_decoder DECODER "instruction decoder" "${mapping_missing}")
set(mapping_sources ahead.c atomics.c barrier.c cache.c clean.c compare.c faultcopy.c faultfd.c faultthread.c flush.c handover.c lock.c
    loop_stores.c mechanism.c memory.c mirror.c module.c notes.c options.c pages.c prefer.c runs.c service.c signal.c transfer.c trap.c views.c wire.c)
set(mapping_decoder decode_none.c loop_none.c)
if(mapping_has_decoder)
    set(mapping_definitions MAPPING_HAS_DECODER=1)
    if(CMAKE_SYSTEM_PROCESSOR STREQUAL "aarch64")
        set(mapping_decoder decode_arm64.c decode_sve.c frame_arm64.c loop_none.c)
    else()
        set(mapping_decoder decode_x86.c frame_x86.c loop_code_x86.c loop_flags_x86.c loop_induction_x86.c
            loop_rounds_x86.c loop_x86.c)
        set(mapping_libraries Zydis::Zydis)
    endif()
endif()

function(mapping_engine target)
    cmake_parse_arguments(E "DEFECTS;WITHOUT_DECODER;OLDER_KERNEL" "" "" ${ARGN})
    set(decoder ${mapping_decoder})
    set(libraries ${mapping_libraries})
    set(definitions ${mapping_definitions})
    if(E_WITHOUT_DECODER)
        set(decoder decode_none.c loop_none.c)
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
