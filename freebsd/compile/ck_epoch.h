/* SPDX-License-Identifier: MIT */
/*
 * Stands for sys/contrib/ck/include/ck_epoch.h, which FreeBSD's installed headers lack, when another
 * system compiles cc_search.c (.ci/freebsd). The sizes are made up, and cc_search.c uses none.
 */
#ifndef SLOWSTART_CK_EPOCH_H
#define SLOWSTART_CK_EPOCH_H

struct ck_epoch_entry { void *a, *b; };
typedef struct ck_epoch_entry ck_epoch_entry_t;
struct ck_epoch_section { unsigned int bucket; };
typedef struct ck_epoch_section ck_epoch_section_t;
struct ck_epoch_record { void *a; };
typedef struct ck_epoch_record ck_epoch_record_t;

#endif
