/* Kinds of off-heap columns, their widths and the numbers of their encodings.
 *
 * Kinds are numbered as in the Java enum ColumnType.TypeValue of StarRocks' JNI connector, so that
 * a number in a log means the same on both sides.
 */
#ifndef SEAM_COLUMN_TYPE_H
#define SEAM_COLUMN_TYPE_H

#include "seam/error.h"

#include <stdint.h>

enum seam_column_kind {
    SEAM_COLUMN_UNKNOWN = 0, /* a column that the file lacks: one word of 0 in the chain */
    SEAM_COLUMN_BYTE = 1,    /* internal to Java: a column of it holds nothing but nulls */
    SEAM_COLUMN_BOOLEAN = 2, /* one byte, 0 or 1 */
    SEAM_COLUMN_SHORT = 3,
    SEAM_COLUMN_INT = 4,
    SEAM_COLUMN_FLOAT = 5,
    SEAM_COLUMN_LONG = 6,
    SEAM_COLUMN_DOUBLE = 7,
    SEAM_COLUMN_STRING = 8, /* UTF-8 */
    SEAM_COLUMN_BINARY = 9,
    SEAM_COLUMN_DATE = 10,            /* int32 Julian day number */
    SEAM_COLUMN_TIME = 11,            /* double, seconds */
    SEAM_COLUMN_DATETIME = 12,        /* int64 = Julian day << 40 | microsecond of the day */
    SEAM_COLUMN_DATETIME_MICROS = 13, /* same words */
    SEAM_COLUMN_DATETIME_MILLIS = 14, /* same words */
    SEAM_COLUMN_DECIMALV2 = 15,       /* unscaled, 16 bytes; no type string yields it */
    SEAM_COLUMN_DECIMAL32 = 16,       /* unscaled, two's complement */
    SEAM_COLUMN_DECIMAL64 = 17,
    SEAM_COLUMN_DECIMAL128 = 18,
    SEAM_COLUMN_ARRAY = 19,
    SEAM_COLUMN_MAP = 20,
    SEAM_COLUMN_STRUCT = 21,
    SEAM_COLUMN_TINYINT = 22,
    SEAM_COLUMN_VARIANT = 23, /* two binary children: metadata, value */
};

/* Proleptic Gregorian calendar everywhere; 1970-01-01 is this Julian day. */
#define SEAM_JULIAN_EPOCH 2440588
#define SEAM_MICROS_PER_DAY INT64_C(86400000000)
/* A datetime keeps the microsecond of the day in its lower 40 bits. */
#define SEAM_DATETIME_SHIFT 40

/* Deepest nesting of a type, the column itself counted. */
#define SEAM_COLUMN_DEPTH 64
/* Names of an array's element or a map's key, and of a map's value. */
#define SEAM_COLUMN_FIRST "$0"
#define SEAM_COLUMN_SECOND "$1"

/* A type, a tree. `precision` and `scale` count for decimals only.
 *
 * Children: an array's element; a map's key and value, of which one may be missing or both (the
 * reader did not ask for it; the name tells which is left); a struct's fields; a variant's metadata
 * and value, which need not be stated. */
struct seam_column_type {
    int32_t kind;
    int32_t precision;
    int32_t scale;
    int32_t n_children;
    const struct seam_column_type *children; /* borrowed, or NULL */
    const char *name;                        /* of a child: `$0`, `$1` or the field's; borrowed */
};

/* The kind's name in lower case, or "no kind". */
const char *seam_column_kind_name(int32_t kind);
/* Bytes per value; 0 for kinds without fixed-width values (string, binary, unknown, nested). */
int32_t seam_column_width(int32_t kind);
/* Whether values are runs of bytes, found through offsets. */
int seam_column_has_offsets(int32_t kind);
int seam_column_is_decimal(int32_t kind);
/* The children that a column of this type has; those of a variant are always its two binaries. */
const struct seam_column_type *seam_column_children(const struct seam_column_type *type,
                                                    int32_t *n_children);
/* Which child of a map has the keys (`second` 0) or the values (1); -1 if it was not asked for. */
int32_t seam_column_map_child(const struct seam_column_type *type, int second);
/* Goes through the whole tree. SEAM_BAD_ARGUMENT: a number that is no kind. SEAM_UNSUPPORTED: a
 * decimal whose precision or scale cannot be; an array without its one element; children of a map
 * that are not `$0`, then `$1`, or are of kind unknown (the reader of a chain takes no word for
 * them); a struct without fields; nesting deeper than SEAM_COLUMN_DEPTH. */
int seam_column_type_check(const struct seam_column_type *type, struct seam_error *error);

/* Days and microseconds since 1970-01-01 into the stored form. SEAM_TOO_LARGE where the stored form
 * has no room: dates need an int32, datetimes a Julian day of 0 to 2^23 - 1. */
int seam_date_pack(int64_t epoch_days, int32_t *out, struct seam_error *error);
int seam_datetime_pack(int64_t epoch_micros, int64_t *out, struct seam_error *error);

#endif
