/* Texts of dates, datetimes and decimals are read up to their last byte, and no further. */
#include "seam/engine.h"

#include "seam/arrow_build.h"

#include "check.h"

#include <string.h>

static struct seam_error error;

/* Reads a column of one text whose bytes end where their block does. */
static int read_one(int32_t kind, const char *text, size_t size, struct seam_allocator *allocator,
                    struct ArrowArray *out, struct seam_error *message) {
    uint8_t *bytes = malloc(size > 0 ? size : 1);
    CHECK(bytes != NULL);
    memcpy(bytes, text, size);
    const int32_t offsets[] = {0, (int32_t)size};
    const int64_t words[] = {1, (int64_t)(intptr_t)"\0", (int64_t)(intptr_t)offsets,
                             (int64_t)(intptr_t)bytes};
    const int64_t extents[] = {0, 1, sizeof offsets, (int64_t)size};
    const struct seam_engine_slot slot = {
        .kind = kind, .precision = 18, .scale = 3, .nullable = 1, .name = "c"};
    const struct seam_chain chain = {
        .words = words, .n_words = 4, .extents = extents, .as_text = 1};
    struct seam_engine_column column;
    seam_engine_column_init(&column, allocator);
    int code = seam_engine_open(&column, &slot, 1, &chain, message);
    code = code == SEAM_OK ? seam_engine_export(&column, out, message) : code;
    free(bytes);
    return code;
}

/* Each text that is right, and all beginnings of it, which may be right, too. */
static void texts_end_where_they_end(struct seam_allocator *allocator) {
    const struct {
        int32_t kind;
        const char *text;
        size_t shortest; /* of its beginnings that are right */
    } samples[] = {
        {SEAM_COLUMN_DATE, "2000-02-29", 10},
        {SEAM_COLUMN_DATETIME, "2000-02-29 23:59:59.123456789", 19},
        {SEAM_COLUMN_DATETIME_MILLIS, "9999-12-31 00:00:00.5", 19},
        {SEAM_COLUMN_DECIMAL128, "-999999999999999.999", 2},
        {SEAM_COLUMN_DECIMAL64, "12345.6E+2", 1},
    };
    for (size_t i = 0; i < sizeof samples / sizeof samples[0]; i++) {
        size_t whole = strlen(samples[i].text);
        for (size_t size = 0; size <= whole; size++) {
            struct ArrowArray array = {.release = NULL};
            int32_t kind = samples[i].kind;
            int code = read_one(kind, samples[i].text, size, allocator, &array, &error);
            CHECK(code == SEAM_OK || code == SEAM_BAD_INPUT);
            CHECK(size >= samples[i].shortest || code == SEAM_BAD_INPUT);
            CHECK(size < whole || code == SEAM_OK);
            if (code == SEAM_OK) {
                seam_array_release(&array);
            }
            CHECK(live_blocks(allocator) == 0);
        }
    }
}

/* Errors show no byte behind the text, and cut a long one. */
static void errors_show_the_text_alone(struct seam_allocator *allocator) {
    struct ArrowArray array;
    CHECK(read_one(SEAM_COLUMN_DATE, "2000-02-30", 10, allocator, &array, &error) ==
          SEAM_BAD_INPUT);
    CHECK(strstr(error.message, "row 0 is no date (yyyy-MM-dd): '2000-02-30'") != NULL);
    char longest[200];
    memset(longest, '1', sizeof longest);
    CHECK(read_one(SEAM_COLUMN_DECIMAL128, longest, sizeof longest, allocator, &array, &error) ==
          SEAM_BAD_INPUT);
    CHECK(strstr(error.message, "1111'..") != NULL);
}

static int read_any(struct seam_allocator *allocator, struct seam_error *message) {
    struct ArrowArray array = {.release = NULL};
    int code = read_one(SEAM_COLUMN_DATE, "2000-02-29", 10, allocator, &array, message);
    if (code == SEAM_OK) {
        seam_array_release(&array);
    }
    return code;
}

int main(void) {
    struct seam_allocator *allocator = seam_allocator_new(0);
    texts_end_where_they_end(allocator);
    errors_show_the_text_alone(allocator);
    check_every_allocation(read_any);
    CHECK(live_blocks(allocator) == 0);
    seam_allocator_release(allocator);
    return 0;
}
