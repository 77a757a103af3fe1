# SPDX-License-Identifier: BSD-3-Clause
# The loader knows a new library in its directories only after ldconfig. A staged installation is
# somebody else's matter.
install(CODE "
    if(\"\$ENV{DESTDIR}\" STREQUAL \"\")
        message(STATUS \"Run ldconfig as root, so that programs find the libraries in \"
                       \"\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_LIBDIR}. If that directory is not in \"
                       \"/etc/ld.so.conf.d, name it there first, or in LD_LIBRARY_PATH.\")
    endif()")
