/* Off-heap columns as a shared library, for the tests of its door: columns of kind int and string,
   each word of a chain a block of its own. A column's name says how it behaves: `leak` keeps the
   blocks of its tables, `refuse` is refused, `nowhere` gives a chain of address 0, `below` a number
   of rows below 0. */
#include "arrow_c.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_WORDS = 64 };

struct tables {
    struct ArrowArrayStream rows;
    struct ArrowSchema schema;
    int64_t chain[MOST_WORDS];
    int words, leaks, nowhere, below;
};

static int64_t live_blocks;

static void *block(struct tables *self, int64_t bytes) {
    void *made = calloc(1, bytes > 0 ? (size_t)bytes : 1);
    self->chain[self->words++] = (int64_t)(intptr_t)made;
    live_blocks++;
    return made;
}

static void renew(struct tables *self) {
    for (int i = 1; i < self->words && !self->leaks; i++) {
        free((void *)(intptr_t)self->chain[i]);
        live_blocks--;
    }
    self->words = 1;
}

static int is_null(const struct ArrowArray *column, int64_t row) {
    const uint8_t *valid = column->buffers[0];
    const int64_t at = column->offset + row;
    return valid && !(valid[at / 8] >> at % 8 & 1);
}

static void add_int(struct tables *self, const struct ArrowArray *column) {
    const int32_t *values = (const int32_t *)column->buffers[1] + column->offset;
    uint8_t *nulls = block(self, column->length);
    int32_t *data = block(self, 4 * column->length);
    for (int64_t row = 0; row < column->length; row++) {
        nulls[row] = (uint8_t)is_null(column, row);
        data[row] = nulls[row] ? 0 : values[row];
    }
}

static void add_string(struct tables *self, const struct ArrowArray *column) {
    const int32_t *from = (const int32_t *)column->buffers[1] + column->offset;
    const int32_t none = 0;
    uint8_t *nulls = block(self, column->length);
    int32_t *offsets = block(self, 4 * (column->length + 1));
    if (!column->length)
        from = &none;
    char *bytes = block(self, from[column->length] - from[0]);
    for (int64_t row = 0; row < column->length; row++) {
        nulls[row] = (uint8_t)is_null(column, row);
        const int32_t size = nulls[row] ? 0 : from[row + 1] - from[row];
        if (size)
            memcpy(bytes + offsets[row], (const char *)column->buffers[2] + from[row], (size_t)size);
        offsets[row + 1] = offsets[row] + size;
    }
}

int seambench_columns_open(const char *request, struct ArrowArrayStream *rows, void **tables,
                           char *error, size_t size) {
    struct tables *self = calloc(1, sizeof(*self));
    if (!self)
        return 1;
    self->words = 1;
    self->rows = *rows;
    self->leaks = strstr(request, "[\"leak\"") != NULL;
    self->nowhere = strstr(request, "[\"nowhere\"") != NULL;
    self->below = strstr(request, "[\"below\"") != NULL;
    if (strstr(request, "[\"refuse\"") || self->rows.get_schema(&self->rows, &self->schema)) {
        snprintf(error, size, "no room");
        self->rows.release(&self->rows);
        free(self);
        return 2;
    }
    *tables = self;
    return 0;
}

int seambench_columns_next(void *tables, const int64_t **chain, char *error, size_t size) {
    struct tables *self = tables;
    struct ArrowArray batch;
    renew(self);
    if (self->rows.get_next(&self->rows, &batch) || !batch.release) {
        snprintf(error, size, "there is no further chunk");
        return 1;
    }
    self->chain[0] = self->below ? -1 : batch.length;
    for (int64_t i = 0; i < batch.n_children; i++) {
        if (self->schema.children[i]->format[0] == 'i')
            add_int(self, batch.children[i]);
        else
            add_string(self, batch.children[i]);
    }
    batch.release(&batch);
    *chain = self->nowhere ? NULL : self->chain;
    return 0;
}

void seambench_columns_close(void *tables) {
    struct tables *self = tables;
    renew(self);
    self->schema.release(&self->schema);
    self->rows.release(&self->rows);
    free(self);
}

int64_t seambench_columns_live_blocks(void) {
    return live_blocks;
}
