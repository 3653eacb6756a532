/* Payloads written in many small steps. */
#include "seam/presto_stream.h"

#include "check.h"

#include <string.h>

static struct seam_error error;

/* Ten rows of row(a integer, b varchar), null at 1, 4, 6, 7 and 9; b is null in row 3. */
static const int32_t NUMBERS[] = {0, 10, 20, 30, 40, 50, 60, 70, 80, 90};
static const int32_t ENDS[] = {0, 1, 1, 3, 3, 3, 6, 6, 6, 10, 10};
static const char TEXT[] = "abbcccdddd";
static const uint8_t ROWS_VALID[] = {0x2D, 0x01};  /* 0, 2, 3, 5, 8 */
static const uint8_t TEXTS_VALID[] = {0xF7, 0x03}; /* all but 3 */

static const void *number_buffers[] = {NULL, NUMBERS};
static const void *text_buffers[] = {TEXTS_VALID, ENDS, TEXT};
static const void *row_buffers[] = {ROWS_VALID};
static const void *no_buffers[] = {NULL};
static struct ArrowArray numbers = {.length = 10, .n_buffers = 2, .buffers = number_buffers};
static struct ArrowArray texts = {
    .length = 10, .null_count = 1, .n_buffers = 3, .buffers = text_buffers};
static struct ArrowArray *fields[] = {&numbers, &texts};
static struct ArrowArray rows = {.length = 10,
                                 .null_count = 5,
                                 .n_buffers = 1,
                                 .buffers = row_buffers,
                                 .n_children = 2,
                                 .children = fields};
static struct ArrowArray *columns[] = {&rows};
static struct ArrowArray batch = {
    .length = 10, .n_buffers = 1, .buffers = no_buffers, .n_children = 1, .children = columns};

static struct ArrowSchema number_schema = {.format = "i", .name = "a"};
static struct ArrowSchema text_schema = {.format = "u", .name = "b"};
static struct ArrowSchema *field_schemas[] = {&number_schema, &text_schema};
static struct ArrowSchema row_schema = {
    .format = "+s", .name = "r", .n_children = 2, .children = field_schemas};
static struct ArrowSchema *column_schemas[] = {&row_schema};
static struct ArrowSchema schema = {
    .format = "+s", .name = "", .n_children = 1, .children = column_schemas};

static const struct seam_presto_type TYPES[] = {
    {.kind = SEAM_PRESTO_ROW, .n_children = 2, .name = "r"},
    {.kind = SEAM_PRESTO_FIXED, .size = 4, .name = "r.a"},
    {.kind = SEAM_PRESTO_TEXT, .name = "r.b"},
};

/* One column, a row of two fields; five present rows; see Presto 0.296, RowBlockEncoding. */
static const uint8_t EXPECTED[] =
    "\x01\0\0\0"                                                      /* columns */
    "\x03\0\0\0ROW\x02\0\0\0"                                         /* fields */
    "\x09\0\0\0INT_ARRAY\x05\0\0\0\0"                                 /* a: no nulls */
    "\0\0\0\0\x14\0\0\0\x1e\0\0\0\x32\0\0\0\x50\0\0\0"                /* 0 20 30 50 80 */
    "\x0e\0\0\0VARIABLE_WIDTH\x05\0\0\0"                              /* b */
    "\x01\0\0\0\x03\0\0\0\x03\0\0\0\x06\0\0\0\x0a\0\0\0"              /* where rows end */
    "\x01\x20\x0a\0\0\0abbcccdddd"                                    /* the third is null */
    "\x0a\0\0\0\0\0\0\0"                                              /* 10 rows */
    "\x01\0\0\0\x01\0\0\0\x02\0\0\0\x03\0\0\0\x03\0\0\0"              /* offsets */
    "\x04\0\0\0\x04\0\0\0\x04\0\0\0\x05\0\0\0\x05\0\0\0\x01\x4b\x40"; /* flags */

struct fixture {
    struct seam_allocator *allocator;
    struct seam_stream_arena arena;
    struct seam_presto_program *program;
    struct seam_presto_source *source;
    struct seam_presto_stream *stream;
};

static int set_up(struct fixture *f, struct seam_allocator *allocator, int32_t flags,
                  struct seam_error *failure) {
    *f = (struct fixture){.allocator = allocator};
    seam_stream_arena_init(&f->arena, allocator);
    int code = seam_presto_program_new(allocator, TYPES, 3, 1, &f->program, failure);
    if (code == SEAM_OK) {
        code = seam_presto_source_new(allocator, f->program, &schema, &batch, &f->source, failure);
    }
    return code == SEAM_OK
               ? seam_presto_stream_new(f->program, &f->arena, flags, &f->stream, failure)
               : code;
}

static void tear_down(struct fixture *f) {
    seam_presto_stream_free(f->stream);
    seam_presto_source_free(f->source);
    seam_presto_program_free(f->program);
    seam_stream_arena_clear(&f->arena);
    CHECK(live_blocks(f->allocator) == 0);
}

static int append(struct fixture *f, const int32_t *list, int64_t begin, int64_t count,
                  struct seam_error *failure) {
    struct seam_presto_rows selection = {.rows = list, .begin = begin, .count = count};
    return seam_presto_stream_append(&f->stream, f->source, &selection, 1, failure);
}

static void check_payload(const struct fixture *f, const uint8_t *expected, int64_t size_bytes) {
    uint8_t payload[512];
    int64_t size;
    CHECK_OK(seam_presto_stream_size(f->stream, &size, &error));
    CHECK(size == size_bytes && size <= (int64_t)sizeof payload);
    seam_presto_stream_write(f->stream, payload);
    CHECK(memcmp(payload, expected, (size_t)size) == 0);
}

static void steps_of_any_size_give_the_same_page(void) {
    static const int32_t LIST[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
    struct seam_allocator *allocator = seam_allocator_new(0);
    struct fixture f;
    CHECK_OK(set_up(&f, allocator, 0, &error));
    for (int64_t step = 1; step <= 10; step++) {
        for (int listed = 0; listed < 2; listed++) {
            for (int64_t at = 0; at < 10; at += step) {
                int64_t count = at + step < 10 ? step : 10 - at;
                CHECK_OK(append(&f, listed ? LIST + at : NULL, at, count, &error));
            }
            CHECK(seam_presto_stream_rows(f.stream) == 10);
            check_payload(&f, EXPECTED, sizeof EXPECTED - 1);
            check_payload(&f, EXPECTED, sizeof EXPECTED - 1); /* flushing changes nothing */
            seam_presto_stream_clear(f.stream);
            seam_stream_arena_clear(&f.arena);
        }
    }
    tear_down(&f);
    seam_allocator_release(allocator);
}

static void one_column_stands_alone(void) {
    uint8_t bytes[512];
    int64_t size;
    struct seam_allocator *allocator = seam_allocator_new(0);
    struct fixture f;
    CHECK_OK(set_up(&f, allocator, 0, &error));
    CHECK_OK(append(&f, NULL, 0, 10, &error));
    CHECK_OK(seam_presto_stream_column_size(f.stream, 0, &size, &error));
    CHECK(size == (int64_t)sizeof EXPECTED - 1 - 4); /* no count of columns */
    seam_presto_stream_write_column(f.stream, 0, bytes);
    CHECK(memcmp(bytes, EXPECTED + 4, (size_t)size) == 0);
    CHECK(seam_presto_stream_column_size(f.stream, 1, &size, &error) == SEAM_BAD_ARGUMENT);
    tear_down(&f);
    seam_allocator_release(allocator);
}

/* Velox, useNullsFirst: count, flags, number of fields, fields; no offsets. */
static void nulls_may_come_first(void) {
    static const uint8_t NULLS_FIRST[] = "\x01\0\0\0\x03\0\0\0ROW\x02\0\0\0\x01\x40\x02\0\0\0"
                                         "\x09\0\0\0INT_ARRAY\x01\0\0\0\0\x14\0\0\0"
                                         "\x0e\0\0\0VARIABLE_WIDTH\x01\0\0\0\x02\0\0\0\0"
                                         "\x02\0\0\0bb";
    static const int32_t LIST[] = {2, 4};
    struct seam_allocator *allocator = seam_allocator_new(0);
    struct fixture f;
    CHECK_OK(set_up(&f, allocator, SEAM_PRESTO_NULLS_FIRST, &error));
    CHECK_OK(append(&f, LIST, 0, 2, &error));
    check_payload(&f, NULLS_FIRST, sizeof NULLS_FIRST - 1);
    tear_down(&f);
    seam_allocator_release(allocator);
}

static void wrong_rows_change_nothing(void) {
    static const int32_t BEYOND[] = {3, 10};
    struct seam_allocator *allocator = seam_allocator_new(0);
    struct fixture f;
    CHECK_OK(set_up(&f, allocator, 0, &error));
    CHECK_OK(append(&f, NULL, 0, 5, &error));
    CHECK(append(&f, BEYOND, 0, 2, &error) == SEAM_BAD_ARGUMENT);
    CHECK(append(&f, NULL, 5, 6, &error) == SEAM_BAD_ARGUMENT);
    CHECK(append(&f, NULL, 11, 0, &error) == SEAM_BAD_ARGUMENT);
    CHECK_OK(append(&f, NULL, 5, 5, &error));
    check_payload(&f, EXPECTED, sizeof EXPECTED - 1);
    tear_down(&f);
    seam_allocator_release(allocator);
}

static void a_failed_append_closes_the_stream(void) {
    struct seam_allocator *allocator = seam_allocator_new(0);
    struct fixture f;
    int64_t size;
    CHECK_OK(set_up(&f, allocator, 0, &error));
    seam_allocator_fail_after(allocator, 1);
    CHECK(append(&f, NULL, 0, 10, &error) == SEAM_NO_MEMORY);
    CHECK(append(&f, NULL, 0, 10, &error) == SEAM_BAD_ARGUMENT);
    CHECK(seam_presto_stream_size(f.stream, &size, &error) == SEAM_BAD_ARGUMENT);
    seam_presto_stream_clear(f.stream);
    seam_stream_arena_clear(&f.arena);
    CHECK_OK(append(&f, NULL, 0, 10, &error));
    check_payload(&f, EXPECTED, sizeof EXPECTED - 1);
    tear_down(&f);
    seam_allocator_release(allocator);
}

static void other_layouts_are_refused(void) {
    struct seam_allocator *allocator = seam_allocator_new(0);
    struct fixture f;
    CHECK_OK(set_up(&f, allocator, 0, &error));
    struct seam_presto_source *other;
    number_schema.format = "l";
    CHECK(seam_presto_source_new(allocator, f.program, &schema, &batch, &other, &error) ==
          SEAM_BAD_ARGUMENT);
    CHECK(strstr(error.message, "'r.a'") != NULL && other == NULL);
    number_schema.format = "i";
    tear_down(&f);
    seam_allocator_release(allocator);
}

static int append_and_write(struct seam_allocator *allocator, struct seam_error *failure) {
    struct fixture f;
    int code = set_up(&f, allocator, 0, failure);
    for (int i = 0; i < 300 && code == SEAM_OK; i++) { /* enough to need more ranges */
        code = append(&f, NULL, 0, 10, failure);
    }
    tear_down(&f);
    return code;
}

int main(void) {
    steps_of_any_size_give_the_same_page();
    one_column_stands_alone();
    nulls_may_come_first();
    wrong_rows_change_nothing();
    a_failed_append_closes_the_stream();
    other_layouts_are_refused();
    check_every_allocation(append_and_write);
    return 0;
}
