#include "seam/column_type.h"

#include <stddef.h>

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "off-heap columns are little-endian; this machine is not"
#endif

static const struct {
    const char *name;
    int32_t width;
} KINDS[] = {
    [SEAM_COLUMN_UNKNOWN] = {"unknown", 0},
    [SEAM_COLUMN_BYTE] = {"byte", 1},
    [SEAM_COLUMN_BOOLEAN] = {"boolean", 1},
    [SEAM_COLUMN_SHORT] = {"short", 2},
    [SEAM_COLUMN_INT] = {"int", 4},
    [SEAM_COLUMN_FLOAT] = {"float", 4},
    [SEAM_COLUMN_LONG] = {"bigint", 8},
    [SEAM_COLUMN_DOUBLE] = {"double", 8},
    [SEAM_COLUMN_STRING] = {"string", 0},
    [SEAM_COLUMN_BINARY] = {"binary", 0},
    [SEAM_COLUMN_DATE] = {"date", 4},
    [SEAM_COLUMN_TIME] = {"time", 8},
    [SEAM_COLUMN_DATETIME] = {"timestamp", 8},
    [SEAM_COLUMN_DATETIME_MICROS] = {"timestamp-micros", 8},
    [SEAM_COLUMN_DATETIME_MILLIS] = {"timestamp-millis", 8},
    [SEAM_COLUMN_DECIMALV2] = {"decimalv2", 16},
    [SEAM_COLUMN_DECIMAL32] = {"decimal32", 4},
    [SEAM_COLUMN_DECIMAL64] = {"decimal64", 8},
    [SEAM_COLUMN_DECIMAL128] = {"decimal128", 16},
    [SEAM_COLUMN_ARRAY] = {"array", 0},
    [SEAM_COLUMN_MAP] = {"map", 0},
    [SEAM_COLUMN_STRUCT] = {"struct", 0},
    [SEAM_COLUMN_TINYINT] = {"tinyint", 1},
    [SEAM_COLUMN_VARIANT] = {"variant", 0},
};

static int is_kind(int32_t kind) {
    return kind >= 0 && kind < (int32_t)(sizeof KINDS / sizeof KINDS[0]);
}

const char *seam_column_kind_name(int32_t kind) {
    return is_kind(kind) ? KINDS[kind].name : "no kind";
}

int32_t seam_column_width(int32_t kind) {
    return is_kind(kind) ? KINDS[kind].width : 0;
}

int seam_column_has_offsets(int32_t kind) {
    return kind == SEAM_COLUMN_STRING || kind == SEAM_COLUMN_BINARY;
}

int seam_column_is_decimal(int32_t kind) {
    return kind >= SEAM_COLUMN_DECIMAL32 && kind <= SEAM_COLUMN_DECIMAL128;
}

static int check_decimal(const struct seam_column_type *type, struct seam_error *error) {
    static const int32_t DIGITS[] = {9, 18, 38};
    int32_t most = DIGITS[type->kind - SEAM_COLUMN_DECIMAL32];
    if (type->precision < 1 || type->precision > most || type->scale < 0 ||
        type->scale > type->precision) {
        return seam_fail(error, SEAM_BAD_ARGUMENT, -1,
                         "%s holds 1 to %d digits and a scale of at most as many, not (%d,%d)",
                         seam_column_kind_name(type->kind), (int)most, (int)type->precision,
                         (int)type->scale);
    }
    return SEAM_OK;
}

int seam_column_type_check(const struct seam_column_type *type, struct seam_error *error) {
    switch (type->kind) {
    case SEAM_COLUMN_BYTE:
    case SEAM_COLUMN_DECIMALV2:
    case SEAM_COLUMN_ARRAY:
    case SEAM_COLUMN_MAP:
    case SEAM_COLUMN_STRUCT:
    case SEAM_COLUMN_VARIANT:
        return seam_fail(error, SEAM_UNSUPPORTED, -1, "columns of kind %s are not supported",
                         seam_column_kind_name(type->kind));
    default:
        break;
    }
    if (!is_kind(type->kind)) {
        return seam_fail(error, SEAM_BAD_ARGUMENT, -1, "%d is no kind of column", (int)type->kind);
    }
    return seam_column_is_decimal(type->kind) ? check_decimal(type, error) : SEAM_OK;
}

int seam_date_pack(int64_t epoch_days, int32_t *out, struct seam_error *error) {
    if (epoch_days < (int64_t)INT32_MIN - SEAM_JULIAN_EPOCH ||
        epoch_days > (int64_t)INT32_MAX - SEAM_JULIAN_EPOCH) {
        return seam_fail(error, SEAM_TOO_LARGE, -1,
                         "the date %lld days after 1970-01-01 has no 32-bit Julian day",
                         (long long)epoch_days);
    }
    *out = (int32_t)(epoch_days + SEAM_JULIAN_EPOCH);
    return SEAM_OK;
}

int seam_datetime_pack(int64_t epoch_micros, int64_t *out, struct seam_error *error) {
    int64_t days = epoch_micros / SEAM_MICROS_PER_DAY;
    int64_t micros = epoch_micros % SEAM_MICROS_PER_DAY;
    if (micros < 0) {
        micros += SEAM_MICROS_PER_DAY;
        days -= 1;
    }
    int64_t julian = days + SEAM_JULIAN_EPOCH;
    if (julian < 0 || julian >= INT64_C(1) << (63 - SEAM_DATETIME_SHIFT)) {
        return seam_fail(error, SEAM_TOO_LARGE, -1,
                         "the time %lld microseconds after 1970-01-01 has no 23-bit Julian day",
                         (long long)epoch_micros);
    }
    *out = (julian << SEAM_DATETIME_SHIFT) | micros;
    return SEAM_OK;
}
