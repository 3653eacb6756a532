/* Whole Arrow columns into vectors: bit offsets, bytes under nulls, refusals without a trace. */
#include "seam/vector.h"

#include "check.h"

#include <string.h>

static struct seam_error error;

/* Appends rows `offset` to `offset + length` of an array made of these three buffers. */
static int append(struct seam_vector *vector, const char *format, int64_t offset, int64_t length,
                  const void *validity, const void *values, const void *bytes) {
    const void *buffers[] = {validity, values, bytes};
    struct ArrowSchema schema = {.format = format};
    struct ArrowArray array = {.length = length,
                               .null_count = validity == NULL ? 0 : -1,
                               .offset = offset,
                               .n_buffers = bytes == NULL ? 2 : 3,
                               .buffers = buffers};
    return seam_vector_append_arrow(vector, &schema, &array, &error);
}

static struct seam_vector make(struct seam_allocator *allocator, int32_t kind) {
    struct seam_column_type type = {.kind = kind, .precision = 9, .scale = 2};
    struct seam_vector vector;
    CHECK_OK(seam_vector_init(&vector, &type, 0, allocator, &error));
    return vector;
}

static void bits_start_anywhere(struct seam_allocator *allocator) {
    static const uint8_t validity[] = {0x7f, 0x03}; /* row 7 is null */
    static const uint8_t bits[] = {0xc0, 0x02};     /* rows 6, 7 and 9 are set */
    struct seam_vector vector = make(allocator, SEAM_COLUMN_BOOLEAN);
    CHECK_OK(append(&vector, "b", 5, 5, validity, bits, NULL));
    CHECK(vector.rows == 5 && memcmp(vector.nulls, "\0\0\1\0\0", 5) == 0);
    CHECK(memcmp(vector.data, "\0\1\0\0\1", 5) == 0);
    seam_vector_reset(&vector);
}

static void values_under_nulls_become_zero(struct seam_allocator *allocator) {
    static const int32_t values[] = {99, 1, 2, 3};
    static const uint8_t validity[] = {0x0b}; /* row 2 is null */
    struct seam_vector vector = make(allocator, SEAM_COLUMN_INT);
    CHECK_OK(append(&vector, "i", 1, 3, validity, values, NULL));
    const int32_t expected[] = {1, 0, 3};
    CHECK(memcmp(vector.data, expected, sizeof expected) == 0);
    seam_vector_reset(&vector);
}

static void bytes_under_nulls_stay_behind(struct seam_allocator *allocator) {
    static const int32_t narrow[] = {0, 1, 3, 4};
    static const int64_t large[] = {0, 1, 3, 4};
    static const uint8_t validity[] = {0x05}; /* row 1 is null, and has bytes */
    struct seam_vector vector = make(allocator, SEAM_COLUMN_STRING);
    CHECK_OK(append(&vector, "u", 0, 3, validity, narrow, "abcd"));
    CHECK_OK(append(&vector, "U", 1, 2, NULL, large, "abcd"));
    const int32_t offsets[] = {0, 1, 1, 2, 4, 5};
    CHECK(vector.rows == 5 && memcmp(vector.offsets, offsets, sizeof offsets) == 0);
    CHECK(memcmp(vector.bytes, "adbcd", 5) == 0);
    seam_vector_reset(&vector);
}

static void broken_offsets_are_refused(struct seam_allocator *allocator) {
    static const int32_t falling[] = {0, 3, 1};
    static const int32_t negative[] = {-1, 0, 1};
    static const int64_t huge[] = {0, INT64_C(1) << 40, INT64_C(1) << 40};
    struct seam_vector vector = make(allocator, SEAM_COLUMN_BINARY);
    CHECK(append(&vector, "z", 0, 2, NULL, falling, "abc") == SEAM_BAD_INPUT);
    CHECK(append(&vector, "z", 0, 2, NULL, negative, "abc") == SEAM_BAD_INPUT);
    CHECK(append(&vector, "Z", 0, 2, NULL, huge, "abc") == SEAM_TOO_LARGE);
    CHECK(vector.rows == 0 && vector.offsets[0] == 0);
    seam_vector_reset(&vector);
}

static void what_does_not_fit_leaves_no_trace(struct seam_allocator *allocator) {
    static const int32_t late[] = {0, INT32_MAX};
    static const int64_t decimals[] = {1, 0, INT64_C(1) << 31, 0};
    static const int64_t seconds[] = {0, INT64_MAX};
    static const struct {
        int32_t kind;
        const char *format;
        const void *values;
    } cases[] = {{SEAM_COLUMN_DATE, "tdD", late},
                 {SEAM_COLUMN_DECIMAL32, "d:9,2", decimals},
                 {SEAM_COLUMN_DATETIME, "tss:", seconds},
                 {SEAM_COLUMN_DATETIME_MICROS, "tsu:UTC", seconds}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct seam_vector vector = make(allocator, cases[i].kind);
        CHECK(append(&vector, cases[i].format, 0, 2, NULL, cases[i].values, NULL) ==
              SEAM_TOO_LARGE);
        CHECK(vector.rows == 0);
        CHECK_OK(append(&vector, cases[i].format, 0, 1, NULL, cases[i].values, NULL));
        CHECK(vector.rows == 1);
        seam_vector_reset(&vector);
    }
}

static void other_formats_are_refused(struct seam_allocator *allocator) {
    static const struct {
        int32_t kind;
        const char *format;
    } cases[] = {{SEAM_COLUMN_INT, "l"},           {SEAM_COLUMN_INT, ""},
                 {SEAM_COLUMN_STRING, "vu"},       {SEAM_COLUMN_STRING, "z"},
                 {SEAM_COLUMN_DECIMAL32, "d:9,3"}, {SEAM_COLUMN_DECIMAL32, "d:9,2,256"},
                 {SEAM_COLUMN_DATETIME, "ts"},     {SEAM_COLUMN_DATETIME, "tsu:Asia/Tokyo"},
                 {SEAM_COLUMN_UNKNOWN, "n"},       {SEAM_COLUMN_DATE, "tdm"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct seam_vector vector = make(allocator, cases[i].kind);
        CHECK(append(&vector, cases[i].format, 0, 0, NULL, NULL, NULL) == SEAM_UNSUPPORTED);
        seam_vector_reset(&vector);
    }
    struct seam_vector vector = make(allocator, SEAM_COLUMN_INT);
    CHECK_OK(append(&vector, "i", 0, 0, NULL, NULL, NULL)); /* no rows, no buffers */
    seam_vector_reset(&vector);
}

int main(void) {
    struct seam_allocator *allocator = seam_allocator_new(0);
    bits_start_anywhere(allocator);
    values_under_nulls_become_zero(allocator);
    bytes_under_nulls_stay_behind(allocator);
    broken_offsets_are_refused(allocator);
    what_does_not_fit_leaves_no_trace(allocator);
    other_formats_are_refused(allocator);
    CHECK(live_blocks(allocator) == 0);
    seam_allocator_release(allocator);
    return 0;
}
