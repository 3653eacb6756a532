/* What the files of the Avro decoder share. */
#ifndef SEAM_AVRO_INTERNAL_H
#define SEAM_AVRO_INTERNAL_H

#include "base/varint.h"
#include "base/words.h"
#include "seam/avro.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define LIKELY(condition) __builtin_expect(!!(condition), 1)
#define UNLIKELY(condition) __builtin_expect(!!(condition), 0)

enum {
    /* Bytes that may be read behind a record's end and written behind a text's end: with this much
     * room, a check per field is enough, and short texts are copied without a loop. */
    SLACK_BYTES = 64,
    /* Types within types that a skipped field may have: far above any real schema's, far below what
     * a thread's stack bears. */
    MAX_DEPTH = 128,
};

struct text {
    char *bytes;
    int32_t size;
};

/* A node of the plan, with its texts owned. */
struct node {
    int32_t kind;
    int32_t first_child;
    int32_t n_children;
    int32_t size;
    int32_t min_bytes; /* of the smallest datum; 0 only for types whose every datum is empty */
    struct text name;
    struct text *symbols; /* `size` of them; enum only */
};

/* Columns that grow together: those of the records, or those of all items of one list or map. */
struct level {
    int64_t rows;
    int64_t row_capacity;
    int64_t first_row;     /* of what is being read at a time: a block, a run of items */
    int64_t expected_rows; /* once that is done */
};

/* One column in the making. Row capacity is its level's: values need no check of their own. */
struct builder {
    struct seam_avro_column spec;
    int32_t parent;              /* column that this one is below, or -1 */
    int32_t n_below;             /* columns below it, at any depth; they follow it */
    int32_t level;               /* that it grows with */
    int32_t items;               /* TO_LIST, TO_MAP: the level of its children */
    int32_t width_bytes;         /* of a value; 0 for bits and structs; 4 for offsets */
    struct seam_buffer values;   /* fixed-width values, bits, or offsets */
    struct seam_buffer bytes;    /* TO_BYTES; keeps SLACK_BYTES free */
    struct seam_buffer validity; /* no memory before the first null */
    int64_t bytes_room; /* most that `bytes` may hold before it has to grow; -1 = no memory */
    int64_t null_count;
    int64_t marked_bytes; /* of `bytes`, before the records that are read together */
    int64_t marked_nulls;
    int64_t factor;    /* 10^shift, TO_INT64 */
    seam_int128 scale; /* 10^shift, TO_DECIMAL */
    seam_int128 limit; /* 10^precision, TO_DECIMAL */
    int64_t limit64;   /* the same for values of eight bytes and shift 0; 0 = no short cut */
};

/* What to do with one field, or, for skips, with its bytes. */
enum op_code {
    /* Plain values come first. */
    OP_SKIP_VARINT,
    OP_SKIP_BYTES,
    OP_SKIP_FIXED,
    OP_SKIP_TREE,
    OP_NULL,
    OP_BOOL,
    OP_INT32,
    OP_LONG,
    OP_INT_SCALED,
    OP_FLOAT,
    OP_DOUBLE,
    OP_INT_TO_FLOAT,
    OP_INT_TO_DOUBLE,
    OP_FLOAT_TO_DOUBLE,
    OP_FLOAT_TO_DOUBLE_BY_TEXT,
    OP_BYTES,
    OP_FIXED_TO_BYTES,
    OP_ENUM,
    OP_FIXED,
    OP_DECIMAL_FIXED,
    OP_DECIMAL_BYTES,
    OP_TAGGED,
    OP_LIST,
    OP_MAP,
    OP_STRUCT,
};

/* A union of one type and null is taken off first: `present` and `absent` are the bytes of its
 * branches. */
struct op {
    int32_t code; /* enum op_code */
    bool nullable;
    uint8_t present;
    uint8_t absent;
    bool is_int; /* the writer's type has 32 bits */
    int32_t size;
    int32_t node;    /* of the value, behind the union */
    int32_t field;   /* of the field itself, for messages */
    int32_t n_ops;   /* nested columns: what to do with each field, item, or key and value */
    int32_t n_skips; /* this op and those behind it that pass over plain values; 0: not this one */
    struct op *ops;  /* these */
    struct builder *builder; /* NULL for skips */
};

struct seam_avro_decoder {
    struct seam_allocator *allocator;
    struct node *nodes;
    int32_t *children;
    struct builder *builders;
    struct level *levels; /* the first is the records' */
    struct op *ops;       /* one a field of the top-level record, then those of nested columns */
    int32_t n_nodes;
    int32_t n_children;
    int32_t n_columns;
    int32_t n_levels;
    int32_t n_ops;    /* of the top-level record */
    int32_t n_needed; /* of these: up to the last one that has a column */
    int32_t used_ops; /* while compiling */
    bool has_lanes;   /* no column is nested or tagged, so that records can be read together */
    bool broken;      /* a failure left columns of different lengths */
    struct seam_buffer scratch;
};

/* Where reading stands. SLACK_BYTES behind `end` are readable. */
struct cursor {
    const uint8_t *at;
    const uint8_t *end;   /* of the record */
    const uint8_t *begin; /* of the record */
    int64_t begin_offset; /* offset of `begin` in the caller's bytes */
    int64_t number;       /* of the record in its block */
};

enum { MOST_LANES = 16 };

/* Records that are read together. SLACK_BYTES behind each end are readable. */
struct seam_lanes {
    struct seam_avro_decoder *decoder;
    int64_t first_row;
    int32_t n;
    const uint8_t *at[MOST_LANES];
    const uint8_t *ends[MOST_LANES];
    const uint8_t *passed[MOST_LANES]; /* where `at` may go */
};

/* avro_column.c */
int seam_builder_init(struct builder *builder, const struct seam_avro_column *spec, int32_t index,
                      struct seam_allocator *allocator, struct seam_error *error);
void seam_builder_reset(struct builder *builder);
/* Makes room in all columns of a level for `count` more rows, which are to come next. */
int seam_level_reserve(struct seam_avro_decoder *decoder, int32_t level, int64_t count,
                       struct seam_error *error);
/* Makes room for `size` more bytes, looking ahead to the rows still expected. */
int seam_builder_grow_bytes(const struct seam_avro_decoder *decoder, struct builder *builder,
                            int64_t row, int64_t size, struct seam_error *error);
/* Writes a null, also into all that is below a struct. */
int seam_builder_put_null(const struct seam_avro_decoder *decoder, struct builder *builder,
                          int64_t row, struct seam_error *error);
/* Hands over the column and all below it. */
int seam_builder_finish(const struct seam_avro_decoder *decoder, struct builder *builder,
                        struct ArrowArray *out, struct seam_error *error);

/* avro_lanes.c: reads the first `n_ops` fields of all records into their rows. False if anything is
 * wrong with one of them, which reading them one after the other tells: nothing is written then. */
bool seam_avro_read_lanes(struct seam_lanes *lanes, int32_t n_ops);

/* avro_skip.c: moves `*at` behind one datum of a type. Returns NULL, or what is wrong at `*at`. */
const char *seam_avro_skip(const struct seam_avro_decoder *decoder, int32_t node,
                           const uint8_t **at, const uint8_t *end, int depth);

#endif
