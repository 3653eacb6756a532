#include "seam/arrow_build.h"

/* Everything an array needs beside its buffers, in one block: behind this come the pointers to the
 * buffers, those to the children, and the children. */
struct private_array {
    int64_t n_buffers;
    const void *buffers[];
};

static void release_array(struct ArrowArray *array) {
    struct private_array *private = array->private_data;
    for (int64_t i = 0; i < array->n_children; i++) {
        seam_array_release(array->children[i]);
    }
    for (int64_t i = 0; i < private->n_buffers; i++) {
        seam_free((void *)private->buffers[i]);
    }
    seam_array_release(array->dictionary);
    seam_free(array->dictionary);
    seam_free(private);
    array->release = NULL;
}

int seam_array_build_entries(struct seam_allocator *allocator, struct ArrowArray *pair,
                             struct seam_error *error) {
    void *no_nulls[1] = {NULL};
    struct ArrowArray entries;
    SEAM_TRY(seam_array_build(allocator, pair[0].length, 0, 1, no_nulls, 2, pair, &entries, error));
    pair[0] = entries;
    pair[1].release = NULL;
    return SEAM_OK;
}

int seam_arrays_new(struct seam_allocator *allocator, int64_t n, struct ArrowArray **out,
                    struct seam_error *error) {
    void *block;
    SEAM_TRY(seam_alloc_zeros(allocator, n, sizeof **out, &block, error));
    *out = block;
    return SEAM_OK;
}

int seam_arrays_end(struct ArrowArray *arrays, int64_t n, int code) {
    for (int64_t i = 0; code != SEAM_OK && i < n; i++) {
        seam_array_release(&arrays[i]);
    }
    seam_free(arrays);
    return code;
}

void seam_array_release(struct ArrowArray *array) {
    if (array != NULL && array->release != NULL) {
        array->release(array);
    }
}

void seam_schema_release(struct ArrowSchema *schema) {
    if (schema != NULL && schema->release != NULL) {
        schema->release(schema);
    }
}

void seam_stream_release(struct ArrowArrayStream *stream) {
    if (stream != NULL && stream->release != NULL) {
        stream->release(stream);
    }
}

int seam_array_build(struct seam_allocator *allocator, int64_t length, int64_t null_count,
                     int64_t n_buffers, void **buffers, int64_t n_children,
                     struct ArrowArray *children, struct ArrowArray *out,
                     struct seam_error *error) {
    void *block;
    size_t size = sizeof(struct private_array) + (size_t)n_buffers * sizeof(void *) +
                  (size_t)n_children * (sizeof(void *) + sizeof(struct ArrowArray));
    SEAM_TRY(seam_alloc(allocator, size, &block, error));
    struct private_array *private = block;
    struct ArrowArray **pointers = (struct ArrowArray **)(private->buffers + n_buffers);
    struct ArrowArray *own = (struct ArrowArray *)(pointers + n_children);
    private->n_buffers = n_buffers;
    for (int64_t i = 0; i < n_buffers; i++) {
        private->buffers[i] = buffers[i];
    }
    for (int64_t i = 0; i < n_children; i++) {
        own[i] = children[i];
        pointers[i] = &own[i];
    }
    *out = (struct ArrowArray){
        .length = length,
        .null_count = null_count,
        .offset = 0,
        .n_buffers = n_buffers,
        .n_children = n_children,
        .buffers = private->buffers,
        .children = pointers,
        .dictionary = NULL,
        .release = release_array,
        .private_data = private,
    };
    return SEAM_OK;
}

int seam_array_set_dictionary(struct seam_allocator *allocator, struct ArrowArray *array,
                              struct ArrowArray *dictionary, struct seam_error *error) {
    void *block;
    SEAM_TRY(seam_alloc(allocator, sizeof *dictionary, &block, error));
    array->dictionary = block;
    *array->dictionary = *dictionary;
    dictionary->release = NULL;
    return SEAM_OK;
}
