/* Many values at once: the same bytes as one at a time, and where a batch stops. */
#include "seam/vector_batch.h"

#include "check.h"

#include <string.h>

static struct seam_error error;

static struct seam_vector make(struct seam_allocator *allocator,
                               const struct seam_column_type *type, int64_t capacity) {
    struct seam_vector vector;
    CHECK_OK(seam_vector_init(&vector, type, capacity, allocator, &error));
    return vector;
}

static struct seam_vector flat(struct seam_allocator *allocator, int32_t kind) {
    static struct seam_column_type type;
    type = (struct seam_column_type){.kind = kind, .precision = 18, .scale = 2};
    return make(allocator, &type, 0);
}

static void longs_go_by_the_kind(struct seam_allocator *allocator) {
    const int64_t values[] = {1, 77, 0};
    const uint8_t nulls[] = {0, 1, 0};
    const struct {
        int32_t kind;
        const char *bytes;
        int64_t size_bytes;
    } cases[] = {
        {SEAM_COLUMN_BOOLEAN, "\1\0\0", 3},
        {SEAM_COLUMN_SHORT, "\1\0\0\0\0\0", 6},
        {SEAM_COLUMN_DATE, "\x8d\x3d\x25\0\0\0\0\0\x8c\x3d\x25\0", 12},
        {SEAM_COLUMN_DECIMAL64, "\1\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 24},
        {SEAM_COLUMN_DATETIME, "\1\0\0\0\0\x8c\x3d\x25\0\0\0\0\0\0\0\0\0\0\0\0\0\x8c\x3d\x25", 24},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct seam_vector vector = flat(allocator, cases[i].kind);
        CHECK_OK(seam_vector_append_longs(&vector, values, nulls, 3, &error));
        CHECK(vector.rows == 3 && memcmp(vector.nulls, nulls, 3) == 0);
        CHECK(memcmp(vector.data, cases[i].bytes, (size_t)cases[i].size_bytes) == 0);
        seam_vector_reset(&vector);
    }
}

static void a_batch_stops_at_the_value_at_fault(struct seam_allocator *allocator) {
    const int64_t values[] = {1, 2, 40000, 3};
    struct seam_vector vector = flat(allocator, SEAM_COLUMN_SHORT);
    CHECK(seam_vector_append_longs(&vector, values, NULL, 4, &error) == SEAM_TOO_LARGE);
    CHECK(vector.rows == 2);
    CHECK_OK(seam_vector_truncate(&vector, 0, &error));
    CHECK(seam_vector_append_longs(&vector, values, NULL, -1, &error) == SEAM_BAD_ARGUMENT);
    seam_vector_reset(&vector);
}

static void numbers_are_narrowed(struct seam_allocator *allocator) {
    const int64_t values[] = {-1, 127, -128, 5};
    const int32_t kinds[] = {SEAM_COLUMN_TINYINT, SEAM_COLUMN_SHORT, SEAM_COLUMN_INT,
                             SEAM_COLUMN_LONG, SEAM_COLUMN_DECIMAL64};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        struct seam_vector vector = flat(allocator, kinds[i]);
        CHECK_OK(seam_vector_append_longs(&vector, values, NULL, 4, &error));
        for (int64_t row = 0; row < 4; row++) {
            int64_t found = values[row] < 0 ? -1 : 0; /* the sign goes on above the width */
            memcpy(&found, vector.data + row * vector.width, (size_t)vector.width);
            CHECK(found == values[row] && vector.nulls[row] == 0);
        }
        seam_vector_reset(&vector);
    }
    const int64_t beyond[] = {1, 2, 128};
    struct seam_vector vector = flat(allocator, SEAM_COLUMN_TINYINT);
    CHECK(seam_vector_append_longs(&vector, beyond, NULL, 3, &error) == SEAM_TOO_LARGE);
    CHECK(vector.rows == 2);
    seam_vector_reset(&vector);
}

static void days_count_from_an_origin(struct seam_allocator *allocator) {
    const int64_t days[] = {719163, 0, 719164};
    const uint8_t nulls[] = {0, 1, 0};
    struct seam_vector vector = flat(allocator, SEAM_COLUMN_DATE);
    CHECK_OK(seam_vector_append_days(&vector, days, 719163, nulls, 3, &error));
    CHECK(memcmp(vector.data, "\x8c\x3d\x25\0\0\0\0\0\x8d\x3d\x25\0", 12) == 0);
    seam_vector_reset(&vector);
}

static void doubles_and_wide_decimals(struct seam_allocator *allocator) {
    const double values[] = {1.5, 0, -0.0};
    const uint8_t nulls[] = {0, 1, 0};
    struct seam_vector vector = flat(allocator, SEAM_COLUMN_DOUBLE);
    CHECK_OK(seam_vector_append_doubles(&vector, values, nulls, 3, &error));
    CHECK(memcmp(vector.data, values, sizeof values) == 0);
    seam_vector_reset(&vector);
    uint8_t wide[32] = {[0] = 7, [24] = 9};
    vector = flat(allocator, SEAM_COLUMN_DECIMAL128);
    CHECK_OK(seam_vector_append_decimals128(&vector, wide, NULL, 2, &error));
    CHECK(memcmp(vector.data, wide, sizeof wide) == 0);
    seam_vector_reset(&vector);
    vector = flat(allocator, SEAM_COLUMN_DECIMAL64);
    CHECK(seam_vector_append_decimals128(&vector, wide, NULL, 2, &error) == SEAM_TOO_LARGE);
    CHECK(vector.rows == 1);
    seam_vector_reset(&vector);
}

static void decimal_texts_come_to_scale(struct seam_allocator *allocator) {
    const char text[] = "1.25\n-3\nNone\n0.5\n-0.01\n9999999999999999.99\n";
    const uint8_t nulls[] = {0, 0, 1, 0, 0, 0};
    const int64_t expected[] = {125, -300, 0, 50, -1, INT64_C(999999999999999999)};
    struct seam_vector vector = flat(allocator, SEAM_COLUMN_DECIMAL64);
    CHECK_OK(seam_vector_append_decimal_texts(&vector, text, sizeof text - 1, nulls, 6, &error));
    CHECK(vector.rows == 6 && memcmp(vector.data, expected, sizeof expected) == 0);
    seam_vector_reset(&vector);
}

static void other_texts_are_refused(struct seam_allocator *allocator) {
    const char *texts[] = {"\n",      "-\n",     "1.\n", ".5\n",   "1E2\n", "NaN\n",
                           "1.234\n", "1.23 \n", "+1\n", "1..2\n", "1_0\n", "10000000000000000\n",
                           "--1\n",   "0x1\n"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct seam_vector vector = flat(allocator, SEAM_COLUMN_DECIMAL64);
        char both[64];
        int size = snprintf(both, sizeof both, "1\n%s", texts[i]);
        CHECK(seam_vector_append_decimal_texts(&vector, both, size, NULL, 2, &error) ==
              SEAM_BAD_INPUT);
        CHECK(vector.rows == 1 && error.offset == 2);
        seam_vector_reset(&vector);
    }
    struct seam_vector vector = flat(allocator, SEAM_COLUMN_DECIMAL64);
    CHECK(seam_vector_append_decimal_texts(&vector, "1\n2", 3, NULL, 2, &error) ==
          SEAM_BAD_ARGUMENT);
    seam_vector_reset(&vector);
}

static void runs_follow_each_other(struct seam_allocator *allocator) {
    const int64_t sizes[] = {2, 0, 0, 3};
    const uint8_t nulls[] = {0, 1, 0, 0};
    const int32_t offsets[] = {0, 2, 2, 2, 5};
    struct seam_vector vector = flat(allocator, SEAM_COLUMN_STRING);
    CHECK_OK(seam_vector_append_runs(&vector, "abcde", sizes, nulls, 4, &error));
    CHECK(memcmp(vector.offsets, offsets, sizeof offsets) == 0);
    CHECK(memcmp(vector.bytes, "abcde", 5) == 0);
    seam_vector_reset(&vector);
}

static void runs_stop_where_one_is_too_long(struct seam_allocator *allocator) {
    const int64_t sizes[] = {2, INT64_MAX, 1};
    struct seam_vector vector = flat(allocator, SEAM_COLUMN_BINARY);
    CHECK(seam_vector_append_runs(&vector, "abc", sizes, NULL, 3, &error) == SEAM_TOO_LARGE);
    CHECK(vector.rows == 1 && memcmp(vector.bytes, "ab", 2) == 0);
    const int64_t negative[] = {-1};
    CHECK(seam_vector_append_runs(&vector, "abc", negative, NULL, 1, &error) == SEAM_TOO_LARGE);
    seam_vector_reset(&vector);
    vector = flat(allocator, SEAM_COLUMN_INT);
    CHECK(seam_vector_append_runs(&vector, "abc", sizes, NULL, 1, &error) == SEAM_BAD_ARGUMENT);
    seam_vector_reset(&vector);
}

static void many_texts_are_parsed_in_pieces(struct seam_allocator *allocator) {
    char text[3000] = "";
    for (int i = 0; i < 600; i++) {
        memcpy(text + 4 * i, i == 599 ? "x.x\n" : "1.5\n", 4);
    }
    struct seam_vector vector = flat(allocator, SEAM_COLUMN_DECIMAL64);
    CHECK(seam_vector_append_decimal_texts(&vector, text, 2400, NULL, 600, &error) ==
          SEAM_BAD_INPUT);
    CHECK(vector.rows == 599 && error.offset == 4 * 599);
    seam_vector_reset(&vector);
}

static void entries_must_be_there(struct seam_allocator *allocator) {
    struct seam_column_type element = {.kind = SEAM_COLUMN_INT, .name = "$0"};
    struct seam_column_type type = {
        .kind = SEAM_COLUMN_ARRAY, .n_children = 1, .children = &element};
    struct seam_vector vector = make(allocator, &type, 1);
    const int64_t values[] = {1, 2, 3};
    const int64_t counts[] = {2, 0, 0, 1};
    const uint8_t nulls[] = {0, 1, 0, 0};
    const int32_t offsets[] = {0, 2, 2, 2, 3};
    CHECK(seam_vector_append_entries(&vector, counts, nulls, 4, &error) == SEAM_BAD_ARGUMENT);
    CHECK_OK(seam_vector_append_longs(seam_vector_child(&vector, 0), values, NULL, 3, &error));
    CHECK_OK(seam_vector_append_entries(&vector, counts, nulls, 4, &error));
    CHECK(vector.rows == 4 && memcmp(vector.offsets, offsets, sizeof offsets) == 0);
    CHECK(memcmp(vector.nulls, nulls, 4) == 0);
    const int64_t wrong[][1] = {{-1}, {1}, {INT64_MAX}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        CHECK(seam_vector_append_entries(&vector, wrong[i], NULL, 1, &error) == SEAM_BAD_ARGUMENT);
    }
    const uint8_t null = 1;
    CHECK(seam_vector_append_entries(&vector, values, &null, 1, &error) == SEAM_BAD_ARGUMENT);
    CHECK(seam_vector_append_structs(&vector, NULL, 0, &error) == SEAM_BAD_ARGUMENT);
    CHECK(vector.rows == 4);
    seam_vector_reset(&vector);
}

static void fields_must_be_there(struct seam_allocator *allocator) {
    struct seam_column_type fields[] = {{.kind = SEAM_COLUMN_INT, .name = "a"},
                                        {.kind = SEAM_COLUMN_UNKNOWN, .name = "gone"}};
    struct seam_column_type type = {
        .kind = SEAM_COLUMN_STRUCT, .n_children = 2, .children = fields};
    struct seam_vector vector = make(allocator, &type, 0);
    const int64_t values[] = {1, 0, 3};
    const uint8_t nulls[] = {0, 1, 0};
    CHECK(seam_vector_append_structs(&vector, nulls, 3, &error) == SEAM_BAD_ARGUMENT);
    CHECK_OK(seam_vector_append_longs(seam_vector_child(&vector, 0), values, nulls, 3, &error));
    CHECK_OK(seam_vector_append_structs(&vector, nulls, 3, &error));
    CHECK(vector.rows == 3 && memcmp(vector.nulls, nulls, 3) == 0);
    CHECK(seam_vector_append_entries(&vector, values, NULL, 0, &error) == SEAM_BAD_ARGUMENT);
    seam_vector_reset(&vector);
}

/* A column of lists and one of strings, a few rows at a time. */
static int work(struct seam_allocator *allocator, struct seam_error *failure) {
    struct seam_column_type element = {.kind = SEAM_COLUMN_STRING, .name = "$0"};
    struct seam_column_type type = {
        .kind = SEAM_COLUMN_ARRAY, .n_children = 1, .children = &element};
    struct seam_vector vector;
    int code = seam_vector_init(&vector, &type, 0, allocator, failure);
    for (int i = 0; i < 4 && code == SEAM_OK; i++) {
        const int64_t sizes[] = {3, 4};
        const int64_t counts[] = {2, 0};
        code = seam_vector_append_runs(&vector.children[0], "abcdefg", sizes, NULL, 2, failure);
        if (code == SEAM_OK) {
            code = seam_vector_append_entries(&vector, counts, NULL, 2, failure);
        }
    }
    seam_vector_reset(&vector);
    return code;
}

int main(void) {
    struct seam_allocator *allocator = seam_allocator_new(0);
    CHECK(allocator != NULL);
    longs_go_by_the_kind(allocator);
    a_batch_stops_at_the_value_at_fault(allocator);
    numbers_are_narrowed(allocator);
    days_count_from_an_origin(allocator);
    doubles_and_wide_decimals(allocator);
    decimal_texts_come_to_scale(allocator);
    other_texts_are_refused(allocator);
    runs_follow_each_other(allocator);
    runs_stop_where_one_is_too_long(allocator);
    many_texts_are_parsed_in_pieces(allocator);
    entries_must_be_there(allocator);
    fields_must_be_there(allocator);
    CHECK(live_blocks(allocator) == 0);
    seam_allocator_release(allocator);
    check_every_allocation(work);
    return 0;
}
