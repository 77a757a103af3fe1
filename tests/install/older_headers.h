/* SPDX-License-Identifier: BSD-3-Clause */
/* Included before anything else: the system's headers, less what those of Linux 5.14 lack. */
#include <linux/fs.h>
#include <linux/userfaultfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#undef MADV_DONTNEED_LOCKED
#undef MADV_COLLAPSE
#undef MFD_NOEXEC_SEAL
#undef MFD_EXEC
#undef PAGEMAP_SCAN
#undef SO_PASSPIDFD
#undef SO_PASSRIGHTS
#undef SO_PEERPIDFD
#undef SYS_cachestat
#undef SYS_futex_waitv
#undef SYS_process_mrelease
#undef UFFDIO_CONTINUE_MODE_WP
#undef UFFD_FEATURE_EXACT_ADDRESS
#undef UFFD_FEATURE_MOVE
#undef UFFD_FEATURE_POISON
#undef UFFD_FEATURE_WP_ASYNC
#undef UFFD_FEATURE_WP_HUGETLBFS_SHMEM
#undef UFFD_FEATURE_WP_UNPOPULATED
