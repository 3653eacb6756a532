/* How values that are not nested go from a record into their columns. */
#ifndef SEAM_AVRO_VALUES_H
#define SEAM_AVRO_VALUES_H

#include "avro/avro_internal.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* What went wrong, at which field and byte. `what` NULL: the caller's seam_error has the sentence.
 */
struct fault {
    int code;
    const char *what;
    const struct op *op; /* NULL: nothing yet */
    const uint8_t *at;
};

/* Where values of one row go, and how they fail. */
struct context {
    struct seam_avro_decoder *decoder;
    int64_t row;
    const uint8_t *end;
    struct fault *fault;
    struct seam_error *error;
};

static const char *const PAST_END = "a value passes the end of its record";

static inline const uint8_t *fail(const struct context *context, const char *what) {
    *context->fault = (struct fault){.code = SEAM_BAD_INPUT, .what = what};
    return NULL;
}

/* The same where the caller's seam_error has the sentence already. */
static inline const uint8_t *fail_with(const struct context *context, int code) {
    *context->fault = (struct fault){.code = code};
    return NULL;
}

/* Avro's int and long. */
static inline __attribute__((always_inline)) const uint8_t *
read_long(const struct context *context, const uint8_t *p, bool is_int, int64_t *out) {
    uint64_t word;
    p = seam_varint(p, &word);
    if (UNLIKELY(p == NULL || (is_int && word > UINT32_MAX))) {
        return fail(context,
                    is_int ? "an int has more than 32 bits" : "a number has more than 64 bits");
    }
    *out = seam_zigzag(word);
    return p;
}

/* The length before bytes and strings; that many bytes are there. */
static inline __attribute__((always_inline)) const uint8_t *
read_length(const struct context *context, const uint8_t *p, int64_t *out) {
    p = read_long(context, p, false, out);
    if (UNLIKELY(p == NULL)) {
        return NULL;
    }
    if (UNLIKELY(*out < 0)) {
        return fail(context, "a length is negative");
    }
    return UNLIKELY(*out > context->end - p) ? fail(context, PAST_END) : p;
}

/* Short texts are copied with their neighbours, which costs less than asking for their length. */
static inline void copy_text(uint8_t *to, const uint8_t *from, int64_t size) {
    memcpy(to, from, 16);
    if (size > 16) {
        memcpy(to + 16, from + 16, SLACK_BYTES - 16);
        if (UNLIKELY(size > SLACK_BYTES)) {
            memcpy(to + SLACK_BYTES, from + SLACK_BYTES, (size_t)(size - SLACK_BYTES));
        }
    }
}

/* Appends a text. Returns the first byte behind it, or NULL. */
static inline __attribute__((always_inline)) const uint8_t *put_bytes(const struct context *context,
                                                                      struct builder *builder,
                                                                      const uint8_t *from,
                                                                      int64_t size) {
    int64_t used = builder->bytes.size_bytes;
    if (UNLIKELY(size > builder->bytes_room - used)) {
        int code =
            seam_builder_grow_bytes(context->decoder, builder, context->row, size, context->error);
        if (code != SEAM_OK) {
            return fail_with(context, code);
        }
    }
    copy_text(builder->bytes.data + used, from, size);
    builder->bytes.size_bytes = used + size;
    ((int32_t *)builder->values.data)[context->row + 1] = (int32_t)(used + size);
    return from + size;
}

/* A float as a double of the same shortest decimal text: 0.3f gives 0.3. */
static inline double widen(float value) {
    if (!isfinite(value) || (fabsf(value) < 16777216.0f && value == (float)(int32_t)value)) {
        return value;
    }
    char text[32];
    for (int digits = fabsf(value) < FLT_MIN ? 2 : FLT_DIG; digits < 9; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, (double)value);
        if (strtof(text, NULL) == value) {
            return strtod(text, NULL);
        }
    }
    snprintf(text, sizeof text, "%.9g", (double)value);
    return strtod(text, NULL);
}

static inline float load_float(const uint8_t *p) {
    uint32_t bits = seam_load32(p);
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* Big-endian two's complement of up to 128 bits, or longer if the rest repeats the sign. */
static inline bool read_unscaled(const uint8_t *p, int64_t size, seam_int128 *out) {
    uint8_t sign = p[0] & 0x80 ? 0xff : 0;
    for (; size > 16; size--, p++) {
        if (*p != sign) {
            return false;
        }
    }
    if ((p[0] & 0x80) != (sign & 0x80)) {
        return false;
    }
    seam_uint128 value = sign ? ~(seam_uint128)0 : 0;
    for (int64_t i = 0; i < size; i++) {
        value = value << 8 | p[i];
    }
    *out = (seam_int128)value;
    return true;
}

static inline const uint8_t *put_decimal_slow(const struct context *context,
                                              const struct builder *builder, const uint8_t *p,
                                              int64_t size) {
    seam_int128 value;
    if (size == 0) {
        return fail(context, "a decimal of no bytes");
    }
    if (!read_unscaled(p, size, &value) || __builtin_mul_overflow(value, builder->scale, &value) ||
        value >= builder->limit || value <= -builder->limit) {
        return fail(context, "a decimal has more digits than the column's precision");
    }
    memcpy(builder->values.data + context->row * 16, &value, 16);
    return p + size;
}

static inline __attribute__((always_inline)) const uint8_t *
put_decimal(const struct context *context, const struct builder *builder, const uint8_t *p,
            int64_t size) {
    if (LIKELY(size >= 1 && size <= 8)) {
        int64_t value = (int64_t)seam_load_be64(p) >> (64 - 8 * size);
        if (LIKELY(value < builder->limit64 && value > -builder->limit64)) {
            seam_int128 wide = value;
            memcpy(builder->values.data + context->row * 16, &wide, 16);
            return p + size;
        }
    }
    return put_decimal_slow(context, builder, p, size);
}

static inline const uint8_t *put_bool(const struct context *context, const struct builder *builder,
                                      const uint8_t *p) {
    if (UNLIKELY(p == context->end)) {
        return fail(context, PAST_END);
    }
    if (UNLIKELY(*p > 1)) {
        return fail(context, "a boolean is neither 0 nor 1");
    }
    builder->values.data[context->row >> 3] |= (uint8_t)(*p << (context->row & 7));
    return p + 1;
}

static inline const uint8_t *put_scaled(const struct context *context, const struct op *op,
                                        const uint8_t *p) {
    int64_t value;
    p = read_long(context, p, op->is_int, &value);
    if (UNLIKELY(p == NULL)) {
        return NULL;
    }
    if (UNLIKELY(__builtin_mul_overflow(value, op->builder->factor, &value))) {
        return fail(context, "a value does not fit the column's unit");
    }
    ((int64_t *)op->builder->values.data)[context->row] = value;
    return p;
}

static inline const uint8_t *put_symbol(const struct context *context, const struct op *op,
                                        const uint8_t *p) {
    int64_t number;
    p = read_long(context, p, true, &number);
    if (p == NULL) {
        return NULL;
    }
    if (number < 0 || number >= op->size) {
        return fail(context, "an enum has no such symbol");
    }
    const struct text *symbol = &context->decoder->nodes[op->node].symbols[number];
    return put_bytes(context, op->builder, (const uint8_t *)symbol->bytes, symbol->size) == NULL
               ? NULL
               : p;
}

static inline const uint8_t *put_null(const struct context *context, const struct op *op,
                                      const uint8_t *p) {
    if (op->builder == NULL) {
        return p;
    }
    int code = seam_builder_put_null(context->decoder, op->builder, context->row, context->error);
    return code == SEAM_OK ? p : fail_with(context, code);
}

/* Reads the branch of a union of one type and null: 1 for a value, 0 for null, -1 for neither. */
static inline __attribute__((always_inline)) int read_branch(const struct op *op,
                                                             const uint8_t **at) {
    const uint8_t *p = *at;
    uint64_t word = *p++;
    if (UNLIKELY(word >= 0x80)) { /* legal: a number may be longer than it needs to be */
        p = seam_varint(*at, &word);
    }
    if (UNLIKELY(p == NULL || (word != op->present && word != op->absent))) {
        return -1;
    }
    *at = p;
    return word == op->present;
}

/* Reads `width` bytes of a fixed-width type, or a number, at the place the op names. */
#define NEED(width)                                                                                \
    if (UNLIKELY((width) > context->end - p)) {                                                    \
        return fail(context, PAST_END);                                                            \
    }
#define PUT(type, value) ((type *)op->builder->values.data)[context->row] = (type)(value)

/* Decodes a value that is not nested, by a code that the op has. Returns the first byte behind it,
 * or NULL with the fault set. */
static inline __attribute__((always_inline)) const uint8_t *
decode_scalar(const struct context *context, const struct op *op, int32_t code, const uint8_t *p) {
    int64_t number = 0;
    switch (code) {
    case OP_SKIP_VARINT:
        return read_long(context, p, op->is_int, &number);
    case OP_SKIP_BYTES:
        p = read_length(context, p, &number);
        return p == NULL ? NULL : p + number;
    case OP_SKIP_FIXED:
        NEED(op->size)
        return p + op->size;
    case OP_INT32:
        p = read_long(context, p, true, &number);
        PUT(int32_t, number);
        return p;
    case OP_LONG:
        p = read_long(context, p, op->is_int, &number);
        PUT(int64_t, number);
        return p;
    case OP_BYTES:
        p = read_length(context, p, &number);
        return UNLIKELY(p == NULL) ? NULL : put_bytes(context, op->builder, p, number);
    case OP_DECIMAL_FIXED:
        NEED(op->size)
        return put_decimal(context, op->builder, p, op->size);
    case OP_DECIMAL_BYTES:
        p = read_length(context, p, &number);
        return UNLIKELY(p == NULL) ? NULL : put_decimal(context, op->builder, p, number);
    case OP_DOUBLE: {
        NEED(8)
        uint64_t bits = seam_load64(p);
        memcpy(op->builder->values.data + context->row * 8, &bits, sizeof bits);
        return p + 8;
    }
    case OP_FLOAT:
        NEED(4)
        PUT(float, load_float(p));
        return p + 4;
    case OP_FLOAT_TO_DOUBLE:
        NEED(4)
        PUT(double, load_float(p));
        return p + 4;
    case OP_FLOAT_TO_DOUBLE_BY_TEXT:
        NEED(4)
        PUT(double, widen(load_float(p)));
        return p + 4;
    case OP_INT_TO_FLOAT:
        p = read_long(context, p, op->is_int, &number);
        PUT(float, number);
        return p;
    case OP_INT_TO_DOUBLE:
        p = read_long(context, p, op->is_int, &number);
        PUT(double, number);
        return p;
    case OP_INT_SCALED:
        return put_scaled(context, op, p);
    case OP_BOOL:
        return put_bool(context, op->builder, p);
    case OP_FIXED:
        NEED(op->size)
        memcpy(op->builder->values.data + context->row * op->size, p, (size_t)op->size);
        return p + op->size;
    case OP_FIXED_TO_BYTES:
        NEED(op->size)
        return put_bytes(context, op->builder, p, op->size);
    case OP_ENUM:
        return put_symbol(context, op, p);
    case OP_NULL:
        return put_null(context, op, p);
    default: {
        const char *wrong = seam_avro_skip(context->decoder, op->node, &p, context->end, 0);
        return wrong == NULL ? p : fail(context, wrong);
    }
    }
}

#undef NEED
#undef PUT
#endif
