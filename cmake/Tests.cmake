# SPDX-License-Identifier: BSD-3-Clause
# Tests are named <preset>.<level>.<part>, so that several builds can run in one ctest.
get_filename_component(_preset ${PROJECT_BINARY_DIR} NAME)
set(RSM_TEST_PREFIX "${_preset}." CACHE STRING "Prefix of every test name")

# What a sanitizer found must fail the test, whatever the test itself says. The thread sanitizer waits
# for other threads when a process ends, a second unless told: there are many thousand processes.
set(RSM_TEST_ENVIRONMENT
    "ASAN_OPTIONS=detect_leaks=1:exitcode=99:abort_on_error=0:handle_segv=0:handle_sigbus=0:allow_user_segv_handler=1"
    "UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1"
    "TSAN_OPTIONS=exitcode=66:halt_on_error=1:handle_segv=0:handle_sigbus=0:allow_user_segv_handler=1:die_after_fork=0:atexit_sleep_ms=50"
    "RSM_RSMD=${PROJECT_BINARY_DIR}/bin/rsmd"
    "RSM_MODULE_DIR=${PROJECT_BINARY_DIR}/lib/rsm"
    "RSM_TLSD=${PROJECT_BINARY_DIR}/lib/rsm/rsm-tlsd"
    "RSM_BUILD_DIR=${PROJECT_BINARY_DIR}"
    "RSM_SOURCE_DIR=${PROJECT_SOURCE_DIR}")

# The label of what a build with sanitizers repeats of its other tests in one more variant, so that
# sanitizers would hardly find anything else in it. `./dev test long` runs these; `./dev test all` does not.
set(RSM_REPEATED "")
if(RSM_SANITIZE)
    set(RSM_REPEATED long)
endif()

# The label `thorough` is of what `./dev test` leaves to `./dev test all`: it takes much of the processors' time, and
# something much like it runs in `./dev test`.
set(RSM_THOROUGH "^(unit.pageswap.hammer.(mprotect|user-mode)|conformance.direct.transport_peek(counts|later|sig)|conformance.tcp-tls-direct.D|mapping.(shm|fake).nobody.(mirror|thread)|mapping.fake.thread-precise|mapping.shm.twin|kills.hosts.peekmap|solaris.rsm-cc-clang)$")

# What takes longest, in seconds: ctest starts it first where it has no times of a run before, so that nothing long is
# left for the end.
set(RSM_COSTS mapping.fake.thread 40 mapping.fake.auto 40 mapping.shm.precise 38 mapping.shm.thread 38
    mapping.fake.no-decoder 36 mapping.fake.nobody 36 mapping.fake.mirror 34 unit.rsmd.cluster.cluster 33 integration.daemon 30 integration.handover 28
    kills.hosts.peekmap 27 integration.rsmperf.ends 27 integration.rsmstat.watch 26
    conformance.wrong.wrong_held_up 24 mapping.fake.precise 23 kills.hosts.peek 23 unit.rsmd.loop 22
    unit.rsmd.steps 21 soak.short 21 conformance.wrong.wrong_deaf 20 unit.rsmd.crowd 18
    conformance.sisci-two-nodes.X 16 kills.shm 16 integration.links.loss 16 unit.rsmd.node.extents 15
    unit.rsmd.hostile 14 conformance.direct.transport_peekmap 14 model.ntb 14 unit.rsmd.limits 13)

# rsm_cross_test(): of another processor. tests/arch runs it, in a machine for that processor, out of a list that
# has a line for each test, in a shell's words: name, labels, seconds, environment, `--`, command.
macro(rsm_cross_test)
    list(GET T_COMMAND 0 program)
    if(TARGET "${program}")
        set_property(GLOBAL PROPERTY rsm_cross_target_${T_NAME} ${program})
        list(REMOVE_AT T_COMMAND 0)
        list(PREPEND T_COMMAND "$<TARGET_FILE:${program}>")
    endif()
    set(line ${RSM_TEST_ENVIRONMENT} ${T_ENVIRONMENT} -- ${T_COMMAND})
    list(JOIN T_LABELS " " labels)
    list(JOIN line "' '" line)
    set_property(GLOBAL APPEND_STRING PROPERTY rsm_cross_tests
        "'${T_NAME}' '${labels}' ${T_TIMEOUT} '${line}'\n")
endmacro()

# rsm_test(NAME name COMMAND ... LABELS ... [TIMEOUT seconds] [PROPERTIES ...]): register a test.
function(rsm_test)
    cmake_parse_arguments(T "" "NAME;TIMEOUT" "COMMAND;LABELS;PROPERTIES;ENVIRONMENT" ${ARGN})
    if(NOT T_TIMEOUT)
        set(T_TIMEOUT 120)
    endif()
    if(CMAKE_CROSSCOMPILING)
        rsm_cross_test()
        return()
    endif()
    if(T_NAME MATCHES "${RSM_THOROUGH}")
        list(APPEND T_LABELS thorough)
    endif()
    set(name ${RSM_TEST_PREFIX}${T_NAME})
    add_test(NAME ${name} COMMAND ${T_COMMAND})
    list(FIND RSM_COSTS ${T_NAME} at)
    if(at GREATER -1)
        math(EXPR at "${at} + 1")
        list(GET RSM_COSTS ${at} cost)
        list(PREPEND T_PROPERTIES COST ${cost})
    endif()
    set_tests_properties(${name} PROPERTIES LABELS "${T_LABELS}" TIMEOUT ${T_TIMEOUT}
        SKIP_RETURN_CODE 77 ENVIRONMENT "${RSM_TEST_ENVIRONMENT};${T_ENVIRONMENT}" ${T_PROPERTIES})
endfunction()

# rsm_cmocka(target SOURCES ... LIBS ...): a cmocka program with the project's warnings.
function(rsm_cmocka target)
    cmake_parse_arguments(T "" "" "SOURCES;LIBS;INCLUDES" ${ARGN})
    add_executable(${target} ${T_SOURCES})
    set_target_properties(${target} PROPERTIES
        RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests/bin)
    target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/include
        ${PROJECT_SOURCE_DIR}/librsm ${PROJECT_SOURCE_DIR}/tests ${T_INCLUDES})
    target_link_libraries(${target} PRIVATE ${T_LIBS} rsm_cases Threads::Threads)
    rsm_warnings(${target})
endfunction()
