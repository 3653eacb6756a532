/* Batches behind handles into UnsafeRows of Spark, and these into batches. */
#include "batches/batches.h"

#include "seam/arrow_build.h"
#include "seam/row_frames.h"
#include "seam/row_input.h"
#include "seam/unsafe_row.h"

#include <stdlib.h>

struct seam_row_converter {
    struct seam_batches *batches;
    struct seam_allocator *allocator;
    const struct seam_row_type *root;
    int32_t form;
    int64_t threshold_bytes;
    /* The batch that is being turned. */
    int64_t handle; /* 0: none is */
    struct held *held;
    struct seam_row_input *input;
    struct seam_buffer starts; /* of all of its rows, or of rows that became a batch */
    struct seam_buffer data;   /* rows of the last call */
};

int seam_row_converter_new(struct seam_batches *batches, const struct seam_row_type *root,
                           int32_t form, int64_t threshold_bytes, struct seam_row_converter **out,
                           struct seam_error *error) {
    int code = seam_row_type_check(root, error);
    struct seam_row_converter *made = code == SEAM_OK ? calloc(1, sizeof *made) : NULL;
    if (made == NULL) {
        return code != SEAM_OK ? code
                               : seam_fail(error, SEAM_NO_MEMORY, -1, "no memory for a converter");
    }
    *made = (struct seam_row_converter){.batches = batches,
                                        .allocator = seam_batches_allocator(batches),
                                        .root = root,
                                        .form = form,
                                        .threshold_bytes = threshold_bytes};
    seam_buffer_init(&made->starts, made->allocator);
    seam_buffer_init(&made->data, made->allocator);
    seam_batches_count_converter(batches, 1);
    *out = made;
    return SEAM_OK;
}

static void leave_batch(struct seam_row_converter *converter) {
    if (converter->handle != 0) {
        seam_row_input_free(converter->input);
        seam_held_leave(converter->held);
        converter->input = NULL;
        converter->handle = 0;
    }
}

void seam_row_converter_free(struct seam_row_converter *converter) {
    if (converter != NULL) {
        leave_batch(converter);
        seam_buffer_reset(&converter->starts);
        seam_buffer_reset(&converter->data);
        seam_batches_count_converter(converter->batches, -1);
        free(converter);
    }
}

/* Room for `bytes`; what was there before is of no use. */
static int make_room(struct seam_buffer *buffer, int64_t bytes, struct seam_error *error) {
    buffer->size_bytes = 0;
    return bytes <= buffer->capacity_bytes ? SEAM_OK : seam_buffer_reserve(buffer, bytes, error);
}

static int64_t *starts_of(struct seam_row_converter *converter) {
    return (int64_t *)(void *)converter->starts.data;
}

/* Looks at a batch, and where all of its rows would lie. */
static int enter_batch(struct seam_row_converter *converter, int64_t handle,
                       struct seam_error *error) {
    struct held *held = NULL;
    struct seam_row_input *input = NULL;
    leave_batch(converter);
    SEAM_TRY(seam_held_enter(converter->batches, handle, &held, error));
    int code = SEAM_OK;
    const struct form *form = held->form;
    if (held->array.release != NULL) {
        code = seam_row_input_new(converter->allocator, converter->root, &form->schema,
                                  &held->array, &input, error);
    } else {
        code = seam_row_input_of_chain(converter->allocator, converter->root, form->slots,
                                       form->n_slots, &held->chain, &input, error);
    }
    if (code == SEAM_OK) {
        code = make_room(&converter->starts, (held->rows + 1) * (int64_t)sizeof(int64_t), error);
    }
    if (code == SEAM_OK) {
        struct seam_row_choice choice = {.count = held->rows};
        code = seam_unsafe_row_layout(input, SEAM_UNSAFE_SPARK, &choice, 0, starts_of(converter),
                                      error);
    }
    if (code != SEAM_OK) {
        seam_row_input_free(input);
        seam_held_leave(held);
        return code;
    }
    converter->handle = handle;
    converter->held = held;
    converter->input = input;
    return SEAM_OK;
}

/* How many rows from `first` on take at most so many bytes; at least one. */
static int64_t fitting(const int64_t *starts, int64_t first, int64_t rows, int64_t bytes) {
    int64_t low = first + 1; /* rows before this one are taken */
    int64_t high = rows;
    while (low < high) {
        int64_t middle = high - (high - low) / 2;
        if (starts[middle] - starts[first] <= bytes) {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    return low - first;
}

int seam_row_converter_rows(struct seam_row_converter *converter, int64_t handle, int64_t first,
                            struct seam_converted_rows *out, struct seam_error *error) {
    if (converter->handle != handle || first == 0) {
        SEAM_TRY(enter_batch(converter, handle, error));
    }
    int64_t rows = converter->held->rows;
    if (first < 0 || first >= rows) {
        return seam_fail(error, SEAM_BAD_ARGUMENT, -1, "row %lld is not one of the batch's %lld",
                         (long long)first, (long long)rows);
    }
    int64_t *starts = starts_of(converter);
    int64_t count = fitting(starts, first, rows, converter->threshold_bytes);
    int code = make_room(&converter->data, starts[first + count] - starts[first], error);
    if (code == SEAM_OK) {
        struct seam_row_choice choice = {.begin = first, .count = count};
        uintptr_t before = (uintptr_t)converter->data.data - (uintptr_t)starts[first];
        code = seam_unsafe_row_write(converter->input, SEAM_UNSAFE_SPARK, &choice, 0,
                                     starts + first, (uint8_t *)before, error);
    }
    if (code != SEAM_OK || first + count == rows) {
        leave_batch(converter);
    }
    *out = (struct seam_converted_rows){count, converter->data.data, starts + first};
    return code;
}

int seam_row_converter_batch(struct seam_row_converter *converter, const uint8_t *data,
                             const int64_t *lengths, int64_t rows, int64_t *handle,
                             struct seam_error *error) {
    leave_batch(converter); /* whose starts go */
    SEAM_TRY(make_room(&converter->starts, (rows + 1) * (int64_t)sizeof(int64_t), error));
    int64_t *starts = starts_of(converter);
    starts[0] = 0;
    for (int64_t i = 0; i < rows; i++) {
        starts[i + 1] = starts[i] + lengths[i];
    }
    struct seam_row_frames frames = {.data = data,
                                     .size_bytes = starts[rows],
                                     .count = rows,
                                     .starts = starts,
                                     .lengths = lengths};
    struct ArrowArray array;
    SEAM_TRY(seam_unsafe_row_read(converter->allocator, converter->root, &frames, &array, error));
    int code = seam_batches_hold(converter->batches, converter->form, &array, handle, error);
    if (code != SEAM_OK) {
        seam_array_release(&array);
    }
    return code;
}
