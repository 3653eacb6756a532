/* What the writer and the reader of UnsafeRows share. */
#ifndef SEAM_UNSAFE_ROW_INTERNAL_H
#define SEAM_UNSAFE_ROW_INTERNAL_H

#include "rows/row_internal.h"
#include "seam/unsafe_row.h"

/* Bytes that a long decimal or a calendar interval may take in a row's tail. */
enum { UNSAFE_PLACE_BYTES = 16 };

ROW_INLINE int64_t unsafe_null_bytes(int64_t count) {
    return (count + 63) / 64 * 8;
}

/* Null bits and slots of a row. */
ROW_INLINE int64_t unsafe_head_bytes(int64_t n_fields) {
    return unsafe_null_bytes(n_fields) + 8 * n_fields;
}

/* Whether values lie in the tail, and a slot only says where. */
ROW_INLINE bool unsafe_in_tail(const struct seam_row_type *type) {
    return type->kind >= SEAM_ROW_LONG_DECIMAL;
}

/* Bytes between two elements of an array. Spark gives void eight, Velox none. */
ROW_INLINE int64_t unsafe_element_bytes(const struct seam_row_type *type,
                                        enum seam_unsafe_writer dialect) {
    return type->kind == SEAM_ROW_BOOLEAN                                ? 1
           : type->kind == SEAM_ROW_FIXED                                ? type->width_bytes
           : type->kind == SEAM_ROW_VOID && dialect == SEAM_UNSAFE_VELOX ? 0
                                                                         : 8;
}

/* Values that need a look at each row: what is inside of them, and how much they take. The writer's
 * state is the trouble it met. */
struct unsafe_writer {
    enum seam_unsafe_writer dialect;
    struct row_trouble trouble;
};

/* Bytes of a value's tail. `leaf` holds the value: it is no null and stands behind dictionaries.
 * `in_row` tells a field of a row from an element of an array. */
int64_t unsafe_tail_bytes(struct unsafe_writer *writer, const struct seam_row_type *type,
                          const struct seam_node *leaf, int64_t row, bool in_row);
/* Writes a value's tail at `at`, zeros up to the next multiple of 8 included, and returns the size
 * that its slot states. */
int64_t unsafe_tail_write(struct unsafe_writer *writer, const struct seam_row_type *type,
                          const struct seam_node *leaf, int64_t row, bool in_row, uint8_t *at);
/* What a slot holds of a value that is not in the tail. */
uint64_t unsafe_slot_value(struct unsafe_writer *writer, const struct seam_row_type *type,
                           const struct seam_node *leaf, int64_t row);
/* Tail bytes that a null field keeps, so that it can be updated in place; elements keep none. */
ROW_INLINE int64_t unsafe_kept_bytes(const struct unsafe_writer *writer,
                                     const struct seam_row_type *type) {
    bool keeps = writer->dialect == SEAM_UNSAFE_SPARK &&
                 (type->kind == SEAM_ROW_LONG_DECIMAL || type->kind == SEAM_ROW_CALENDAR);
    return keeps ? UNSAFE_PLACE_BYTES : 0;
}
/* Bytes that a value's tail takes in a row of its own kind; see unsafe_tail_bytes. */
ROW_INLINE uint64_t unsafe_slot(int64_t offset, int64_t size_bytes) {
    return (uint64_t)offset << 32 | (uint64_t)size_bytes;
}
/* The slot of a null whose place is kept at `offset`. */
ROW_INLINE uint64_t unsafe_kept_slot(const struct seam_row_type *type, int64_t offset) {
    return unsafe_slot(offset, type->kind == SEAM_ROW_CALENDAR ? UNSAFE_PLACE_BYTES : 0);
}

#endif
