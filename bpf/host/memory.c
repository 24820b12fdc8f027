/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The memory that a connection takes for SEARCH 2.0 and 1.0, in bytes, from the struct of
 * core/search.h, which has no 1.0.
 *
 * 2.0 compares delivered with delivered bytes: one ring as long as its look-back needs. 1.0 compares
 * with the bytes sent, so that these need such a ring, and the delivered bytes another one: of the
 * same length, or of the bins of a window and the one before it, in a power of two.
 */
#include <stddef.h>
#include <stdio.h>

#include "../core/search.h"

_Static_assert(SS_ACKED_SLOTS > SS_LOOKBACK_20 + SS_BINS + 1, "2.0 looks back that far");

#define BIN sizeof(((struct ss_search *)NULL)->acked[0])

int main(void)
{
	size_t state = offsetof(struct ss_search, acked);
	size_t ring = SS_ACKED_SLOTS * BIN;
	size_t slots = 1;

	while (slots < SS_BINS + 1)
		slots *= 2;
	printf("2.0: %zu bytes, a state of %zu and a ring\n", state + ring, state);
	printf("1.0: %zu bytes with a second ring of this length\n", state + 2 * ring);
	printf("1.0: %zu bytes with one for the bins of a window\n", state + ring + slots * BIN);
	return 0;
}
