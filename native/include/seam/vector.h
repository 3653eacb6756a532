/* One off-heap column: null flags, and values of fixed width, or offsets and bytes, or children.
 *
 * Layout (StarRocks' OffHeapColumnVector): one null byte per row, 1 = null; fixed-width values one
 * after the other; offsets are int32, one more than rows, the first is 0, a null or empty row
 * repeats the one before. Arrays and maps have offsets into their children's rows; the children of
 * a struct have as many rows as the struct, a null under each null struct. A column of kind unknown
 * holds nothing. Everything is little-endian. One deviation: the value slot under a null is 0 here,
 * where Java leaves what the memory held.
 *
 * Growth follows the Java rule too: room for n rows that is not there becomes min(limit, 2 n). All
 * blocks come from the allocator, which is borrowed. A vector belongs to one thread at a time.
 *
 * An append that fails leaves the vector as it was. Limits are checked before anything is written.
 */
#ifndef SEAM_VECTOR_H
#define SEAM_VECTOR_H

#include "seam/arrow.h"
#include "seam/column_type.h"
#include "seam/error.h"
#include "seam/memory.h"
#include "seam/node.h"

#include <stdint.h>

/* Most rows of a vector, and most bytes of its strings (Java's array limit, kept by the ABI). */
#define SEAM_VECTOR_LIMIT (INT32_MAX - 15)
/* Bytes set aside for each string before anything is appended. */
#define SEAM_DEFAULT_STRING_BYTES 4

struct seam_vector {
    struct seam_column_type type;
    int32_t width;    /* bytes per value, 0 if values are found through offsets or not at all */
    int64_t rows;     /* appended so far; Java: elementsAppended */
    int64_t capacity; /* rows for which there is room */
    /* Each a block of its own, aligned to SEAM_ALIGNMENT. Flags behind the last row are 0. */
    uint8_t *nulls;
    uint8_t *data;    /* capacity * width bytes, or NULL */
    int32_t *offsets; /* capacity + 1 entries, or NULL */
    uint8_t *bytes;   /* or NULL */
    int64_t bytes_capacity;
    int32_t n_children;
    struct seam_vector *children;     /* in the order of the type's, or NULL */
    struct seam_allocator *allocator; /* borrowed */
};

/* An empty vector with room for `capacity` rows, and as many in each child. The children of `type`
 * must outlive the vector. On failure `vector` holds nothing. */
int seam_vector_init(struct seam_vector *vector, const struct seam_column_type *type,
                     int64_t capacity, struct seam_allocator *allocator, struct seam_error *error);
/* Gives every block back. Harmless when repeated. */
void seam_vector_reset(struct seam_vector *vector);
/* Room for `capacity` rows in all, or for `total_bytes` of strings in all. */
int seam_vector_reserve(struct seam_vector *vector, int64_t capacity, struct seam_error *error);
int seam_vector_reserve_bytes(struct seam_vector *vector, int64_t total_bytes,
                              struct seam_error *error);

/* Child `index`, borrowed; NULL if there is none. */
struct seam_vector *seam_vector_child(struct seam_vector *vector, int64_t index);
/* How many rows are NULL (Java: numNulls); counted each time. 0 for kind unknown, which has none.
 */
int64_t seam_vector_null_count(const struct seam_vector *vector);
/* Takes back every row from `rows` on, in children too: the way back from a nested row of which
 * only a part could be appended. SEAM_BAD_ARGUMENT if there are fewer rows. */
int seam_vector_truncate(struct seam_vector *vector, int64_t rows, struct seam_error *error);

/* One value each. A function called on a vector of another kind fails with SEAM_BAD_ARGUMENT, a
 * value that the kind cannot hold with SEAM_TOO_LARGE. */
int seam_vector_append_null(struct seam_vector *vector, struct seam_error *error);
/* 0 or 1 */
int seam_vector_append_boolean(struct seam_vector *vector, int64_t value, struct seam_error *error);
/* tinyint, short, int, bigint */
int seam_vector_append_long(struct seam_vector *vector, int64_t value, struct seam_error *error);
/* float (rounded to the nearest), double */
int seam_vector_append_double(struct seam_vector *vector, double value, struct seam_error *error);
/* days since 1970-01-01 */
int seam_vector_append_date(struct seam_vector *vector, int64_t epoch_days,
                            struct seam_error *error);
/* milliseconds (an int32, as in Java); stored in seconds */
int seam_vector_append_time(struct seam_vector *vector, int64_t millis, struct seam_error *error);
/* microseconds since 1970-01-01 00:00:00, no zone involved; all three datetime kinds */
int seam_vector_append_datetime(struct seam_vector *vector, int64_t epoch_micros,
                                struct seam_error *error);
/* Unscaled values, already at the column's scale; the second takes 128 bits in two halves. Java
 * cuts what does not fit the width; here it is SEAM_TOO_LARGE. */
int seam_vector_append_decimal(struct seam_vector *vector, int64_t unscaled,
                               struct seam_error *error);
int seam_vector_append_decimal128(struct seam_vector *vector, int64_t high, uint64_t low,
                                  struct seam_error *error);
/* `size_bytes` bytes of a string (UTF-8, the caller's promise) or binary; they are copied. */
int seam_vector_append_bytes(struct seam_vector *vector, const char *value, int64_t size_bytes,
                             struct seam_error *error);

/* Every value of an Arrow array, which is borrowed, in one go or not at all. Types must agree:
 * bool, int8 to int64, float, double, date32, time32[ms], timestamp (any unit, without zone or in
 * UTC; what is finer than a microsecond is cut off towards the past), decimal32 to decimal128 of
 * the column's scale, utf8, large_utf8, binary, large_binary; list and large_list for arrays; map;
 * struct for structs, whose fields are found by name, and for variants. An array of type null fits
 * every column. Dictionaries and runs go in as what they stand for. What the vector's type leaves
 * out (a field, a map's keys) is not read. Others are SEAM_UNSUPPORTED, by name.
 *
 * Fields under a null struct become null, entries of a null list stay behind. SEAM_BAD_INPUT: the
 * array breaks Arrow's rules (offsets that fall, an index beyond its dictionary).
 * SEAM_TOO_LARGE: a value that the column cannot hold, or too many. */
int seam_vector_append_arrow(struct seam_vector *vector, const struct ArrowSchema *schema,
                             const struct ArrowArray *array, struct seam_error *error);
/* The same for an array that is open already. */
int seam_vector_append_node(struct seam_vector *vector, const struct seam_node *node,
                            struct seam_error *error);

#endif
