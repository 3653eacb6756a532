/* Many values at once. Every value goes through the function that appends one. */
#include "seam/vector_batch.h"

#include "offheap/vector_values.h"

#include <string.h>

typedef int (*append_long)(struct seam_vector *, int64_t, struct seam_error *);

/* The function that takes one int64 for a column of this kind, or NULL. */
static append_long appender_of(int32_t kind) {
    switch (kind) {
    case SEAM_COLUMN_BOOLEAN:
        return seam_vector_append_boolean;
    case SEAM_COLUMN_DATE:
        return seam_vector_append_date;
    case SEAM_COLUMN_TIME:
        return seam_vector_append_time;
    case SEAM_COLUMN_DATETIME:
    case SEAM_COLUMN_DATETIME_MICROS:
    case SEAM_COLUMN_DATETIME_MILLIS:
        return seam_vector_append_datetime;
    default:
        return seam_column_is_decimal(kind) ? seam_vector_append_decimal : seam_vector_append_long;
    }
}

/* Room for all at once: growing step by step would copy what is there several times. */
static int reserve(struct seam_vector *vector, int64_t n, struct seam_error *error) {
    if (n < 0) {
        return seam_fail(error, SEAM_BAD_ARGUMENT, -1, "%lld values cannot be appended",
                         (long long)n);
    }
    return seam_vector_reserve(vector, vector->rows + n, error);
}

#define STORE(type)                                                                                \
    do {                                                                                           \
        type *target = (type *)(void *)data;                                                       \
        while (i < n && values[i] == (type)values[i]) {                                            \
            target[i] = (type)values[i];                                                           \
            i += 1;                                                                                \
        }                                                                                          \
    } while (0)

/* Stores numbers as integers of `width` bytes; how many there were before one that does not fit. */
static int64_t store(uint8_t *data, int32_t width, const int64_t *values, int64_t n) {
    int64_t i = 0;
    switch (width) {
    case 1:
        STORE(int8_t);
        break;
    case 2:
        STORE(int16_t);
        break;
    case 4:
        STORE(int32_t);
        break;
    default:
        memcpy(data, values, (size_t)n * sizeof *values);
        i = n;
    }
    return i;
}

/* Kinds whose values are the numbers themselves, in no more than 8 bytes. */
static int is_whole(int32_t kind) {
    return kind == SEAM_COLUMN_TINYINT || kind == SEAM_COLUMN_SHORT || kind == SEAM_COLUMN_INT ||
           kind == SEAM_COLUMN_LONG || kind == SEAM_COLUMN_DECIMAL32 ||
           kind == SEAM_COLUMN_DECIMAL64;
}

int seam_vector_append_longs(struct seam_vector *vector, const int64_t *values,
                             const uint8_t *nulls, int64_t n, struct seam_error *error) {
    append_long append = appender_of(vector->type.kind);
    SEAM_TRY(reserve(vector, n, error));
    int64_t begin = 0;
    if (nulls == NULL && is_whole(vector->type.kind)) {
        begin = store(vector->data + vector->rows * vector->width, vector->width, values, n);
        memset(vector->nulls + vector->rows, 0, (size_t)begin);
        vector->rows += begin;
    }
    for (int64_t i = begin; i < n; i++) {
        SEAM_TRY(nulls != NULL && nulls[i] ? seam_vector_append_null(vector, error)
                                           : append(vector, values[i], error));
    }
    return SEAM_OK;
}

int seam_vector_append_days(struct seam_vector *vector, const int64_t *values, int64_t origin,
                            const uint8_t *nulls, int64_t n, struct seam_error *error) {
    SEAM_TRY(reserve(vector, n, error));
    for (int64_t i = 0; i < n; i++) {
        SEAM_TRY(nulls != NULL && nulls[i]
                     ? seam_vector_append_null(vector, error)
                     : seam_vector_append_date(vector, values[i] - origin, error));
    }
    return SEAM_OK;
}

int seam_vector_append_doubles(struct seam_vector *vector, const double *values,
                               const uint8_t *nulls, int64_t n, struct seam_error *error) {
    SEAM_TRY(reserve(vector, n, error));
    for (int64_t i = 0; i < n; i++) {
        SEAM_TRY(nulls != NULL && nulls[i] ? seam_vector_append_null(vector, error)
                                           : seam_vector_append_double(vector, values[i], error));
    }
    return SEAM_OK;
}

int seam_vector_append_decimals128(struct seam_vector *vector, const uint8_t *values,
                                   const uint8_t *nulls, int64_t n, struct seam_error *error) {
    SEAM_TRY(reserve(vector, n, error));
    for (int64_t i = 0; i < n; i++) {
        uint64_t low = 0;
        int64_t high = 0;
        memcpy(&low, values + 16 * i, sizeof low);
        memcpy(&high, values + 16 * i + 8, sizeof high);
        SEAM_TRY(nulls != NULL && nulls[i]
                     ? seam_vector_append_null(vector, error)
                     : seam_vector_append_decimal128(vector, high, low, error));
    }
    return SEAM_OK;
}

static int not_plain(int64_t offset, struct seam_error *error) {
    return seam_fail(error, SEAM_BAD_INPUT, offset, "the text is no plain decimal number");
}

/* Reads digits into `*number`, as long as 18 of them are enough. Returns where they end. */
static int64_t read_digits(const char *text, int64_t at, int64_t end, int64_t *number,
                           int32_t *count) {
    while (at < end && text[at] >= '0' && text[at] <= '9' && *count < 18) {
        *number = *number * 10 + (text[at] - '0');
        *count += 1;
        at += 1;
    }
    return at;
}

/* The unscaled number of text[at, end) at `scale`. Numbers of more than 18 digits, which few are,
 * are left to the caller's slower way. */
static int parse_decimal(const char *text, int64_t at, int64_t end, int32_t scale, int64_t *out,
                         struct seam_error *error) {
    int64_t start = at;
    int negative = at < end && text[at] == '-';
    int64_t number = 0;
    int32_t whole = 0;
    int64_t digits = at + negative;
    at = read_digits(text, digits, end, &number, &whole);
    int32_t count = whole;
    if (at == digits) {
        return not_plain(start, error);
    }
    if (at < end && text[at] == '.') {
        int64_t point = at + 1;
        at = read_digits(text, point, end, &number, &count);
        if (at == point) {
            return not_plain(start, error);
        }
    }
    int32_t missing = scale - (count - whole);
    if (at != end || missing < 0 || count + missing > 18) {
        return not_plain(start, error);
    }
    for (; missing > 0; missing--) {
        number *= 10;
    }
    *out = negative ? -number : number;
    return SEAM_OK;
}

#define PARSED_AT_ONCE 256

struct lines {
    const char *text;
    int64_t size_bytes;
    int64_t at;    /* where the next line begins */
    int64_t count; /* numbers that were read */
    int64_t numbers[PARSED_AT_ONCE];
};

/* Reads the numbers of up to PARSED_AT_ONCE lines, until one is bad. */
static int parse_lines(struct lines *lines, int32_t scale, const uint8_t *nulls, int64_t wanted,
                       struct seam_error *error) {
    while (lines->count < wanted) {
        int64_t left = lines->size_bytes - lines->at;
        const char *start = lines->text + lines->at;
        const char *feed = left > 0 ? memchr(start, '\n', (size_t)left) : NULL;
        if (feed == NULL) {
            return seam_fail(error, SEAM_BAD_ARGUMENT, lines->at, "there is no line for a number");
        }
        int64_t end = feed - lines->text;
        int64_t *number = &lines->numbers[lines->count];
        *number = 0;
        if (nulls == NULL || !nulls[lines->count]) {
            SEAM_TRY(parse_decimal(lines->text, lines->at, end, scale, number, error));
        }
        lines->at = end + 1;
        lines->count += 1;
    }
    return SEAM_OK;
}

int seam_vector_append_decimal_texts(struct seam_vector *vector, const char *text,
                                     int64_t size_bytes, const uint8_t *nulls, int64_t n,
                                     struct seam_error *error) {
    SEAM_TRY(reserve(vector, n, error));
    int64_t at = 0;
    for (int64_t row = 0; row < n;) {
        struct lines lines = {.text = text, .size_bytes = size_bytes, .at = at};
        struct seam_error problem = {.offset = -1, .message = ""};
        int64_t wanted = n - row < PARSED_AT_ONCE ? n - row : PARSED_AT_ONCE;
        const uint8_t *flags = nulls == NULL ? NULL : nulls + row;
        int bad = parse_lines(&lines, vector->type.scale, flags, wanted, &problem);
        /* A number before the bad line that does not fit is the first at fault. */
        SEAM_TRY(seam_vector_append_longs(vector, lines.numbers, flags, lines.count, error));
        if (bad != SEAM_OK) {
            return seam_fail(error, bad, problem.offset, "%s", problem.message);
        }
        row += lines.count;
        at = lines.at;
    }
    return SEAM_OK;
}

/* The end of the last run, or -1 if one is not as long as a run can be or all are too long. */
static int64_t runs_end(int64_t start, const int64_t *sizes, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        if (sizes[i] < 0 || sizes[i] > SEAM_VECTOR_LIMIT - start) {
            return -1;
        }
        start += sizes[i];
    }
    return start;
}

/* Runs that all fit, of which none is null. */
static int append_all_runs(struct seam_vector *vector, const char *bytes, const int64_t *sizes,
                           int64_t end, int64_t n, struct seam_error *error) {
    int64_t start = vector->offsets[vector->rows];
    SEAM_TRY(seam_vector_reserve_bytes(vector, end, error));
    if (end > start) {
        memcpy(vector->bytes + start, bytes, (size_t)(end - start));
    }
    int32_t *offsets = vector->offsets + vector->rows;
    for (int64_t i = 0; i < n; i++) {
        start += sizes[i];
        offsets[i + 1] = (int32_t)start;
    }
    memset(vector->nulls + vector->rows, 0, (size_t)n);
    vector->rows += n;
    return SEAM_OK;
}

int seam_vector_append_runs(struct seam_vector *vector, const char *bytes, const int64_t *sizes,
                            const uint8_t *nulls, int64_t n, struct seam_error *error) {
    int code = reserve(vector, n, error);
    int64_t at = 0;
    int whole = nulls == NULL && seam_column_has_offsets(vector->type.kind);
    int64_t end = code == SEAM_OK && whole ? runs_end(vector->offsets[vector->rows], sizes, n) : -1;
    if (end >= 0) {
        return append_all_runs(vector, bytes, sizes, end, n, error);
    }
    for (int64_t i = 0; i < n && code == SEAM_OK; i++) {
        if (nulls != NULL && nulls[i]) {
            code = seam_vector_append_null(vector, error);
        } else {
            code = seam_vector_append_bytes(vector, bytes + at, sizes[i], error);
            at += code == SEAM_OK ? sizes[i] : 0;
        }
    }
    return code;
}

static int check_kind(const struct seam_vector *vector, uint32_t kinds, const char *what,
                      struct seam_error *error) {
    if ((kinds >> vector->type.kind & 1) == 0) {
        return seam_fail(error, SEAM_BAD_ARGUMENT, -1, "%s were appended to a %s column", what,
                         seam_column_kind_name(vector->type.kind));
    }
    return SEAM_OK;
}

static int is_null(const uint8_t *nulls, int64_t row) {
    return nulls != NULL && nulls[row] != 0;
}

int seam_vector_append_entries(struct seam_vector *vector, const int64_t *counts,
                               const uint8_t *nulls, int64_t n, struct seam_error *error) {
    uint32_t kinds = UINT32_C(1) << SEAM_COLUMN_ARRAY | UINT32_C(1) << SEAM_COLUMN_MAP;
    SEAM_TRY(check_kind(vector, kinds, "entries", error));
    SEAM_TRY(reserve(vector, n, error));
    int64_t end = vector->offsets[vector->rows];
    for (int64_t i = 0; i < n; i++) {
        if (counts[i] < 0 || counts[i] > SEAM_VECTOR_LIMIT ||
            (is_null(nulls, i) && counts[i] != 0)) {
            return seam_fail(error, SEAM_BAD_ARGUMENT, -1, "row %lld has %lld entries",
                             (long long)i, (long long)counts[i]);
        }
        end += counts[i];
    }
    SEAM_TRY(seam_vector_check_children(vector, end, error));
    if (end > SEAM_VECTOR_LIMIT) { /* a map without children */
        return seam_fail(error, SEAM_TOO_LARGE, -1, "%lld entries are too many", (long long)end);
    }
    for (int64_t i = 0; i < n; i++) {
        int64_t row = vector->rows;
        vector->offsets[row + 1] = vector->offsets[row] + (int32_t)counts[i];
        vector->nulls[row] = (uint8_t)is_null(nulls, i);
        vector->rows = row + 1;
    }
    return SEAM_OK;
}

int seam_vector_append_structs(struct seam_vector *vector, const uint8_t *nulls, int64_t n,
                               struct seam_error *error) {
    uint32_t kinds = UINT32_C(1) << SEAM_COLUMN_STRUCT | UINT32_C(1) << SEAM_COLUMN_VARIANT;
    SEAM_TRY(check_kind(vector, kinds, "fields", error));
    SEAM_TRY(seam_vector_check_children(vector, vector->rows + n, error));
    SEAM_TRY(reserve(vector, n, error));
    for (int64_t i = 0; i < n; i++) {
        vector->nulls[vector->rows] = (uint8_t)is_null(nulls, i);
        vector->rows += 1;
    }
    return SEAM_OK;
}
