# SPDX-License-Identifier: BSD-3-Clause
# For another processor with Debian's cross compiler, and with Debian's libraries for it below
# build/sysroot/ARCHITECTURE, which sysroot.sh makes. `./dev test arch` does all of it.
# What is built runs here in qemu's user-mode emulation, as far as that carries: it cannot start rsmd.
# Programs find the loader and the libraries of the sysroot by absolute names, so they are for trying
# and not for installing.
#
# A toolchain file sets RSM_CROSS_TRIPLET, _MULTIARCH, _DEBIAN, _PROCESSOR, _LOADER and includes this.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR ${RSM_CROSS_PROCESSOR})
set(CMAKE_C_COMPILER ${RSM_CROSS_TRIPLET}-gcc)

get_filename_component(cross_source ${CMAKE_CURRENT_LIST_DIR}/../.. ABSOLUTE)
set(CMAKE_SYSROOT ${cross_source}/build/sysroot/${RSM_CROSS_DEBIAN})
if(NOT EXISTS ${CMAKE_SYSROOT}${RSM_CROSS_LOADER})
    message(FATAL_ERROR "${CMAKE_SYSROOT} lacks a system for ${RSM_CROSS_PROCESSOR}: "
                        "cmake/toolchains/sysroot.sh ${RSM_CROSS_DEBIAN} makes it")
endif()
set(cross_libraries /usr/lib/${RSM_CROSS_TRIPLET})
set(CMAKE_EXE_LINKER_FLAGS_INIT
    "-Wl,--dynamic-linker,${CMAKE_SYSROOT}${RSM_CROSS_LOADER} -Wl,-rpath,${CMAKE_SYSROOT}${cross_libraries} -Wl,-rpath,${CMAKE_SYSROOT}/lib/${RSM_CROSS_TRIPLET}")
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(CMAKE_LIBRARY_ARCHITECTURE ${RSM_CROSS_TRIPLET})
set(ENV{PKG_CONFIG_LIBDIR}
    ${CMAKE_SYSROOT}${cross_libraries}/pkgconfig:${CMAKE_SYSROOT}/usr/share/pkgconfig)
set(ENV{PKG_CONFIG_SYSROOT_DIR} ${CMAKE_SYSROOT})
find_program(RSM_CROSS_EMULATOR NAMES qemu-${RSM_CROSS_PROCESSOR}-static qemu-${RSM_CROSS_PROCESSOR})
if(RSM_CROSS_EMULATOR)
    set(CMAKE_CROSSCOMPILING_EMULATOR ${RSM_CROSS_EMULATOR})
endif()
