/* What the files of the text parser share. */
#ifndef SEAM_TEXT_INTERNAL_H
#define SEAM_TEXT_INTERNAL_H

#include "base/words.h"
#include "seam/text.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* A piece of text; `begin` NULL: there is none. */
struct piece {
    const uint8_t *begin;
    const uint8_t *end;
};

static inline int64_t piece_size(struct piece text) {
    return text.end - text.begin;
}

/* One column in the making. Booleans are bytes until they are handed over. */
struct text_column {
    struct seam_text_column spec;
    int32_t n_below;     /* columns below it, at any depth; they follow it */
    int32_t level;       /* number of the separator that cuts it, if it is nested */
    int32_t width_bytes; /* of a value, or an offset; 0 for structs */
    int32_t *starts;     /* STRUCT: where its fields begin, n_fields + 1 */
    int64_t rows;
    int64_t capacity;
    int64_t null_count;
    seam_uint128 limit; /* 10^precision, DECIMAL */
    struct seam_buffer values;
    struct seam_buffer bytes;
    struct seam_buffer validity; /* ones for all rows there is room for */
    struct seam_buffer table;    /* MAP: rows of the keys of one value, by hash */
};

struct seam_text_parser {
    struct seam_allocator *allocator;
    struct seam_text_format format;
    uint8_t *null_text;
    struct text_column *columns;
    int32_t *starts; /* of a row's fields, n_fields + 1 */
    int32_t n_columns;
    int32_t n_used; /* fields up to the last that has a column */
    int64_t rows;
    bool broken;                /* a failure left columns of different lengths */
    struct seam_buffer scratch; /* fields of a CSV row, or a copy of a number */
};

static const uint64_t POWERS_OF_TEN[] = {
    UINT64_C(1),         UINT64_C(10),         UINT64_C(100),     UINT64_C(1000),
    UINT64_C(10000),     UINT64_C(100000),     UINT64_C(1000000), UINT64_C(10000000),
    UINT64_C(100000000), UINT64_C(1000000000),
};

static inline bool is_digit(uint8_t byte) {
    return (uint8_t)(byte - '0') < 10;
}

/* text_split.c: the beginnings of the first `n_fields` fields of a text, and behind them where one
 * more would begin: field i ends one byte before field i + 1 begins. A field that is missing begins
 * one byte behind its own end. Fields from `n_used` on
 * are not looked for. */
void seam_text_split(struct piece text, uint8_t separator, int32_t escape, bool takes_rest,
                     int32_t n_fields, int32_t n_used, int32_t *starts);
/* The end of the item that begins at `at`. */
const uint8_t *seam_text_item_end(const uint8_t *at, const uint8_t *end, uint8_t separator,
                                  int32_t escape);
/* The same for a line of CSV: fields go to the scratch. */
int seam_text_split_csv(struct seam_text_parser *parser, struct piece line,
                        struct seam_error *error);

/* text_number.c, text_time.c: false where a text is no value of the type. */
bool seam_text_bool(struct piece text, uint8_t *out);
bool seam_text_int(struct piece text, int64_t least, int64_t most, int64_t *out);
bool seam_text_decimal(struct piece text, int32_t scale, seam_uint128 limit, seam_int128 *out);
bool seam_text_date(struct piece text, int64_t *days);
bool seam_text_timestamp(struct piece text, int64_t *micros);
/* `*valid` tells whether it is a number; fails only for want of memory. */
int seam_text_real(struct seam_text_parser *parser, struct piece text, bool is_float, double *out,
                   bool *valid, struct seam_error *error);

/* text_column.c */
int seam_text_column_init(struct seam_text_parser *parser, int32_t index, int32_t level,
                          int32_t n_columns, struct seam_error *error);
void seam_text_column_reset(struct text_column *column);
/* Appends a value; a missing one, the text of a null, or one that does not parse is null. */
int seam_text_append(struct seam_text_parser *parser, struct text_column *column, struct piece text,
                     struct seam_error *error);
int seam_text_column_finish(struct seam_text_parser *parser, struct text_column *column,
                            struct ArrowArray *out, struct seam_error *error);

/* text_nested.c: the items, entries or fields of a value that is not null. */
int seam_text_append_nested(struct seam_text_parser *parser, struct text_column *column,
                            struct piece text, struct seam_error *error);

#endif
