/* One value at a time. */
#include "offheap/vector_values.h"

#include <math.h>
#include <string.h>

#define KIND(name) (UINT32_C(1) << SEAM_COLUMN_##name)
#define DATETIMES (KIND(DATETIME) | KIND(DATETIME_MICROS) | KIND(DATETIME_MILLIS))
#define DECIMALS (KIND(DECIMALV2) | KIND(DECIMAL32) | KIND(DECIMAL64) | KIND(DECIMAL128))

/* Makes room for one more row of a vector whose kind is in the set `kinds`. */
static int begin(struct seam_vector *vector, uint32_t kinds, const char *what,
                 struct seam_error *error) {
    if ((kinds >> vector->type.kind & 1) == 0) {
        return seam_fail(error, SEAM_BAD_ARGUMENT, -1, "a %s was appended to a %s column", what,
                         seam_column_kind_name(vector->type.kind));
    }
    if (vector->rows < vector->capacity) {
        return SEAM_OK;
    }
    return seam_vector_reserve(vector, vector->rows + 1, error);
}

/* Writes a value of the vector's width as the last row. */
static int finish(struct seam_vector *vector, const void *value) {
    memcpy(vector->data + vector->rows * vector->width, value, (size_t)vector->width);
    vector->nulls[vector->rows] = 0;
    vector->rows += 1;
    return SEAM_OK;
}

static int too_large(const struct seam_vector *vector, struct seam_error *error) {
    return seam_fail(error, SEAM_TOO_LARGE, -1, "the value of row %lld does not fit a %s",
                     (long long)vector->rows, seam_column_kind_name(vector->type.kind));
}

int seam_vector_check_children(const struct seam_vector *vector, int64_t rows,
                               struct seam_error *error) {
    for (int32_t i = 0; i < vector->n_children; i++) {
        const struct seam_vector *child = &vector->children[i];
        if (child->type.kind != SEAM_COLUMN_UNKNOWN && child->rows != rows) {
            return seam_fail(error, SEAM_BAD_ARGUMENT, -1,
                             "row %lld of a %s column needs %lld rows in child %d, which has %lld",
                             (long long)vector->rows, seam_column_kind_name(vector->type.kind),
                             (long long)rows, (int)i, (long long)child->rows);
        }
    }
    return SEAM_OK;
}

/* Makes ready for a null row: nothing half-appended, and a null in each child of a struct. */
static int nested_null(struct seam_vector *vector, struct seam_error *error) {
    int64_t rows = vector->offsets == NULL ? vector->rows : vector->offsets[vector->rows];
    int code = seam_vector_check_children(vector, rows, error);
    if (code != SEAM_OK || vector->offsets != NULL) {
        return code;
    }
    for (int32_t i = 0; i < vector->n_children && code == SEAM_OK; i++) {
        code = seam_vector_append_null(&vector->children[i], error);
    }
    for (int32_t i = 0; i < vector->n_children && code != SEAM_OK; i++) {
        if (vector->children[i].rows > rows) {
            seam_vector_truncate(&vector->children[i], rows, NULL);
        }
    }
    return code;
}

/* Writes a null as the last row of a vector that has room for it; not its children. */
static void finish_null(struct seam_vector *vector) {
    int64_t row = vector->rows;
    if (vector->width > 0) {
        memset(vector->data + row * vector->width, 0, (size_t)vector->width);
    } else if (vector->offsets != NULL) {
        vector->offsets[row + 1] = vector->offsets[row];
    }
    if (vector->nulls != NULL) {
        vector->nulls[row] = 1;
    }
    vector->rows = row + 1;
}

int seam_vector_append_null(struct seam_vector *vector, struct seam_error *error) {
    SEAM_TRY(begin(vector, UINT32_MAX, "null", error));
    if (vector->n_children > 0) {
        SEAM_TRY(nested_null(vector, error));
    }
    finish_null(vector);
    return SEAM_OK;
}

int seam_vector_append_boolean(struct seam_vector *vector, int64_t value,
                               struct seam_error *error) {
    SEAM_TRY(begin(vector, KIND(BOOLEAN), "boolean", error));
    if (value != 0 && value != 1) {
        return too_large(vector, error);
    }
    return finish(vector, &value);
}

int seam_vector_append_long(struct seam_vector *vector, int64_t value, struct seam_error *error) {
    uint32_t kinds = KIND(TINYINT) | KIND(SHORT) | KIND(INT) | KIND(LONG);
    SEAM_TRY(begin(vector, kinds, "whole number", error));
    int64_t most = INT64_MAX >> (64 - 8 * vector->width);
    if (value > most || value < -most - 1) {
        return too_large(vector, error);
    }
    return finish(vector, &value);
}

int seam_vector_append_double(struct seam_vector *vector, double value, struct seam_error *error) {
    int code = begin(vector, KIND(FLOAT) | KIND(DOUBLE), "floating-point number", error);
    if (code != SEAM_OK || vector->type.kind == SEAM_COLUMN_DOUBLE) {
        return code == SEAM_OK ? finish(vector, &value) : code;
    }
    float narrow = (float)value;
    if (isinf(narrow) && !isinf(value)) {
        return too_large(vector, error);
    }
    return finish(vector, &narrow);
}

int seam_vector_append_date(struct seam_vector *vector, int64_t epoch_days,
                            struct seam_error *error) {
    int32_t julian = 0;
    SEAM_TRY(begin(vector, KIND(DATE), "date", error));
    SEAM_TRY(seam_date_pack(epoch_days, &julian, error));
    return finish(vector, &julian);
}

int seam_vector_append_time(struct seam_vector *vector, int64_t millis, struct seam_error *error) {
    int code = begin(vector, KIND(TIME), "time", error);
    if (code == SEAM_OK && (millis < INT32_MIN || millis > INT32_MAX)) {
        code = too_large(vector, error);
    }
    double seconds = (double)millis / 1000.0;
    return code == SEAM_OK ? finish(vector, &seconds) : code;
}

int seam_vector_append_datetime(struct seam_vector *vector, int64_t epoch_micros,
                                struct seam_error *error) {
    int64_t packed = 0;
    SEAM_TRY(begin(vector, DATETIMES, "timestamp", error));
    SEAM_TRY(seam_datetime_pack(epoch_micros, &packed, error));
    return finish(vector, &packed);
}

int seam_vector_append_decimal128(struct seam_vector *vector, int64_t high, uint64_t low,
                                  struct seam_error *error) {
    SEAM_TRY(begin(vector, DECIMALS, "decimal", error));
    int64_t narrow = (int64_t)low;
    int fits64 = high == narrow >> 63;
    int fits32 = fits64 && narrow == (int32_t)narrow;
    if ((vector->width < 16 && !fits64) || (vector->width < 8 && !fits32)) {
        return too_large(vector, error);
    }
    uint64_t halves[2] = {low, (uint64_t)high};
    return finish(vector, halves);
}

int seam_vector_append_decimal(struct seam_vector *vector, int64_t unscaled,
                               struct seam_error *error) {
    return seam_vector_append_decimal128(vector, unscaled >> 63, (uint64_t)unscaled, error);
}

int seam_vector_append_bytes(struct seam_vector *vector, const char *value, int64_t size_bytes,
                             struct seam_error *error) {
    SEAM_TRY(begin(vector, KIND(STRING) | KIND(BINARY), "run of bytes", error));
    int64_t row = vector->rows;
    int64_t start = vector->offsets[row];
    if (size_bytes < 0 || size_bytes > SEAM_VECTOR_LIMIT) {
        return too_large(vector, error);
    }
    if (start + size_bytes > vector->bytes_capacity) {
        SEAM_TRY(seam_vector_reserve_bytes(vector, start + size_bytes, error));
    }
    if (size_bytes > 0) {
        memcpy(vector->bytes + start, value, (size_t)size_bytes);
    }
    vector->offsets[row + 1] = (int32_t)(start + size_bytes);
    vector->nulls[row] = 0;
    vector->rows = row + 1;
    return SEAM_OK;
}
