/* One flat value as the bytes of the column kind that stands for it. */
#ifndef SEAM_HASH_VALUE_H
#define SEAM_HASH_VALUE_H

#include "seam/column_type.h"
#include "seam/error.h"
#include "seam/node.h"

#include <stdint.h>
#include <string.h>

/* Where a value's bytes lie: in the array, or in `scratch` when they had to be made. */
struct seam_hash_value {
    const uint8_t *bytes;
    int64_t size_bytes;
    uint8_t scratch[32];
};

/* Whether a column of `type` can hold what `node` holds: kind, width, nesting. */
int seam_hash_check(const struct seam_column_type *type, const struct seam_node *node,
                    struct seam_error *error);

/* The value of a valid row of a flat node, in StarRocks' layout. */
void seam_hash_value_of(const struct seam_column_type *type, const struct seam_node *node,
                        int64_t row, struct seam_hash_value *out);

/* The same as numbers: days or microseconds since 1970-01-01, whole numbers, unscaled decimals. */
int64_t seam_hash_number(const struct seam_column_type *type, const struct seam_node *node,
                         int64_t row);

/* The 16 bytes of an unscaled decimal: in the array, or in `wide` where Arrow holds fewer. */
static inline const uint8_t *seam_hash_decimal(const struct seam_view *view, int64_t row,
                                               uint8_t wide[16]) {
    const uint8_t *at = view->data + (view->offset + row) * view->width_bytes;
    if (view->width_bytes == 16) {
        return at;
    }
    memset(wide, at[view->width_bytes - 1] & 0x80 ? 0xFF : 0, 16);
    memcpy(wide, at, (size_t)view->width_bytes);
    return wide;
}

/* Spark's rule for one value; nulls leave the state as it is. */
uint32_t seam_hash_spark_value(const struct seam_column_type *type, const struct seam_node *node,
                               int64_t row, uint32_t state);
/* SEAM_UNSUPPORTED: a type that Spark does not hash. */
int seam_hash_spark_check(const struct seam_column_type *type, const struct seam_node *node,
                          struct seam_error *error);

#endif
