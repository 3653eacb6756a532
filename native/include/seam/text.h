/* Rows of delimited text, parsed straight into columns of the Arrow layout.
 *
 * A row is a line, or bytes of a known length. It is cut into fields at separators, or as CSV with
 * quotes; fields without a column are not looked at. What does not parse as its column's type is
 * null, as Hive's LazySimpleSerDe has it. All memory comes from the tracked allocator.
 *
 * A parser belongs to one thread at a time. Parsing borrows the bytes for the call only.
 */
#ifndef SEAM_TEXT_H
#define SEAM_TEXT_H

#include "seam/arrow.h"
#include "seam/error.h"
#include "seam/memory.h"

#include <stdint.h>

struct seam_text_parser;

enum seam_text_kind {
    SEAM_TEXT_BOOL = 0,
    SEAM_TEXT_INT8 = 1,
    SEAM_TEXT_INT16 = 2,
    SEAM_TEXT_INT32 = 3,
    SEAM_TEXT_INT64 = 4,
    SEAM_TEXT_FLOAT = 5,
    SEAM_TEXT_DOUBLE = 6,
    SEAM_TEXT_DECIMAL = 7,   /* decimal128, rounded half up to its scale */
    SEAM_TEXT_DATE = 8,      /* days since 1970, int32 */
    SEAM_TEXT_TIMESTAMP = 9, /* microseconds since 1970 of a clock on the wall, int64 */
    SEAM_TEXT_STRING = 10,   /* int32 offsets; not checked to be UTF-8 */
    SEAM_TEXT_BINARY = 11,   /* base64, or the bytes themselves where they are none */
    SEAM_TEXT_LIST = 12,     /* one column below: the item */
    SEAM_TEXT_MAP = 13,      /* two below: key, a single value, and value */
    SEAM_TEXT_STRUCT = 14,   /* one below for each field that is kept */
};

struct seam_text_column {
    int32_t kind;      /* enum seam_text_kind */
    int32_t field;     /* position in the row or the struct that it is part of; else 0 */
    int32_t precision; /* DECIMAL: 1 to 38; STRING: most characters, 0 = any number */
    int32_t scale;     /* DECIMAL: 0 to precision; STRING: 1 = filled up with blanks */
    int32_t n_fields;  /* STRUCT: fields that its text has, kept or not */
    /* Columns directly below this one: each follows with all that is below itself. */
    int32_t n_children;
};

enum { SEAM_TEXT_MOST_LEVELS = 24 };

struct seam_text_format {
    int32_t
        is_csv; /* 1: fields in quotes, all of them texts; nothing is null but what is missing */
    int32_t n_fields;
    uint8_t separators[SEAM_TEXT_MOST_LEVELS]; /* of fields, items, keys, ... by depth */
    int32_t n_separators;
    int32_t quote;            /* CSV; a byte */
    int32_t escape;           /* a byte, or -1 */
    int32_t last_takes_rest;  /* separators behind the last field belong to it */
    const uint8_t *null_text; /* what stands for null */
    int32_t null_text_bytes;  /* -1: nothing does */
};

/* Checks and copies what is given. SEAM_UNSUPPORTED: types nested deeper than there are separators;
 * SEAM_BAD_ARGUMENT: wrong numbers. */
int seam_text_new(struct seam_allocator *allocator, const struct seam_text_format *format,
                  const struct seam_text_column *columns, int32_t n_columns,
                  struct seam_text_parser **out, struct seam_error *error);
void seam_text_free(struct seam_text_parser *parser);

/* Where the line that holds `from` ends: the offset behind its LF, CR LF or CR. -1 if its end is
 * not there; the bytes' end is one if they are the `last`. */
int64_t seam_text_line_end(const uint8_t *data, int64_t size_bytes, int64_t from, int32_t last);

/* Appends the lines that begin at `*at_bytes` and behind it, up to those that begin behind
 * `last_begin_bytes`, `most_rows` at most. `*at_bytes` becomes the beginning of the next line: what
 * stands there is a line without an end (unless these bytes are the `last`), one behind the limit,
 * or one too many. After a failure the parser is good for nothing but being freed. */
int seam_text_parse(struct seam_text_parser *parser, const uint8_t *data, int64_t size_bytes,
                    int32_t last, int64_t last_begin_bytes, int64_t most_rows, int64_t *at_bytes,
                    struct seam_error *error);

/* Appends rows whose bytes lie behind each other: row i between `offsets[i]` and `offsets[i + 1]`.
 * SEAM_BAD_ARGUMENT: offsets that descend or lead out of the bytes. */
int seam_text_parse_rows(struct seam_text_parser *parser, const uint8_t *data, int64_t size_bytes,
                         const int64_t *offsets, int64_t n_rows, struct seam_error *error);

/* Rows parsed since the start or the last finish. */
int64_t seam_text_rows(const struct seam_text_parser *parser);

/* Hands the rows over as a struct array, one child per top-level column in their order, and leaves
 * the parser empty and ready for more. The array owns its memory: release it. */
int seam_text_finish(struct seam_text_parser *parser, struct ArrowArray *out,
                     struct seam_error *error);

#endif
