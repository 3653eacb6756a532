/* Avro binary data, decoded straight into columns of the Arrow layout.
 *
 * The caller plans: it flattens the writer's schema into nodes and says which field of the
 * top-level record goes into which column. The decoder checks the plan once, then runs through
 * blocks of records; fields without a column are skipped. All memory comes from the tracked
 * allocator.
 *
 * A decoder belongs to one thread at a time. Reading a block borrows its bytes for the call only.
 */
#ifndef SEAM_AVRO_H
#define SEAM_AVRO_H

#include "seam/arrow.h"
#include "seam/error.h"
#include "seam/memory.h"

#include <stdint.h>

struct seam_avro_decoder;

/* What the writer wrote. */
enum seam_avro_kind {
    SEAM_AVRO_NULL = 0,
    SEAM_AVRO_BOOLEAN = 1,
    SEAM_AVRO_INT = 2,
    SEAM_AVRO_LONG = 3,
    SEAM_AVRO_FLOAT = 4,
    SEAM_AVRO_DOUBLE = 5,
    SEAM_AVRO_BYTES = 6,
    SEAM_AVRO_STRING = 7,
    SEAM_AVRO_FIXED = 8,
    SEAM_AVRO_ENUM = 9,
    SEAM_AVRO_ARRAY = 10,
    SEAM_AVRO_MAP = 11,
    SEAM_AVRO_UNION = 12,
    SEAM_AVRO_RECORD = 13,
};

/* One type of the writer's schema. Node 0 is the top-level record. A named type that refers to
 * itself is one node that is its own descendant. */
struct seam_avro_node {
    int32_t kind;        /* enum seam_avro_kind */
    int32_t column;      /* column that takes the values, or -1. Below a top-level field: only
                          * if what holds the node has a column too */
    int32_t first_child; /* position in the list of children */
    int32_t n_children;  /* fields of a record, branches of a union, 1 of an array or map */
    int32_t size;        /* fixed: bytes; enum: number of symbols */
    const char *name;    /* dotted field name for messages; may be NULL */
    const char *const *symbols; /* enum only */
};

/* How a column keeps its values. */
enum seam_avro_column_kind {
    SEAM_AVRO_TO_BOOL = 0,
    SEAM_AVRO_TO_INT32 = 1,  /* from int */
    SEAM_AVRO_TO_INT64 = 2,  /* from int, long */
    SEAM_AVRO_TO_FLOAT = 3,  /* from int, long, float */
    SEAM_AVRO_TO_DOUBLE = 4, /* from int, long, float, double */
    /* As TO_DOUBLE, but a float becomes the double that its decimal text names: 0.3f is 0.3. */
    SEAM_AVRO_TO_DOUBLE_BY_TEXT = 5,
    SEAM_AVRO_TO_DECIMAL = 6, /* decimal128; from bytes, fixed: big-endian two's complement */
    SEAM_AVRO_TO_BYTES = 7,   /* int32 offsets; from string, bytes, fixed, enum */
    SEAM_AVRO_TO_FIXED = 8,   /* from fixed of the same size */
    /* From a union of scalars (or of records of one scalar): this column gets the number of the
     * branch (int32), the next one the value of a boolean, int, long (sign-extended), float or
     * double (its bits as int64), the one after that the bytes of anything else, undecoded. */
    SEAM_AVRO_TO_TAGGED = 9,
    SEAM_AVRO_TO_LIST = 10,   /* from array; one child: the item */
    SEAM_AVRO_TO_MAP = 11,    /* from map; two children: the key, TO_BYTES that allows no nulls and
                               * has no node, and the value */
    SEAM_AVRO_TO_STRUCT = 12, /* from record; a child for each field that is kept */
};

/* What stands before each record of a block. */
enum seam_avro_framing {
    SEAM_AVRO_PLAIN = 0,  /* nothing: records follow each other, as in Avro's own files */
    SEAM_AVRO_FRAMED = 1, /* an int32 (big-endian): the record's length in bytes */
    /* The same; what follows the last field with a column is passed over by that length, unread. */
    SEAM_AVRO_JUMPED = 2,
};

struct seam_avro_column {
    int32_t kind;     /* enum seam_avro_column_kind */
    int32_t nullable; /* 0: a null is an error */
    int32_t utf8;     /* TO_BYTES: 1 = the bytes must be UTF-8 */
    int32_t size;     /* TO_FIXED: bytes; TO_DECIMAL: precision, 1 to 38 */
    int32_t shift;    /* TO_INT64, TO_DECIMAL: values are multiplied by ten to this power */
    /* Columns below this one: each follows with all that is below itself. 0 for types of one value.
     */
    int32_t n_children;
};

/* Checks and compiles the plan; everything given is copied. SEAM_UNSUPPORTED names the field whose
 * type cannot go into its column (unions other than one type and null, lists of items that take no
 * bytes);
 * SEAM_BAD_INPUT a schema that has no finite value; SEAM_BAD_ARGUMENT a plan with wrong numbers. */
int seam_avro_new(struct seam_allocator *allocator, const struct seam_avro_node *nodes,
                  int32_t n_nodes, const int32_t *children, int32_t n_children,
                  const struct seam_avro_column *columns, int32_t n_columns,
                  struct seam_avro_decoder **out, struct seam_error *error);
void seam_avro_free(struct seam_avro_decoder *decoder);

/* Appends `n_records` records. They begin at `offset_bytes` and must end exactly at `size_bytes`,
 * and each framed one exactly at its length. Offsets in errors count from `data`. After a failure
 * the decoder is good for nothing but being freed. SEAM_BAD_ARGUMENT for plain records that take no
 * bytes: any number of them would fit. */
int seam_avro_decode(struct seam_avro_decoder *decoder, const uint8_t *data, int64_t size_bytes,
                     int64_t offset_bytes, int64_t n_records, enum seam_avro_framing framing,
                     struct seam_error *error);

/* The same for framed records of which some are left out: passed over by their lengths, unread.
 * `kept` has a bit for each of the `n_records`, the least significant first: 1 = decode it. */
int seam_avro_decode_kept(struct seam_avro_decoder *decoder, const uint8_t *data,
                          int64_t size_bytes, int64_t offset_bytes, int64_t n_records,
                          const uint8_t *kept, enum seam_avro_framing framing,
                          struct seam_error *error);

/* Where to cut a block of framed records, so that it can be decoded piece by piece: `*end_bytes`
 * and `*count` get the end of, and the number of records in, a piece that begins at `offset_bytes`
 * and has at least `piece_bytes`, or is the last one. Nothing but the records' lengths is read;
 * where they break the format, the rest is one piece, and decoding it says what is wrong. */
void seam_avro_cut(const uint8_t *data, int64_t size_bytes, int64_t offset_bytes, int64_t n_records,
                   int64_t piece_bytes, int64_t *end_bytes, int64_t *count);

/* Decodes one Avro array of the top-level record: no lengths, but counts before runs of items. */
int seam_avro_decode_array(struct seam_avro_decoder *decoder, const uint8_t *data,
                           int64_t size_bytes, int64_t offset_bytes, struct seam_error *error);

/* Rows decoded since the start or the last finish. */
int64_t seam_avro_rows(const struct seam_avro_decoder *decoder);

/* Hands the rows over as a struct array, one child per top-level column in their order, and
 * leaves the decoder empty and ready for more blocks. The array owns its memory: release it. */
int seam_avro_finish(struct seam_avro_decoder *decoder, struct ArrowArray *out,
                     struct seam_error *error);

#endif
