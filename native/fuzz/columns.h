/* Random Arrow columns, and a plain reader of any column: the models of the fuzz targets are made
 * of what it reads, and share no code with the core. Buffers have exactly the bytes they need, so
 * that a read behind one is seen. */
#ifndef SEAM_FUZZ_COLUMNS_H
#define SEAM_FUZZ_COLUMNS_H

#include "seam/arrow_build.h"

#include "input.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Rows of a batch, and of any column within one. */
enum { BATCH_ROWS = 16, MOST_ROWS = 48, CELL_BYTES = 16, MOST_BLOCKS = 4096, DESCRIBED = 1 << 14 };

static inline void expect(int right) {
    if (!right) {
        abort();
    }
}

/* Everything that one input is made into; all of it goes at once. */
struct pool {
    void *blocks[MOST_BLOCKS];
    size_t sizes[MOST_BLOCKS];
    int n;
    int from_first_row; /* no column begins later in its buffers */
};

#ifdef SEAM_GUARDED
/* Without a sanitizer a block ends where a page begins that nobody may touch: loops over vectors,
 * which no compiler makes of what it watches, are watched by the machine. */
#include <sys/mman.h>
enum { PAGE_BYTES = 4096 };
static inline void *zeroed(size_t size) {
    size_t room = (size + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
    uint8_t *pages =
        mmap(NULL, room + PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    expect(pages != MAP_FAILED && mprotect(pages + room, PAGE_BYTES, PROT_NONE) == 0);
    return pages + room - size;
}
static inline void give_back(void *block, size_t size) {
    size_t room = (size + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
    munmap((uint8_t *)block + size - room, room + PAGE_BYTES);
}
#else
static inline void *zeroed(size_t size) {
    return calloc(1, size == 0 ? 1 : size);
}
static inline void give_back(void *block, size_t size) {
    (void)size;
    free(block);
}
#endif

static inline void *keep(struct pool *pool, size_t size) {
    expect(pool->n < MOST_BLOCKS);
    pool->sizes[pool->n] = size;
    return pool->blocks[pool->n++] = zeroed(size);
}

static inline void drop(struct pool *pool) {
    while (pool->n > 0) {
        pool->n -= 1;
        give_back(pool->blocks[pool->n], pool->sizes[pool->n]);
    }
}

struct column {
    struct ArrowSchema *schema;
    struct ArrowArray *array;
};

/* A value of a flat column. */
struct cell {
    uint8_t valid;
    uint8_t size;
    uint8_t bytes[CELL_BYTES];
};

static const char *const FLAT[] = {"l", "g", "u", "i", "f", "s",   "c",      "b",
                                   "z", "U", "L", "I", "Z", "w:3", "d:38,0", "tdD"};
enum { N_FLAT = sizeof FLAT / sizeof FLAT[0] };

/* Bytes of a value; 0: one bit; -4 or -8: texts, by the width of their offsets. */
static inline int width_of(const char *format) {
    switch (format[0]) {
    case 'b':
        return 0;
    case 'c':
        return 1;
    case 's':
        return 2;
    case 'u':
    case 'z':
        return -4;
    case 'U':
    case 'Z':
        return -8;
    case 'w':
        return 3;
    case 'd':
        return 16;
    default:
        return strchr("iIft", format[0]) != NULL ? 4 : 8;
    }
}

static inline int is_float(const char *format) {
    return format[0] == 'f' || format[0] == 'g';
}

/* Few values, so that they meet: small numbers and the ends of their ranges, every kind of float,
 * texts that are the beginnings of others. */
static inline struct cell random_cell(struct input *input, const char *format, int nulls) {
    static const uint64_t DOUBLES[] = {0,
                                       UINT64_C(1) << 63,
                                       UINT64_C(0x3FF8000000000000),
                                       UINT64_C(0x7FF8000000000000),
                                       UINT64_C(0xFFF8000000000000),
                                       UINT64_C(0x7FF0000000000001),
                                       UINT64_C(0xFFF0000000000000),
                                       UINT64_C(0xBFF0000000000000)};
    static const uint32_t FLOATS[] = {0,
                                      UINT32_C(1) << 31,
                                      UINT32_C(0x3FC00000),
                                      UINT32_C(0x7FC00000),
                                      UINT32_C(0xFFC00000),
                                      UINT32_C(0x7F800001),
                                      UINT32_C(0xFF800000),
                                      UINT32_C(0xBF800000)};
    struct cell cell = {.valid = 1};
    uint8_t byte = take(input);
    int width = width_of(format);
    if (nulls && byte >> 5 == 7) {
        return (struct cell){0};
    }
    if (width < 0) {
        cell.size = byte & 3 ? (byte & 3) * 3 - 2 : 0; /* 0, 1, 4, 7 */
        for (int i = 0; i < cell.size; i++) {
            cell.bytes[i] = (uint8_t)("ab\0z"[byte >> 2 & 3]);
        }
    } else if (is_float(format)) {
        cell.size = (uint8_t)width;
        memcpy(cell.bytes, width == 8 ? (const void *)&DOUBLES[byte & 7] : &FLOATS[byte & 7],
               (size_t)width);
    } else {
        int64_t number = width == 0 ? byte & 1 : (int64_t)(byte & 7) - 3;
        cell.size = (uint8_t)(width == 0 ? 1 : width);
        memset(cell.bytes, number < 0 ? 0xFF : 0, sizeof cell.bytes);
        memcpy(cell.bytes, &number, 8);
        if (width > 0 && (byte & 0x18) == 0x18) {
            cell.bytes[width - 1] ^= 0x80;
        }
        memset(cell.bytes + cell.size, 0, (size_t)(CELL_BYTES - cell.size));
    }
    return cell;
}

static inline struct column new_column(struct pool *pool, const char *format, int rows,
                                       int n_buffers, int n_children) {
    struct column made = {keep(pool, sizeof *made.schema), keep(pool, sizeof *made.array)};
    made.schema->format = format;
    made.schema->name = "c";
    made.schema->n_children = made.array->n_children = n_children;
    made.schema->children = keep(pool, (size_t)n_children * sizeof(void *));
    made.array->children = keep(pool, (size_t)n_children * sizeof(void *));
    made.array->length = rows;
    made.array->n_buffers = n_buffers;
    made.array->buffers = keep(pool, (size_t)n_buffers * sizeof(void *));
    return made;
}

static inline void adopt(struct column parent, int at, struct column child) {
    parent.schema->children[at] = child.schema;
    parent.array->children[at] = child.array;
}

/* A struct of columns, as a record batch is. */
static inline struct column batch_of(struct pool *pool, const struct column *columns, int n,
                                     int rows) {
    struct column batch = new_column(pool, "+s", rows, 1, n);
    for (int i = 0; i < n; i++) {
        adopt(batch, i, columns[i]);
    }
    return batch;
}

/* Validity of `rows` rows behind `offset` others, which are null. */
static inline void set_valid(struct pool *pool, struct column column, int offset, int row,
                             int rows) {
    if (column.array->buffers[0] == NULL) {
        column.array->buffers[0] = keep(pool, (size_t)(offset + rows + 7) / 8);
    }
    uint8_t *bits = (uint8_t *)(uintptr_t)column.array->buffers[0];
    bits[(offset + row) / 8] |= (uint8_t)(1 << (offset + row) % 8);
}

/* A flat column of these cells, behind `offset` rows that do not belong to it. A bitmap is there
 * where a cell is null, or `bitmap` asks for one. */
static inline struct column flat_of(struct pool *pool, const char *format, const struct cell *cells,
                                    int rows, int offset, int bitmap) {
    int width = width_of(format), nulls = 0, bytes = 0, total = offset + rows;
    struct column made = new_column(pool, format, rows, width < 0 ? 3 : 2, 0);
    for (int i = 0; i < rows; i++) {
        nulls += !cells[i].valid;
        bytes += width < 0 ? cells[i].size : 0;
    }
    made.array->offset = offset;
    made.array->null_count = bitmap == 2 && nulls > 0 ? -1 : nulls;
    if ((nulls > 0 || bitmap) && rows > 0) {
        made.array->buffers[0] = keep(pool, (size_t)(total + 7) / 8);
    }
    uint8_t *values = keep(pool, (size_t)(width < 0    ? (total + 1) * -width
                                          : width == 0 ? (total + 7) / 8
                                                       : total * width));
    uint8_t *texts = width < 0 ? keep(pool, (size_t)bytes) : NULL;
    made.array->buffers[1] = values;
    if (width < 0) {
        made.array->buffers[2] = texts;
    }
    int64_t at = 0;
    for (int i = 0; i < rows; i++) {
        if (cells[i].valid && made.array->buffers[0] != NULL) {
            set_valid(pool, made, offset, i, rows);
        }
        if (width < 0) {
            memcpy(texts + at, cells[i].bytes, cells[i].size);
            at += cells[i].size;
            memcpy(values + (offset + i + 1) * -width, &at, (size_t)-width);
        } else if (width == 0) {
            values[(offset + i) / 8] |= (uint8_t)(cells[i].bytes[0] << (offset + i) % 8);
        } else {
            memcpy(values + (offset + i) * width, cells[i].bytes, (size_t)width);
        }
    }
    return made;
}

static inline struct column random_flat(struct pool *pool, struct input *input, const char *format,
                                        int rows, int nulls) {
    struct cell cells[MOST_ROWS] = {{0}};
    uint8_t form = take(input);
    for (int i = 0; i < rows; i++) {
        cells[i] = random_cell(input, format, nulls && (form & 1));
    }
    return flat_of(pool, format, cells, rows, pool->from_first_row ? 0 : form >> 4 & 7,
                   form >> 1 & 3);
}

static inline int is_valid(const struct ArrowArray *array, int64_t row) {
    const uint8_t *bits = array->n_buffers > 0 ? array->buffers[0] : NULL;
    int64_t at = array->offset + row;
    return bits == NULL || (bits[at / 8] >> at % 8 & 1);
}

static inline int64_t word_at(const void *words, int64_t at, int width) {
    const uint8_t *from = (const uint8_t *)words + at * width;
    int64_t word = (int8_t)from[width - 1];
    for (int i = width - 2; i >= 0; i--) {
        word = (int64_t)((uint64_t)word << 8) | from[i];
    }
    return word;
}

/* Reads a row of a flat column. */
static inline struct cell cell_at(const struct ArrowSchema *schema, const struct ArrowArray *array,
                                  int64_t row) {
    struct cell cell = {.valid = (uint8_t)is_valid(array, row)};
    int64_t at = array->offset + row;
    int width = width_of(schema->format);
    const uint8_t *values = array->buffers[1];
    if (!cell.valid) {
        return cell;
    }
    if (width < 0) {
        int64_t begin = word_at(values, at, -width), end = word_at(values, at + 1, -width);
        expect(begin >= 0 && end >= begin && end - begin <= CELL_BYTES);
        cell.size = (uint8_t)(end - begin);
        if (cell.size > 0) {
            memcpy(cell.bytes, (const uint8_t *)array->buffers[2] + begin, cell.size);
        }
    } else if (width == 0) {
        cell.size = 1;
        cell.bytes[0] = values[at / 8] >> at % 8 & 1;
    } else {
        cell.size = (uint8_t)width;
        memcpy(cell.bytes, values + at * width, (size_t)width);
    }
    return cell;
}

static inline int same_cell(const struct cell *a, const struct cell *b) {
    return memcmp(a, b, sizeof *a) == 0;
}

static inline double number_of(const char *format, const struct cell *cell) {
    float narrow;
    double wide;
    memcpy(&narrow, cell->bytes, sizeof narrow);
    memcpy(&wide, cell->bytes, sizeof wide);
    return format[0] == 'f' ? narrow : wide;
}

/* The order of two values that are there: NaN, of any bits, is the greatest; -0.0 is less than 0.0
 * where zeros have signs. */
static inline int compare_cells(const char *format, const struct cell *a, const struct cell *b,
                                int signed_zeros) {
    if (is_float(format)) {
        double x = number_of(format, a), y = number_of(format, b);
        int x_nan = x != x, y_nan = y != y;
        if (x_nan || y_nan || x != y || !signed_zeros) {
            return x_nan || y_nan ? x_nan - y_nan : (x > y) - (x < y);
        }
        return (b->bytes[b->size - 1] >> 7) - (a->bytes[a->size - 1] >> 7);
    }
    if (width_of(format) < 0 || format[0] == 'w') {
        int least = a->size < b->size ? a->size : b->size;
        int sign = memcmp(a->bytes, b->bytes, (size_t)least);
        return sign != 0 ? (sign > 0) - (sign < 0) : (a->size > b->size) - (a->size < b->size);
    }
    for (int i = a->size - 1; i >= 0; i--) { /* little-endian; the sign is in the last byte */
        int turn = i == a->size - 1 && strchr("LIb", format[0]) == NULL ? 0x80 : 0;
        int x = a->bytes[i] ^ turn, y = b->bytes[i] ^ turn;
        if (x != y) {
            return (x > y) - (x < y);
        }
    }
    return 0;
}

/* A column of any kind: flat, a dictionary, runs, lists or a struct, in each other. */
static inline struct column random_column(struct pool *pool, struct input *input, int rows,
                                          int depth, int encoded) {
    uint8_t kind = take(input), form = take(input);
    int offset = pool->from_first_row ? 0 : form & 7, total = offset + rows;
    if (depth == 0 || (kind & 7) < 4) {
        return random_flat(pool, input, FLAT[kind >> 3 & 15], rows, 1);
    }
    if ((kind & 7) < 6 && !encoded) {
        return random_flat(pool, input, FLAT[kind >> 3 & 15], rows, 1);
    }
    if ((kind & 7) == 4) {
        int words = 1 + (form >> 3 & 3);
        struct column made = new_column(pool, form & 0x20 ? "c" : "i", rows, 2, 0);
        struct column values = random_flat(pool, input, FLAT[kind >> 3 & 15], words, 1);
        struct cell cells[MOST_ROWS];
        for (int i = 0; i < rows; i++) {
            uint8_t byte = take(input);
            cells[i] = (struct cell){.valid = byte < 224, .size = form & 0x20 ? 1 : 4};
            cells[i].bytes[0] = (uint8_t)(byte < 224 ? byte % words : 0);
        }
        made = flat_of(pool, made.schema->format, cells, rows, offset, form >> 6);
        made.schema->dictionary = values.schema;
        made.array->dictionary = values.array;
        return made;
    }
    if ((kind & 7) == 5) {
        int32_t *ends = keep(pool, MOST_ROWS * sizeof *ends);
        struct column made = new_column(pool, "+r", rows, 0, 2);
        struct column run_ends = new_column(pool, "i", 0, 2, 0);
        int n = 0;
        for (int end = 0; end < total; n++) {
            end += 1 + take(input) % 4;
            ends[n] = end;
        }
        run_ends.array->length = n;
        run_ends.array->buffers[1] = ends;
        made.array->offset = offset;
        adopt(made, 0, run_ends);
        adopt(made, 1, random_flat(pool, input, FLAT[kind >> 3 & 15], n, 1));
        return made;
    }
    int is_list = (kind & 7) == 6, width = form & 8 ? 8 : 4;
    struct column made = new_column(pool,
                                    !is_list     ? "+s"
                                    : width == 4 ? "+l"
                                                 : "+L",
                                    rows, is_list ? 2 : 1, is_list ? 1 : 2);
    made.array->offset = offset;
    made.array->null_count = form & 0x10 ? -1 : 0;
    uint8_t *offsets = is_list ? keep(pool, (size_t)((total + 1) * width)) : NULL;
    int64_t at = 0;
    for (int i = 0; i < total; i++) {
        uint8_t byte = take(input);
        if ((form & 0x10) && i >= offset && byte < 192) {
            set_valid(pool, made, offset, i - offset, rows);
        } else if ((form & 0x10) && made.array->buffers[0] == NULL) {
            made.array->buffers[0] = keep(pool, (size_t)(total + 7) / 8);
        }
        at += is_list && at + (byte & 3) <= MOST_ROWS / 2 ? byte & 3 : 0;
        if (is_list) {
            memcpy(offsets + (i + 1) * width, &at, (size_t)width);
        }
    }
    if (is_list) {
        made.array->buffers[1] = offsets;
        adopt(made, 0, random_column(pool, input, (int)at, depth - 1, encoded));
        return made;
    }
    for (int i = 0; i < 2; i++) {
        adopt(made, i, random_column(pool, input, total, depth - 1, encoded));
    }
    return made;
}

/* A row as text, whatever it is encoded by; where it ends. */
static inline char *describe(const struct ArrowSchema *schema, const struct ArrowArray *array,
                             int64_t row, char *out) {
    const char *format = schema->format;
    int64_t at = array->offset + row;
    if (strcmp(format, "+r") == 0) {
        const int32_t *ends = array->children[0]->buffers[1];
        int64_t run = 0;
        while (ends[run] <= at) {
            run++;
        }
        return describe(schema->children[1], array->children[1], run, out);
    }
    if (!is_valid(array, row)) {
        return out + sprintf(out, "null ");
    }
    if (schema->dictionary != NULL) {
        int64_t index = word_at(array->buffers[1], at, width_of(format));
        return describe(schema->dictionary, array->dictionary, index, out);
    }
    if (strcmp(format, "+s") == 0) {
        out += sprintf(out, "{");
        for (int64_t i = 0; i < schema->n_children; i++) {
            out = describe(schema->children[i], array->children[i], at, out);
        }
        return out + sprintf(out, "}");
    }
    if (format[0] == '+') {
        int width = format[1] == 'L' ? 8 : 4;
        int64_t end = word_at(array->buffers[1], at + 1, width);
        out += sprintf(out, "[");
        for (int64_t i = word_at(array->buffers[1], at, width); i < end; i++) {
            out = describe(schema->children[0], array->children[0], i, out);
        }
        return out + sprintf(out, "]");
    }
    struct cell cell = cell_at(schema, array, row);
    for (int i = 0; i < cell.size; i++) {
        out += sprintf(out, "%02x", cell.bytes[i]);
    }
    return out + sprintf(out, ".");
}

/* The schema of what comes out where dictionaries and runs are resolved. */
static inline struct ArrowSchema *plain_schema(struct pool *pool,
                                               const struct ArrowSchema *schema) {
    if (schema->dictionary != NULL) {
        return plain_schema(pool, schema->dictionary);
    }
    if (strcmp(schema->format, "+r") == 0) {
        return plain_schema(pool, schema->children[1]);
    }
    struct ArrowSchema *plain = keep(pool, sizeof *plain);
    *plain = *schema;
    plain->children = keep(pool, (size_t)schema->n_children * sizeof(void *));
    for (int64_t i = 0; i < schema->n_children; i++) {
        plain->children[i] = plain_schema(pool, schema->children[i]);
    }
    return plain;
}

/* Whether row i of one column is row k of another. */
static inline void expect_same_row(const struct ArrowSchema *schema, const struct ArrowArray *array,
                                   int64_t i, const struct ArrowSchema *other_schema,
                                   const struct ArrowArray *other, int64_t k) {
    static _Thread_local char one[DESCRIBED], two[DESCRIBED];
    describe(schema, array, i, one);
    describe(other_schema, other, k, two);
    expect(strcmp(one, two) == 0);
}

#endif
