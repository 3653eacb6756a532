/* What the readers of both row formats share: how they complain, and columns of strings. */
#ifndef SEAM_ROW_READ_H
#define SEAM_ROW_READ_H

#include "row_build.h"

struct row_reader {
    const uint8_t *data;
    const uint8_t *end;
    int64_t row; /* for messages */
    struct row_builder builder;
    struct seam_error *error;
};

/* SEAM_BAD_INPUT: `what` is wrong with a value of `type`, at `at`. */
int row_bad(const struct row_reader *reader, const struct seam_row_type *type, const uint8_t *at,
            const char *what);
/* A null as it was read, which the type may not allow. */
int row_read_null(struct row_reader *reader, struct row_column *column, const uint8_t *at);
/* A string or binary value. */
int row_read_bytes(struct row_reader *reader, struct row_column *column, const uint8_t *at,
                   int64_t size_bytes);
/* A decimal of up to 18 digits, stored as eight bytes. */
int row_read_short_decimal(struct row_reader *reader, struct row_column *column, const uint8_t *at);
/* Appends a decimal that was found at `at`. */
int row_read_decimal(struct row_reader *reader, struct row_column *column, const uint8_t *at,
                     int64_t high, uint64_t low);
/* A boolean: one byte, 0 or 1. */
int row_read_boolean(struct row_reader *reader, struct row_column *column, const uint8_t *at);

/* Strings of a block of rows: sizes[i] bytes at from[i], which were checked to be there. A null has
 * size 0. Appends offsets and bytes, and checks UTF-8 where the type asks for it; validity is the
 * caller's. */
int row_block_strings(struct row_reader *reader, struct row_column *column, int64_t count,
                      const uint8_t *const *from, const int64_t *sizes);

#endif
