/* What the readers and writers of both row formats share. */
#ifndef SEAM_ROW_INTERNAL_H
#define SEAM_ROW_INTERNAL_H

#include "base/words.h"
#include "seam/engine.h"
#include "seam/memory.h"
#include "seam/node.h"
#include "seam/row_frames.h"
#include "seam/row_input.h"
#include "seam/row_type.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define ROW_INLINE static inline __attribute__((always_inline))

/* Rows are turned in blocks, a column at a time: so many that the rows of a block stay in the first
 * cache while each column passes over them. A multiple of 8: bitmaps of blocks begin at a byte. */
enum { ROW_BLOCK = 128 };

ROW_INLINE int64_t row_align8(int64_t size_bytes) {
    return (size_bytes + 7) & ~INT64_C(7);
}

/* A value of 1, 2, 4 or 8 bytes, filled up with zeros. */
ROW_INLINE uint64_t row_load_fixed(const uint8_t *at, int32_t width_bytes) {
    uint16_t two;
    switch (width_bytes) {
    case 1:
        return *at;
    case 2:
        memcpy(&two, at, sizeof two);
        return two;
    case 4:
        return seam_load32(at);
    default:
        return seam_load64(at);
    }
}

ROW_INLINE void row_store_fixed(uint8_t *at, uint64_t value, int32_t width_bytes) {
    memcpy(at, &value, (size_t)width_bytes);
}

/* Copies a string and fills the last of its 8-byte words with zeros. `end` is where its buffer
 * ends. */
ROW_INLINE void row_copy_padded(uint8_t *to, const uint8_t *from, int64_t size_bytes,
                                const uint8_t *end) {
    int64_t whole = size_bytes & ~INT64_C(7);
    int64_t rest = size_bytes & 7;
    if (whole > 128) {
        memcpy(to, from, (size_t)whole);
    } else {
        for (int64_t i = 0; i < whole; i += 8) {
            seam_store64(to + i, seam_load64(from + i));
        }
    }
    if (rest != 0) {
        uint64_t word = 0;
        if (end - from >= whole + 8) {
            word = seam_load64(from + whole) & ((UINT64_C(1) << (8 * rest)) - 1);
        } else {
            memcpy(&word, from + whole, (size_t)rest);
        }
        seam_store64(to + whole, word);
    }
}

/* Copies a string of at least 8 and at most 8 * `words` bytes, without a branch on its size: words
 * that would pass its end step back and meet those before them. */
ROW_INLINE void row_copy_words(uint8_t *to, const uint8_t *from, int64_t size_bytes, int words) {
    for (int64_t i = 0; i < words; i++) {
        int64_t at = 8 * i < size_bytes - 8 ? 8 * i : size_bytes - 8;
        seam_store64(to + at, seam_load64(from + at));
    }
}

/* Copies a string; `words` is as for row_copy_words, or 0 where that is not known. */
ROW_INLINE void row_copy(uint8_t *to, const uint8_t *from, int64_t size_bytes, int words) {
    if (size_bytes >= 8 && words > 0) {
        row_copy_words(to, from, size_bytes, words);
    } else if (size_bytes >= 8) {
        memcpy(to, from, (size_t)size_bytes);
    } else if (size_bytes >= 4) {
        uint32_t last = seam_load32(from + size_bytes - 4);
        seam_store32(to, seam_load32(from));
        seam_store32(to + size_bytes - 4, last);
    } else if (size_bytes > 0) {
        uint8_t middle = from[size_bytes >> 1];
        uint8_t last = from[size_bytes - 1];
        to[0] = from[0];
        to[size_bytes >> 1] = middle;
        to[size_bytes - 1] = last;
    }
}

/* As row_copy_padded for a string of 1 to 8 * `words` bytes, without a branch on its size. Reads up
 * to the end of its last word. */
ROW_INLINE void row_copy_padded_words(uint8_t *to, const uint8_t *from, int64_t size_bytes,
                                      int words) {
    int64_t last = (size_bytes - 1) >> 3;
    uint64_t mask = UINT64_MAX >> (8 * (-size_bytes & 7));
    for (int64_t i = 0; i < words; i++) {
        int64_t at = i < last ? i : last;
        uint64_t whole = (uint64_t)((i - last) >> 63); /* all ones before the last word */
        seam_store64(to + 8 * at, seam_load64(from + 8 * at) & (mask | whole));
    }
}

/* How many words of 8 bytes hold each of a block's strings: 1, 2, 4 or 8, or 0 if more. */
ROW_INLINE int row_words(int64_t largest_bytes) {
    return largest_bytes <= 8    ? 1
           : largest_bytes <= 16 ? 2
           : largest_bytes <= 32 ? 4
           : largest_bytes <= 64 ? 8
                                 : 0;
}

/* ---- decimals ---- */

/* Whether |high:low| is below `limit`. */
ROW_INLINE bool row_decimal_fits(int64_t high, uint64_t low, seam_int128 limit) {
    seam_int128 value = (seam_int128)((seam_uint128)(uint64_t)high << 64 | low);
    return value < limit && value > -limit;
}

/* Bytes of the shortest two's complement, 1 to 16. */
int32_t row_decimal_bytes(int64_t high, uint64_t low);
/* The shortest two's complement, big-endian, and zeros to the next multiple of 8. Returns its
 * bytes. */
int32_t row_decimal_store(uint8_t *at, int64_t high, uint64_t low);
/* 1 to 16 bytes, big-endian. */
void row_decimal_load(const uint8_t *at, int64_t size_bytes, int64_t *high, uint64_t *low);

/* ---- reading Arrow ---- */

struct seam_row_input {
    const struct seam_row_type *root;
    struct seam_node *node;
    struct seam_engine_column columns; /* of a chain; else empty */
};

/* What was wrong with a value that was to be written; `what` NULL: nothing. */
struct row_trouble {
    const char *what;
    const struct seam_row_type *type;
    int code;
    int64_t row; /* of the input */
};

ROW_INLINE void row_blame(struct row_trouble *trouble, int code, const struct seam_row_type *type,
                          const char *what) {
    if (trouble->what == NULL) {
        *trouble = (struct row_trouble){.what = what, .type = type, .code = code, .row = -1};
    }
}

/* Reports trouble, if any. */
int row_trouble_report(const struct row_trouble *trouble, struct seam_error *error);

/* The node and row that hold a value behind dictionaries and runs; NULL for a null. */
ROW_INLINE const struct seam_node *row_resolve(const struct seam_node *node, int64_t *row) {
    for (;;) {
        if (!seam_node_valid(node, *row)) {
            return NULL;
        }
        if (node->kind == SEAM_NODE_DICTIONARY) {
            *row = seam_node_index(node, *row);
            node = &node->children[0];
        } else if (node->kind == SEAM_NODE_RUNS) {
            *row = seam_node_run(node, *row);
            node = &node->children[1];
        } else {
            return node;
        }
    }
}

/* As row_resolve, and blames nulls where the type allows none. */
ROW_INLINE const struct seam_node *row_value(const struct seam_row_type *type,
                                             const struct seam_node *node, int64_t *row,
                                             struct row_trouble *trouble) {
    const struct seam_node *leaf = row_resolve(node, row);
    if (leaf == NULL && !type->nullable) {
        row_blame(trouble, SEAM_BAD_INPUT, type, "is null, which its type does not allow");
    }
    return leaf;
}

ROW_INLINE void row_load_decimal(const struct seam_view *view, int64_t row, int64_t *high,
                                 uint64_t *low) {
    const uint8_t *at = view->data + 16 * (view->offset + row);
    *low = seam_load64(at);
    *high = (int64_t)seam_load64(at + 8);
}

ROW_INLINE uint64_t row_load_value(const struct seam_row_type *type, const struct seam_view *view,
                                   int64_t row) {
    if (type->kind == SEAM_ROW_BOOLEAN) {
        return seam_bit(view->data, view->offset + row);
    }
    return row_load_fixed(view->data + (view->offset + row) * type->width_bytes, type->width_bytes);
}

/* One column of a block of rows that are to be written: where its values are. */
struct row_lane {
    const struct seam_row_type *type;
    const struct seam_node *leaf; /* behind dictionaries and runs */
    const struct seam_row_choice *choice;
    int64_t first;     /* of the block, within the choice */
    const int64_t *at; /* rows of the leaf, NULL: `begin` and those that follow */
    int64_t begin;
    int64_t count;
    bool any_null;
    uint8_t null[ROW_BLOCK]; /* counts when any_null */
    int64_t rows[ROW_BLOCK];
};

/* `choice`'s rows [first, first + count) of column `column`. */
void row_lane_open(struct row_lane *lane, const struct seam_row_input *input, int32_t column,
                   const struct seam_row_choice *choice, int64_t first, int64_t count,
                   struct row_trouble *trouble);
/* The number that row i of a choice has in the input. */
ROW_INLINE int64_t row_chosen(const struct seam_row_choice *choice, int64_t i) {
    return choice->rows == NULL ? choice->begin + i : choice->rows[i];
}
/* Row i of a lane, in its leaf; `at` is the lane's, or NULL where that is known. */
ROW_INLINE int64_t row_of(const struct row_lane *lane, const int64_t *at, int64_t i) {
    return at == NULL ? lane->begin + i : at[i];
}
/* Notes that trouble just met, if any, was met in row i of a lane. */
ROW_INLINE void row_blame_row(struct row_trouble *trouble, const struct row_lane *lane, int64_t i) {
    if (trouble->what != NULL && trouble->row < 0) {
        trouble->row = row_chosen(lane->choice, lane->first + i);
    }
}
/* Says which decimal of a lane has more digits than its type. */
void row_blame_decimals(const struct row_lane *lane, struct row_trouble *trouble);
/* Bytes of the largest string of a lane. */
int64_t row_largest_bytes(const struct row_lane *lane);

/* Sizes of rows into the places where they start. `*position` moves on; it begins as the gap. */
int row_place(const struct seam_row_choice *choice, int64_t first, int64_t count,
              const int64_t *sizes, int64_t gap_bytes, int64_t *position, int64_t *starts,
              struct seam_error *error);

/* ---- reading rows ---- */

struct row_cursor {
    int64_t row;
    int64_t position; /* where rows have lengths before them */
};

struct row_block {
    int64_t first;
    int64_t count;
    const uint8_t *row[ROW_BLOCK];
    int64_t length[ROW_BLOCK];
    int64_t used[ROW_BLOCK]; /* up to where a row has been read */
};

int seam_row_frames_next(const struct seam_row_frames *frames, int64_t *position, int64_t *start,
                         int64_t *length, struct seam_error *error);
int seam_row_block_next(const struct seam_row_frames *frames, struct row_cursor *cursor,
                        struct row_block *block, struct seam_error *error);

#endif
