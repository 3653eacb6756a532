/* The border: an array is believed once this has looked at it. */
#ifndef SEAM_NODE_CHECK_H
#define SEAM_NODE_CHECK_H

#include "seam/node.h"

/* Looks at what the rows of a tree say about where other rows and bytes lie: indexes of
 * dictionaries (those of nulls aside) are rows of their values, run ends rise and reach the last
 * row, offsets do not fall and stay within their child. How many bytes a buffer has nobody can say:
 * the C data interface does not. SEAM_BAD_INPUT, naming the column, where something is wrong.
 * One pass over indexes, ends and offsets that the rows use; none over values. */
int seam_node_check(const struct seam_node *node, struct seam_error *error);

#endif
