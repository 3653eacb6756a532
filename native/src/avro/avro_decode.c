/* The loop of the Avro decoder. */
#include "avro/avro_values.h"

/* The value of a scalar branch as a word; false if the kind has none. */
static bool tagged_word(const uint8_t *from, int32_t kind, int64_t *word) {
    uint64_t bits = 0;
    double wide;
    switch (kind) {
    case SEAM_AVRO_NULL:
        break;
    case SEAM_AVRO_BOOLEAN:
        bits = *from;
        break;
    case SEAM_AVRO_INT:
    case SEAM_AVRO_LONG:
        seam_varint(from, &bits);
        bits = (uint64_t)seam_zigzag(bits);
        break;
    case SEAM_AVRO_FLOAT:
        wide = widen(load_float(from));
        memcpy(&bits, &wide, sizeof bits);
        break;
    case SEAM_AVRO_DOUBLE:
        bits = seam_load64(from);
        break;
    default:
        return false;
    }
    *word = (int64_t)bits;
    return true;
}

static const uint8_t *put_tagged(const struct context *context, const struct op *op,
                                 const uint8_t *p) {
    const struct seam_avro_decoder *decoder = context->decoder;
    const struct node *nodes = decoder->nodes;
    const struct node *node = &nodes[op->node];
    int64_t branch;
    p = read_long(context, p, false, &branch);
    if (p == NULL || branch < 0 || branch >= node->n_children) {
        return fail(context, "a union has no such branch");
    }
    int32_t value = decoder->children[node->first_child + branch];
    while (nodes[value].kind == SEAM_AVRO_RECORD && nodes[value].n_children == 1) {
        value = decoder->children[nodes[value].first_child]; /* a wrapper takes no bytes itself */
    }
    const uint8_t *from = p;
    const char *wrong = seam_avro_skip(decoder, value, &p, context->end, 0);
    if (wrong != NULL) {
        return fail(context, wrong);
    }
    int64_t word = 0;
    bool scalar = tagged_word(from, nodes[value].kind, &word);
    ((int32_t *)op->builder[0].values.data)[context->row] = (int32_t)branch;
    ((int64_t *)op->builder[1].values.data)[context->row] = word;
    return put_bytes(context, &op->builder[2], from, scalar ? 0 : p - from) == NULL ? NULL : p;
}

static const uint8_t *put_items(const struct context *context, const struct op *op,
                                const uint8_t *p);
static const uint8_t *put_struct(const struct context *context, const struct op *op,
                                 const uint8_t *p);

/* Decodes the value of one field. Returns the first byte behind it, or NULL with the fault set. */
static inline const uint8_t *decode_value(const struct context *context, const struct op *op,
                                          const uint8_t *p) {
    switch (op->code) {
    case OP_TAGGED:
        return put_tagged(context, op, p);
    case OP_LIST:
    case OP_MAP:
        return put_items(context, op, p);
    case OP_STRUCT:
        return put_struct(context, op, p);
    default:
        return decode_scalar(context, op, op->code, p);
    }
}

/* Passes over plain values, as many as have nothing unusual about them, and moves `*at` behind
 * their ops. The one that it stops at, should it be broken, is for decode_value to judge. Returns
 * the first byte behind them. */
static inline __attribute__((always_inline)) const uint8_t *
skip_plain(const struct op **at, const uint8_t *p, const uint8_t *end) {
    const struct op *op = *at;
    for (const struct op *const last = op + op->n_skips; op < last && p <= end; op++) {
        const uint8_t *from = p;
        if (op->nullable) {
            uint8_t branch = *from++;
            if (UNLIKELY(branch != op->present)) {
                if (branch != op->absent) {
                    break;
                }
                p = from;
                continue;
            }
        }
        uint64_t word = (uint64_t)op->size;
        if (op->code == OP_SKIP_BYTES) {
            from = seam_varint(from, &word);
            if (UNLIKELY(from == NULL || (word & 1) != 0)) { /* less than nothing */
                break;
            }
            word >>= 1;
        } else if (op->code == OP_SKIP_VARINT) {
            uint64_t stops = ~seam_load64(from) & UINT64_C(0x8080808080808080);
            if (UNLIKELY(stops == 0)) {
                break;
            }
            p = from + (__builtin_ctzll(stops) >> 3) + 1;
            continue;
        }
        if (UNLIKELY((int64_t)word > end - from)) {
            break;
        }
        p = from + word;
    }
    *at = op;
    return p;
}

/* Decodes fields one after the other. Every one must start within the record; what is read without
 * asking lies within SLACK_BYTES behind it. Returns the first byte behind them, or NULL with the
 * fault set, which is the innermost field's. */
static inline __attribute__((always_inline)) const uint8_t *
decode_fields(const struct context *context, const struct op *op, int32_t n_ops, const uint8_t *p) {
    for (const struct op *const last = op + n_ops; op < last; op++) {
        if (op->n_skips > 0) {
            p = skip_plain(&op, p, context->end);
            if (op == last) {
                break;
            }
        }
        const uint8_t *next = p;
        int present = 1;
        if (UNLIKELY(p > context->end)) {
            next = fail(context, PAST_END);
        } else if (op->nullable) {
            present = read_branch(op, &next);
            if (UNLIKELY(present < 0)) {
                next = fail(context, "a union has no such branch");
            }
        }
        if (LIKELY(next != NULL)) {
            next = LIKELY(present) ? decode_value(context, op, next) : put_null(context, op, next);
        }
        if (UNLIKELY(next == NULL)) {
            if (context->fault->op == NULL) {
                context->fault->op = op;
                context->fault->at = p;
            }
            return NULL;
        }
        p = next;
    }
    return p;
}

static const uint8_t *put_struct(const struct context *context, const struct op *op,
                                 const uint8_t *p) {
    return decode_fields(context, op->ops, op->n_ops, p);
}

/* Reads the count before a run of items, and, if the run tells its size, where it ends (or NULL).
 * Items have `least` bytes or more. */
static const uint8_t *read_run(const uint8_t *p, const uint8_t *end, int64_t least, int64_t *count,
                               const uint8_t **run_end) {
    uint64_t word = 0;
    p = p > end ? NULL : seam_varint(p, &word);
    *count = seam_zigzag(word);
    *run_end = NULL;
    if (p != NULL && *count < 0 && *count != INT64_MIN) {
        *count = -*count;
        p = p > end ? NULL : seam_varint(p, &word);
        int64_t size = seam_zigzag(word);
        if (p == NULL || size < 0 || size > end - p) {
            return NULL;
        }
        *run_end = p + size;
    }
    return p == NULL || *count < 0 || p > end || *count > (end - p) / least ? NULL : p;
}

/* Fewest bytes of one item: a key's length, a value. */
static int64_t least_bytes(const struct seam_avro_decoder *decoder, const struct op *op) {
    int32_t item = decoder->children[decoder->nodes[op->node].first_child];
    return decoder->nodes[item].min_bytes + (op->code == OP_MAP);
}

/* Lists and maps: runs of items until a count of 0. */
static const uint8_t *put_items(const struct context *context, const struct op *op,
                                const uint8_t *p) {
    struct seam_avro_decoder *decoder = context->decoder;
    struct level *level = &decoder->levels[op->builder->items];
    const int64_t least = least_bytes(decoder, op);
    struct context inner = *context;
    int64_t count = 1;
    while (count > 0) {
        const uint8_t *run_end;
        p = read_run(p, context->end, least, &count, &run_end);
        if (UNLIKELY(p == NULL)) {
            return fail(context, "a count or size does not fit what follows");
        }
        int code = seam_level_reserve(decoder, op->builder->items, count, context->error);
        if (UNLIKELY(code != SEAM_OK)) {
            return fail_with(context, code);
        }
        for (int64_t i = 0; i < count; i++) {
            inner.row = level->rows + i;
            p = decode_fields(&inner, op->ops, op->n_ops, p);
            if (UNLIKELY(p == NULL)) {
                return NULL;
            }
        }
        if (UNLIKELY(run_end != NULL && p != run_end)) {
            return fail(context, "a run of items does not end where its size says");
        }
        level->rows += count;
    }
    ((int32_t *)op->builder->values.data)[context->row + 1] = (int32_t)level->rows;
    return p;
}

/* Makes the sentence of a failure: which field, which record. */
static int fail_field(const struct context *context, const struct cursor *cursor) {
    const struct fault *fault = context->fault;
    const struct seam_avro_decoder *decoder = context->decoder;
    char detail[256] = "";
    if (fault->code == SEAM_NO_MEMORY || context->error == NULL) {
        return fault->code;
    }
    snprintf(detail, sizeof detail, "%.255s",
             fault->what != NULL ? fault->what : context->error->message);
    return seam_fail(context->error, fault->code,
                     cursor->begin_offset + (fault->at - cursor->begin),
                     "field '%s' of record %lld: %s", decoder->nodes[fault->op->field].name.bytes,
                     (long long)cursor->number, detail);
}

/* Decodes the first `n_ops` fields of one record into row `row`. */
static int decode_record(struct seam_avro_decoder *decoder, struct cursor *cursor, int32_t n_ops,
                         int64_t row, struct seam_error *error) {
    struct fault fault;
    fault.op = NULL;
    const struct context context = {decoder, row, cursor->end, &fault, error};
    const uint8_t *p = decode_fields(&context, decoder->ops, n_ops, cursor->at);
    if (UNLIKELY(p == NULL)) {
        return fail_field(&context, cursor);
    }
    cursor->at = p;
    return SEAM_OK;
}

/* Makes `size` bytes at `from` readable with SLACK_BYTES behind them. */
static int copy_aside(struct seam_avro_decoder *decoder, const uint8_t *from, int64_t size,
                      const uint8_t **out, struct seam_error *error) {
    SEAM_TRY(seam_buffer_reserve(&decoder->scratch, size + SLACK_BYTES, error));
    if (size > 0) {
        memcpy(decoder->scratch.data, from, (size_t)size);
    }
    memset(decoder->scratch.data + size, 0, SLACK_BYTES);
    *out = decoder->scratch.data;
    return SEAM_OK;
}

/* Lengths alone are read, each where the one before it says: without this, each waits for memory.
 * A page that no one has touched is not fetched, so that one of a few is touched before. */
static void fetch_ahead(const uint8_t *data, int64_t size_bytes, int64_t at, int64_t length) {
    enum { LINE = 64, AHEAD = 4096, MOST = 1024, TOUCHED = 16384 };
    int64_t begin = at + AHEAD;
    int64_t end = begin + (length < MOST ? length : MOST);
    for (int64_t line = begin; line < end && line < size_bytes; line += LINE) {
        __builtin_prefetch(data + line);
    }
    int64_t next = at + length + TOUCHED;
    if (at / TOUCHED != (at + length) / TOUCHED && next < size_bytes) {
        (void)*(const volatile uint8_t *)(data + next);
    }
}

/* Framed records, and which of them to decode how far. */
struct frames {
    const uint8_t *data;
    int64_t size_bytes;
    const uint8_t *kept; /* a bit for each; NULL: all */
    bool jumped;         /* SEAM_AVRO_JUMPED */
};

/* Reads the length at `at`; the record is there as a whole. */
static int read_frame(const struct frames *frames, int64_t at, int64_t number, int64_t *length,
                      struct seam_error *error) {
    if (frames->size_bytes - at < 4) {
        return seam_fail(error, SEAM_BAD_INPUT, at, "record %lld begins past the end of the block",
                         (long long)number);
    }
    *length = (int32_t)seam_load_be32(frames->data + at);
    if (*length < 0 || *length > frames->size_bytes - at - 4) {
        return seam_fail(error, SEAM_BAD_INPUT, at,
                         "record %lld claims %lld bytes where the block has %lld left",
                         (long long)number, (long long)*length,
                         (long long)(frames->size_bytes - at - 4));
    }
    return SEAM_OK;
}

/* One record behind its length, into row `row`. */
static int decode_framed(struct seam_avro_decoder *decoder, const struct frames *frames,
                         int64_t begin, int64_t length, int64_t number, int64_t row,
                         struct seam_error *error) {
    struct cursor cursor = {.begin = frames->data + begin, .begin_offset = begin, .number = number};
    if (UNLIKELY(frames->size_bytes - begin - length < SLACK_BYTES)) {
        SEAM_TRY(copy_aside(decoder, frames->data + begin, length, &cursor.begin, error));
    }
    cursor.at = cursor.begin;
    cursor.end = cursor.begin + length;
    int32_t n_ops = frames->jumped ? decoder->n_needed : decoder->n_ops;
    SEAM_TRY(decode_record(decoder, &cursor, n_ops, row, error));
    bool fits = cursor.at == cursor.end || (n_ops < decoder->n_ops && cursor.at < cursor.end);
    if (!fits) {
        return seam_fail(error, SEAM_BAD_INPUT, begin,
                         "record %lld takes %lld bytes, its length says %lld", (long long)number,
                         (long long)(cursor.at - cursor.begin), (long long)length);
    }
    return SEAM_OK;
}

/* Records whose frames were read, and which are decoded together. */
struct waiting {
    struct seam_lanes lanes;
    int64_t numbers[MOST_LANES];
};

/* Decodes them, which are behind those of rows before `*row`. Where something is wrong with one,
 * all are read again, one after the other, as far as it. */
static int decode_waiting(struct seam_avro_decoder *decoder, const struct frames *frames,
                          struct waiting *waiting, int64_t *row, struct seam_error *error) {
    struct seam_lanes lanes = waiting->lanes;
    int32_t n_ops = frames->jumped ? decoder->n_needed : decoder->n_ops;
    waiting->lanes.n = 0;
    lanes.first_row = *row;
    *row += lanes.n;
    if (lanes.n == 0 || (decoder->has_lanes && seam_avro_read_lanes(&lanes, n_ops))) {
        return SEAM_OK;
    }
    for (int32_t i = 0; i < lanes.n; i++) {
        const uint8_t *begin = waiting->lanes.at[i];
        SEAM_TRY(decode_framed(decoder, frames, begin - frames->data, lanes.ends[i] - begin,
                               waiting->numbers[i], lanes.first_row + i, error));
    }
    return SEAM_OK;
}

/* Records with their lengths before them; moves `*at` behind them. */
static int decode_frames(struct seam_avro_decoder *decoder, const struct frames *frames,
                         int64_t *at, int64_t n_records, struct seam_error *error) {
    bool jumps = frames->jumped || frames->kept != NULL;
    int64_t row = decoder->levels[0].first_row;
    struct waiting waiting = {.lanes = {.decoder = decoder}};
    for (int64_t i = 0; i < n_records; i++) {
        int64_t length = 0;
        int code = read_frame(frames, *at, i, &length, error);
        if (code != SEAM_OK) { /* what is wrong with a record before comes first */
            SEAM_TRY(decode_waiting(decoder, frames, &waiting, &row, error));
            return read_frame(frames, *at, i, &length, error);
        }
        if (jumps) {
            fetch_ahead(frames->data, frames->size_bytes, *at, 4 + length);
        }
        bool kept = frames->kept == NULL || (frames->kept[i >> 3] >> (i & 7) & 1) != 0;
        int64_t begin = *at + 4;
        *at = begin + length;
        if (kept && frames->size_bytes - *at < SLACK_BYTES) {
            SEAM_TRY(decode_waiting(decoder, frames, &waiting, &row, error));
            SEAM_TRY(decode_framed(decoder, frames, begin, length, i, row++, error));
        } else if (kept) {
            int32_t lane = waiting.lanes.n++;
            waiting.numbers[lane] = i;
            waiting.lanes.at[lane] = frames->data + begin;
            waiting.lanes.ends[lane] = frames->data + *at;
            if (lane + 1 == MOST_LANES) {
                SEAM_TRY(decode_waiting(decoder, frames, &waiting, &row, error));
            }
        }
    }
    return decode_waiting(decoder, frames, &waiting, &row, error);
}

/* Records without lengths, up to the end of the data. */
static int decode_plain(struct seam_avro_decoder *decoder, const uint8_t *data, int64_t size_bytes,
                        int64_t *at, int64_t n_records, struct seam_error *error) {
    struct cursor cursor = {.begin_offset = *at};
    int64_t size = size_bytes - *at;
    SEAM_TRY(copy_aside(decoder, data + *at, size, &cursor.begin, error));
    int code = SEAM_OK;
    cursor.at = cursor.begin;
    cursor.end = cursor.begin + size;
    for (int64_t i = 0; i < n_records && code == SEAM_OK; i++) {
        cursor.number = i;
        int64_t row = decoder->levels[0].first_row + i;
        code = decode_record(decoder, &cursor, decoder->n_ops, row, error);
    }
    *at += cursor.at - cursor.begin;
    return code;
}

static int check_call(const struct seam_avro_decoder *decoder, int64_t size_bytes,
                      int64_t offset_bytes, struct seam_error *error) {
    if (decoder->broken) {
        return seam_fail(error, SEAM_BAD_ARGUMENT, -1, "this decoder failed before");
    }
    if (offset_bytes < 0 || offset_bytes > size_bytes) {
        return seam_fail(error, SEAM_BAD_ARGUMENT, -1, "offset %lld in %lld bytes",
                         (long long)offset_bytes, (long long)size_bytes);
    }
    return SEAM_OK;
}

/* How many of the records are kept. */
static int64_t count_kept(const uint8_t *kept, int64_t n_records) {
    int64_t count = 0;
    for (int64_t i = 0; i < n_records; i++) {
        count += kept[i >> 3] >> (i & 7) & 1;
    }
    return count;
}

/* Appends those of `n_records` records that are kept (NULL: all). */
static int decode_some(struct seam_avro_decoder *decoder, const uint8_t *data, int64_t size_bytes,
                       int64_t offset_bytes, int64_t n_records, const uint8_t *kept,
                       enum seam_avro_framing framing, struct seam_error *error) {
    bool framed = framing != SEAM_AVRO_PLAIN;
    SEAM_TRY(check_call(decoder, size_bytes, offset_bytes, error));
    int64_t least = (framed ? 4 : 0) + (int64_t)decoder->nodes[0].min_bytes;
    if (least < 1) {
        return seam_fail(error, SEAM_BAD_ARGUMENT, -1, "records that take no bytes have no count");
    }
    decoder->broken = true; /* until the end is reached */
    if (n_records < 0 || n_records > (size_bytes - offset_bytes) / least) {
        return seam_fail(error, SEAM_BAD_INPUT, offset_bytes,
                         "%lld records of at least %lld bytes each do not fit %lld bytes",
                         (long long)n_records, (long long)least,
                         (long long)(size_bytes - offset_bytes));
    }
    int64_t rows = kept == NULL ? n_records : count_kept(kept, n_records);
    SEAM_TRY(seam_level_reserve(decoder, 0, rows, error));
    int64_t at = offset_bytes;
    if (framed) {
        const struct frames frames = {data, size_bytes, kept, framing == SEAM_AVRO_JUMPED};
        SEAM_TRY(decode_frames(decoder, &frames, &at, n_records, error));
    } else {
        SEAM_TRY(decode_plain(decoder, data, size_bytes, &at, n_records, error));
    }
    if (at != size_bytes) {
        return seam_fail(error, SEAM_BAD_INPUT, at, "%lld bytes are left behind the last record",
                         (long long)(size_bytes - at));
    }
    decoder->levels[0].rows += rows;
    decoder->broken = false;
    return SEAM_OK;
}

int seam_avro_decode(struct seam_avro_decoder *decoder, const uint8_t *data, int64_t size_bytes,
                     int64_t offset_bytes, int64_t n_records, enum seam_avro_framing framing,
                     struct seam_error *error) {
    return decode_some(decoder, data, size_bytes, offset_bytes, n_records, NULL, framing, error);
}

int seam_avro_decode_kept(struct seam_avro_decoder *decoder, const uint8_t *data,
                          int64_t size_bytes, int64_t offset_bytes, int64_t n_records,
                          const uint8_t *kept, enum seam_avro_framing framing,
                          struct seam_error *error) {
    if (kept == NULL || framing == SEAM_AVRO_PLAIN) {
        return seam_fail(error, SEAM_BAD_ARGUMENT, -1, "only framed records can be left out");
    }
    return decode_some(decoder, data, size_bytes, offset_bytes, n_records, kept, framing, error);
}

void seam_avro_cut(const uint8_t *data, int64_t size_bytes, int64_t offset_bytes, int64_t n_records,
                   int64_t piece_bytes, int64_t *end_bytes, int64_t *count) {
    int64_t at = offset_bytes;
    *end_bytes = size_bytes;
    *count = n_records;
    for (int64_t i = 0; i < n_records; i++) {
        if (i > 0 && at - offset_bytes >= piece_bytes) {
            *end_bytes = at;
            *count = i;
            return;
        }
        int64_t length = size_bytes - at < 4 ? -1 : (int32_t)seam_load_be32(data + at);
        if (length < 0 || length > size_bytes - at - 4) {
            return;
        }
        fetch_ahead(data, size_bytes, at, 4 + length);
        at += 4 + length;
    }
}

static int decode_run(struct seam_avro_decoder *decoder, struct cursor *cursor, int64_t *count,
                      struct seam_error *error) {
    const uint8_t *run_end;
    const uint8_t *p =
        read_run(cursor->at, cursor->end, decoder->nodes[0].min_bytes, count, &run_end);
    if (p == NULL) {
        return seam_fail(error, SEAM_BAD_INPUT, cursor->begin_offset + (cursor->at - cursor->begin),
                         "an array's count or size does not fit what follows");
    }
    cursor->at = p;
    SEAM_TRY(seam_level_reserve(decoder, 0, *count, error));
    for (int64_t i = 0; i < *count; i++) {
        cursor->number = i;
        int64_t row = decoder->levels[0].first_row + i;
        SEAM_TRY(decode_record(decoder, cursor, decoder->n_ops, row, error));
    }
    if (run_end != NULL && cursor->at != run_end) {
        return seam_fail(error, SEAM_BAD_INPUT, cursor->begin_offset + (cursor->at - cursor->begin),
                         "a run of an array does not end where its size says");
    }
    decoder->levels[0].rows += *count; /* a count that was refused may be any number */
    return SEAM_OK;
}

int seam_avro_decode_array(struct seam_avro_decoder *decoder, const uint8_t *data,
                           int64_t size_bytes, int64_t offset_bytes, struct seam_error *error) {
    SEAM_TRY(check_call(decoder, size_bytes, offset_bytes, error));
    if (decoder->nodes[0].min_bytes < 1) {
        return seam_fail(error, SEAM_BAD_ARGUMENT, -1, "items that take no bytes have no count");
    }
    struct cursor cursor = {.begin_offset = offset_bytes};
    int64_t size = size_bytes - offset_bytes;
    decoder->broken = true;
    SEAM_TRY(copy_aside(decoder, data + offset_bytes, size, &cursor.begin, error));
    int code = SEAM_OK;
    cursor.at = cursor.begin;
    cursor.end = cursor.begin + size;
    int64_t count = 1;
    while (code == SEAM_OK && count > 0) {
        code = decode_run(decoder, &cursor, &count, error);
    }
    if (code == SEAM_OK && cursor.at != cursor.end) {
        code =
            seam_fail(error, SEAM_BAD_INPUT, offset_bytes + (cursor.at - cursor.begin),
                      "%lld bytes are left behind the array", (long long)(cursor.end - cursor.at));
    }
    decoder->broken = code != SEAM_OK;
    return code;
}
