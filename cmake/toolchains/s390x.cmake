# SPDX-License-Identifier: BSD-3-Clause
set(RSM_CROSS_PROCESSOR s390x)
set(RSM_CROSS_DEBIAN s390x)
set(RSM_CROSS_TRIPLET s390x-linux-gnu)
set(RSM_CROSS_LOADER /lib/ld64.so.1)
include(${CMAKE_CURRENT_LIST_DIR}/debian-cross.cmake)
