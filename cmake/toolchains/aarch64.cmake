# SPDX-License-Identifier: BSD-3-Clause
set(RSM_CROSS_PROCESSOR aarch64)
set(RSM_CROSS_DEBIAN arm64)
set(RSM_CROSS_TRIPLET aarch64-linux-gnu)
set(RSM_CROSS_LOADER /lib/ld-linux-aarch64.so.1)
include(${CMAKE_CURRENT_LIST_DIR}/debian-cross.cmake)
