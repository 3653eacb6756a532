/* The Avro decoder: encodings from the Avro specification, damage of every kind, memory. */
#include "check.h"

#include "seam/arrow_build.h"
#include "seam/avro.h"

#include <stdbool.h>
#include <string.h>

static struct seam_error error;

/* A record whose fields are nodes 1 to n; further nodes are their parts. */
struct plan {
    const struct seam_avro_node *nodes;
    int32_t n_nodes;
    const int32_t *children;
    int32_t n_children;
    const struct seam_avro_column *columns;
    int32_t n_columns;
};

static int new_decoder(struct seam_allocator *allocator, const struct plan *plan,
                       struct seam_avro_decoder **out, struct seam_error *failure) {
    return seam_avro_new(allocator, plan->nodes, plan->n_nodes, plan->children, plan->n_children,
                         plan->columns, plan->n_columns, out, failure);
}

#define PLAN(nodes_, children_, columns_)                                                          \
    {.nodes = nodes_,                                                                              \
     .n_nodes = sizeof nodes_ / sizeof *nodes_,                                                    \
     .children = children_,                                                                        \
     .n_children = sizeof children_ / sizeof *children_,                                           \
     .columns = columns_,                                                                          \
     .n_columns = sizeof columns_ / sizeof *columns_}

/* record { a: long } into one int64 column. */
static const struct seam_avro_node LONG_NODES[] = {
    {.kind = SEAM_AVRO_RECORD, .column = -1, .n_children = 1},
    {.kind = SEAM_AVRO_LONG, .column = 0, .name = "a"},
};
static const int32_t FIRST_CHILD[] = {1};
static const struct seam_avro_column LONG_COLUMNS[] = {{.kind = SEAM_AVRO_TO_INT64}};
static const struct plan LONG_PLAN = PLAN(LONG_NODES, FIRST_CHILD, LONG_COLUMNS);

/* Decodes one record of the given datum; returns the code, and the first column's value. */
static int decode_long(const uint8_t *datum, size_t size, int64_t *value) {
    uint8_t block[64] = {0, 0, 0, (uint8_t)size};
    memcpy(block + 4, datum, size);
    struct seam_allocator *allocator = seam_allocator_new(0);
    struct seam_avro_decoder *decoder;
    CHECK_OK(new_decoder(allocator, &LONG_PLAN, &decoder, &error));
    int code = seam_avro_decode(decoder, block, (int64_t)size + 4, 0, 1, SEAM_AVRO_FRAMED, &error);
    if (code == SEAM_OK) {
        struct ArrowArray array;
        CHECK_OK(seam_avro_finish(decoder, &array, &error));
        CHECK(array.length == 1 && array.n_children == 1);
        *value = ((const int64_t *)array.children[0]->buffers[1])[0];
        seam_array_release(&array);
    }
    seam_avro_free(decoder);
    CHECK(live_blocks(allocator) == 0);
    seam_allocator_release(allocator);
    return code;
}

/* The table of the specification, and the ends of the range. */
static void longs_are_zigzag_in_groups_of_seven_bits(void) {
    static const struct {
        int64_t value;
        size_t size;
        uint8_t bytes[10];
    } cases[] = {
        {0, 1, {0x00}},
        {-1, 1, {0x01}},
        {1, 1, {0x02}},
        {-2, 1, {0x03}},
        {2, 1, {0x04}},
        {-64, 1, {0x7f}},
        {64, 2, {0x80, 0x01}},
        {8192, 3, {0x80, 0x80, 0x01}},
        {INT32_MAX, 5, {0xfe, 0xff, 0xff, 0xff, 0x0f}},
        {INT32_MIN, 5, {0xff, 0xff, 0xff, 0xff, 0x0f}},
        {INT64_C(1) << 54, 8, {0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x40}},
        {INT64_C(1) << 55, 9, {0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x01}},
        {INT64_MAX, 10, {0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01}},
        {INT64_MIN, 10, {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01}},
        {1, 3, {0x82, 0x80, 0x00}}, /* longer than need be, and legal */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int64_t value = 42;
        CHECK_OK(decode_long(cases[i].bytes, cases[i].size, &value));
        CHECK(value == cases[i].value);
    }
}

/* More than 64 bits, an end in the middle, and bytes left over. */
static void malformed_longs_are_refused(void) {
    static const struct {
        size_t size;
        uint8_t bytes[12];
    } cases[] = {
        {10, {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02}},
        {11, {0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x00}},
        {1, {0x80}},
        {9, {0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80}},
        {0, {0}},
        {2, {0x02, 0x00}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int64_t value;
        CHECK(decode_long(cases[i].bytes, cases[i].size, &value) == SEAM_BAD_INPUT);
        CHECK(error.offset >= 0);
    }
}

/* A record of everything that has a column kind, and of skipped fields between:
 *   n: [null, long] -> int64;  s: [string, null] -> bytes;  skipped: array of map of [null, int];
 *   d: fixed(3) decimal -> decimal128 with two more digits;  e: enum -> bytes;  b: boolean */
static const char *const SYMBOLS[] = {"RED", "GREEN"};
static const struct seam_avro_node MIXED_NODES[] = {
    {.kind = SEAM_AVRO_RECORD, .column = -1, .first_child = 0, .n_children = 6},
    {.kind = SEAM_AVRO_UNION, .column = 0, .first_child = 6, .n_children = 2, .name = "n"},
    {.kind = SEAM_AVRO_UNION, .column = 1, .first_child = 8, .n_children = 2, .name = "s"},
    {.kind = SEAM_AVRO_ARRAY, .column = -1, .first_child = 10, .n_children = 1, .name = "skip"},
    {.kind = SEAM_AVRO_FIXED, .column = 2, .size = 3, .name = "d"},
    {.kind = SEAM_AVRO_ENUM, .column = 3, .size = 2, .symbols = SYMBOLS, .name = "e"},
    {.kind = SEAM_AVRO_BOOLEAN, .column = 4, .name = "b"},
    {.kind = SEAM_AVRO_NULL, .column = -1},
    {.kind = SEAM_AVRO_LONG, .column = -1},
    {.kind = SEAM_AVRO_STRING, .column = -1},
    {.kind = SEAM_AVRO_MAP, .column = -1, .first_child = 11, .n_children = 1},
    {.kind = SEAM_AVRO_UNION, .column = -1, .first_child = 12, .n_children = 2},
    {.kind = SEAM_AVRO_INT, .column = -1},
};
static const int32_t MIXED_CHILDREN[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 7, 10, 11, 7, 12};
static const struct seam_avro_column MIXED_COLUMNS[] = {
    {.kind = SEAM_AVRO_TO_INT64, .nullable = 1},
    {.kind = SEAM_AVRO_TO_BYTES, .nullable = 1, .utf8 = 1},
    {.kind = SEAM_AVRO_TO_DECIMAL, .size = 9, .shift = 2},
    {.kind = SEAM_AVRO_TO_BYTES, .utf8 = 1},
    {.kind = SEAM_AVRO_TO_BOOL},
};
static const struct plan MIXED_PLAN = PLAN(MIXED_NODES, MIXED_CHILDREN, MIXED_COLUMNS);

/* Two records: (7, "foo", [{"k": 5}], -1, GREEN, true) and (null, null, [{}], 1, RED, false), whose
 * array tells the size of its run. */
static const uint8_t MIXED_BLOCK[] = {
    0,    0,    0,    20,           /* length of the first record */
    2,    14,                       /* n */
    0,    6,    'f',  'o', 'o',     /* s */
    2,    2,    2,    'k', 2,   10, /* skip: one map of one entry, */
    0,    0,                        /* its end, the array's end */
    0xff, 0xff, 0xff,               /* d */
    2,    1,                        /* e, b */
    0,    0,    0,    11,           /* length of the second record */
    0,    2,                        /* n, s */
    1,    2,    0,    0,            /* skip: minus one item in one byte */
    0,    0,    1,    0,   0,       /* d, e, b */
};

static void expect_mixed(const struct ArrowArray *array, int64_t rows) {
    CHECK(array->length == rows && array->n_children == 5 && array->null_count == 0);
    const struct ArrowArray *const *columns = (const struct ArrowArray *const *)array->children;
    for (int64_t row = 0; row < rows; row += 2) {
        const int64_t *n = columns[0]->buffers[1];
        const uint8_t *valid = columns[0]->buffers[0];
        CHECK(n[row] == 7 && n[row + 1] == 0);
        CHECK((valid[row / 8] >> (row % 8) & 3) == 1);
        const int32_t *s = columns[1]->buffers[1];
        CHECK(s[0] == 0 && s[row + 1] - s[row] == 3 && s[row + 2] == s[row + 1]);
        CHECK(memcmp((const char *)columns[1]->buffers[2] + s[row], "foo", 3) == 0);
        const int64_t *d = columns[2]->buffers[1];
        CHECK(d[2 * row] == -100 && d[2 * row + 1] == -1);
        CHECK(d[2 * row + 2] == 100 && d[2 * row + 3] == 0);
        const int32_t *e = columns[3]->buffers[1];
        CHECK(e[row + 1] - e[row] == 5 && e[row + 2] - e[row + 1] == 3);
        CHECK(memcmp((const char *)columns[3]->buffers[2] + e[row], "GREENRED", 8) == 0);
        const uint8_t *b = columns[4]->buffers[1];
        CHECK((b[row / 8] >> (row % 8) & 3) == 1);
    }
    CHECK(columns[0]->null_count == rows / 2 && columns[1]->null_count == rows / 2);
    CHECK(columns[2]->null_count == 0 && columns[2]->buffers[0] == NULL);
}

/* `blocks` times the mixed block, one after the other; the memory goes back with the array. */
static int decode_mixed(struct seam_allocator *allocator, int64_t blocks,
                        struct seam_error *failure) {
    struct seam_avro_decoder *decoder;
    struct ArrowArray array;
    int code = new_decoder(allocator, &MIXED_PLAN, &decoder, failure);
    if (code != SEAM_OK) {
        return code;
    }
    for (int64_t i = 0; i < blocks && code == SEAM_OK; i++) {
        code = seam_avro_decode(decoder, MIXED_BLOCK, sizeof MIXED_BLOCK, 0, 2, SEAM_AVRO_FRAMED,
                                failure);
        CHECK(code != SEAM_OK || seam_avro_rows(decoder) == 2 * i + 2);
    }
    if (code == SEAM_OK) {
        code = seam_avro_finish(decoder, &array, failure);
    }
    seam_avro_free(decoder);
    if (code == SEAM_OK) {
        expect_mixed(&array, 2 * blocks);
        seam_array_release(&array);
    }
    return code;
}

static int decode_mixed_100(struct seam_allocator *allocator, struct seam_error *failure) {
    return decode_mixed(allocator, 100, failure);
}

/* Blocks append; a finished decoder is empty and takes more. */
static void blocks_append_and_finish_starts_anew(void) {
    struct seam_allocator *allocator = seam_allocator_new(0);
    struct seam_avro_decoder *decoder;
    struct ArrowArray array;
    CHECK_OK(decode_mixed(allocator, 1, &error));
    CHECK_OK(decode_mixed(allocator, 1000, &error));
    CHECK_OK(new_decoder(allocator, &MIXED_PLAN, &decoder, &error));
    for (int i = 0; i < 3; i++) {
        CHECK_OK(seam_avro_decode(decoder, MIXED_BLOCK, sizeof MIXED_BLOCK, 0, 2, SEAM_AVRO_FRAMED,
                                  &error));
        CHECK_OK(seam_avro_finish(decoder, &array, &error));
        expect_mixed(&array, 2);
        seam_array_release(&array);
        CHECK(seam_avro_rows(decoder) == 0);
    }
    CHECK_OK(seam_avro_finish(decoder, &array, &error)); /* no rows at all */
    CHECK(array.length == 0 && ((const int32_t *)array.children[1]->buffers[1])[0] == 0);
    seam_array_release(&array);
    seam_avro_free(decoder);
    CHECK(live_blocks(allocator) == 0);
    seam_allocator_release(allocator);
}

/* The mixed record again; only its first column is asked for. */
static const struct seam_avro_node NARROW_NODES[] = {
    {.kind = SEAM_AVRO_RECORD, .column = -1, .first_child = 0, .n_children = 3},
    {.kind = SEAM_AVRO_UNION, .column = 0, .first_child = 3, .n_children = 2, .name = "n"},
    {.kind = SEAM_AVRO_UNION, .column = -1, .first_child = 5, .n_children = 2, .name = "s"},
    {.kind = SEAM_AVRO_ARRAY, .column = -1, .first_child = 7, .n_children = 1, .name = "skip"},
    {.kind = SEAM_AVRO_NULL, .column = -1},
    {.kind = SEAM_AVRO_LONG, .column = -1},
    {.kind = SEAM_AVRO_STRING, .column = -1},
};
static const int32_t NARROW_CHILDREN[] = {1, 2, 3, 4, 5, 6, 4, 4};
static const struct seam_avro_column NARROW_COLUMNS[] = {
    {.kind = SEAM_AVRO_TO_INT64, .nullable = 1}};
static const struct plan NARROW_PLAN = PLAN(NARROW_NODES, NARROW_CHILDREN, NARROW_COLUMNS);

/* The values of `n` of those records of the mixed block that are kept; the bytes may be damaged. */
static int64_t decode_narrow(const uint8_t *block, uint8_t kept, enum seam_avro_framing framing,
                             int *code, int64_t *values) {
    struct seam_allocator *allocator = seam_allocator_new(0);
    struct seam_avro_decoder *decoder;
    struct ArrowArray array;
    int64_t rows = -1;
    CHECK_OK(new_decoder(allocator, &NARROW_PLAN, &decoder, &error));
    *code = kept == 3 ? seam_avro_decode(decoder, block, sizeof MIXED_BLOCK, 0, 2, framing, &error)
                      : seam_avro_decode_kept(decoder, block, sizeof MIXED_BLOCK, 0, 2, &kept,
                                              framing, &error);
    if (*code == SEAM_OK) {
        CHECK_OK(seam_avro_finish(decoder, &array, &error));
        rows = array.length;
        for (int64_t i = 0; i < rows; i++) {
            values[i] = ((const int64_t *)array.children[0]->buffers[1])[i];
        }
        seam_array_release(&array);
    }
    seam_avro_free(decoder);
    CHECK(live_blocks(allocator) == 0);
    seam_allocator_release(allocator);
    return rows;
}

/* What follows the last field with a column is not looked at, nor is a record that is left out; the
 * lengths of all are, and so is a field that passes the end of its record. */
static void records_are_jumped_over(void) {
    uint8_t block[sizeof MIXED_BLOCK];
    int64_t values[2];
    int code;
    memcpy(block, MIXED_BLOCK, sizeof block);
    CHECK(decode_narrow(block, 3, SEAM_AVRO_FRAMED, &code, values) == -1 && code == SEAM_BAD_INPUT);
    CHECK(decode_narrow(block, 3, SEAM_AVRO_JUMPED, &code, values) == 2);
    CHECK(values[0] == 7 && values[1] == 0);
    CHECK(decode_narrow(block, 1, SEAM_AVRO_JUMPED, &code, values) == 1 && values[0] == 7);
    CHECK(decode_narrow(block, 2, SEAM_AVRO_JUMPED, &code, values) == 1 && values[0] == 0);
    CHECK(decode_narrow(block, 0, SEAM_AVRO_JUMPED, &code, values) == 0);
    CHECK(decode_narrow(block, 1, SEAM_AVRO_PLAIN, &code, values) == -1);
    CHECK(code == SEAM_BAD_ARGUMENT);
    memset(block + 6, 0xff, 18); /* all of the first record but its first field */
    CHECK(decode_narrow(block, 1, SEAM_AVRO_JUMPED, &code, values) == 1 && values[0] == 7);
    CHECK(decode_narrow(block, 1, SEAM_AVRO_FRAMED, &code, values) == -1);
    block[5] = 0xff;
    CHECK(decode_narrow(block, 2, SEAM_AVRO_JUMPED, &code, values) == 1 && values[0] == 0);
    CHECK(decode_narrow(block, 1, SEAM_AVRO_JUMPED, &code, values) == -1 && code == SEAM_BAD_INPUT);
    memcpy(block, MIXED_BLOCK, sizeof block);
    block[3] = 1; /* the length */
    for (uint8_t kept = 0; kept < 4; kept++) {
        CHECK(decode_narrow(block, kept, SEAM_AVRO_JUMPED, &code, values) == -1);
        CHECK(code == SEAM_BAD_INPUT);
    }
}

/* Whatever byte a block ends at, it is refused; so is one byte too many. The block is copied to
 * memory of just its size, so that the sanitizer sees a read behind it. */
static void every_truncation_is_refused(void) {
    for (size_t size = 0; size <= sizeof MIXED_BLOCK + 1; size++) {
        struct seam_allocator *allocator = seam_allocator_new(0);
        struct seam_avro_decoder *decoder;
        uint8_t *block = calloc(1, size > 0 ? size : 1);
        CHECK(block != NULL);
        memcpy(block, MIXED_BLOCK, size < sizeof MIXED_BLOCK ? size : sizeof MIXED_BLOCK);
        CHECK_OK(new_decoder(allocator, &MIXED_PLAN, &decoder, &error));
        int code = seam_avro_decode(decoder, block, (int64_t)size, 0, 2, SEAM_AVRO_FRAMED, &error);
        CHECK(code == (size == sizeof MIXED_BLOCK ? SEAM_OK : SEAM_BAD_INPUT));
        CHECK(code == SEAM_OK || (error.offset >= 0 && error.offset <= (int64_t)size));
        struct ArrowArray array;
        if (code != SEAM_OK) { /* and it stays so */
            CHECK(seam_avro_finish(decoder, &array, &error) == SEAM_BAD_ARGUMENT);
            CHECK(seam_avro_decode(decoder, block, 0, 0, 0, SEAM_AVRO_FRAMED, &error) ==
                  SEAM_BAD_ARGUMENT);
        }
        seam_avro_free(decoder);
        free(block);
        CHECK(live_blocks(allocator) == 0);
        seam_allocator_release(allocator);
    }
}

/* One byte changed: the code, and the words that the message must have. */
static void damage_is_named(void) {
    static const struct {
        size_t at;
        uint8_t byte;
        const char *words;
    } cases[] = {
        {0, 0x80, "claims"},                              /* a negative length of a record */
        {3, 19, "field 'b' of record 0: a value passes"}, /* ends before its datum */
        {3, 21, "length says"},                           /* ends after its datum */
        {4, 4, "field 'n' of record 0: a union"},         /* no third branch */
        {7, 5, "field 's' of record 0: a length is neg"}, /* -3 bytes */
        {7, 126, "field 's' of record 0: a value passes"},
        {15, 6, "field 'skip' of record 0: a union"},
        {13, 1, "field 'skip' of record 0"}, /* a map's size where its key was */
        {22, 8, "field 'e' of record 0: an enum"},
        {22, 1, "field 'e' of record 0: an enum"},
        {23, 2, "field 'b' of record 0: a boolean"},
        {31, 80, "field 'skip' of record 1"}, /* a run larger than the record */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct seam_allocator *allocator = seam_allocator_new(0);
        struct seam_avro_decoder *decoder;
        uint8_t block[sizeof MIXED_BLOCK];
        memcpy(block, MIXED_BLOCK, sizeof block);
        block[cases[i].at] = cases[i].byte;
        CHECK_OK(new_decoder(allocator, &MIXED_PLAN, &decoder, &error));
        CHECK(seam_avro_decode(decoder, block, sizeof block, 0, 2, SEAM_AVRO_FRAMED, &error) ==
              SEAM_BAD_INPUT);
        if (strstr(error.message, cases[i].words) == NULL) {
            fprintf(stderr, "case %zu: %s\n", i, error.message);
        }
        CHECK(strstr(error.message, cases[i].words) != NULL);
        seam_avro_free(decoder);
        seam_allocator_release(allocator);
    }
}

/* A count of records must fit the bytes before any memory is taken for it. */
static void record_counts_are_checked_first(void) {
    static const int64_t counts[] = {-1, 3, 100, INT32_MAX, INT64_MAX};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        struct seam_allocator *allocator = seam_allocator_new(1 << 20);
        struct seam_avro_decoder *decoder;
        CHECK_OK(new_decoder(allocator, &MIXED_PLAN, &decoder, &error));
        CHECK(seam_avro_decode(decoder, MIXED_BLOCK, sizeof MIXED_BLOCK, 0, counts[i],
                               SEAM_AVRO_FRAMED, &error) == SEAM_BAD_INPUT);
        seam_avro_free(decoder);
        seam_allocator_release(allocator);
    }
}

/* record { x: [A] } with one node for x, and a column of the given kind. */
static int one_field(const struct seam_avro_node *field, const struct seam_avro_column *column,
                     const uint8_t *block, int64_t size, struct ArrowArray *array) {
    const struct seam_avro_node nodes[] = {
        {.kind = SEAM_AVRO_RECORD, .column = -1, .n_children = 1}, *field};
    struct seam_allocator *allocator = seam_allocator_new(0);
    struct seam_avro_decoder *decoder;
    int code = seam_avro_new(allocator, nodes, 2, FIRST_CHILD, 1, column, 1, &decoder, &error);
    if (code == SEAM_OK) {
        code = seam_avro_decode(decoder, block, size, 0, 1, SEAM_AVRO_FRAMED, &error);
        if (code == SEAM_OK) {
            code = seam_avro_finish(decoder, array, &error);
        }
        seam_avro_free(decoder);
    }
    seam_allocator_release(allocator); /* the array keeps it alive */
    return code;
}

/* Decimals of 1 to 20 bytes, both signs; what does not fit the precision is refused. */
static void decimals_are_big_endian_and_checked(void) {
    static const struct {
        int32_t size;
        uint8_t bytes[20];
        int32_t precision;
        int code;
        int64_t low;
    } cases[] = {
        {1, {0x7f}, 3, SEAM_OK, 127},
        {1, {0x80}, 3, SEAM_OK, -128},
        {2, {0x03, 0xe8}, 3, SEAM_BAD_INPUT, 0}, /* 1000 has four digits */
        {2, {0x03, 0xe7}, 3, SEAM_OK, 999},
        {2, {0xfc, 0x18}, 3, SEAM_BAD_INPUT, 0},
        {7, {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xfe}, 16, SEAM_OK, -2},
        {8, {0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, 19, SEAM_OK, INT64_MAX},
        {8, {0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, 18, SEAM_BAD_INPUT, 0},
        {9, {0xff, 0x80, 0, 0, 0, 0, 0, 0, 0}, 19, SEAM_OK, INT64_MIN},
        {16, {0x7f, 0xff, 0xff, 0xff}, 38, SEAM_BAD_INPUT, 0},
        {20, {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0}, 5, SEAM_OK, 256},
        {17, {0, 0x80}, 38, SEAM_BAD_INPUT, 0},
        {20, {1}, 38, SEAM_BAD_INPUT, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct seam_avro_node field = {
            .kind = SEAM_AVRO_FIXED, .column = 0, .size = cases[i].size, .name = "x"};
        const struct seam_avro_column column = {.kind = SEAM_AVRO_TO_DECIMAL,
                                                .size = cases[i].precision};
        uint8_t block[24] = {0, 0, 0, (uint8_t)cases[i].size};
        struct ArrowArray array;
        memcpy(block + 4, cases[i].bytes, (size_t)cases[i].size);
        int code = one_field(&field, &column, block, cases[i].size + 4, &array);
        CHECK(code == cases[i].code);
        if (code == SEAM_OK) {
            const int64_t *words = array.children[0]->buffers[1];
            CHECK(words[0] == cases[i].low && words[1] == (cases[i].low < 0 ? -1 : 0));
            seam_array_release(&array);
        }
    }
}

/* Floats widen by their shortest decimal text. */
static void floats_widen_by_their_text(void) {
    static const struct {
        float from;
        double to;
    } cases[] = {{0.3f, 0.3},
                 {1.5f, 1.5},
                 {-0.1f, -0.1},
                 {16777216.0f, 16777216.0},
                 {3.4028235e38f, 3.4028235e38},
                 {1e-45f, 1.4e-45},
                 {123456.79f, 123456.79},
                 {0.0f, 0.0}};
    const struct seam_avro_node field = {.kind = SEAM_AVRO_FLOAT, .column = 0, .name = "x"};
    const struct seam_avro_column column = {.kind = SEAM_AVRO_TO_DOUBLE_BY_TEXT};
    const struct seam_avro_column exact = {.kind = SEAM_AVRO_TO_DOUBLE};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint8_t block[8] = {0, 0, 0, 4};
        uint32_t bits;
        struct ArrowArray array;
        memcpy(&bits, &cases[i].from, 4);
        for (int k = 0; k < 4; k++) {
            block[4 + k] = (uint8_t)(bits >> (8 * k));
        }
        CHECK_OK(one_field(&field, &column, block, 8, &array));
        CHECK(((const double *)array.children[0]->buffers[1])[0] == cases[i].to);
        seam_array_release(&array);
        CHECK_OK(one_field(&field, &exact, block, 8, &array));
        CHECK(((const double *)array.children[0]->buffers[1])[0] == (double)cases[i].from);
        seam_array_release(&array);
    }
}

/* Text columns hold UTF-8 only; byte columns hold anything. */
static void text_is_checked(void) {
    static const struct {
        uint8_t bytes[4];
        uint8_t size;
        int code;
    } cases[] = {
        {"abc", 3, SEAM_OK},
        {{0xc3, 0xa4}, 2, SEAM_OK},
        {{0xf0, 0x9f, 0x98, 0x80}, 4, SEAM_OK},
        {{0xc3}, 1, SEAM_BAD_INPUT},             /* cut off */
        {{0xc0, 0x80}, 2, SEAM_BAD_INPUT},       /* longer than need be */
        {{0xed, 0xa0, 0x80}, 3, SEAM_BAD_INPUT}, /* half of a surrogate pair */
        {{0xf4, 0x90, 0x80, 0x80}, 4, SEAM_BAD_INPUT},
        {{0x80}, 1, SEAM_BAD_INPUT},
    };
    const struct seam_avro_node field = {.kind = SEAM_AVRO_STRING, .column = 0, .name = "x"};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        for (int utf8 = 0; utf8 < 2; utf8++) {
            const struct seam_avro_column column = {.kind = SEAM_AVRO_TO_BYTES, .utf8 = utf8};
            uint8_t block[9] = {0, 0, 0, (uint8_t)(cases[i].size + 1),
                                (uint8_t)(2 * cases[i].size)};
            struct ArrowArray array;
            memcpy(block + 5, cases[i].bytes, cases[i].size);
            int code = one_field(&field, &column, block, cases[i].size + 5, &array);
            CHECK(code == (utf8 ? cases[i].code : SEAM_OK));
            if (code == SEAM_OK) {
                seam_array_release(&array);
            }
        }
    }
}

/* Plans that cannot work: a type that always holds itself, columns without a field, wrong types. */
static void bad_plans_are_refused(void) {
    static const struct seam_avro_node endless[] = {
        {.kind = SEAM_AVRO_RECORD, .column = -1, .n_children = 1, .name = "r"}};
    static const int32_t itself[] = {0};
    struct seam_allocator *allocator = seam_allocator_new(0);
    struct seam_avro_decoder *decoder;
    CHECK(seam_avro_new(allocator, endless, 1, itself, 1, NULL, 0, &decoder, &error) ==
          SEAM_BAD_INPUT);
    CHECK(seam_avro_new(allocator, LONG_NODES, 2, FIRST_CHILD, 1, LONG_COLUMNS, 0, &decoder,
                        &error) == SEAM_BAD_ARGUMENT);
    const struct seam_avro_column text = {.kind = SEAM_AVRO_TO_BYTES};
    CHECK(seam_avro_new(allocator, LONG_NODES, 2, FIRST_CHILD, 1, &text, 1, &decoder, &error) ==
          SEAM_UNSUPPORTED);
    CHECK(strstr(error.message, "field 'a'") != NULL);
    const int32_t outside[] = {2};
    CHECK(seam_avro_new(allocator, LONG_NODES, 2, outside, 1, LONG_COLUMNS, 1, &decoder, &error) ==
          SEAM_BAD_ARGUMENT);
    CHECK(live_blocks(allocator) == 0);
    seam_allocator_release(allocator);
}

/* Skipped values may nest, but not without end. list: record { next: [null, list] }. */
static void skipping_has_a_depth_limit(void) {
    static const struct seam_avro_node nodes[] = {
        {.kind = SEAM_AVRO_RECORD, .column = -1, .first_child = 0, .n_children = 1},
        {.kind = SEAM_AVRO_UNION, .column = -1, .first_child = 1, .n_children = 2, .name = "next"},
        {.kind = SEAM_AVRO_NULL, .column = -1},
    };
    static const int32_t children[] = {1, 2, 0};
    for (int deep = 0; deep < 2; deep++) {
        size_t links = deep ? 5000 : 20;
        uint8_t *block = calloc(1, links + 5);
        struct seam_allocator *allocator = seam_allocator_new(0);
        struct seam_avro_decoder *decoder;
        CHECK(block != NULL);
        block[2] = (uint8_t)((links + 1) >> 8);
        block[3] = (uint8_t)(links + 1);
        memset(block + 4, 2, links);
        CHECK_OK(seam_avro_new(allocator, nodes, 3, children, 3, NULL, 0, &decoder, &error));
        int code =
            seam_avro_decode(decoder, block, (int64_t)links + 5, 0, 1, SEAM_AVRO_FRAMED, &error);
        CHECK(code == (deep ? SEAM_BAD_INPUT : SEAM_OK));
        seam_avro_free(decoder);
        seam_allocator_release(allocator);
        free(block);
    }
}

/* Items of no bytes: a count of 2^62 must not be counted through. */
static void empty_items_cost_nothing(void) {
    static const struct seam_avro_node nodes[] = {
        {.kind = SEAM_AVRO_RECORD, .column = -1, .first_child = 0, .n_children = 1},
        {.kind = SEAM_AVRO_ARRAY, .column = -1, .first_child = 1, .n_children = 1, .name = "a"},
        {.kind = SEAM_AVRO_NULL, .column = -1},
    };
    static const int32_t children[] = {1, 2};
    static const uint8_t block[] = {0,    0,    0,    11,   0x80, 0x80, 0x80, 0x80,
                                    0x80, 0x80, 0x80, 0x80, 0x80, 0x01, 0};
    struct seam_allocator *allocator = seam_allocator_new(0);
    struct seam_avro_decoder *decoder;
    CHECK_OK(seam_avro_new(allocator, nodes, 3, children, 2, NULL, 0, &decoder, &error));
    CHECK_OK(seam_avro_decode(decoder, block, sizeof block, 0, 1, SEAM_AVRO_FRAMED, &error));
    seam_avro_free(decoder);
    seam_allocator_release(allocator);
}

/* An array of tagged unions: number of the branch, word, bytes. Runs with and without a size. */
static void arrays_of_tagged_values(void) {
    static const struct seam_avro_node nodes[] = {
        {.kind = SEAM_AVRO_RECORD, .column = -1, .first_child = 0, .n_children = 1},
        {.kind = SEAM_AVRO_UNION, .column = 0, .first_child = 1, .n_children = 4, .name = "o"},
        {.kind = SEAM_AVRO_NULL, .column = -1},
        {.kind = SEAM_AVRO_RECORD, .column = -1, .first_child = 5, .n_children = 1},
        {.kind = SEAM_AVRO_LONG, .column = -1},
        {.kind = SEAM_AVRO_STRING, .column = -1},
        {.kind = SEAM_AVRO_DOUBLE, .column = -1},
    };
    static const int32_t children[] = {1, 2, 3, 5, 6, 4};
    static const struct seam_avro_column columns[] = {
        {.kind = SEAM_AVRO_TO_TAGGED}, {.kind = SEAM_AVRO_TO_INT64}, {.kind = SEAM_AVRO_TO_BYTES}};
    static const struct plan plan = PLAN(nodes, children, columns);
    static const uint8_t body[] = {4, 2, 13, 0,      /* two items: long -7, null */
                                   1, 6, 4,  2, 'z', /* one item in three bytes: "z" */
                                   2, 6, 0,  0, 0,   0, 0, 0, 0xf8, 0x3f, 0}; /* 1.5, the end */
    struct seam_allocator *allocator = seam_allocator_new(0);
    for (size_t size = 0; size <= sizeof body; size++) {
        struct seam_avro_decoder *decoder;
        CHECK_OK(new_decoder(allocator, &plan, &decoder, &error));
        int code = seam_avro_decode_array(decoder, body, (int64_t)size, 0, &error);
        CHECK(code == (size == sizeof body ? SEAM_OK : SEAM_BAD_INPUT));
        if (code == SEAM_OK) {
            struct ArrowArray array;
            CHECK_OK(seam_avro_finish(decoder, &array, &error));
            const int32_t *tags = array.children[0]->buffers[1];
            const int64_t *words = array.children[1]->buffers[1];
            const int32_t *offsets = array.children[2]->buffers[1];
            double value;
            memcpy(&value, &words[3], sizeof value);
            CHECK(array.length == 4 && tags[0] == 1 && tags[1] == 0 && tags[2] == 2);
            CHECK(words[0] == -7 && words[1] == 0 && tags[3] == 3 && value == 1.5);
            CHECK(offsets[2] == 0 && offsets[3] == 2 && offsets[4] == 2);
            CHECK(memcmp(array.children[2]->buffers[2], "\2z", 2) == 0);
            seam_array_release(&array);
        }
        seam_avro_free(decoder);
    }
    CHECK(live_blocks(allocator) == 0);
    seam_allocator_release(allocator);
}

/* record { s: [null, record { a: [null, array of [null, int]], no: string, b: boolean }],
 *          m: map of long }, without `no`. */
static const struct seam_avro_node DEEP_NODES[] = {
    {.kind = SEAM_AVRO_RECORD, .column = -1, .first_child = 0, .n_children = 2},
    {.kind = SEAM_AVRO_UNION, .column = 0, .first_child = 2, .n_children = 2, .name = "s"},
    {.kind = SEAM_AVRO_MAP, .column = 4, .first_child = 11, .n_children = 1, .name = "m"},
    {.kind = SEAM_AVRO_NULL, .column = -1},
    {.kind = SEAM_AVRO_RECORD, .column = -1, .first_child = 4, .n_children = 3, .name = "s"},
    {.kind = SEAM_AVRO_UNION, .column = 2, .first_child = 7, .n_children = 2, .name = "s.a"},
    {.kind = SEAM_AVRO_STRING, .column = -1, .name = "s.no"},
    {.kind = SEAM_AVRO_BOOLEAN, .column = 1, .name = "s.b"},
    {.kind = SEAM_AVRO_ARRAY, .column = -1, .first_child = 9, .n_children = 1},
    {.kind = SEAM_AVRO_UNION, .column = 3, .first_child = 12, .n_children = 2, .name = "s.a.e"},
    {.kind = SEAM_AVRO_INT, .column = -1},
    {.kind = SEAM_AVRO_LONG, .column = 6, .name = "m.value"},
};
static const int32_t DEEP_CHILDREN[] = {1, 2, 3, 4, 5, 6, 7, 3, 8, 9, 0, 11, 3, 10};
static const struct seam_avro_column DEEP_COLUMNS[] = {
    {.kind = SEAM_AVRO_TO_STRUCT, .nullable = 1, .n_children = 2},
    {.kind = SEAM_AVRO_TO_BOOL},
    {.kind = SEAM_AVRO_TO_LIST, .nullable = 1, .n_children = 1},
    {.kind = SEAM_AVRO_TO_INT32, .nullable = 1},
    {.kind = SEAM_AVRO_TO_MAP, .n_children = 2},
    {.kind = SEAM_AVRO_TO_BYTES, .utf8 = 1},
    {.kind = SEAM_AVRO_TO_INT64},
};
static const struct plan DEEP_PLAN = PLAN(DEEP_NODES, DEEP_CHILDREN, DEEP_COLUMNS);

/* ({[5, null, 7], "no", true}, {"k": -1, "": 1}), (null, {}), ({null, "", false}, {"z": 2}) */
static const uint8_t DEEP_BLOCK[] = {
    0, 0,   0,   23,                  /* length of the first record */
    2, 2,                             /* s, a */
    3, 6,   2,   10, 0,               /* minus two items in three bytes: 5, null */
    2, 2,   14,  0,                   /* one item: 7; the end */
    4, 'n', 'o', 1,                   /* no, b */
    2, 2,   'k', 1,  2, 0, 2,   0,    /* m: one entry, one more, the end */
    0, 0,   0,   2,  0, 0,            /* null, {} */
    0, 0,   0,   9,                   /* length of the third */
    2, 0,   0,   0,  2, 2, 'z', 4, 0, /* s: null, "", false; m */
};

static void expect_deep(const struct ArrowArray *array) {
    const struct ArrowArray *s = array->children[0];
    const struct ArrowArray *b = s->children[0];
    const struct ArrowArray *a = s->children[1];
    const struct ArrowArray *m = array->children[1];
    CHECK(array->n_children == 2 && array->length == 3 && s->n_buffers == 1 && s->n_children == 2);
    CHECK(s->null_count == 1 && (((const uint8_t *)s->buffers[0])[0] & 7) == 5);
    CHECK(b->length == 3 && b->null_count == 0 && (((const uint8_t *)b->buffers[1])[0] & 7) == 1);
    static const int32_t offsets[] = {0, 3, 3, 3};
    CHECK(a->length == 3 && a->null_count == 2 && a->n_buffers == 2);
    CHECK(memcmp(a->buffers[1], offsets, sizeof offsets) == 0);
    const int32_t *items = a->children[0]->buffers[1];
    CHECK(a->children[0]->length == 3 && a->children[0]->null_count == 1);
    CHECK(items[0] == 5 && items[1] == 0 && items[2] == 7);
    static const int32_t entries[] = {0, 2, 2, 3};
    CHECK(m->n_children == 1 && memcmp(m->buffers[1], entries, sizeof entries) == 0);
    CHECK(m->children[0]->length == 3 && m->children[0]->n_children == 2);
    static const int64_t values[] = {-1, 1, 2};
    CHECK(memcmp(m->children[0]->children[1]->buffers[1], values, sizeof values) == 0);
    CHECK(memcmp(m->children[0]->children[0]->buffers[2], "kz", 2) == 0);
}

static int decode_deep(struct seam_allocator *allocator, struct seam_error *failure) {
    struct seam_avro_decoder *decoder;
    struct ArrowArray array;
    int code = new_decoder(allocator, &DEEP_PLAN, &decoder, failure);
    if (code != SEAM_OK) {
        return code;
    }
    for (int i = 0; i < 2 && code == SEAM_OK; i++) { /* a finished decoder starts anew */
        code = seam_avro_decode(decoder, DEEP_BLOCK, sizeof DEEP_BLOCK, 0, 3, SEAM_AVRO_FRAMED,
                                failure);
        if (code == SEAM_OK) {
            code = seam_avro_finish(decoder, &array, failure);
        }
        if (code == SEAM_OK) {
            expect_deep(&array);
            seam_array_release(&array);
        }
    }
    seam_avro_free(decoder);
    return code;
}

/* Lists, maps and structs become Arrow's arrays; below a null struct every column has its place. */
static void nested_values_come_back(void) {
    struct seam_allocator *allocator = seam_allocator_new(0);
    CHECK_OK(decode_deep(allocator, &error));
    CHECK(live_blocks(allocator) == 0);
    seam_allocator_release(allocator);
}

/* Every truncation of nested values is refused, by the name of the innermost field. */
static void nested_damage_is_named(void) {
    static const struct {
        size_t at;
        uint8_t byte;
        const char *words;
    } cases[] = {
        {6, 1, "field 's.a' of record 0: a run of items does not end"},
        {6, 80, "field 's.a' of record 0: a count or size"},
        {7, 8, "field 's.a' of record 0: a run of items does not end"},
        {8, 4, "field 's.a.e' of record 0: a union has no such branch"},
        {18, 2, "field 's.b' of record 0: a boolean"},
        {20, 1, "field 'm' of record 0: a length is negative"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases + sizeof DEEP_BLOCK; i++) {
        bool cut = i >= sizeof cases / sizeof *cases;
        size_t size = cut ? i - sizeof cases / sizeof *cases : sizeof DEEP_BLOCK;
        struct seam_allocator *allocator = seam_allocator_new(0);
        struct seam_avro_decoder *decoder;
        uint8_t *block = calloc(1, size > 0 ? size : 1);
        CHECK(block != NULL);
        memcpy(block, DEEP_BLOCK, size);
        if (!cut) {
            block[cases[i].at] = cases[i].byte;
        }
        CHECK_OK(new_decoder(allocator, &DEEP_PLAN, &decoder, &error));
        CHECK(seam_avro_decode(decoder, block, (int64_t)size, 0, 3, SEAM_AVRO_FRAMED, &error) ==
              SEAM_BAD_INPUT);
        if (!cut && strstr(error.message, cases[i].words) == NULL) {
            fprintf(stderr, "case %zu: %s\n", i, error.message);
            exit(1);
        }
        seam_avro_free(decoder);
        free(block);
        CHECK(live_blocks(allocator) == 0);
        seam_allocator_release(allocator);
    }
}

/* Columns that do not stand where their fields do. */
static void bad_nested_plans_are_refused(void) {
    static const struct {
        int32_t at; /* the column that is changed */
        struct seam_avro_column column;
        int code;
    } cases[] = {
        {0, {.kind = SEAM_AVRO_TO_STRUCT, .n_children = 1}, SEAM_BAD_ARGUMENT},
        {0, {.kind = SEAM_AVRO_TO_LIST, .n_children = 2}, SEAM_BAD_ARGUMENT},
        {0, {.kind = SEAM_AVRO_TO_STRUCT, .n_children = -1}, SEAM_BAD_ARGUMENT},
        {1, {.kind = SEAM_AVRO_TO_BOOL, .n_children = 1}, SEAM_BAD_ARGUMENT},
        {2, {.kind = SEAM_AVRO_TO_STRUCT, .n_children = 1}, SEAM_UNSUPPORTED},
        {3, {.kind = SEAM_AVRO_TO_TAGGED}, SEAM_UNSUPPORTED},
        {3, {.kind = SEAM_AVRO_TO_BOOL}, SEAM_UNSUPPORTED},
        {4, {.kind = SEAM_AVRO_TO_STRUCT, .n_children = 2}, SEAM_UNSUPPORTED},
        {5, {.kind = SEAM_AVRO_TO_BYTES, .nullable = 1}, SEAM_BAD_ARGUMENT},
        {5, {.kind = SEAM_AVRO_TO_INT64}, SEAM_BAD_ARGUMENT},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct seam_avro_column columns[7];
        struct plan plan = DEEP_PLAN;
        struct seam_allocator *allocator = seam_allocator_new(0);
        struct seam_avro_decoder *decoder;
        memcpy(columns, DEEP_COLUMNS, sizeof columns);
        columns[cases[i].at] = cases[i].column;
        plan.columns = columns;
        int code = new_decoder(allocator, &plan, &decoder, &error);
        if (code != cases[i].code) {
            fprintf(stderr, "case %zu: code %d: %s\n", i, code, error.message);
        }
        CHECK(code == cases[i].code);
        CHECK(live_blocks(allocator) == 0);
        seam_allocator_release(allocator);
    }
}

/* Pieces end between records and together are the block; the rest of a broken one is one piece. */
static void blocks_are_cut(void) {
    static const uint8_t block[] = {0, 0, 0, 1, 2, 0, 0, 0, 2, 0x80, 2, 0, 0, 0, 1, 6};
    int64_t end, count;
    seam_avro_cut(block, sizeof block, 0, 3, 1, &end, &count);
    CHECK(end == 5 && count == 1);
    seam_avro_cut(block, sizeof block, 0, 3, 6, &end, &count);
    CHECK(end == 11 && count == 2);
    seam_avro_cut(block, sizeof block, 11, 1, 1, &end, &count);
    CHECK(end == sizeof block && count == 1);
    seam_avro_cut(block, sizeof block - 1, 0, 2, 100, &end, &count);
    CHECK(end == sizeof block - 1 && count == 2);
    seam_avro_cut(block, 7, 0, 3, 5, &end, &count);
    CHECK(end == 5 && count == 1);
    seam_avro_cut(block, 7, 5, 2, 5, &end, &count);
    CHECK(end == 7 && count == 2);
    seam_avro_cut(block, 5, 5, 0, 5, &end, &count);
    CHECK(end == 5 && count == 0);
}

int main(void) {
    longs_are_zigzag_in_groups_of_seven_bits();
    malformed_longs_are_refused();
    blocks_append_and_finish_starts_anew();
    records_are_jumped_over();
    every_truncation_is_refused();
    damage_is_named();
    record_counts_are_checked_first();
    decimals_are_big_endian_and_checked();
    floats_widen_by_their_text();
    text_is_checked();
    bad_plans_are_refused();
    skipping_has_a_depth_limit();
    empty_items_cost_nothing();
    arrays_of_tagged_values();
    nested_values_come_back();
    nested_damage_is_named();
    bad_nested_plans_are_refused();
    check_every_allocation(decode_mixed_100);
    check_every_allocation(decode_deep);
    blocks_are_cut();
    return 0;
}
