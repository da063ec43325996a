// Numbers of system calls that are younger than Debian 12's headers (Linux 6.1), for filters that
// must know them because the running kernel may.
//
// From 424 on a call has the same number on every architecture that Atoll knows.
#pragma once

#include <asm/unistd.h>

#ifndef __NR_cachestat
#define __NR_cachestat 451  // 6.5
#endif
#ifndef __NR_fchmodat2
#define __NR_fchmodat2 452  // 6.6
#endif
#ifndef __NR_map_shadow_stack
#define __NR_map_shadow_stack 453  // 6.6
#endif
#ifndef __NR_futex_wake
#define __NR_futex_wake 454  // 6.7
#endif
#ifndef __NR_futex_wait
#define __NR_futex_wait 455  // 6.7
#endif
#ifndef __NR_futex_requeue
#define __NR_futex_requeue 456  // 6.7
#endif
#ifndef __NR_statmount
#define __NR_statmount 457  // 6.8
#endif
#ifndef __NR_listmount
#define __NR_listmount 458  // 6.8
#endif
#ifndef __NR_lsm_get_self_attr
#define __NR_lsm_get_self_attr 459  // 6.8
#endif
#ifndef __NR_lsm_set_self_attr
#define __NR_lsm_set_self_attr 460  // 6.8
#endif
#ifndef __NR_lsm_list_modules
#define __NR_lsm_list_modules 461  // 6.8
#endif
#ifndef __NR_mseal
#define __NR_mseal 462  // 6.10
#endif
#ifndef __NR_setxattrat
#define __NR_setxattrat 463  // 6.13
#endif
#ifndef __NR_getxattrat
#define __NR_getxattrat 464  // 6.13
#endif
#ifndef __NR_listxattrat
#define __NR_listxattrat 465  // 6.13
#endif
#ifndef __NR_removexattrat
#define __NR_removexattrat 466  // 6.13
#endif
#ifndef __NR_open_tree_attr
#define __NR_open_tree_attr 467  // 6.15
#endif
#ifndef __NR_file_getattr
#define __NR_file_getattr 468  // 6.17
#endif
#ifndef __NR_file_setattr
#define __NR_file_setattr 469  // 6.17
#endif

#if defined(__x86_64__)
#ifndef __NR_uretprobe
#define __NR_uretprobe 335  // 6.11
#endif
#ifndef __NR_uprobe
#define __NR_uprobe 336  // 6.18
#endif
#endif
