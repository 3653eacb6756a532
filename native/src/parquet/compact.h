/* Reading of Thrift's compact protocol, which footers, page indexes and page headers are written
 * in.
 *
 * Every function that can fail returns a code of seam/error.h; offsets of errors are those in the
 * bytes given. */
#ifndef SEAM_PARQUET_COMPACT_H
#define SEAM_PARQUET_COMPACT_H

#include "seam/error.h"

#include <stdint.h>

/* Types of Thrift's compact protocol. */
enum {
    TRUE_FIELD = 1,
    FALSE_FIELD = 2,
    BYTE = 3,
    INT16 = 4,
    INT32 = 5,
    INT64 = 6,
    DOUBLE = 7,
    BINARY = 8,
    LIST = 9,
    SET = 10,
    MAP = 11,
    STRUCT = 12,
    UUID = 13,
};

struct compact {
    const uint8_t *data;
    int64_t size_bytes;
    int64_t at;
    const char *part;  /* of the file, for messages */
    int64_t row_group; /* -1 outside of any, as the column */
    int64_t column;
    struct seam_error *error;
};

struct compact_field {
    int64_t number;
    int32_t type; /* 0: the struct ends */
};

int compact_fail(const struct compact *in, int code, const char *what);
/* Passes over so many bytes. */
int compact_take(struct compact *in, uint64_t size_bytes);
int compact_byte(struct compact *in, uint8_t *out);
int compact_varint(struct compact *in, uint64_t *out);
int compact_integer(struct compact *in, int64_t *out);
/* The next field's head; `field` is the one before it, all 0 at first. */
int compact_next_field(struct compact *in, struct compact_field *field);
/* A list has at most as many elements as bytes are left. */
int compact_list_head(struct compact *in, int32_t *type, uint64_t *count);
/* Passes over a value. A boolean takes a byte as an element, and none as a field. */
int compact_skip(struct compact *in, int32_t type, int is_element, int depth);
/* The head of a field that is a list of structs. */
int compact_structs(struct compact *in, const struct compact_field *field, uint64_t *count);
/* A field that is a whole number of at most 64 bits. */
int compact_number(struct compact *in, const struct compact_field *field, int64_t *out);

/* Reads the value of a field, or passes over it. */
typedef int compact_reader(struct compact *in, const struct compact_field *field, void *to);
/* Gives every field of a struct to `read`. */
int compact_struct(struct compact *in, compact_reader *read, void *to);

#endif
