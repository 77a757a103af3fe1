/* SPDX-License-Identifier: BSD-3-Clause */
/** @file Types of the functions that find nodes by the names of their adapters. */
#ifndef DIS_TYPES_H
#define DIS_TYPES_H

/** Node ids in a list, with the 0 that ends it. */
#define DIS_NODEID_LIST_MAX 16
#define DIS_MAX_NSCIS       DIS_NODEID_LIST_MAX

typedef unsigned int dis_nodeId_list_t[DIS_NODEID_LIST_MAX];

/** What kind of adapter a name stands for. */
typedef unsigned int dis_virt_adapter_t;
typedef unsigned int dis_adapter_type_t;

#endif
