/* Several records at a time, a field of all of them after the other.
 *
 * Within a record each field waits for the one before it, whose length says where it begins. Fields
 * of different records do not wait for each other, and what is done with a field is looked up once
 * for all of them. */
#include "avro/avro_values.h"

/* Reads a field of all records. False if anything about one of them is wrong. */
static inline __attribute__((always_inline)) bool
read_lanes(struct seam_lanes *lanes, const struct op *op, int32_t code, bool nullable) {
    struct fault fault;
    for (int32_t i = 0; i < lanes->n; i++) {
        const uint8_t *p = lanes->at[i];
        const struct context context = {lanes->decoder, lanes->first_row + i, lanes->ends[i],
                                        &fault, NULL};
        int present = 1;
        if (UNLIKELY(p > context.end)) {
            return false;
        }
        if (nullable) {
            present = read_branch(op, &p);
            if (UNLIKELY(present < 0)) {
                return false;
            }
        }
        p = LIKELY(present) ? decode_scalar(&context, op, code, p) : put_null(&context, op, p);
        if (UNLIKELY(p == NULL)) {
            return false;
        }
        lanes->at[i] = p;
    }
    return true;
}

/* Passes over texts of fewer than 64 bytes that are there, by the two bytes before them; what else
 * there may be is for `read_lanes`. */
static bool skip_texts(struct seam_lanes *lanes, const struct op *op) {
    const uint32_t there = op->nullable ? op->present : 0;
    const uint32_t fixed_bits = op->nullable ? 0x81ff : 0x8100; /* the branch; a short length */
    bool good = true;
    for (int32_t i = 0; i < lanes->n; i++) {
        const uint8_t *p = lanes->at[i];
        uint32_t head = op->nullable ? p[0] | (uint32_t)p[1] << 8 : (uint32_t)p[0] << 8;
        lanes->passed[i] = p + op->nullable + 1 + (head >> 9);
        good &= (head & fixed_bits) == there && lanes->passed[i] <= lanes->ends[i];
    }
    return good;
}

/* The same for numbers of up to eight bytes. */
static bool skip_numbers(struct seam_lanes *lanes, const struct op *op) {
    bool good = true;
    for (int32_t i = 0; i < lanes->n; i++) {
        const uint8_t *p = lanes->at[i];
        uint64_t stops = ~seam_load64(p + op->nullable) & UINT64_C(0x8080808080808080);
        int size = (__builtin_ctzll(stops | UINT64_C(1) << 63) >> 3) + 1;
        lanes->passed[i] = p + op->nullable + size;
        good &= stops != 0 && (!op->nullable || *p == op->present) &&
                lanes->passed[i] <= lanes->ends[i];
    }
    return good;
}

/* The same with a loop of its own for the types that most columns have. */
static bool read_field(struct seam_lanes *lanes, const struct op *op) {
#define OWN_LOOP(code)                                                                             \
    case code:                                                                                     \
        return op->nullable ? read_lanes(lanes, op, code, true)                                    \
                            : read_lanes(lanes, op, code, false);
    if ((op->code == OP_SKIP_BYTES && skip_texts(lanes, op)) ||
        (op->code == OP_SKIP_VARINT && skip_numbers(lanes, op))) {
        memcpy(lanes->at, lanes->passed, sizeof lanes->at);
        return true;
    }
    switch (op->code) {
        OWN_LOOP(OP_SKIP_VARINT)
        OWN_LOOP(OP_SKIP_BYTES)
        OWN_LOOP(OP_SKIP_FIXED)
        OWN_LOOP(OP_INT32)
        OWN_LOOP(OP_LONG)
        OWN_LOOP(OP_DOUBLE)
        OWN_LOOP(OP_BYTES)
        OWN_LOOP(OP_DECIMAL_FIXED)
        OWN_LOOP(OP_DECIMAL_BYTES)
    default:
        return read_lanes(lanes, op, op->code, op->nullable);
    }
#undef OWN_LOOP
}

/* Takes back what was written of the rows, so that they can be written again. */
static void take_back(const struct seam_lanes *lanes) {
    struct seam_avro_decoder *decoder = lanes->decoder;
    for (int32_t k = 0; k < decoder->n_columns; k++) {
        struct builder *builder = &decoder->builders[k];
        builder->bytes.size_bytes = builder->marked_bytes;
        builder->null_count = builder->marked_nulls;
        for (int64_t row = lanes->first_row; row < lanes->first_row + lanes->n; row++) {
            uint8_t bit = (uint8_t)(1u << (row & 7));
            if (builder->validity.data != NULL) {
                builder->validity.data[row >> 3] |= bit;
            }
            if (builder->spec.kind == SEAM_AVRO_TO_BOOL) {
                builder->values.data[row >> 3] &= (uint8_t)~bit;
            }
        }
    }
}

bool seam_avro_read_lanes(struct seam_lanes *lanes, int32_t n_ops) {
    struct seam_avro_decoder *decoder = lanes->decoder;
    for (int32_t k = 0; k < decoder->n_columns; k++) {
        decoder->builders[k].marked_bytes = decoder->builders[k].bytes.size_bytes;
        decoder->builders[k].marked_nulls = decoder->builders[k].null_count;
    }
    bool good = true;
    for (int32_t k = 0; k < n_ops && good; k++) {
        good = read_field(lanes, &decoder->ops[k]);
    }
    for (int32_t i = 0; i < lanes->n && good; i++) {
        bool jumped = n_ops < decoder->n_ops;
        good = lanes->at[i] == lanes->ends[i] || (jumped && lanes->at[i] < lanes->ends[i]);
    }
    if (!good) {
        take_back(lanes);
    }
    return good;
}
