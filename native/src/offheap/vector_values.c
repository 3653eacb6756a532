#include "offheap/vector_values.h"

#include "base/bits.h"
#include "base/wide.h"

#include <stdlib.h>
#include <string.h>

/* --- which formats fit --- */

/* The Arrow format whose values lie as the column's do, or NULL. */
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

/* Formats of timestamps: `tsu:` and the zone. */
static bool is_timestamp(const char *format) {
    if (strncmp(format, "ts", 2) != 0 || format[2] == '\0' || strchr("smun", format[2]) == NULL ||
        format[3] != ':') {
        return false;
    }
    const char *zone = format + 4;
    return zone[0] == '\0' || strcmp(zone, "UTC") == 0 || strcmp(zone, "+00:00") == 0;
}

/* Decimals of 32, 64 and 128 bits: `d:precision,scale` and perhaps `,bits`. */
static bool is_decimal_of_scale(const char *format, int32_t scale) {
    const char *first = strchr(format, ',');
    char *end = NULL;
    if (format[0] != 'd' || format[1] != ':' || first == NULL ||
        strtol(first + 1, &end, 10) != scale || end == first + 1) {
        return false;
    }
    return end[0] == '\0' || strcmp(end, ",128") == 0 || strcmp(end, ",64") == 0 ||
           strcmp(end, ",32") == 0;
}

bool seam_values_fit(const struct seam_column_type *type, const char *format) {
    const char *same = same_layout(type->kind);
    if (same != NULL) {
        return strcmp(format, same) == 0;
    }
    if (seam_column_is_decimal(type->kind)) {
        return is_decimal_of_scale(format, type->scale);
    }
    switch (type->kind) {
    case SEAM_COLUMN_BOOLEAN:
        return strcmp(format, "b") == 0;
    case SEAM_COLUMN_DATE:
        return strcmp(format, "tdD") == 0;
    case SEAM_COLUMN_TIME:
        return strcmp(format, "ttm") == 0;
    case SEAM_COLUMN_DATETIME:
    case SEAM_COLUMN_DATETIME_MICROS:
    case SEAM_COLUMN_DATETIME_MILLIS:
        return is_timestamp(format);
    case SEAM_COLUMN_STRING:
        return strcmp(format, "u") == 0 || strcmp(format, "U") == 0;
    case SEAM_COLUMN_BINARY:
        return strcmp(format, "z") == 0 || strcmp(format, "Z") == 0;
    default:
        return false;
    }
}

/* --- null flags --- */

static uint8_t *flags_of(struct seam_vector *vector) {
    return vector->nulls + vector->rows;
}

SEAM_WIDE static uint64_t invert_bits(const uint8_t *bits, int64_t offset, int64_t count,
                                      uint8_t *flags) {
    return seam_expand(bits, offset, count, 1, flags);
}

SEAM_WIDE static void expand_bits(const uint8_t *bits, int64_t offset, int64_t count,
                                  uint8_t *bytes) {
    seam_expand(bits, offset, count, 0, bytes);
}

SEAM_WIDE static void add_flags(const uint8_t *restrict mask, int64_t count,
                                uint8_t *restrict flags) {
    for (int64_t i = 0; i < count; i++) {
        flags[i] |= mask[i];
    }
}

static bool listed_nulls(uint8_t *flags, const struct seam_node *node,
                         const struct seam_selection *selection) {
    uint8_t any = 0;
    for (int64_t i = 0; i < selection->count; i++) {
        int64_t row = selection->rows[i];
        flags[i] = row < 0 || !seam_node_valid(node, row);
        any |= flags[i];
    }
    return any != 0;
}

void seam_values_nulls(struct seam_vector *vector, const struct seam_node *node,
                       const struct seam_selection *selection, bool *any) {
    uint8_t *flags = flags_of(vector);
    const struct seam_view *view = &node->view;
    if (selection->rows != NULL) {
        *any = listed_nulls(flags, node, selection);
        return;
    }
    *any = false; /* the flags behind the last row are 0 */
    if (view->validity != NULL) {
        *any = invert_bits(view->validity, view->offset + selection->start, selection->count,
                           flags) != 0;
    }
    if (selection->mask != NULL) {
        add_flags(selection->mask, selection->count, flags);
        *any = true; /* a mask is only handed on where it masks something */
    }
}

/* --- values of fixed width --- */

/* What is to be written: `count` values from `values` on, side by side. */
struct source {
    struct seam_vector *vector;
    const char *format;
    const void *values;
    int64_t count;
    int32_t width;        /* of a value, in bytes */
    const uint8_t *flags; /* NULL: no nulls */
};

static void *target(const struct source *source) {
    struct seam_vector *vector = source->vector;
    return vector->data + vector->rows * vector->width;
}

/* Zeroes what stands under nulls, after values were written without a look at them. */
#define CLEAR(type)                                                                                \
    SEAM_WIDE static void clear_##type(type *restrict data, const uint8_t *restrict flags,         \
                                       int64_t count) {                                            \
        for (int64_t i = 0; i < count; i++) {                                                      \
            data[i] = flags[i] ? 0 : data[i];                                                      \
        }                                                                                          \
    }
CLEAR(uint8_t)
CLEAR(uint16_t)
CLEAR(uint32_t)
CLEAR(uint64_t)

static void clear_nulls(const struct source *source) {
    const uint8_t *flags = source->flags;
    int64_t count = source->count;
    if (flags == NULL) {
        return;
    }
    switch (source->vector->width) {
    case 1:
        clear_uint8_t(target(source), flags, count);
        break;
    case 2:
        clear_uint16_t(target(source), flags, count);
        break;
    case 4:
        clear_uint32_t(target(source), flags, count);
        break;
    case 8:
        clear_uint64_t(target(source), flags, count);
        break;
    default: {
        uint64_t *halves = target(source);
        for (int64_t i = 0; i < count; i++) {
            halves[2 * i] = flags[i] ? 0 : halves[2 * i];
            halves[2 * i + 1] = flags[i] ? 0 : halves[2 * i + 1];
        }
    }
    }
}

static bool counts(const struct source *source, int64_t i) {
    return source->flags == NULL || source->flags[i] == 0;
}

static int write_plain(const struct source *source, struct seam_error *error) {
    (void)error;
    memcpy(target(source), source->values, (size_t)(source->count * source->width));
    clear_nulls(source);
    return SEAM_OK;
}

/* The loops below never stop half-way: they gather a suspicion, and only if there is one does
 * somebody look for the row. What lies under a null may be anything. */

/* Returns the largest of the values. */
SEAM_WIDE static int32_t julian_days(const int32_t *restrict values, int64_t count,
                                     int32_t *restrict out) {
    int32_t most = INT32_MIN;
    for (int64_t i = 0; i < count; i++) {
        most = values[i] > most ? values[i] : most;
        out[i] = (int32_t)((uint32_t)values[i] + SEAM_JULIAN_EPOCH);
    }
    return most;
}

static int write_dates(const struct source *source, struct seam_error *error) {
    const int32_t *values = source->values;
    int32_t most = julian_days(values, source->count, target(source));
    int code = SEAM_OK;
    for (int64_t i = 0; most > INT32_MAX - SEAM_JULIAN_EPOCH && i < source->count; i++) {
        int32_t day = 0;
        if (counts(source, i) && code == SEAM_OK) {
            code = seam_date_pack(values[i], &day, error);
        }
    }
    clear_nulls(source);
    return code;
}

SEAM_WIDE static void to_seconds(const int32_t *restrict millis, int64_t count,
                                 double *restrict out) {
    for (int64_t i = 0; i < count; i++) {
        out[i] = (double)millis[i] / 1000.0;
    }
}

static int write_times(const struct source *source, struct seam_error *error) {
    (void)error;
    to_seconds(source->values, source->count, target(source));
    clear_nulls(source);
    return SEAM_OK;
}

enum { JULIAN_BITS = 63 - SEAM_DATETIME_SHIFT };
/* No timestamp of more microseconds than this, either way, has a Julian day that fits. */
#define MICROS_LIMIT ((INT64_C(1) << JULIAN_BITS) * SEAM_MICROS_PER_DAY)

/* A date and time in the stored form. |micros| is at most MICROS_LIMIT, so that the quotient of the
 * doubles is off by one day at most. */
static inline int64_t packed(int64_t micros, uint64_t *suspect) {
    int64_t days = (int64_t)((double)micros * (1.0 / (double)SEAM_MICROS_PER_DAY));
    int64_t rest = micros - days * SEAM_MICROS_PER_DAY;
    int64_t borrow = rest < 0 ? 1 : 0;
    days -= borrow;
    rest += borrow * SEAM_MICROS_PER_DAY;
    int64_t carry = rest >= SEAM_MICROS_PER_DAY ? 1 : 0;
    days += carry;
    rest -= carry * SEAM_MICROS_PER_DAY;
    int64_t julian = days + SEAM_JULIAN_EPOCH;
    *suspect |= (uint64_t)julian >> JULIAN_BITS;
    return (int64_t)((uint64_t)julian << SEAM_DATETIME_SHIFT) | rest;
}

/* `factor` microseconds a unit. */
static inline uint64_t pack_units(const int64_t *restrict values, int64_t count, int64_t factor,
                                  int64_t *restrict out) {
    int64_t limit = MICROS_LIMIT / factor;
    uint64_t suspect = 0;
    for (int64_t i = 0; i < count; i++) {
        int64_t inside = values[i] < limit && values[i] > -limit ? values[i] : 0;
        suspect |= (uint64_t)(inside != values[i]);
        out[i] = packed(inside * factor, &suspect);
    }
    return suspect;
}

SEAM_WIDE static uint64_t pack_seconds(const int64_t *values, int64_t count, int64_t *out) {
    return pack_units(values, count, 1000000, out);
}

SEAM_WIDE static uint64_t pack_millis(const int64_t *values, int64_t count, int64_t *out) {
    return pack_units(values, count, 1000, out);
}

SEAM_WIDE static uint64_t pack_micros(const int64_t *values, int64_t count, int64_t *out) {
    return pack_units(values, count, 1, out);
}

/* Cuts towards the past. Every nanosecond of 64 bits has a Julian day that fits. */
SEAM_WIDE static uint64_t pack_nanos(const int64_t *restrict values, int64_t count,
                                     int64_t *restrict out) {
    uint64_t suspect = 0;
    for (int64_t i = 0; i < count; i++) {
        int64_t micros = values[i] / 1000;
        micros -= values[i] - micros * 1000 < 0;
        out[i] = packed(micros, &suspect);
    }
    return suspect;
}

static int bad_timestamp(int64_t value, char unit, struct seam_error *error) {
    const char *name = unit == 's' ? "s" : unit == 'm' ? "ms" : "us";
    return seam_fail(error, SEAM_TOO_LARGE, -1,
                     "the time %lld %s after 1970-01-01 has no 23-bit Julian day", (long long)value,
                     name);
}

static int write_timestamps(const struct source *source, struct seam_error *error) {
    const int64_t *values = source->values;
    char unit = source->format[2];
    uint64_t suspect = 0;
    switch (unit) {
    case 's':
        suspect = pack_seconds(values, source->count, target(source));
        break;
    case 'm':
        suspect = pack_millis(values, source->count, target(source));
        break;
    case 'u':
        suspect = pack_micros(values, source->count, target(source));
        break;
    default:
        suspect = pack_nanos(values, source->count, target(source));
        break;
    }
    int code = SEAM_OK;
    int64_t factor = unit == 's' ? 1000000 : unit == 'm' ? 1000 : 1;
    for (int64_t i = 0; suspect != 0 && i < source->count && code == SEAM_OK; i++) {
        int64_t word = 0;
        int64_t micros = 0;
        if (!counts(source, i)) {
            continue;
        }
        code = __builtin_mul_overflow(values[i], factor, &micros) ||
                       seam_datetime_pack(micros, &word, NULL) != SEAM_OK
                   ? bad_timestamp(values[i], unit, error)
                   : SEAM_OK;
    }
    clear_nulls(source);
    return code;
}

static int bad_decimal(const struct source *source, int64_t row, struct seam_error *error) {
    return seam_fail(error, SEAM_TOO_LARGE, -1,
                     "the decimal in row %lld of an Arrow array does not fit a %s", (long long)row,
                     seam_column_kind_name(source->vector->type.kind));
}

/* Copies the lower halves; returns 0 if all upper ones are nothing but sign. */
SEAM_WIDE static uint64_t lower_halves(const uint64_t *restrict halves, int64_t count,
                                       uint64_t *restrict out) {
    uint64_t suspect = 0;
    for (int64_t i = 0; i < count; i++) {
        uint64_t low = halves[2 * i];
        suspect |= halves[2 * i + 1] + (low >> 63);
        out[i] = low;
    }
    return suspect;
}

static int write_halves(const struct source *source, struct seam_error *error) {
    const uint64_t *halves = source->values;
    uint64_t suspect = lower_halves(halves, source->count, target(source));
    for (int64_t i = 0; suspect != 0 && i < source->count; i++) {
        if (counts(source, i) && halves[2 * i + 1] + (halves[2 * i] >> 63) != 0) {
            return bad_decimal(source, i, error);
        }
    }
    clear_nulls(source);
    return SEAM_OK;
}

/* Any width to any other. */
static int write_decimals(const struct source *source, struct seam_error *error) {
    const uint8_t *values = source->values;
    uint8_t *data = target(source);
    size_t width = (size_t)source->vector->width;
    for (int64_t i = 0; i < source->count; i++) {
        int64_t halves[2] = {0, 0};
        if (source->width == 4) {
            int32_t value;
            memcpy(&value, values + 4 * i, sizeof value);
            halves[0] = value;
        } else {
            memcpy(halves, values + source->width * i, (size_t)source->width);
        }
        if (source->width < 16) {
            halves[1] = halves[0] >> 63;
        }
        bool narrow = halves[1] == halves[0] >> 63;
        bool fits = width == 16 || (narrow && (width == 8 || halves[0] == (int32_t)halves[0]));
        if (!fits && counts(source, i)) {
            return bad_decimal(source, i, error);
        }
        memcpy(data + (size_t)i * width, halves, width);
    }
    clear_nulls(source);
    return SEAM_OK;
}

static int write_fixed(const struct source *source, struct seam_error *error) {
    switch (source->vector->type.kind) {
    case SEAM_COLUMN_DATE:
        return write_dates(source, error);
    case SEAM_COLUMN_TIME:
        return write_times(source, error);
    case SEAM_COLUMN_DATETIME:
    case SEAM_COLUMN_DATETIME_MICROS:
    case SEAM_COLUMN_DATETIME_MILLIS:
        return write_timestamps(source, error);
    default:
        if (source->width == source->vector->width) {
            return write_plain(source, error);
        }
        return source->width == 16 && source->vector->width == 8 ? write_halves(source, error)
                                                                 : write_decimals(source, error);
    }
}

/* Values of listed rows, side by side; what stands for a null is 0. */
#define GATHER(type, words)                                                                        \
    static void gather_##words##_##type(const type *values, const struct seam_selection *s,        \
                                        const uint8_t *flags, type *out) {                         \
        for (int64_t i = 0; i < s->count; i++) {                                                   \
            for (int k = 0; k < words; k++) {                                                      \
                out[i * words + k] = flags[i] ? 0 : values[s->rows[i] * words + k];                \
            }                                                                                      \
        }                                                                                          \
    }
GATHER(uint8_t, 1)
GATHER(uint16_t, 1)
GATHER(uint32_t, 1)
GATHER(uint64_t, 1)
GATHER(uint64_t, 2)

static int write_listed(struct source *source, const struct seam_node *node,
                        const struct seam_selection *selection, struct seam_error *error) {
    void *block = NULL;
    int64_t size_bytes = selection->count * source->width;
    SEAM_TRY(seam_alloc(source->vector->allocator, (size_t)size_bytes, &block, error));
    const uint8_t *flags = flags_of(source->vector);
    const void *values = node->view.data + node->view.offset * source->width;
    switch (source->width) {
    case 1:
        gather_1_uint8_t(values, selection, flags, block);
        break;
    case 2:
        gather_1_uint16_t(values, selection, flags, block);
        break;
    case 4:
        gather_1_uint32_t(values, selection, flags, block);
        break;
    case 8:
        gather_1_uint64_t(values, selection, flags, block);
        break;
    default:
        gather_2_uint64_t(values, selection, flags, block);
        break;
    }
    source->values = block;
    int code = write_fixed(source, error);
    seam_free(block);
    return code;
}

static void write_booleans(const struct source *source, const struct seam_node *node,
                           const struct seam_selection *selection) {
    const struct seam_view *view = &node->view;
    uint8_t *data = target(source);
    if (selection->rows == NULL) {
        expand_bits(view->data, view->offset + selection->start, selection->count, data);
        clear_nulls(source);
        return;
    }
    const uint8_t *flags = flags_of(source->vector);
    for (int64_t i = 0; i < selection->count; i++) {
        data[i] = !flags[i] && seam_bit(view->data, view->offset + selection->rows[i]);
    }
}

/* --- strings --- */

/* Where row `row` of the view begins; pass row + 1 for where it ends. */
static inline int64_t start_of(const struct seam_view *view, int64_t row) {
    int64_t at = view->offset + row;
    return view->layout == SEAM_LAYOUT_VAR32 ? ((const int32_t *)view->offsets)[at]
                                             : ((const int64_t *)view->offsets)[at];
}

static int falling(struct seam_error *error) {
    return seam_fail(error, SEAM_BAD_INPUT, -1, "the offsets of an Arrow array fall");
}

/* Offsets that run on from the vector's last; adds up what lies under nulls. False: they fall. */
#define RUN_ON(type)                                                                               \
    SEAM_WIDE static bool run_on_##type(const type *restrict from, const uint8_t *restrict flags,  \
                                        int64_t count, int32_t *restrict out, int64_t *hidden) {   \
        uint32_t base = (uint32_t)out[0] - (uint32_t)from[0];                                      \
        int falls = from[0] < 0;                                                                   \
        for (int64_t i = 0; i < count; i++) {                                                      \
            falls |= from[i + 1] < from[i];                                                        \
            out[i + 1] = (int32_t)(base + (uint32_t)from[i + 1]);                                  \
        }                                                                                          \
        int64_t under = 0;                                                                         \
        for (int64_t i = 0; flags != NULL && i < count; i++) {                                     \
            under += flags[i] ? (int64_t)from[i + 1] - from[i] : 0;                                \
        }                                                                                          \
        *hidden = under;                                                                           \
        return !falls;                                                                             \
    }
RUN_ON(int32_t)
RUN_ON(int64_t)

/* Rows side by side whose bytes lie side by side, too. */
static int write_dense(struct seam_vector *vector, const struct seam_view *view, int64_t start,
                       int64_t total, struct seam_error *error) {
    int64_t base = vector->offsets[vector->rows];
    SEAM_TRY(seam_vector_reserve_bytes(vector, base + total, error));
    if (total > 0) {
        memcpy(vector->bytes + base, view->data + start, (size_t)total);
    }
    return SEAM_OK;
}

/* Row of the view that entry `i` of the selection stands for; flags tell which are null. */
static int64_t chosen(const struct seam_selection *selection, int64_t i) {
    return selection->rows == NULL ? selection->start + i : selection->rows[i];
}

static int write_scattered(struct seam_vector *vector, const struct seam_view *view,
                           const struct seam_selection *selection, struct seam_error *error) {
    const uint8_t *flags = flags_of(vector);
    int32_t *offsets = vector->offsets + vector->rows;
    int64_t end = offsets[0];
    for (int64_t i = 0; i < selection->count; i++) {
        int64_t row = flags[i] ? 0 : chosen(selection, i);
        int64_t size = flags[i] ? 0 : start_of(view, row + 1) - start_of(view, row);
        if (size < 0) {
            return falling(error);
        }
        if (size > SEAM_VECTOR_LIMIT - end) { /* refused by what knows the limit */
            return seam_vector_reserve_bytes(vector, size > SEAM_VECTOR_LIMIT ? size : end + size,
                                             error);
        }
        end += size;
        offsets[i + 1] = (int32_t)end;
    }
    SEAM_TRY(seam_vector_reserve_bytes(vector, end, error));
    for (int64_t i = 0; i < selection->count; i++) {
        int32_t size = offsets[i + 1] - offsets[i];
        if (size > 0) {
            memcpy(vector->bytes + offsets[i], view->data + start_of(view, chosen(selection, i)),
                   (size_t)size);
        }
    }
    return SEAM_OK;
}

static int write_strings(struct seam_vector *vector, const struct seam_node *node,
                         const struct seam_selection *selection, bool any,
                         struct seam_error *error) {
    const struct seam_view *view = &node->view;
    if (selection->rows != NULL) {
        return write_scattered(vector, view, selection, error);
    }
    const uint8_t *flags = any ? flags_of(vector) : NULL;
    int32_t *offsets = vector->offsets + vector->rows;
    int64_t at = view->offset + selection->start;
    int64_t hidden = 0;
    bool rising = view->layout == SEAM_LAYOUT_VAR32
                      ? run_on_int32_t((const int32_t *)view->offsets + at, flags, selection->count,
                                       offsets, &hidden)
                      : run_on_int64_t((const int64_t *)view->offsets + at, flags, selection->count,
                                       offsets, &hidden);
    if (!rising) {
        return falling(error);
    }
    if (hidden > 0) { /* bytes under nulls stay behind */
        return write_scattered(vector, view, selection, error);
    }
    int64_t start = start_of(view, selection->start);
    int64_t total = start_of(view, selection->start + selection->count) - start;
    return write_dense(vector, view, start, total, error);
}

int seam_values_write(struct seam_vector *vector, const struct seam_node *node,
                      const struct seam_selection *selection, bool any, struct seam_error *error) {
    if (selection->count == 0) {
        return SEAM_OK; /* perhaps there are no buffers */
    }
    if (seam_column_has_offsets(vector->type.kind)) {
        return write_strings(vector, node, selection, any, error);
    }
    const struct seam_view *view = &node->view;
    struct source source = {.vector = vector,
                            .format = node->format,
                            .count = selection->count,
                            .width = view->width_bytes,
                            .flags = any ? flags_of(vector) : NULL};
    if (view->layout == SEAM_LAYOUT_BITS) {
        write_booleans(&source, node, selection);
        return SEAM_OK;
    }
    if (selection->rows != NULL) {
        return write_listed(&source, node, selection, error);
    }
    source.values = view->data + (view->offset + selection->start) * view->width_bytes;
    return write_fixed(&source, error);
}
