# SPDX-License-Identifier: BSD-3-Clause
# Parts that a build may have or not. Each is a cache variable RSM_WITH_NAME: ON fails where something
# is missing, OFF leaves the part out, AUTO builds it where everything is there. The configuration ends
# with a summary of what was decided.

# rsm_switch(NAME "what it is"): the variable, and its value as one of AUTO, ON and OFF.
function(rsm_switch name what)
    set(variable RSM_WITH_${name})
    set(${variable} AUTO CACHE STRING "${what}: AUTO (where what it needs is found), ON, OFF")
    set_property(CACHE ${variable} PROPERTY STRINGS AUTO ON OFF)
    string(TOUPPER "${${variable}}" value)
    if(value MATCHES "^(ON|TRUE|YES|1)$")
        set(value ON)
    elseif(value MATCHES "^(OFF|FALSE|NO|0)$")
        set(value OFF)
    elseif(NOT value STREQUAL "AUTO")
        message(FATAL_ERROR "${variable} is AUTO, ON or OFF, not \"${${variable}}\"")
    endif()
    set(${variable} ${value} PARENT_SCOPE)
endfunction()

# rsm_summary("part" "state"): a line of the summary.
function(rsm_summary part state)
    string(LENGTH "${part}" length)
    math(EXPR blanks "26 - ${length}")
    string(REPEAT " " ${blanks} padding)
    set_property(GLOBAL APPEND PROPERTY RSM_SUMMARY "  ${part}${padding}${state}")
endfunction()

# rsm_decide(variable NAME "part" "missing"): whether the part is built. "missing" names what it needs
# and was not found, or is empty. The global property RSM_LACKS_NAME is set if it is not.
function(rsm_decide variable name part missing)
    set(${variable} OFF PARENT_SCOPE)
    if(RSM_WITH_${name} STREQUAL "OFF" OR NOT missing STREQUAL "")
        set_property(GLOBAL PROPERTY RSM_LACKS_${name} ON)
    endif()
    if(RSM_WITH_${name} STREQUAL "OFF")
        rsm_summary("${part}" "no (RSM_WITH_${name}=OFF)")
    elseif(missing STREQUAL "")
        set(${variable} ON PARENT_SCOPE)
        rsm_summary("${part}" "yes")
    elseif(RSM_WITH_${name} STREQUAL "ON")
        message(FATAL_ERROR "RSM_WITH_${name}=ON: the ${part} needs ${missing}")
    else()
        rsm_summary("${part}" "no: ${missing} was not found")
    endif()
endfunction()

function(rsm_print_summary)
    get_property(lines GLOBAL PROPERTY RSM_SUMMARY)
    message(STATUS "librsm ${PROJECT_VERSION}:")
    foreach(line ${lines})
        message(STATUS "${line}")
    endforeach()
endfunction()
