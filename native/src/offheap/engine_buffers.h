/* What the files of the engine's side share: slots, buffers of a column, loops over them. */
#ifndef SEAM_ENGINE_BUFFERS_H
#define SEAM_ENGINE_BUFFERS_H

#include "seam/engine.h"

#include <stdbool.h>
#include <stdint.h>

/* Slots. */
const char *seam_engine_kind_name(int32_t kind);
/* Whether off-heap columns of the kind exist. */
bool seam_engine_held(int32_t kind);
/* Whether the tree is a type: kinds, numbers of children, digits of decimals. */
int seam_engine_slot_check(const struct seam_engine_slot *slot, struct seam_error *error);

/* Buffers of a column. */

/* Whether columns of a kind that is held have the buffer (null flags: if they are nullable). */
bool seam_engine_has_buffer(int32_t kind, int index);
int64_t seam_engine_last_offset(const struct seam_engine_column *column);
/* Size by the column's kind and rows; of the bytes, by its offsets. */
int64_t seam_engine_buffer_bytes(const struct seam_engine_column *column, int index);
/* Puts a block (or NULL) in the place of a buffer, which goes back if it was ours. */
void seam_engine_set_buffer(struct seam_engine_column *column, int index, void *block);
/* Copies one buffer, if it is borrowed. */
int seam_engine_own_buffer(struct seam_engine_column *column, int index, struct seam_error *error);
/* Turns null flags to bitmaps and values to Arrow's, all the way down; what agrees stays borrowed.
 */
int seam_engine_turn(struct seam_engine_column *column, struct seam_error *error);
/* Releases the source's column behind child `index`, which borrows nothing any more. */
void seam_engine_copied(const struct seam_engine_column *column, int64_t index);

/* Loops. Addresses in a chain promise no alignment. */

/* How many of `rows` flags are set, or -1 if one is neither 0 nor 1. */
int64_t seam_flags_count(const uint8_t *flags, int64_t rows);
/* Null flags to a validity bitmap of (rows + 7) / 8 bytes. */
void seam_flags_to_validity(const uint8_t *flags, int64_t rows, uint8_t *out);

/* One column's values on their way to Arrow. */
struct seam_engine_values {
    int32_t kind;
    int32_t precision;
    int64_t rows;
    const uint8_t *nulls; /* flags, or NULL: no row is null */
    const uint8_t *in;
    uint8_t *out; /* `in` itself, where Arrow's values are no wider, or a block apart */
};

/* Bytes of `rows` values in Arrow. */
int64_t seam_engine_arrow_bytes(int32_t kind, int64_t rows);
/* Whether Arrow keeps values of this kind as they are. */
bool seam_engine_arrow_agrees(int32_t kind);
/* Turns values of a kind that Arrow keeps otherwise; 0 stands under nulls. Returns the first row
 * whose value means nothing (see seam_engine_values_fault), or -1. */
int64_t seam_engine_values_turn(const struct seam_engine_values *values);
/* What is wrong with such a row. */
const char *seam_engine_values_fault(int32_t kind);

/* One column's texts on their way to values of its kind. */
struct seam_engine_texts {
    int32_t kind;
    int32_t precision; /* of a decimal, 38 at most; else 0 */
    int32_t scale;
    int64_t rows;
    const uint8_t *nulls; /* flags, or NULL: no row is null */
    const uint8_t *offsets;
    const uint8_t *bytes;
    uint8_t *out;
};

/* Whether the text form has texts in place of the kind's values. */
bool seam_engine_has_texts(int32_t kind);
/* Reads them strictly; 0 stands under nulls. Returns the first row whose text is no value of the
 * kind, or -1. */
int64_t seam_engine_texts_read(const struct seam_engine_texts *texts);
/* What such a row should have been. */
const char *seam_engine_texts_form(int32_t kind);

#endif
