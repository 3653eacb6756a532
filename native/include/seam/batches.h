/* Batches behind handles, as an engine's operators pass them around, and what turns them into
 * UnsafeRows and back.
 *
 * A handle counts its users; it is never given out twice, so that one used after its end is known
 * for what it is. Batches are Arrow arrays, in whatever memory they came, or off-heap tables, whose
 * rows are written from the chain itself. All calls may come from any thread, but those with one
 * converter, which belongs to a thread at a time. seam/jni.h lets Java call what tasks need.
 */
#ifndef SEAM_BATCHES_H
#define SEAM_BATCHES_H

#include "seam/arrow.h"
#include "seam/engine.h"
#include "seam/error.h"
#include "seam/memory.h"
#include "seam/row_type.h"
#include "seam/table.h"

#include <stdint.h>

struct seam_batches;
struct seam_row_converter;

struct seam_batches_counters {
    int64_t opened;     /* handles given out */
    int64_t closed;     /* those whose last user let go */
    int64_t retained;   /* users that came after the first */
    int64_t released;   /* users that let go */
    int64_t converters; /* there are now */
};

/* A handle in use. */
struct seam_batches_entry {
    int64_t handle;
    int64_t rows;
    int64_t users;
};

/* None yet. `allocator`, borrowed, is where copies come from. NULL: no memory. */
struct seam_batches *seam_batches_new(struct seam_allocator *allocator);
/* Closes every handle, whoever uses it. */
void seam_batches_clear(struct seam_batches *batches);
/* Gives the rest back, too; nobody may call any more. NULL is ignored. */
void seam_batches_free(struct seam_batches *batches);
void seam_batches_counters(struct seam_batches *batches, struct seam_batches_counters *out);
/* Fills `out` with handles in use, `capacity` at most; returns how many there are. */
int64_t seam_batches_list(struct seam_batches *batches, struct seam_batches_entry *out,
                          int64_t capacity);

/* States of which columns batches are: `schema`, which is taken over, and the slots as which tables
 * of them are read, which are borrowed like what tables borrow of their types (NULL: none are).
 * `*form` is the number that stands for both. */
int seam_batches_form(struct seam_batches *batches, struct ArrowSchema *schema,
                      const struct seam_engine_slot *slots, int64_t n_slots, int32_t *form,
                      struct seam_error *error);
/* Puts a batch, a struct array, behind a handle with one user; it is taken over. */
int seam_batches_hold(struct seam_batches *batches, int32_t form, struct ArrowArray *rows,
                      int64_t *handle, struct seam_error *error);
/* The same for a table, which is empty afterwards. */
int seam_batches_hold_table(struct seam_batches *batches, int32_t form, struct seam_table *table,
                            int64_t *handle, struct seam_error *error);
/* SEAM_BAD_ARGUMENT, here and below: the handle is closed, or there never was one. */
int seam_batches_retain(struct seam_batches *batches, int64_t handle, struct seam_error *error);
/* The last user closes the handle. */
int seam_batches_release(struct seam_batches *batches, int64_t handle, struct seam_error *error);
/* Users of a handle; 0 once it is closed. */
int64_t seam_batches_users(struct seam_batches *batches, int64_t handle);
/* The rows behind a handle as an array of the caller's, who may keep it longer than the handle: a
 * copy of a table, an array as it is. */
int seam_batches_load(struct seam_batches *batches, int64_t handle, struct ArrowArray *out,
                      int32_t *form, struct seam_error *error);
/* An array behind a handle, good as long as that. All arrays within begin with their first element:
 * a slice is copied. SEAM_UNSUPPORTED: it is a table. */
int seam_batches_array(struct seam_batches *batches, int64_t handle, const struct ArrowArray **out,
                       struct seam_error *error);

/* For rows of `root`, which is borrowed. `form`: of the batches that are made of rows.
 * `threshold_bytes`: most bytes of rows that one call makes, if they are more than one row. */
int seam_row_converter_new(struct seam_batches *batches, const struct seam_row_type *root,
                           int32_t form, int64_t threshold_bytes, struct seam_row_converter **out,
                           struct seam_error *error);
/* NULL is ignored. */
void seam_row_converter_free(struct seam_row_converter *converter);

/* Rows of one call: row i lies at data + starts[i] - starts[0], up to where row i + 1 begins. */
struct seam_converted_rows {
    int64_t rows;
    const uint8_t *data;
    const int64_t *starts; /* one more than rows */
};

/* The rows of a batch from row `first` on, as many as fit, at least one. They are the converter's,
 * and die with its next call. */
int seam_row_converter_rows(struct seam_row_converter *converter, int64_t handle, int64_t first,
                            struct seam_converted_rows *out, struct seam_error *error);
/* A batch of rows that lie end to end, behind a new handle with one user. */
int seam_row_converter_batch(struct seam_row_converter *converter, const uint8_t *data,
                             const int64_t *lengths, int64_t rows, int64_t *handle,
                             struct seam_error *error);

#endif
