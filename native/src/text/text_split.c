/* Rows cut into fields. */
#include "text/text_internal.h"

#define EACH UINT64_C(0x0101010101010101)
#define HIGH UINT64_C(0x8080808080808080)

/* The highest bit of each byte of `word` that equals the one of which `pattern` is made. */
static inline uint64_t equal_bytes(uint64_t word, uint64_t pattern) {
    uint64_t other = word ^ pattern;
    uint64_t low = (other & ~HIGH) + ~HIGH;
    return ~(low | other | ~HIGH);
}

static void split_plain(struct piece text, uint8_t separator, int32_t n_wanted, int32_t *starts,
                        int32_t *found) {
    const uint8_t *at = text.begin;
    uint64_t pattern = separator * EACH;
    int32_t n = *found;
    for (; text.end - at >= 8; at += 8) {
        uint64_t word;
        memcpy(&word, at, sizeof word);
        for (uint64_t hits = equal_bytes(word, pattern); hits != 0; hits &= hits - 1) {
            starts[n++] = (int32_t)(at - text.begin) + (__builtin_ctzll(hits) >> 3) + 1;
            if (n > n_wanted) {
                *found = n;
                return;
            }
        }
    }
    for (; at < text.end; at++) {
        if (*at == separator) {
            starts[n++] = (int32_t)(at - text.begin) + 1;
            if (n > n_wanted) {
                break;
            }
        }
    }
    *found = n;
}

static void split_escaped(struct piece text, uint8_t separator, uint8_t escape, int32_t n_wanted,
                          int32_t *starts, int32_t *found) {
    int32_t n = *found;
    for (const uint8_t *at = text.begin; at < text.end; at++) {
        if (*at == separator) {
            starts[n++] = (int32_t)(at - text.begin) + 1;
            if (n > n_wanted) {
                break;
            }
        } else if (*at == escape && at + 1 < text.end) {
            at++;
        }
    }
    *found = n;
}

void seam_text_split(struct piece text, uint8_t separator, int32_t escape, bool takes_rest,
                     int32_t n_fields, int32_t n_used, int32_t *starts) {
    int32_t n = 1;
    /* The last field's end is a separator, too, unless it takes the rest. */
    int32_t n_wanted = takes_rest && n_used == n_fields ? n_used - 1 : n_used;
    starts[0] = 0;
    if (n_wanted > 0) {
        if (escape < 0) {
            split_plain(text, separator, n_wanted, starts, &n);
        } else {
            split_escaped(text, separator, (uint8_t)escape, n_wanted, starts, &n);
        }
    }
    for (; n <= n_used; n++) {
        starts[n] = (int32_t)piece_size(text) + 1;
    }
}

const uint8_t *seam_text_item_end(const uint8_t *at, const uint8_t *end, uint8_t separator,
                                  int32_t escape) {
    if (escape < 0) {
        const uint8_t *found = memchr(at, separator, (size_t)(end - at));
        return found == NULL ? end : found;
    }
    for (; at < end && *at != separator; at++) {
        if (*at == escape && at + 1 < end) {
            at++;
        }
    }
    return at;
}

static bool all_blank(const uint8_t *begin, const uint8_t *end) {
    for (; begin < end; begin++) {
        if (*begin != ' ' && (*begin < '\t' || *begin > '\r') && (*begin < 0x1c || *begin > 0x1f)) {
            return false;
        }
    }
    return true;
}

/* The rules of the parser that Hive's OpenCSVSerde uses (opencsv 2.3): an escape is dropped, and
 * what follows it taken as it stands if it is a quote or an escape within a field; a quote in the
 * middle of a field is kept; a field whose quotes do not end is missing. */
int seam_text_split_csv(struct seam_text_parser *parser, struct piece line,
                        struct seam_error *error) {
    const struct seam_text_format *format = &parser->format;
    struct seam_buffer *scratch = &parser->scratch;
    int64_t size = piece_size(line);
    scratch->size_bytes = 0;
    SEAM_TRY(seam_buffer_reserve(scratch, size + format->n_fields + 1, error));
    uint8_t separator = format->separators[0], quote = (uint8_t)format->quote;
    uint8_t *out = scratch->data, *field = out;
    bool in_quotes = false, in_field = false;
    int32_t n = 0, *starts = parser->starts, n_used = parser->n_used;
    int64_t units = 0; /* characters before this one, as Java counts them */
    starts[0] = 0;
    for (const uint8_t *at = line.begin; at < line.end && n < n_used; at++) {
        uint8_t byte = *at;
        bool more = at + 1 < line.end;
        if (byte == format->escape) {
            if ((in_quotes || in_field) && more && (at[1] == quote || at[1] == format->escape)) {
                *out++ = *++at;
                units++;
            }
        } else if (byte == quote) {
            if ((in_quotes || in_field) && more && at[1] == quote) {
                *out++ = *++at;
                units++;
            } else {
                if (units > 2 && at[-1] != separator && more && at[1] != separator) {
                    if (out > field && all_blank(field, out)) {
                        out = field;
                    } else {
                        *out++ = byte;
                    }
                }
                in_quotes = !in_quotes;
            }
            in_field = !in_field;
        } else if (byte == separator && !in_quotes) {
            *out++ = separator; /* a byte between fields, as in a text that is cut */
            field = out;
            starts[++n] = (int32_t)(out - scratch->data);
            in_field = false;
        } else {
            *out++ = byte;
            in_field = true;
        }
        units += ((byte & 0xc0) != 0x80) + (byte >= 0xf0);
    }
    int64_t used = out - scratch->data;
    if (n < n_used && !in_quotes && size > 0) {
        starts[++n] = (int32_t)used + 1;
    }
    for (int32_t last = starts[n]; n < n_used;) {
        starts[++n] = last; /* size -1: missing */
    }
    scratch->size_bytes = used;
    return SEAM_OK;
}
