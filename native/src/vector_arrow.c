/* Whole Arrow columns into a vector. Values are written behind the last row and become part of the
 * vector only at the end, so that a failure half-way leaves no trace. */
#include "seam/vector.h"

#include <stdio.h>
#include <string.h>

/* One append: the array's view, and where it goes. */
struct import {
    struct seam_vector *vector;
    const char *format;
    const uint8_t *validity; /* NULL: no nulls */
    const void *const *buffers;
    int64_t offset;
    int64_t rows;
};

static int mismatch(const struct import *import, struct seam_error *error) {
    return seam_fail(error, SEAM_UNSUPPORTED, -1,
                     "an Arrow array of format '%s' cannot be appended to a %s column",
                     import->format, seam_column_kind_name(import->vector->type.kind));
}

static int is_null(const struct import *import, int64_t row) {
    if (import->validity == NULL) {
        return 0;
    }
    int64_t bit = import->offset + row;
    return (import->validity[bit >> 3] >> (bit & 7) & 1) == 0;
}

static uint8_t *target(const struct import *import) {
    return import->vector->data + import->vector->rows * import->vector->width;
}

/* Bits to bytes, negated: 1 is null. */
static void write_nulls(const struct import *import) {
    uint8_t *nulls = import->vector->nulls + import->vector->rows;
    if (import->validity == NULL) {
        memset(nulls, 0, (size_t)import->rows);
        return;
    }
    for (int64_t i = 0; i < import->rows; i++) {
        int64_t bit = import->offset + i;
        nulls[i] = (uint8_t)(~import->validity[bit >> 3] >> (bit & 7) & 1);
    }
}

/* Zeroes what stands under nulls, after values were written without a look at them. */
static void clear_nulls(const struct import *import) {
    if (import->validity == NULL) {
        return;
    }
    size_t width = (size_t)import->vector->width;
    uint8_t *data = target(import);
    for (int64_t i = 0; i < import->rows; i++) {
        if (is_null(import, i)) {
            memset(data + (size_t)i * width, 0, width);
        }
    }
}

/* The Arrow format whose values lie as the vector's do, or NULL. */
static const char *same_layout(int32_t kind) {
    switch (kind) {
    case SEAM_COLUMN_TINYINT:
        return "c";
    case SEAM_COLUMN_SHORT:
        return "s";
    case SEAM_COLUMN_INT:
        return "i";
    case SEAM_COLUMN_LONG:
        return "l";
    case SEAM_COLUMN_FLOAT:
        return "f";
    case SEAM_COLUMN_DOUBLE:
        return "g";
    default:
        return NULL;
    }
}

static int copy_values(const struct import *import, struct seam_error *error) {
    (void)error;
    size_t width = (size_t)import->vector->width;
    const uint8_t *values = import->buffers[1];
    memcpy(target(import), values + (size_t)import->offset * width, (size_t)import->rows * width);
    clear_nulls(import);
    return SEAM_OK;
}

static int copy_booleans(const struct import *import, struct seam_error *error) {
    (void)error;
    const uint8_t *bits = import->buffers[1];
    uint8_t *data = target(import);
    for (int64_t i = 0; i < import->rows; i++) {
        int64_t bit = import->offset + i;
        data[i] = (uint8_t)(bits[bit >> 3] >> (bit & 7) & 1);
    }
    clear_nulls(import);
    return SEAM_OK;
}

static int copy_dates(const struct import *import, struct seam_error *error) {
    const int32_t *values = (const int32_t *)import->buffers[1] + import->offset;
    int32_t *data = (int32_t *)(void *)target(import);
    int32_t most = 0;
    for (int64_t i = 0; i < import->rows; i++) {
        int32_t day = is_null(import, i) ? 0 : values[i];
        most = day > most ? day : most;
        data[i] = (int32_t)((uint32_t)day + SEAM_JULIAN_EPOCH);
    }
    clear_nulls(import);
    return seam_date_pack(most, &most, error);
}

static int copy_times(const struct import *import, struct seam_error *error) {
    (void)error;
    const int32_t *values = (const int32_t *)import->buffers[1] + import->offset;
    double *data = (double *)(void *)target(import);
    for (int64_t i = 0; i < import->rows; i++) {
        data[i] = (double)values[i] / 1000.0;
    }
    clear_nulls(import);
    return SEAM_OK;
}

/* To microseconds; the part of a nanosecond value below is cut towards the past. */
static int to_micros(int64_t value, char unit, int64_t *out, struct seam_error *error) {
    int64_t factor = unit == 's' ? 1000000 : unit == 'm' ? 1000 : 1;
    if (value > INT64_MAX / factor || value < INT64_MIN / factor) {
        return seam_fail(error, SEAM_TOO_LARGE, -1,
                         "a timestamp of %lld is beyond any microsecond count", (long long)value);
    }
    *out = value * factor;
    if (unit == 'n') {
        *out = value / 1000 - (value % 1000 < 0 ? 1 : 0);
    }
    return SEAM_OK;
}

static int copy_timestamps(const struct import *import, struct seam_error *error) {
    const int64_t *values = (const int64_t *)import->buffers[1] + import->offset;
    int64_t *data = (int64_t *)(void *)target(import);
    char unit = import->format[2];
    for (int64_t i = 0; i < import->rows; i++) {
        data[i] = 0;
        if (is_null(import, i)) {
            continue;
        }
        int64_t micros = 0;
        int code = to_micros(values[i], unit, &micros, error);
        if (code == SEAM_OK) {
            code = seam_datetime_pack(micros, &data[i], error);
        }
        if (code != SEAM_OK) {
            return code;
        }
    }
    return SEAM_OK;
}

/* The low bytes of 128-bit values, whose other bytes must be nothing but sign. */
static int copy_decimals(const struct import *import, struct seam_error *error) {
    const uint8_t *values = (const uint8_t *)import->buffers[1] + import->offset * 16;
    size_t width = (size_t)import->vector->width;
    uint8_t *data = target(import);
    for (int64_t i = 0; i < import->rows; i++) {
        int64_t halves[2] = {0, 0};
        if (!is_null(import, i)) {
            memcpy(halves, values + i * 16, sizeof halves);
        }
        int narrow =
            halves[1] == halves[0] >> 63 && (width != 4 || halves[0] == (int32_t)halves[0]);
        if (width < 16 && !narrow) {
            return seam_fail(error, SEAM_TOO_LARGE, -1,
                             "the decimal in row %lld of an Arrow array does not fit a %s",
                             (long long)i, seam_column_kind_name(import->vector->type.kind));
        }
        memcpy(data + (size_t)i * width, halves, width);
    }
    return SEAM_OK;
}

static int64_t string_offset(const struct import *import, int64_t row) {
    int64_t at = import->offset + row;
    int large = import->format[0] == 'U' || import->format[0] == 'Z';
    return large ? ((const int64_t *)import->buffers[1])[at]
                 : ((const int32_t *)import->buffers[1])[at];
}

/* Bytes that the rows need, without what lies under nulls; checks that offsets never fall. */
static int total_bytes(const struct import *import, int64_t *out, struct seam_error *error) {
    int64_t total = 0;
    int64_t start = string_offset(import, 0);
    int broken = start < 0;
    for (int64_t i = 0; i < import->rows; i++) {
        int64_t end = string_offset(import, i + 1);
        broken |= end < start;
        total += is_null(import, i) ? 0 : end - start;
        start = end;
    }
    if (broken) {
        return seam_fail(error, SEAM_BAD_INPUT, -1, "the offsets of an Arrow array fall");
    }
    *out = total;
    return SEAM_OK;
}

static int copy_strings(const struct import *import, struct seam_error *error) {
    struct seam_vector *vector = import->vector;
    int64_t total = 0;
    int code = total_bytes(import, &total, error);
    if (code == SEAM_OK) {
        code = seam_vector_reserve_bytes(vector, vector->offsets[vector->rows] + total, error);
    }
    if (code != SEAM_OK) {
        return code;
    }
    int32_t *offsets = vector->offsets + vector->rows;
    const uint8_t *bytes = import->buffers[2];
    int64_t first = string_offset(import, 0);
    int dense = total == string_offset(import, import->rows) - first;
    if (dense && total > 0) {
        memcpy(vector->bytes + offsets[0], bytes + first, (size_t)total);
    }
    for (int64_t i = 0; i < import->rows; i++) {
        int64_t start = string_offset(import, i);
        int64_t size = is_null(import, i) ? 0 : string_offset(import, i + 1) - start;
        if (!dense && size > 0) {
            memcpy(vector->bytes + offsets[i], bytes + start, (size_t)size);
        }
        offsets[i + 1] = (int32_t)(offsets[i] + size);
    }
    return SEAM_OK;
}

/* Formats of timestamps: `tsu:` and the zone. */
static int is_timestamp(const char *format) {
    if (strncmp(format, "ts", 2) != 0 || format[2] == '\0' || strchr("smun", format[2]) == NULL ||
        format[3] != ':') {
        return 0;
    }
    const char *zone = format + 4;
    return zone[0] == '\0' || strcmp(zone, "UTC") == 0 || strcmp(zone, "+00:00") == 0;
}

static int is_decimal_of_scale(const char *format, int32_t scale) {
    int precision = 0;
    int stated = 0;
    int end = 0;
    int found = sscanf(format, "d:%d,%d%n", &precision, &stated, &end);
    return found == 2 && stated == scale &&
           (format[end] == '\0' || strcmp(format + end, ",128") == 0);
}

/* Writes the values; chooses by the column's kind, and refuses an array of another type. */
static int copy_column(const struct import *import, struct seam_error *error) {
    const struct seam_column_type *type = &import->vector->type;
    const char *format = import->format;
    const char *same = same_layout(type->kind);
    int letter = format[0] != '\0' && format[1] == '\0' ? format[0] : 0;
    int (*copy)(const struct import *, struct seam_error *) = NULL;
    if (same != NULL) {
        copy = strcmp(format, same) == 0 ? copy_values : NULL;
    } else if (type->kind == SEAM_COLUMN_BOOLEAN && letter == 'b') {
        copy = copy_booleans;
    } else if (type->kind == SEAM_COLUMN_DATE && strcmp(format, "tdD") == 0) {
        copy = copy_dates;
    } else if (type->kind == SEAM_COLUMN_TIME && strcmp(format, "ttm") == 0) {
        copy = copy_times;
    } else if (type->kind >= SEAM_COLUMN_DATETIME && type->kind <= SEAM_COLUMN_DATETIME_MILLIS &&
               is_timestamp(format)) {
        copy = copy_timestamps;
    } else if (seam_column_is_decimal(type->kind) && is_decimal_of_scale(format, type->scale)) {
        copy = copy_decimals;
    } else if (type->kind == SEAM_COLUMN_STRING && (letter == 'u' || letter == 'U')) {
        copy = copy_strings;
    } else if (type->kind == SEAM_COLUMN_BINARY && (letter == 'z' || letter == 'Z')) {
        copy = copy_strings;
    }
    if (copy == NULL) {
        return mismatch(import, error);
    }
    return import->rows == 0 ? SEAM_OK : copy(import, error); /* no rows: perhaps no buffers */
}

int seam_vector_append_arrow(struct seam_vector *vector, const struct ArrowSchema *schema,
                             const struct ArrowArray *array, struct seam_error *error) {
    struct import import = {.vector = vector,
                            .format = schema->format,
                            .buffers = array->buffers,
                            .offset = array->offset,
                            .rows = array->length};
    if (schema->dictionary != NULL) {
        import.format = "dictionary";
        return mismatch(&import, error);
    }
    if (array->n_buffers > 0 && array->null_count != 0) {
        import.validity = array->buffers[0];
    }
    int code = seam_vector_reserve(vector, vector->rows + import.rows, error);
    if (code == SEAM_OK) {
        code = copy_column(&import, error);
    }
    if (code == SEAM_OK) {
        write_nulls(&import);
        vector->rows += import.rows;
    }
    return code;
}
