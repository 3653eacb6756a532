/* Filled engine columns as Arrow arrays. Values are turned in place where the width stays. */
#include "seam/arrow_build.h"
#include "seam/engine.h"
#include "utf8.h"

#include <string.h>

static int bad_value(const struct seam_engine_column *column, int64_t row, const char *what,
                     struct seam_error *error) {
    return seam_fail(error, SEAM_BAD_INPUT, -1, "row %lld of a %s column %s", (long long)row,
                     seam_column_kind_name(column->type.kind), what);
}

static int export_dates(struct seam_engine_column *column, struct seam_error *error) {
    int32_t *days = (int32_t *)(void *)column->data;
    for (int64_t i = 0; i < column->rows; i++) {
        int32_t day = column->nulls[i] ? SEAM_JULIAN_EPOCH : days[i];
        if (day < INT32_MIN + SEAM_JULIAN_EPOCH) {
            return bad_value(column, i, "has no 32-bit day count", error);
        }
        days[i] = day - SEAM_JULIAN_EPOCH;
    }
    return SEAM_OK;
}

static int export_datetimes(struct seam_engine_column *column, struct seam_error *error) {
    int64_t *words = (int64_t *)(void *)column->data;
    const int64_t mask = (INT64_C(1) << SEAM_DATETIME_SHIFT) - 1;
    for (int64_t i = 0; i < column->rows; i++) {
        if (column->nulls[i]) {
            words[i] = 0;
            continue;
        }
        int64_t micros = words[i] & mask;
        if (words[i] < 0 || micros >= SEAM_MICROS_PER_DAY) {
            return bad_value(column, i, "is no Julian day and microsecond of a day", error);
        }
        int64_t days = (words[i] >> SEAM_DATETIME_SHIFT) - SEAM_JULIAN_EPOCH;
        words[i] = days * SEAM_MICROS_PER_DAY + micros;
    }
    return SEAM_OK;
}

/* Seconds back to the milliseconds they were made of; the array is as long as before, half used. */
static int export_times(struct seam_engine_column *column, struct seam_error *error) {
    const double *seconds = (const double *)(const void *)column->data;
    for (int64_t i = 0; i < column->rows; i++) {
        double millis = column->nulls[i] ? 0.0 : seconds[i] * 1000.0;
        if (!(millis >= 0.0 && millis + 0.5 < 86400000.0)) {
            return bad_value(column, i, "is no time of day", error);
        }
        int32_t value = (int32_t)(millis + 0.5);
        memcpy(column->data + i * (int64_t)sizeof value, &value, sizeof value);
    }
    return SEAM_OK;
}

__extension__ typedef __int128 wide;

static int export_decimals(struct seam_engine_column *column, struct seam_error *error) {
    int64_t width = seam_column_width(column->type.kind);
    void *block;
    int code = seam_alloc(column->allocator, (size_t)column->rows * sizeof(wide), &block, error);
    if (code != SEAM_OK) {
        return code;
    }
    wide limit = 1;
    for (int32_t i = 0; i < column->type.precision; i++) {
        limit *= 10;
    }
    uint8_t *out = block;
    int64_t wrong = -1;
    for (int64_t i = 0; i < column->rows; i++) {
        uint8_t bytes[sizeof(wide)];
        const uint8_t *value = column->data + i * width;
        memset(bytes, value[width - 1] >> 7 ? 0xFF : 0, sizeof bytes);
        memcpy(bytes, value, (size_t)width);
        wide unscaled = 0;
        if (!column->nulls[i]) {
            memcpy(&unscaled, bytes, sizeof bytes);
        }
        wrong = unscaled >= limit || unscaled <= -limit ? i : wrong;
        memcpy(out + i * (int64_t)sizeof(wide), &unscaled, sizeof unscaled);
    }
    seam_free(column->data);
    column->data = block;
    return wrong < 0 ? SEAM_OK : bad_value(column, wrong, "has more digits than its type", error);
}

/* Bytes to bits, in place: byte i of the result is made of bytes 8 i to 8 i + 7. */
static int export_booleans(struct seam_engine_column *column, struct seam_error *error) {
    for (int64_t i = 0; i < column->rows; i += 8) {
        uint8_t bits = 0;
        for (int64_t j = i; j < i + 8 && j < column->rows; j++) {
            uint8_t value = column->nulls[j] ? 0 : column->data[j];
            if (value > 1) {
                return bad_value(column, j, "is neither 0 nor 1", error);
            }
            bits |= (uint8_t)(value << (j - i));
        }
        column->data[i / 8] = bits;
    }
    return SEAM_OK;
}

static int export_strings(struct seam_engine_column *column, struct seam_error *error) {
    int ascii = 1;
    int64_t size = column->offsets[column->rows];
    if (!seam_utf8_valid(column->bytes, size, &ascii)) {
        return bad_value(column, 0, "or a later one is not UTF-8", error);
    }
    for (int64_t i = 0; !ascii && i < column->rows; i++) {
        int64_t start = column->offsets[i];
        if (start < size && (column->bytes[start] & 0xC0) == 0x80) {
            return bad_value(column, i, "starts inside a character", error);
        }
    }
    return SEAM_OK;
}

static int convert(struct seam_engine_column *column, struct seam_error *error) {
    switch (column->type.kind) {
    case SEAM_COLUMN_DATE:
        return export_dates(column, error);
    case SEAM_COLUMN_TIME:
        return export_times(column, error);
    case SEAM_COLUMN_DATETIME:
    case SEAM_COLUMN_DATETIME_MICROS:
    case SEAM_COLUMN_DATETIME_MILLIS:
        return export_datetimes(column, error);
    case SEAM_COLUMN_DECIMAL32:
    case SEAM_COLUMN_DECIMAL64:
    case SEAM_COLUMN_DECIMAL128:
        return export_decimals(column, error);
    case SEAM_COLUMN_BOOLEAN:
        return export_booleans(column, error);
    case SEAM_COLUMN_STRING:
        return export_strings(column, error);
    default:
        return SEAM_OK; /* the layouts agree */
    }
}

/* Null flags to a validity bitmap, in place; no bitmap where there are no nulls. */
static void convert_nulls(struct seam_engine_column *column) {
    if (column->null_count == 0) {
        seam_free(column->nulls);
        column->nulls = NULL;
        return;
    }
    for (int64_t i = 0; i < column->rows; i += 8) {
        uint8_t bits = 0;
        for (int64_t j = i; j < i + 8 && j < column->rows; j++) {
            bits |= (uint8_t)((column->nulls[j] ^ 1) << (j - i));
        }
        column->nulls[i / 8] = bits;
    }
}

int seam_engine_export(struct seam_engine_column *column, struct ArrowArray *out,
                       struct seam_error *error) {
    if (column->nulls == NULL) {
        return seam_fail(error, SEAM_BAD_ARGUMENT, -1, "an empty engine column was exported");
    }
    int code = convert(column, error);
    if (code == SEAM_OK) {
        convert_nulls(column);
        int strings = column->offsets != NULL;
        void *buffers[3] = {column->nulls, column->data, column->bytes};
        buffers[1] = strings ? (void *)column->offsets : buffers[1];
        code = seam_array_build(column->allocator, column->rows, column->null_count,
                                strings ? 3 : 2, buffers, 0, NULL, out, error);
    }
    if (code == SEAM_OK) {
        seam_engine_column_init(column, column->allocator); /* the buffers are the array's now */
    } else {
        seam_engine_column_reset(column);
    }
    return code;
}
