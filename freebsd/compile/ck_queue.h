/* SPDX-License-Identifier: MIT */
/* Stands for sys/contrib/ck/include/ck_queue.h, as ck_epoch.h does, with the lists of sys/queue.h. */
#ifndef SLOWSTART_CK_QUEUE_H
#define SLOWSTART_CK_QUEUE_H

#include <sys/queue.h>

#define CK_SLIST_HEAD(name, type) SLIST_HEAD(name, type)
#define CK_SLIST_ENTRY(type) SLIST_ENTRY(type)
#define CK_STAILQ_HEAD(name, type) STAILQ_HEAD(name, type)
#define CK_STAILQ_ENTRY(type) STAILQ_ENTRY(type)
#define CK_LIST_HEAD(name, type) LIST_HEAD(name, type)
#define CK_LIST_ENTRY(type) LIST_ENTRY(type)

#endif
