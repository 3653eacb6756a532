/* Batches behind handles: users, rows of an off-heap table from its chain, and rows back. */
#include "seam/batches.h"

#include "seam/arrow_build.h"

#include "check.h"

#include <string.h>

static struct seam_error error;

static const struct seam_column_type TYPES[] = {
    {.kind = SEAM_COLUMN_INT},
    {.kind = SEAM_COLUMN_UNKNOWN},
    {.kind = SEAM_COLUMN_STRING},
    {.kind = SEAM_COLUMN_BOOLEAN},
    {.kind = SEAM_COLUMN_DECIMAL64, .precision = 4, .scale = 2},
    {.kind = SEAM_COLUMN_DATE},
    {.kind = SEAM_COLUMN_DATETIME},
};
enum { COLUMNS = sizeof TYPES / sizeof TYPES[0] };

#define COLUMN(of, width, digits)                                                                  \
    {.kind = (of), .width_bytes = (width), .precision = (digits), .nullable = 1, .name = "c"}

static const struct seam_row_type FIELDS[COLUMNS] = {
    COLUMN(SEAM_ROW_FIXED, 4, 0),         COLUMN(SEAM_ROW_FIXED, 8, 0),
    COLUMN(SEAM_ROW_STRING, 0, 0),        COLUMN(SEAM_ROW_BOOLEAN, 0, 0),
    COLUMN(SEAM_ROW_SHORT_DECIMAL, 0, 4), COLUMN(SEAM_ROW_FIXED, 4, 0),
    COLUMN(SEAM_ROW_FIXED, 8, 0),
};
static const struct seam_row_type ROOT = {.kind = SEAM_ROW_STRUCT,
                                          .n_children = COLUMNS,
                                          .children = FIELDS,
                                          .nullable = 1,
                                          .name = "row"};

/* Null bits, a slot a column, then "ab"; worked out by hand. */
static const uint64_t FIRST[] = {2, 7, 0, UINT64_C(64) << 32 | 2, 1, 123, 1, 1, 0x6261};
static const uint64_t SECOND[] = {0x7F, 0, 0, 0, 0, 0, 0, 0};

static int fill(struct seam_table *table, struct seam_error *out) {
    int code = seam_vector_append_long(seam_table_column(table, 0), 7, out);
    code = code ? code : seam_vector_append_bytes(seam_table_column(table, 2), "ab", 2, out);
    code = code ? code : seam_vector_append_boolean(seam_table_column(table, 3), 1, out);
    code = code ? code : seam_vector_append_decimal(seam_table_column(table, 4), 123, out);
    code = code ? code : seam_vector_append_date(seam_table_column(table, 5), 1, out);
    code = code ? code : seam_vector_append_datetime(seam_table_column(table, 6), 1, out);
    for (int i = 0; i < COLUMNS && code == SEAM_OK; i++) {
        if (TYPES[i].kind != SEAM_COLUMN_UNKNOWN) {
            code = seam_vector_append_null(seam_table_column(table, i), out);
        }
    }
    return code ? code : seam_table_set_rows(table, 2, out);
}

/* A form for tables, and for batches that nobody loads. */
static int new_form(struct seam_batches *batches, struct seam_engine_slot *slots, int32_t *form,
                    struct seam_error *out) {
    struct ArrowSchema schema = {.format = "+s", .name = ""};
    for (int i = 0; i < COLUMNS; i++) {
        slots[i] = (struct seam_engine_slot){.kind = TYPES[i].kind,
                                             .precision = TYPES[i].precision,
                                             .scale = TYPES[i].scale,
                                             .nullable = 1,
                                             .name = "c"};
    }
    slots[1].kind = SEAM_COLUMN_LONG; /* what was asked for; the file lacks it */
    return seam_batches_form(batches, &schema, slots, COLUMNS, form, out);
}

static int hold_table(struct seam_batches *batches, struct seam_allocator *allocator, int32_t form,
                      int64_t *handle, struct seam_error *out) {
    struct seam_table table;
    int code = seam_table_init(&table, TYPES, COLUMNS, 2, allocator, out);
    code = code ? code : fill(&table, out);
    code = code ? code : seam_batches_hold_table(batches, form, &table, handle, out);
    seam_table_reset(&table);
    return code;
}

/* Rows one at a time, and from these a batch behind another handle. */
static int turn(struct seam_batches *batches, struct seam_row_converter *converter, int64_t handle,
                struct seam_error *out) {
    const uint64_t *expected[] = {FIRST, SECOND};
    const int64_t lengths[] = {sizeof FIRST, sizeof SECOND};
    uint8_t rows[sizeof FIRST + sizeof SECOND];
    int64_t used = 0;
    int64_t made = 0;
    for (int64_t first = 0; first < 2; first++) {
        struct seam_converted_rows found;
        int code = seam_row_converter_rows(converter, handle, first, &found, out);
        if (code != SEAM_OK) {
            return code;
        }
        CHECK(found.rows == 1 && found.starts[1] - found.starts[0] == lengths[first]);
        CHECK(memcmp(found.data, expected[first], (size_t)lengths[first]) == 0);
        memcpy(rows + used, found.data, (size_t)lengths[first]);
        used += lengths[first];
    }
    int code = seam_row_converter_batch(converter, rows, lengths, 2, &made, out);
    struct ArrowArray array;
    int32_t form;
    code = code ? code : seam_batches_load(batches, made, &array, &form, out);
    if (code == SEAM_OK) {
        CHECK(seam_batches_release(batches, made, out) == SEAM_OK);
        CHECK(array.length == 2 && array.children[0]->null_count == 1); /* outlives its handle */
        CHECK(*(const int32_t *)array.children[0]->buffers[1] == 7);
        seam_array_release(&array);
    }
    return code;
}

static int there_and_back(struct seam_allocator *allocator, struct seam_error *out) {
    struct seam_engine_slot slots[COLUMNS];
    struct seam_row_converter *converter = NULL;
    struct seam_batches *batches = seam_batches_new(allocator);
    struct ArrowArray array = {.release = NULL};
    int64_t handle = 0;
    int32_t form = 0;
    CHECK(batches != NULL);
    int code = new_form(batches, slots, &form, out);
    code = code ? code : hold_table(batches, allocator, form, &handle, out);
    code = code ? code : seam_row_converter_new(batches, &ROOT, form, 1, &converter, out);
    code = code ? code : turn(batches, converter, handle, out);
    code = code ? code : seam_batches_load(batches, handle, &array, &form, out);
    seam_array_release(&array);
    seam_row_converter_free(converter);
    seam_batches_free(batches);
    return code;
}

static void handles_count_their_users(struct seam_allocator *allocator) {
    struct seam_engine_slot slots[COLUMNS];
    struct seam_batches *batches = seam_batches_new(allocator);
    struct seam_batches_counters counters;
    const struct ArrowArray *array;
    int64_t handle;
    int32_t form;
    CHECK_OK(new_form(batches, slots, &form, &error));
    CHECK_OK(hold_table(batches, allocator, form, &handle, &error));
    CHECK(seam_batches_array(batches, handle, &array, &error) == SEAM_UNSUPPORTED);
    CHECK_OK(seam_batches_retain(batches, handle, &error));
    CHECK_OK(seam_batches_release(batches, handle, &error));
    CHECK(seam_batches_users(batches, handle) == 1);
    CHECK_OK(seam_batches_release(batches, handle, &error));
    CHECK(seam_batches_release(batches, handle, &error) == SEAM_BAD_ARGUMENT);
    CHECK(strstr(error.message, "handle 1 is closed") != NULL);
    CHECK(seam_batches_retain(batches, -7, &error) == SEAM_BAD_ARGUMENT);
    CHECK(strstr(error.message, "never was a handle -7") != NULL);
    seam_batches_counters(batches, &counters);
    CHECK(counters.opened == 1 && counters.closed == 1 && counters.released == 2);
    CHECK(live_blocks(allocator) == 0);
    seam_batches_free(batches);
}

int main(void) {
    struct seam_allocator *allocator = seam_allocator_new(0);
    handles_count_their_users(allocator);
    CHECK_OK(there_and_back(allocator, &error));
    check_every_allocation(there_and_back);
    CHECK(live_blocks(allocator) == 0);
    seam_allocator_release(allocator);
    return 0;
}
