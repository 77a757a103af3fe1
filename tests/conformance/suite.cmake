# SPDX-License-Identifier: BSD-3-Clause
# The suite as a program that is installed: rsm-transport-check(1). Built without the other tests, too.
file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/*.c ${CMAKE_CURRENT_LIST_DIR}/direct/*.c)
add_library(conformance_parts OBJECT ${sources})
target_include_directories(conformance_parts PRIVATE ${CMAKE_CURRENT_LIST_DIR}
    ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/librsm ${PROJECT_SOURCE_DIR}/tests)
target_link_libraries(conformance_parts PUBLIC integration_harness)
file(RELATIVE_PATH sbindir_from_bindir ${CMAKE_INSTALL_FULL_BINDIR} ${CMAKE_INSTALL_FULL_SBINDIR})
file(RELATIVE_PATH moduledir_from_bindir ${CMAKE_INSTALL_FULL_BINDIR} ${CMAKE_INSTALL_FULL_LIBDIR}/rsm)
target_compile_definitions(conformance_parts PRIVATE CONFORMANCE_SBINDIR="${sbindir_from_bindir}"
    CONFORMANCE_MODULEDIR="${moduledir_from_bindir}")
rsm_warnings(conformance_parts)

rsm_cmocka(rsm-transport-check SOURCES $<TARGET_OBJECTS:conformance_parts>
           LIBS conformance_parts rsm_import_transports rsm_node_transports)
add_dependencies(rsm-transport-check rsmd rsm_mapping)
if(RSM_WITH_TRANSPORT_CHECK STREQUAL "OFF")
    set_target_properties(rsm-transport-check PROPERTIES EXCLUDE_FROM_ALL ON)
else()
    install(TARGETS rsm-transport-check RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()
