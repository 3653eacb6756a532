/* Many values at once: what a writer has gathered for one column, in one call.
 *
 * Values are appended as if one at a time, by the same rules. On failure the values in front of the
 * one at fault are there, and `rows` of the vector says where that is; seam_vector_truncate takes
 * them back.
 *
 * `nulls` has one byte per value, 1 = null, or is NULL if there are none. The value beside a null
 * is not looked at. All buffers are borrowed.
 */
#ifndef SEAM_VECTOR_BATCH_H
#define SEAM_VECTOR_BATCH_H

#include "seam/error.h"
#include "seam/vector.h"

#include <stdint.h>

/* Boolean, whole numbers, dates (days), times (milliseconds), datetimes (microseconds), decimals
 * (unscaled): whatever one int64 holds. */
int seam_vector_append_longs(struct seam_vector *vector, const int64_t *values,
                             const uint8_t *nulls, int64_t n, struct seam_error *error);
/* Dates, counted in days from a day of the caller's: `origin` is the count of 1970-01-01. */
int seam_vector_append_days(struct seam_vector *vector, const int64_t *values, int64_t origin,
                            const uint8_t *nulls, int64_t n, struct seam_error *error);
/* Float, double. */
int seam_vector_append_doubles(struct seam_vector *vector, const double *values,
                               const uint8_t *nulls, int64_t n, struct seam_error *error);
/* Decimals, 16 bytes each: the unscaled number, two's complement, little-endian. */
int seam_vector_append_decimals128(struct seam_vector *vector, const uint8_t *values,
                                   const uint8_t *nulls, int64_t n, struct seam_error *error);
/* Decimals as text, each ended by a line feed: an optional minus, digits, an optional point with
 * digits behind it, 18 digits at the column's scale or fewer, none of them beyond that scale. The
 * line of a null may be anything. SEAM_BAD_INPUT for any other text, among it legal numbers. */
int seam_vector_append_decimal_texts(struct seam_vector *vector, const char *text,
                                     int64_t size_bytes, const uint8_t *nulls, int64_t n,
                                     struct seam_error *error);
/* Strings (UTF-8, the caller's promise) or binary: one after the other in `bytes`, `sizes` long.
 * A null has no bytes. */
int seam_vector_append_runs(struct seam_vector *vector, const char *bytes, const int64_t *sizes,
                            const uint8_t *nulls, int64_t n, struct seam_error *error);

/* Arrays and maps, whose entries are in their children already: `counts` says how many each row
 * has, of which a null has none. SEAM_BAD_ARGUMENT unless each child has got exactly as many. */
int seam_vector_append_entries(struct seam_vector *vector, const int64_t *counts,
                               const uint8_t *nulls, int64_t n, struct seam_error *error);
/* Structs and variants, whose fields are in their children already: `n` rows more in each, nulls
 * under the null rows. SEAM_BAD_ARGUMENT if a child has another number of rows. */
int seam_vector_append_structs(struct seam_vector *vector, const uint8_t *nulls, int64_t n,
                               struct seam_error *error);

#endif
