/* Compiled types of a page's columns, and the encodings they are written in. */
#ifndef SEAM_PRESTO_TYPE_H
#define SEAM_PRESTO_TYPE_H

#include "seam/presto_page.h"

#include <stdbool.h>
#include <stdint.h>

/* Block encodings by name. MAP_ELEMENT and ROW_ELEMENT are values that stand alone, never columns
 * of a page; LAZY is never written. */
enum presto_encoding {
    PRESTO_BYTE_ARRAY,
    PRESTO_SHORT_ARRAY,
    PRESTO_INT_ARRAY,
    PRESTO_LONG_ARRAY,
    PRESTO_INT128_ARRAY,
    PRESTO_VARIABLE_WIDTH,
    PRESTO_ARRAY,
    PRESTO_MAP,
    PRESTO_ROW,
    PRESTO_DICTIONARY,
    PRESTO_RLE,
    PRESTO_MAP_ELEMENT,
    PRESTO_ROW_ELEMENT,
    PRESTO_N_ENCODINGS,
};

struct presto_name {
    const char *text;
    int32_t size_bytes;
};

extern const struct presto_name PRESTO_NAMES[PRESTO_N_ENCODINGS];

/* Nodes of a program in preorder: the children of `type` begin at `type + 1`, the next sibling is
 * `type + type->span`. */
struct presto_type {
    enum seam_presto_kind kind;
    int32_t size;
    int32_t n_children;
    int32_t span;                  /* nodes of the subtree, this one included */
    enum presto_encoding encoding; /* of flat values */
    int32_t wire_bytes;            /* of a value; 0 where widths vary or children hold it */
    int32_t arrow_bytes;           /* the same in Arrow; 0 also of bits */
    bool hashed;
    const char *name;
};

struct seam_presto_program {
    int32_t n_columns;
    struct presto_type *types; /* the columns, one after the other */
    char *names;
};

static inline const struct presto_type *presto_next(const struct presto_type *type) {
    return type + type->span;
}

/* Whether a value takes the same number of bytes in every row of the page. */
static inline bool presto_is_fixed(const struct presto_type *type) {
    return type->encoding <= PRESTO_INT128_ARRAY;
}

/* 10 to the power of `digits`, which is at most 18. */

#endif
