/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * `ss_cubic_std`: the kernel's CUBIC with standard slow start, that is without HyStart, for the
 * sockets that select it. (The module parameter of tcp_cubic acts on all sockets.)
 */
#define SS_NAME ss_cubic_std

#include "control.bpf.h"
