# SPDX-License-Identifier: BSD-3-Clause
# rsm_install_pc(NAME): install NAME.pc, made of NAME.pc.in when it is installed, because
# `cmake --install --prefix` decides then where. Its directories are absolute: pkg-config drops
# -I/usr/include and -L of the system's libraries only if they are written so.
function(rsm_install_pc name)
    set(RSM_PC_PREFIX "@RSM_INSTALL_PREFIX@") # replaced by the installation
    foreach(directory LIBDIR INCLUDEDIR)
        set(value "${CMAKE_INSTALL_${directory}}")
        if(NOT IS_ABSOLUTE "${value}")
            set(value "\${prefix}/${value}")
        endif()
        set(RSM_PC_${directory} "${value}")
    endforeach()
    set(half ${CMAKE_CURRENT_BINARY_DIR}/${name}.pc.in)
    set(made ${CMAKE_CURRENT_BINARY_DIR}/${name}.pc)
    configure_file(${CMAKE_CURRENT_SOURCE_DIR}/${name}.pc.in ${half} @ONLY)
    set(destination "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
    if(NOT IS_ABSOLUTE "${destination}")
        set(destination "\${CMAKE_INSTALL_PREFIX}/${destination}")
    endif()
    install(CODE "
        set(RSM_INSTALL_PREFIX \"\${CMAKE_INSTALL_PREFIX}\")
        configure_file(\"${half}\" \"${made}\" @ONLY)
        file(INSTALL DESTINATION \"${destination}\" TYPE FILE FILES \"${made}\")")
endfunction()
