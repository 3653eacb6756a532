/* Off-heap vectors: layout, growth, limits. Numbers come from the format's description. */
#include "seam/vector.h"

#include "check.h"

#include <math.h>
#include <string.h>

static struct seam_error error;

static struct seam_vector make(struct seam_allocator *allocator, int32_t kind, int64_t capacity) {
    int32_t precision = kind == SEAM_COLUMN_DECIMAL32 ? 9 : kind == SEAM_COLUMN_DECIMAL64 ? 18 : 38;
    struct seam_column_type type = {.kind = kind, .precision = precision, .scale = 2};
    struct seam_vector vector;
    CHECK_OK(seam_vector_init(&vector, &type, capacity, allocator, &error));
    return vector;
}

static void nulls_are_bytes_and_values_under_them_are_zero(struct seam_allocator *allocator) {
    struct seam_vector vector = make(allocator, SEAM_COLUMN_INT, 4);
    CHECK_OK(seam_vector_append_long(&vector, 1, &error));
    CHECK_OK(seam_vector_append_null(&vector, &error));
    CHECK_OK(seam_vector_append_long(&vector, -2, &error));
    CHECK(vector.rows == 3 && memcmp(vector.nulls, "\0\1\0", 3) == 0);
    CHECK(seam_vector_null_count(&vector) == 1);
    CHECK(memcmp(vector.data, "\1\0\0\0\0\0\0\0\xfe\xff\xff\xff", 12) == 0);
    seam_vector_reset(&vector);
}

static void nulls_are_counted(struct seam_allocator *allocator) {
    struct seam_vector vector = make(allocator, SEAM_COLUMN_STRING, 1);
    CHECK(seam_vector_null_count(&vector) == 0);
    for (int64_t i = 0; i < 1000; i++) {
        CHECK_OK(i % 3 == 0 ? seam_vector_append_null(&vector, &error)
                            : seam_vector_append_bytes(&vector, "x", 1, &error));
        CHECK(seam_vector_null_count(&vector) == i / 3 + 1);
    }
    CHECK_OK(seam_vector_truncate(&vector, 999, &error));
    CHECK(seam_vector_null_count(&vector) == 333);
    seam_vector_reset(&vector);
    struct seam_vector unknown = make(allocator, SEAM_COLUMN_UNKNOWN, 4);
    CHECK(seam_vector_null_count(&unknown) == 0);
    seam_vector_reset(&unknown);
}

static void offsets_start_at_zero_and_repeat_under_nulls(struct seam_allocator *allocator) {
    struct seam_vector vector = make(allocator, SEAM_COLUMN_STRING, 0);
    CHECK(vector.offsets[0] == 0);
    CHECK_OK(seam_vector_append_bytes(&vector, "ab", 2, &error));
    CHECK_OK(seam_vector_append_null(&vector, &error));
    CHECK_OK(seam_vector_append_bytes(&vector, NULL, 0, &error));
    CHECK_OK(seam_vector_append_bytes(&vector, "cde", 3, &error));
    const int32_t expected[] = {0, 2, 2, 2, 5};
    CHECK(memcmp(vector.offsets, expected, sizeof expected) == 0);
    CHECK(memcmp(vector.bytes, "abcde", 5) == 0);
    seam_vector_reset(&vector);
}

/* Room for n rows that is not there becomes room for 2 n. */
static void growth_doubles_what_is_needed(struct seam_allocator *allocator) {
    struct seam_vector vector = make(allocator, SEAM_COLUMN_LONG, 3);
    CHECK(vector.capacity == 3);
    for (int64_t i = 0; i < 1000; i++) {
        CHECK_OK(seam_vector_append_long(&vector, i * i, &error));
        int64_t expected = i < 3 ? 3 : i < 8 ? 8 : i < 18 ? 18 : vector.capacity;
        CHECK(vector.capacity == expected);
    }
    for (int64_t i = 0; i < 1000; i++) {
        int64_t value;
        memcpy(&value, vector.data + 8 * i, sizeof value);
        CHECK(value == i * i && vector.nulls[i] == 0);
    }
    seam_vector_reset(&vector);
}

static void whole_numbers_keep_to_their_width(struct seam_allocator *allocator) {
    const struct {
        int32_t kind;
        int64_t least, most;
    } cases[] = {{SEAM_COLUMN_TINYINT, INT8_MIN, INT8_MAX},
                 {SEAM_COLUMN_SHORT, INT16_MIN, INT16_MAX},
                 {SEAM_COLUMN_INT, INT32_MIN, INT32_MAX},
                 {SEAM_COLUMN_LONG, INT64_MIN, INT64_MAX}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct seam_vector vector = make(allocator, cases[i].kind, 1);
        CHECK_OK(seam_vector_append_long(&vector, cases[i].least, &error));
        CHECK_OK(seam_vector_append_long(&vector, cases[i].most, &error));
        if (cases[i].kind != SEAM_COLUMN_LONG) {
            CHECK(seam_vector_append_long(&vector, cases[i].most + 1, &error) == SEAM_TOO_LARGE);
            CHECK(seam_vector_append_long(&vector, cases[i].least - 1, &error) == SEAM_TOO_LARGE);
        }
        CHECK(vector.rows == 2);
        seam_vector_reset(&vector);
    }
}

/* 1970-01-01 = 2440588, 2020-01-01 = 2458850; 2020-01-01 00:00:01 = 0x2584e200000f4240. */
static void dates_are_julian_days(struct seam_allocator *allocator) {
    struct seam_vector dates = make(allocator, SEAM_COLUMN_DATE, 2);
    CHECK_OK(seam_vector_append_date(&dates, 0, &error));
    CHECK_OK(seam_vector_append_date(&dates, 18262, &error));
    const int32_t days[] = {2440588, 2458850};
    CHECK(memcmp(dates.data, days, sizeof days) == 0);
    CHECK(seam_vector_append_date(&dates, INT32_MAX, &error) == SEAM_TOO_LARGE);
    CHECK_OK(seam_vector_append_date(&dates, INT32_MIN, &error));
    seam_vector_reset(&dates);

    struct seam_vector times = make(allocator, SEAM_COLUMN_DATETIME_MILLIS, 2);
    CHECK_OK(seam_vector_append_datetime(&times, INT64_C(1577836801000000), &error));
    CHECK(memcmp(times.data, "\x40\x42\x0f\0\0\xe2\x84\x25", 8) == 0);
    CHECK_OK(seam_vector_append_datetime(&times, -1, &error)); /* the last microsecond of 1969 */
    int64_t word;
    memcpy(&word, times.data + 8, sizeof word);
    CHECK(word == (INT64_C(2440587) << 40 | INT64_C(86399999999)));
    CHECK(seam_vector_append_datetime(&times, INT64_MAX, &error) == SEAM_TOO_LARGE);
    CHECK(seam_vector_append_datetime(&times, INT64_MIN, &error) == SEAM_TOO_LARGE);
    CHECK(times.rows == 2);
    seam_vector_reset(&times);
}

static void decimals_are_never_cut(struct seam_allocator *allocator) {
    struct seam_vector vector = make(allocator, SEAM_COLUMN_DECIMAL64, 2);
    CHECK_OK(seam_vector_append_decimal(&vector, -256, &error));
    CHECK(memcmp(vector.data, "\x00\xff\xff\xff\xff\xff\xff\xff", 8) == 0);
    CHECK(seam_vector_append_decimal128(&vector, 0, UINT64_C(1) << 63, &error) == SEAM_TOO_LARGE);
    CHECK_OK(seam_vector_append_decimal128(&vector, -1, UINT64_C(1) << 63, &error));
    seam_vector_reset(&vector);
    vector = make(allocator, SEAM_COLUMN_DECIMAL32, 2);
    CHECK(seam_vector_append_decimal(&vector, INT64_C(1) << 31, &error) == SEAM_TOO_LARGE);
    CHECK_OK(seam_vector_append_decimal(&vector, INT32_MIN, &error));
    seam_vector_reset(&vector);
    vector = make(allocator, SEAM_COLUMN_DECIMAL128, 2);
    CHECK_OK(seam_vector_append_decimal128(&vector, 0, UINT64_C(1) << 63, &error));
    CHECK(memcmp(vector.data, "\0\0\0\0\0\0\0\x80\0\0\0\0\0\0\0\0", 16) == 0);
    seam_vector_reset(&vector);
}

static void floats_round_but_do_not_overflow(struct seam_allocator *allocator) {
    struct seam_vector vector = make(allocator, SEAM_COLUMN_FLOAT, 2);
    CHECK_OK(seam_vector_append_double(&vector, 0.1, &error));
    CHECK_OK(seam_vector_append_double(&vector, -INFINITY, &error));
    CHECK(seam_vector_append_double(&vector, 1e300, &error) == SEAM_TOO_LARGE);
    const float expected[] = {0.1f, -INFINITY};
    CHECK(vector.rows == 2 && memcmp(vector.data, expected, sizeof expected) == 0);
    seam_vector_reset(&vector);
}

/* A limit is told before any byte is read or written. */
static void limits_come_first(struct seam_allocator *allocator) {
    struct seam_vector vector = make(allocator, SEAM_COLUMN_BINARY, 1);
    CHECK_OK(seam_vector_append_bytes(&vector, "x", 1, &error));
    CHECK(seam_vector_append_bytes(&vector, NULL, SEAM_VECTOR_LIMIT, &error) == SEAM_TOO_LARGE);
    CHECK(seam_vector_append_bytes(&vector, NULL, INT64_MAX, &error) == SEAM_TOO_LARGE);
    CHECK(seam_vector_append_bytes(&vector, NULL, -1, &error) == SEAM_TOO_LARGE);
    CHECK(seam_vector_reserve(&vector, (int64_t)SEAM_VECTOR_LIMIT + 1, &error) == SEAM_TOO_LARGE);
    CHECK(seam_vector_reserve(&vector, -1, &error) == SEAM_TOO_LARGE);
    CHECK(vector.rows == 1 && vector.offsets[1] == 1 && vector.bytes[0] == 'x');
    seam_vector_reset(&vector);
}

static void wrong_kinds_are_refused(struct seam_allocator *allocator) {
    struct seam_vector vector;
    struct seam_column_type none = {.kind = 99, .precision = 0, .scale = 0};
    CHECK(seam_vector_init(&vector, &none, 1, allocator, &error) == SEAM_BAD_ARGUMENT);
    vector = make(allocator, SEAM_COLUMN_INT, 1);
    CHECK(seam_vector_append_bytes(&vector, "x", 1, &error) == SEAM_BAD_ARGUMENT);
    CHECK(seam_vector_append_double(&vector, 1.0, &error) == SEAM_BAD_ARGUMENT);
    CHECK(vector.rows == 0);
    seam_vector_reset(&vector);
}

static int fill_strings(struct seam_allocator *allocator, struct seam_error *out) {
    struct seam_column_type type = {.kind = SEAM_COLUMN_STRING, .precision = 0, .scale = 0};
    struct seam_vector vector;
    int code = seam_vector_init(&vector, &type, 1, allocator, out);
    for (int i = 0; i < 40 && code == SEAM_OK; i++) {
        int64_t rows = vector.rows;
        code = seam_vector_append_bytes(&vector, "0123456789", i % 11, out);
        CHECK(vector.rows == rows + (code == SEAM_OK)); /* a failed append leaves no row */
    }
    seam_vector_reset(&vector);
    return code;
}

int main(void) {
    struct seam_allocator *allocator = seam_allocator_new(0);
    nulls_are_bytes_and_values_under_them_are_zero(allocator);
    nulls_are_counted(allocator);
    offsets_start_at_zero_and_repeat_under_nulls(allocator);
    growth_doubles_what_is_needed(allocator);
    whole_numbers_keep_to_their_width(allocator);
    dates_are_julian_days(allocator);
    decimals_are_never_cut(allocator);
    floats_round_but_do_not_overflow(allocator);
    limits_come_first(allocator);
    wrong_kinds_are_refused(allocator);
    check_every_allocation(fill_strings);
    CHECK(live_blocks(allocator) == 0);
    seam_allocator_release(allocator);
    return 0;
}
