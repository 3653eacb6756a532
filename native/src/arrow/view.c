#include "seam/view.h"

#include "base/words.h"

#include <stdlib.h>
#include <string.h>

struct format_rule {
    const char *prefix; /* a whole format, or its beginning where it ends in a colon */
    enum seam_layout layout;
    enum seam_order order;
    int32_t width_bytes;
};

static const struct format_rule FORMATS[] = {
    {"b", SEAM_LAYOUT_BITS, SEAM_ORDER_UNSIGNED, 0},
    {"c", SEAM_LAYOUT_FIXED, SEAM_ORDER_SIGNED, 1},
    {"C", SEAM_LAYOUT_FIXED, SEAM_ORDER_UNSIGNED, 1},
    {"s", SEAM_LAYOUT_FIXED, SEAM_ORDER_SIGNED, 2},
    {"S", SEAM_LAYOUT_FIXED, SEAM_ORDER_UNSIGNED, 2},
    {"i", SEAM_LAYOUT_FIXED, SEAM_ORDER_SIGNED, 4},
    {"I", SEAM_LAYOUT_FIXED, SEAM_ORDER_UNSIGNED, 4},
    {"l", SEAM_LAYOUT_FIXED, SEAM_ORDER_SIGNED, 8},
    {"L", SEAM_LAYOUT_FIXED, SEAM_ORDER_UNSIGNED, 8},
    {"f", SEAM_LAYOUT_FIXED, SEAM_ORDER_FLOAT, 4},
    {"g", SEAM_LAYOUT_FIXED, SEAM_ORDER_FLOAT, 8},
    {"tdD", SEAM_LAYOUT_FIXED, SEAM_ORDER_SIGNED, 4},
    {"tdm", SEAM_LAYOUT_FIXED, SEAM_ORDER_SIGNED, 8},
    {"tts", SEAM_LAYOUT_FIXED, SEAM_ORDER_SIGNED, 4},
    {"ttm", SEAM_LAYOUT_FIXED, SEAM_ORDER_SIGNED, 4},
    {"ttu", SEAM_LAYOUT_FIXED, SEAM_ORDER_SIGNED, 8},
    {"ttn", SEAM_LAYOUT_FIXED, SEAM_ORDER_SIGNED, 8},
    {"tss:", SEAM_LAYOUT_FIXED, SEAM_ORDER_SIGNED, 8},
    {"tsm:", SEAM_LAYOUT_FIXED, SEAM_ORDER_SIGNED, 8},
    {"tsu:", SEAM_LAYOUT_FIXED, SEAM_ORDER_SIGNED, 8},
    {"tsn:", SEAM_LAYOUT_FIXED, SEAM_ORDER_SIGNED, 8},
    {"tDs", SEAM_LAYOUT_FIXED, SEAM_ORDER_SIGNED, 8},
    {"tDm", SEAM_LAYOUT_FIXED, SEAM_ORDER_SIGNED, 8},
    {"tDu", SEAM_LAYOUT_FIXED, SEAM_ORDER_SIGNED, 8},
    {"tDn", SEAM_LAYOUT_FIXED, SEAM_ORDER_SIGNED, 8},
    {"z", SEAM_LAYOUT_VAR32, SEAM_ORDER_BYTES, 0},
    {"u", SEAM_LAYOUT_VAR32, SEAM_ORDER_BYTES, 0},
    {"Z", SEAM_LAYOUT_VAR64, SEAM_ORDER_BYTES, 0},
    {"U", SEAM_LAYOUT_VAR64, SEAM_ORDER_BYTES, 0},
};

static bool matches(const char *format, const char *rule) {
    if (format[0] != rule[0]) {
        return false;
    }
    size_t length = strlen(rule);
    return rule[length - 1] == ':' ? strncmp(format, rule, length) == 0 : strcmp(format, rule) == 0;
}

/* Fills layout, order and width from a format string of the C data interface. */
static bool apply_format(const char *format, struct seam_view *out) {
    for (size_t i = 0; i < sizeof FORMATS / sizeof FORMATS[0]; i++) {
        if (matches(format, FORMATS[i].prefix)) {
            out->layout = FORMATS[i].layout;
            out->order = FORMATS[i].order;
            out->width_bytes = FORMATS[i].width_bytes;
            return true;
        }
    }
    if (strncmp(format, "d:", 2) == 0) { /* d:precision,scale[,bits] */
        const char *first = strchr(format, ',');
        const char *second = first == NULL ? NULL : strchr(first + 1, ',');
        long bits = second == NULL ? 128 : strtol(second + 1, NULL, 10);
        out->layout = SEAM_LAYOUT_FIXED;
        out->order = SEAM_ORDER_SIGNED;
        out->width_bytes = (int32_t)(bits / 8);
        return bits == 32 || bits == 64 || bits == 128;
    }
    if (strncmp(format, "w:", 2) == 0) {
        long width = strtol(format + 2, NULL, 10);
        out->layout = SEAM_LAYOUT_FIXED;
        out->order = SEAM_ORDER_BYTES;
        out->width_bytes = (int32_t)width;
        return width > 0 && width <= INT32_MAX;
    }
    return false;
}

int seam_view_of(const struct ArrowSchema *schema, const struct ArrowArray *array,
                 struct seam_view *out, struct seam_error *error) {
    *out = (struct seam_view){.length = array->length, .offset = array->offset};
    if (schema->dictionary != NULL || !apply_format(schema->format, out)) {
        return seam_fail(error, SEAM_UNSUPPORTED, -1,
                         "column '%s' has Arrow format '%s', which has no flat view",
                         schema->name == NULL ? "" : schema->name, schema->format);
    }
    out->validity = array->null_count == 0 ? NULL : array->buffers[0];
    bool variable = out->layout == SEAM_LAYOUT_VAR32 || out->layout == SEAM_LAYOUT_VAR64;
    out->offsets = variable ? array->buffers[1] : NULL;
    /* A buffer without bytes may be absent; C forbids to move NULL even by nothing. */
    static const uint8_t NO_BYTES[1] = {0};
    const void *data = variable ? array->buffers[2] : array->buffers[1];
    out->data = data == NULL ? NO_BYTES : data;
    return SEAM_OK;
}

int seam_views_of_batch(const struct ArrowSchema *schema, const struct ArrowArray *batch,
                        int64_t capacity, struct seam_view *out, struct seam_error *error) {
    if (strcmp(schema->format, "+s") != 0 || batch->offset != 0 || batch->null_count > 0) {
        return seam_fail(error, SEAM_BAD_ARGUMENT, -1, "not a record batch: format '%s'",
                         schema->format);
    }
    if (batch->n_children > capacity) {
        return seam_fail(error, SEAM_BAD_ARGUMENT, -1, "%lld columns, room for %lld",
                         (long long)batch->n_children, (long long)capacity);
    }
    for (int64_t i = 0; i < batch->n_children; i++) {
        SEAM_TRY(seam_view_of(schema->children[i], batch->children[i], &out[i], error));
        if (out[i].length < batch->length) {
            return seam_fail(error, SEAM_BAD_ARGUMENT, -1, "column %lld has %lld rows of %lld",
                             (long long)i, (long long)out[i].length, (long long)batch->length);
        }
    }
    return SEAM_OK;
}

static const uint8_t *fixed(const struct seam_view *view, int64_t row) {
    return view->data + (view->offset + row) * view->width_bytes;
}

static int64_t signed_value(const struct seam_view *view, int64_t row) {
    const uint8_t *at = fixed(view, row);
    switch (view->width_bytes) {
    case 1:
        return (int8_t)*at;
    case 2: {
        int16_t value;
        memcpy(&value, at, sizeof value);
        return value;
    }
    case 4: {
        int32_t value;
        memcpy(&value, at, sizeof value);
        return value;
    }
    default: {
        int64_t value;
        memcpy(&value, at, sizeof value);
        return value;
    }
    }
}

static uint64_t unsigned_value(const struct seam_view *view, int64_t row) {
    if (view->layout == SEAM_LAYOUT_BITS) {
        return seam_bit(view->data, view->offset + row);
    }
    uint64_t value = 0; /* little-endian: the low bytes come first */
    memcpy(&value, fixed(view, row), (size_t)view->width_bytes);
    return value;
}

static double float_value(const struct seam_view *view, int64_t row) {
    if (view->width_bytes == 4) {
        float value;
        memcpy(&value, fixed(view, row), sizeof value);
        return value;
    }
    double value;
    memcpy(&value, fixed(view, row), sizeof value);
    return value;
}

#define SIGN(a, b) ((a) < (b) ? -1 : (a) > (b))

static int compare_signed(const struct seam_view *a, int64_t i, const struct seam_view *b,
                          int64_t j) {
    if (a->width_bytes <= 8) {
        int64_t x = signed_value(a, i), y = signed_value(b, j);
        return SIGN(x, y);
    }
    int64_t high[2];
    uint64_t low[2];
    memcpy(&low[0], fixed(a, i), 8);
    memcpy(&high[0], fixed(a, i) + 8, 8);
    memcpy(&low[1], fixed(b, j), 8);
    memcpy(&high[1], fixed(b, j) + 8, 8);
    return high[0] != high[1] ? SIGN(high[0], high[1]) : SIGN(low[0], low[1]);
}

/* As Java's Double.compare: -0.0 before 0.0, NaN after everything and equal to itself. */
static int compare_float(const struct seam_view *a, int64_t i, const struct seam_view *b,
                         int64_t j) {
    double x = float_value(a, i), y = float_value(b, j);
    if (x < y || x > y) {
        return SIGN(x, y);
    }
    bool x_nan = x != x, y_nan = y != y;
    if (x_nan || y_nan) {
        return (int)x_nan - (int)y_nan;
    }
    uint64_t x_bits, y_bits;
    memcpy(&x_bits, &x, sizeof x_bits);
    memcpy(&y_bits, &y, sizeof y_bits);
    return (int)(y_bits >> 63) - (int)(x_bits >> 63);
}

static int compare_bytes(const struct seam_view *a, int64_t i, const struct seam_view *b,
                         int64_t j) {
    const uint8_t *x, *y;
    int64_t x_size = a->width_bytes, y_size = b->width_bytes;
    if (a->layout == SEAM_LAYOUT_FIXED) {
        x = fixed(a, i);
        y = fixed(b, j);
    } else {
        x_size = seam_view_bytes(a, i, &x);
        y_size = seam_view_bytes(b, j, &y);
    }
    int64_t shorter = x_size < y_size ? x_size : y_size;
    int sign = shorter == 0 ? 0 : memcmp(x, y, (size_t)shorter);
    return sign != 0 ? SIGN(sign, 0) : SIGN(x_size, y_size);
}

int seam_view_compare(const struct seam_view *a, int64_t i, const struct seam_view *b, int64_t j) {
    bool a_valid = seam_view_valid(a, i), b_valid = seam_view_valid(b, j);
    if (!a_valid || !b_valid) {
        return (int)a_valid - (int)b_valid;
    }
    switch (a->order) {
    case SEAM_ORDER_SIGNED:
        return compare_signed(a, i, b, j);
    case SEAM_ORDER_UNSIGNED: {
        uint64_t x = unsigned_value(a, i), y = unsigned_value(b, j);
        return SIGN(x, y);
    }
    case SEAM_ORDER_FLOAT:
        return compare_float(a, i, b, j);
    case SEAM_ORDER_BYTES:
    default:
        return compare_bytes(a, i, b, j);
    }
}

bool seam_view_equal(const struct seam_view *a, int64_t i, const struct seam_view *b, int64_t j) {
    if (a->layout == SEAM_LAYOUT_FIXED && a->validity == NULL && b->validity == NULL &&
        a->order != SEAM_ORDER_FLOAT) { /* record keys nearly always */
        switch (a->width_bytes) {
        case 4:
            return memcmp(fixed(a, i), fixed(b, j), 4) == 0;
        case 8:
            return memcmp(fixed(a, i), fixed(b, j), 8) == 0;
        default:
            return memcmp(fixed(a, i), fixed(b, j), (size_t)a->width_bytes) == 0;
        }
    }
    return seam_view_compare(a, i, b, j) == 0;
}

/* One multiplication of 64 by 64 bits to 128, both halves folded together: every input bit reaches
 * every output bit, at a third of the price of a full avalanche. */
static inline uint64_t combine(uint64_t hash, uint64_t value) {
    seam_uint128 product = (seam_uint128)(value ^ UINT64_C(0x9E3779B97F4A7C15)) *
                           ((hash ^ UINT64_C(0xD6E8FEB86659FD93)) | 1);
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static uint64_t hash_bytes(const uint8_t *bytes, int64_t size) {
    uint64_t hash = (uint64_t)size;
    while (size >= 8) {
        uint64_t word;
        memcpy(&word, bytes, 8);
        hash = combine(hash, word);
        bytes += 8;
        size -= 8;
    }
    uint64_t word = 0;
    if (size > 0) {
        memcpy(&word, bytes, (size_t)size);
    }
    return combine(hash, word);
}

/* The bits that every NaN of a width counts as: all of them are one value, and writers leave them
 * in many forms (0.0/0.0 has its sign set on x86, Java's has not). -0.0 and 0.0 are two values. */
static inline __attribute__((always_inline)) uint64_t one_nan(uint64_t bits, int64_t width) {
    uint64_t infinity = width == 8 ? UINT64_C(0x7FF0000000000000) : UINT64_C(0x7F800000);
    uint64_t sign = UINT64_C(1) << (8 * width - 1);
    return (bits & ~sign) > infinity ? infinity + 1 : bits;
}

static uint64_t hash_value(const struct seam_view *view, int64_t row) {
    const uint8_t *bytes;
    if (!seam_view_valid(view, row)) {
        return UINT64_C(0x6E756C6C); /* any constant */
    }
    if (view->layout == SEAM_LAYOUT_VAR32 || view->layout == SEAM_LAYOUT_VAR64) {
        int64_t size = seam_view_bytes(view, row, &bytes);
        return hash_bytes(bytes, size);
    }
    if (view->layout == SEAM_LAYOUT_FIXED && view->width_bytes > 8) {
        return hash_bytes(fixed(view, row), view->width_bytes);
    }
    uint64_t value = unsigned_value(view, row);
    return view->order == SEAM_ORDER_FLOAT ? one_nan(value, view->width_bytes) : value;
}

/* Values of `width` bytes, a constant, none null. */
static inline __attribute__((always_inline)) void
hash_plain(const uint8_t *data, int64_t width, bool is_float, int64_t count, uint64_t *hashes) {
    for (int64_t i = 0; i < count; i++) {
        uint64_t value = 0;
        memcpy(&value, data + i * width, (size_t)width); /* little-endian */
        hashes[i] = combine(hashes[i], is_float ? one_nan(value, width) : value);
    }
}

void seam_view_hash(const struct seam_view *view, int64_t begin, int64_t count, uint64_t *hashes) {
    bool plain = view->layout == SEAM_LAYOUT_FIXED && view->validity == NULL;
    bool is_float = view->order == SEAM_ORDER_FLOAT;
    if (plain && view->width_bytes == 8 && !is_float) {
        hash_plain(fixed(view, begin), 8, false, count, hashes);
    } else if (plain && view->width_bytes == 8) {
        hash_plain(fixed(view, begin), 8, true, count, hashes);
    } else if (plain && view->width_bytes == 4 && !is_float) {
        hash_plain(fixed(view, begin), 4, false, count, hashes);
    } else if (plain && view->width_bytes == 4) {
        hash_plain(fixed(view, begin), 4, true, count, hashes);
    } else {
        for (int64_t i = 0; i < count; i++) {
            hashes[i] = combine(hashes[i], hash_value(view, begin + i));
        }
    }
}
