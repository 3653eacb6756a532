/* A reader and a serde as a shared library, for the tests of the library doors: one column `id` of
   three batches of two rows. The table's name in the request says how the reader behaves. The
   serde's bytes are the number of rows; the format's name says how it behaves. */
#include "arrow_c.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct state {
    int next, breaks;
};

static int open_streams;
static int64_t values[6] = {0, 1, 2, 3, 4, 5};
static const void *no_buffers[1] = {NULL};
static const void *buffers[3][2] = {{NULL, values}, {NULL, values + 2}, {NULL, values + 4}};

static void release_schema(struct ArrowSchema *schema) {
    schema->release = NULL;
}
static void release_array(struct ArrowArray *array) {
    array->release = NULL;
}

static int get_schema(struct ArrowArrayStream *self, struct ArrowSchema *out) {
    static struct ArrowSchema child, *children[1] = {&child};
    (void)self;
    child =
        (struct ArrowSchema){.format = "l", .name = "id", .flags = 2, .release = release_schema};
    *out = (struct ArrowSchema){.format = "+s",
                                .name = "",
                                .n_children = 1,
                                .children = children,
                                .release = release_schema};
    return 0;
}

static int get_next(struct ArrowArrayStream *self, struct ArrowArray *out) {
    static struct ArrowArray child[3], *children[3][1] = {{&child[0]}, {&child[1]}, {&child[2]}};
    struct state *state = self->private_data;
    memset(out, 0, sizeof(*out));
    if (state->breaks && state->next == 1)
        return 5;
    if (state->next == 3)
        return 0;
    const int i = state->next++;
    child[i] = (struct ArrowArray){
        .length = 2, .n_buffers = 2, .buffers = buffers[i], .release = release_array};
    *out = (struct ArrowArray){.length = 2,
                               .n_buffers = 1,
                               .n_children = 1,
                               .buffers = no_buffers,
                               .children = children[i],
                               .release = release_array};
    return 0;
}

static const char *get_last_error(struct ArrowArrayStream *self) {
    (void)self;
    return "block 2 is torn";
}

static void release_stream(struct ArrowArrayStream *self) {
    free(self->private_data);
    self->release = NULL;
    open_streams--;
}

int reader_open_streams(void) {
    return open_streams;
}

int seambench_scan(const char *request, struct ArrowArrayStream *out, char *error, size_t size) {
    if (strstr(request, "\"table\": \"refuse\"")) {
        snprintf(error, size, "table version 3 is not supported");
        return 2;
    }
    if (strstr(request, "\"table\": \"refuse silently\"")) {
        return 2;
    }
    if (strstr(request, "\"table\": \"fail\"")) {
        snprintf(error, size, "disk gone");
        return 1;
    }
    if (strstr(request, "\"table\": \"nothing\""))
        return 0;
    struct state *state = calloc(1, sizeof(*state));
    if (!state)
        return 1;
    state->breaks = strstr(request, "\"table\": \"break\"") != NULL;
    *out = (struct ArrowArrayStream){get_schema, get_next, get_last_error, release_stream, state};
    open_streams++;
    return 0;
}

int seambench_serialize(const char *request, struct ArrowArrayStream *batches,
                        unsigned char **bytes, size_t *size, char *error, size_t error_size) {
    int64_t rows = 0;
    struct ArrowArray array;
    int code;
    while ((code = batches->get_next(batches, &array)) == 0 && array.release) {
        rows += array.length;
        array.release(&array);
    }
    batches->release(batches);
    if (code != 0 || strstr(request, "\"format\": \"refuse\"")) {
        snprintf(error, error_size, "no such format");
        return 2;
    }
    *size = sizeof(rows);
    *bytes = malloc(*size);
    if (!*bytes)
        return 1;
    memcpy(*bytes, &rows, *size);
    open_streams++;
    return 0;
}

int seambench_deserialize(const char *request, const unsigned char *bytes, size_t size,
                          struct ArrowArrayStream *out, char *error, size_t error_size) {
    int64_t rows = -1;
    (void)request;
    if (size == sizeof(rows))
        memcpy(&rows, bytes, size);
    if (rows != 6) {
        snprintf(error, error_size, "6 rows are expected at byte 0");
        return 2;
    }
    struct state *state = calloc(1, sizeof(*state));
    if (!state)
        return 1;
    *out = (struct ArrowArrayStream){get_schema, get_next, get_last_error, release_stream, state};
    open_streams++;
    return 0;
}

void seambench_free(unsigned char *bytes) {
    free(bytes);
    open_streams--;
}
