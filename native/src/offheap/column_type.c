#include "seam/column_type.h"

#include <stddef.h>
#include <string.h>

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
    return kind >= SEAM_COLUMN_DECIMALV2 && kind <= SEAM_COLUMN_DECIMAL128;
}

/* Array, map, struct, variant. */
static int is_nested(int32_t kind) {
    return (kind >= SEAM_COLUMN_ARRAY && kind <= SEAM_COLUMN_STRUCT) || kind == SEAM_COLUMN_VARIANT;
}

static const struct seam_column_type VARIANT[] = {{.kind = SEAM_COLUMN_BINARY, .name = "metadata"},
                                                  {.kind = SEAM_COLUMN_BINARY, .name = "value"}};
enum { VARIANT_PARTS = sizeof VARIANT / sizeof VARIANT[0] };

const struct seam_column_type *seam_column_children(const struct seam_column_type *type,
                                                    int32_t *n_children) {
    if (type->kind == SEAM_COLUMN_VARIANT) {
        *n_children = VARIANT_PARTS;
        return VARIANT;
    }
    *n_children = is_nested(type->kind) ? type->n_children : 0;
    return type->children;
}

static int is_named(const struct seam_column_type *type, const char *name) {
    return type->name != NULL && strcmp(type->name, name) == 0;
}

int32_t seam_column_map_child(const struct seam_column_type *type, int second) {
    const char *wanted = second ? SEAM_COLUMN_SECOND : SEAM_COLUMN_FIRST;
    for (int32_t i = 0; i < type->n_children; i++) {
        if (is_named(&type->children[i], wanted)) {
            return i;
        }
    }
    return -1;
}

static int check_decimal(const struct seam_column_type *type, struct seam_error *error) {
    static const int32_t DIGITS[] = {27, 9, 18, 38};
    int32_t most = DIGITS[type->kind - SEAM_COLUMN_DECIMALV2];
    if (type->precision < 1 || type->precision > most || type->scale < 0 ||
        type->scale > type->precision) {
        return seam_fail(error, SEAM_UNSUPPORTED, -1,
                         "%s holds 1 to %d digits and a scale of at most as many, not (%d,%d)",
                         seam_column_kind_name(type->kind), (int)most, (int)type->precision,
                         (int)type->scale);
    }
    return SEAM_OK;
}

/* A map's children are told apart by their names alone, and come in this order. */
static int is_map(const struct seam_column_type *type) {
    int32_t keys = seam_column_map_child(type, 0);
    int32_t values = seam_column_map_child(type, 1);
    for (int32_t i = 0; i < type->n_children; i++) {
        if (type->children[i].kind == SEAM_COLUMN_UNKNOWN) {
            return 0;
        }
    }
    return keys <= 0 && type->n_children == (keys == 0) + (values >= 0);
}

static int check_children(const struct seam_column_type *type, struct seam_error *error) {
    int32_t count = type->n_children;
    const char *wrong = NULL;
    if (count < 0 || (count > 0 && type->children == NULL)) {
        wrong = "has a number of children, but none";
    } else if (type->kind == SEAM_COLUMN_ARRAY && count != 1) {
        wrong = "has one child";
    } else if (type->kind == SEAM_COLUMN_MAP && !is_map(type)) {
        wrong = "has the children $0 and $1, or what is left of them";
    } else if (type->kind == SEAM_COLUMN_STRUCT && count == 0) {
        wrong = "has a field at least";
    } else if (!is_nested(type->kind) && count != 0) {
        wrong = "has no children";
    } else if (type->kind == SEAM_COLUMN_VARIANT && count != 0 &&
               (count != VARIANT_PARTS || type->children[0].kind != SEAM_COLUMN_BINARY ||
                type->children[1].kind != SEAM_COLUMN_BINARY)) {
        wrong = "has two binary children";
    }
    return wrong == NULL ? SEAM_OK
                         : seam_fail(error, SEAM_UNSUPPORTED, -1,
                                     "a column of kind %s %s; this one's children count %d",
                                     seam_column_kind_name(type->kind), wrong, (int)count);
}

static int check_tree(const struct seam_column_type *type, int depth, struct seam_error *error) {
    if (!is_kind(type->kind)) {
        return seam_fail(error, SEAM_BAD_ARGUMENT, -1, "%d is no kind of column", (int)type->kind);
    }
    if (depth > SEAM_COLUMN_DEPTH) {
        return seam_fail(error, SEAM_UNSUPPORTED, -1, "a type is nested deeper than %d levels",
                         SEAM_COLUMN_DEPTH);
    }
    SEAM_TRY(check_children(type, error));
    if (seam_column_is_decimal(type->kind)) {
        SEAM_TRY(check_decimal(type, error));
    }
    for (int32_t i = 0; i < type->n_children; i++) {
        SEAM_TRY(check_tree(&type->children[i], depth + 1, error));
    }
    return SEAM_OK;
}

int seam_column_type_check(const struct seam_column_type *type, struct seam_error *error) {
    return check_tree(type, 1, error);
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
