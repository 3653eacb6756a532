#include "seam/json_lines.h"

#include "base/utf8.h"
#include "base/words.h"

#include <stdbool.h>
#include <string.h>

enum { MOST_LEVELS = 60, MOST_DIGITS = 64, MOST_COUNT_DIGITS = 18, WORD = 8 };

/* What reads a piece of a line gets where it begins and where the line ends, and gives where the
 * piece ends; NULL where it is none. */

static const uint8_t *space(const uint8_t *at, const uint8_t *end) {
    while (at < end && (*at == ' ' || *at == '\t' || *at == '\r')) {
        at += 1;
    }
    return at;
}

static const uint8_t *sign(const uint8_t *at, const uint8_t *end, uint8_t wanted) {
    at = space(at, end);
    return at < end && *at == wanted ? at + 1 : NULL;
}

#define EACH(byte) (UINT64_C(0x0101010101010101) * (byte))

/* Of eight bytes of a text, how many come before one that is no plain character: a quote, a
 * backslash or a control character. */
static int plain_bytes(uint64_t word) {
    uint64_t quote = word ^ EACH('"');
    uint64_t back = word ^ EACH('\\');
    uint64_t found =
        ((quote - EACH(1)) & ~quote) | ((back - EACH(1)) & ~back) | ((word - EACH(0x20)) & ~word);
    found &= EACH(0x80);
    return found == 0 ? WORD : __builtin_ctzll(found) / 8;
}

/* The first byte of a text from `at` on that is no plain character. */
static const uint8_t *plain_end(const uint8_t *at, const uint8_t *end) {
    while (end - at >= WORD) {
        int plain = plain_bytes(seam_load64(at));
        at += plain;
        if (plain < WORD) {
            return at;
        }
    }
    while (at < end && *at >= 0x20 && *at != '"' && *at != '\\') {
        at += 1;
    }
    return at;
}

static bool is_hex(uint8_t byte) {
    return (byte >= '0' && byte <= '9') || ((byte | 0x20) >= 'a' && (byte | 0x20) <= 'f');
}

/* Of a text whose first quote is behind us; the end is behind its last one. */
static const uint8_t *text(const uint8_t *at, const uint8_t *end, bool *escaped) {
    for (;;) {
        at = plain_end(at, end);
        if (at == end || *at < 0x20) {
            return NULL;
        }
        if (*at == '"') {
            return at + 1;
        }
        *escaped = true;
        if (end - at < 2 || at[1] == 0 || strchr("\"\\/bfnrtu", at[1]) == NULL) {
            return NULL;
        }
        if (at[1] == 'u' && (end - at < 6 || !is_hex(at[2]) || !is_hex(at[3]) || !is_hex(at[4]) ||
                             !is_hex(at[5]))) {
            return NULL;
        }
        at += 2;
    }
}

static const uint8_t *digits(const uint8_t *at, const uint8_t *end) {
    const uint8_t *first = at;
    while (at < end && *at >= '0' && *at <= '9') {
        at += 1;
    }
    return at == first ? NULL : at;
}

static const uint8_t *number(const uint8_t *at, const uint8_t *end) {
    const uint8_t *begin = at;
    at += *at == '-';
    const uint8_t *whole = at;
    at = digits(at, end);
    if (at == NULL || (*whole == '0' && at - whole > 1)) {
        return NULL;
    }
    if (at < end && *at == '.') {
        at = digits(at + 1, end);
    }
    if (at != NULL && at < end && (*at | 0x20) == 'e') {
        at += 1;
        at = digits(at + (at < end && (*at == '+' || *at == '-')), end);
    }
    return at != NULL && at - begin <= MOST_DIGITS ? at : NULL;
}

static const uint8_t *word(const uint8_t *at, const uint8_t *end, const char *wanted) {
    size_t length = strlen(wanted);
    return (size_t)(end - at) >= length && memcmp(at, wanted, length) == 0 ? at + length : NULL;
}

static const uint8_t *scalar(const uint8_t *at, const uint8_t *end) {
    bool escaped;
    switch (*at) {
    case '"':
        return text(at + 1, end, &escaped);
    case 't':
        return word(at, end, "true");
    case 'f':
        return word(at, end, "false");
    case 'n':
        return word(at, end, "null");
    default:
        return number(at, end);
    }
}

/* A name with the colon behind it. */
static const uint8_t *name_and_colon(const uint8_t *at, const uint8_t *end) {
    bool escaped;
    at = sign(at, end, '"');
    at = at == NULL ? NULL : text(at, end, &escaped);
    return at == NULL ? NULL : sign(at, end, ':');
}

/* Any value, whatever it holds. */
static const uint8_t *value(const uint8_t *at, const uint8_t *end) {
    uint64_t objects = 0; /* for each level whether it is one, the innermost lowest */
    int levels = 0;
    for (;;) {
        at = space(at, end);
        if (at == end) {
            return NULL;
        }
        if (*at == '{' || *at == '[') {
            bool is_object = *at == '{';
            at = space(at + 1, end);
            if (at == end || levels == MOST_LEVELS) {
                return NULL;
            }
            if (*at != (is_object ? '}' : ']')) {
                objects = objects << 1 | is_object;
                levels += 1;
                at = is_object ? name_and_colon(at, end) : at;
                if (at == NULL) {
                    return NULL;
                }
                continue;
            }
            at += 1;
        } else if ((at = scalar(at, end)) == NULL) {
            return NULL;
        }
        for (bool ended = true; ended; levels -= ended, objects >>= ended) {
            if (levels == 0) {
                return at;
            }
            at = space(at, end);
            if (at == end || (*at != ',' && *at != ((objects & 1) ? '}' : ']'))) {
                return NULL;
            }
            ended = *at != ',';
            at += 1;
        }
        at = (objects & 1) ? name_and_colon(at, end) : at;
        if (at == NULL) {
            return NULL;
        }
    }
}

struct piece {
    const uint8_t *begin; /* NULL where it is not there */
    const uint8_t *end;
    bool escaped;
};

struct search {
    const struct seam_json_field *fields;
    int32_t field_count;
    int32_t text_count;
    size_t lengths[SEAM_JSON_MOST_FIELDS];
    struct piece pieces[SEAM_JSON_MOST_FIELDS];
    int64_t counts[SEAM_JSON_MOST_FIELDS];
};

static int32_t field_of(const struct search *search, const uint8_t *name, size_t length) {
    for (int32_t i = 0; i < search->field_count; i++) {
        if (search->lengths[i] == length && memcmp(search->fields[i].name, name, length) == 0) {
            return i;
        }
    }
    return -1;
}

static const uint8_t *count(const uint8_t *at, const uint8_t *end, int64_t *found) {
    const uint8_t *last = digits(at, end);
    if (last == NULL || last - at > MOST_COUNT_DIGITS || (*at == '0' && last - at > 1)) {
        return NULL;
    }
    *found = 0;
    for (; at < last; at++) {
        *found = *found * 10 + (*at - '0');
    }
    return at;
}

/* The value of a field that is asked for. */
static const uint8_t *wanted(struct search *search, int32_t field, const uint8_t *at,
                             const uint8_t *end) {
    if (at < end && *at == 'n') {
        return word(at, end, "null");
    }
    int32_t kind = search->fields[field].kind;
    if (kind == SEAM_JSON_COUNT) {
        return count(at, end, &search->counts[field]);
    }
    struct piece *piece = &search->pieces[field];
    bool is_text = kind == SEAM_JSON_TEXT;
    if (at == end || *at != (is_text ? '"' : '{')) {
        return NULL;
    }
    piece->begin = at + is_text;
    at = is_text ? text(at + 1, end, &piece->escaped) : value(at, end);
    piece->end = is_text && at != NULL ? at - 1 : at;
    return at;
}

/* One field of the object, asked for or not. */
static const uint8_t *member(struct search *search, uint32_t *seen, const uint8_t *at,
                             const uint8_t *end) {
    bool escaped = false;
    const uint8_t *name = sign(at, end, '"');
    const uint8_t *behind = name == NULL ? NULL : text(name, end, &escaped);
    at = behind == NULL || escaped ? NULL : sign(behind, end, ':');
    if (at == NULL) {
        return NULL;
    }
    at = space(at, end);
    int32_t field = field_of(search, name, (size_t)(behind - 1 - name));
    if (field < 0) {
        return value(at, end);
    }
    if (*seen >> field & 1) {
        return NULL;
    }
    *seen |= UINT32_C(1) << field;
    return wanted(search, field, at, end);
}

static bool take_line(struct search *search, const char *name, const uint8_t *at,
                      const uint8_t *end) {
    int ascii;
    if (!seam_utf8_valid(at, end - at, &ascii) || (at = sign(at, end, '{')) == NULL ||
        (at = sign(at, end, '"')) == NULL || (at = word(at, end, name)) == NULL || at == end ||
        *at != '"' || (at = sign(at + 1, end, ':')) == NULL || (at = sign(at, end, '{')) == NULL) {
        return false;
    }
    const uint8_t *closed = sign(at, end, '}');
    uint32_t seen = 0;
    while (closed == NULL) {
        at = member(search, &seen, at, end);
        if (at == NULL) {
            return false;
        }
        closed = sign(at, end, '}');
        if (closed == NULL && (at = sign(at, end, ',')) == NULL) {
            return false;
        }
    }
    at = sign(closed, end, '}');
    return at != NULL && space(at, end) == end;
}

/* Writes a text without its escapes, never more bytes than it has; NULL where one is by number. A
 * word of the text is written where a word of room is left, since the text has as many itself. */
static uint8_t *unescape(const struct piece *piece, uint8_t *out) {
    static const char MARKS[] = "\"\\/bfnrt";
    static const char MEANT[] = "\"\\/\b\f\n\r\t";
    const uint8_t *at = piece->begin;
    while (at < piece->end) {
        int plain = 0;
        if (piece->end - at >= WORD) {
            uint64_t some = seam_load64(at);
            seam_store64(out, some);
            plain = plain_bytes(some);
        } else {
            for (; at + plain < piece->end && at[plain] != '\\'; plain++) {
                out[plain] = at[plain];
            }
        }
        at += plain;
        out += plain;
        if (at < piece->end && *at == '\\') {
            const char *mark = strchr(MARKS, at[1]);
            if (mark == NULL) {
                return NULL;
            }
            *out++ = (uint8_t)MEANT[mark - MARKS];
            at += 2;
        }
    }
    return out;
}

/* Where what is found of all lines goes; see seam_json_lines. */
struct columns {
    int64_t size_bytes;
    int64_t line_count;
    uint8_t *there;
    int64_t *ends;
    int64_t *counts;
    uint8_t *texts;
};

/* Writes the texts of a line behind those of the lines before; false where one is not plain. */
static bool write_texts(const struct search *search, const struct columns *to, int64_t line) {
    for (int32_t i = 0; i < search->text_count; i++) {
        const struct piece *piece = &search->pieces[i];
        int64_t *end = to->ends + i * (to->line_count + 1) + line;
        uint8_t *texts = to->texts + i * to->size_bytes;
        uint8_t *out = texts + end[0];
        if (piece->begin != NULL && piece->escaped) {
            out = unescape(piece, out);
            if (out == NULL) {
                return false;
            }
        } else if (piece->begin != NULL) {
            memcpy(out, piece->begin, (size_t)(piece->end - piece->begin));
            out += piece->end - piece->begin;
        }
        to->there[i * to->line_count + line] = piece->begin != NULL;
        end[1] = out - texts;
    }
    return true;
}

/* Says of a line that it has nothing. */
static void write_nothing(const struct search *search, const struct columns *to, int64_t line) {
    for (int32_t i = 0; i < search->text_count; i++) {
        int64_t *end = to->ends + i * (to->line_count + 1) + line;
        to->there[i * to->line_count + line] = 0;
        end[1] = end[0];
    }
}

static void write_counts(const struct search *search, const struct columns *to, int64_t line,
                         bool is_odd) {
    for (int32_t i = search->text_count; i < search->field_count; i++) {
        to->counts[(i - search->text_count) * to->line_count + line] =
            is_odd ? -1 : search->counts[i];
    }
}

static bool begin_search(struct search *search, const struct seam_json_field *fields,
                         int32_t field_count) {
    if (field_count < 0 || field_count > SEAM_JSON_MOST_FIELDS) {
        return false;
    }
    search->fields = fields;
    search->field_count = field_count;
    search->text_count = 0;
    for (int32_t i = 0; i < field_count; i++) {
        search->lengths[i] = strlen(fields[i].name);
        if (fields[i].kind != SEAM_JSON_COUNT) {
            if (i > search->text_count) {
                return false;
            }
            search->text_count += 1;
        }
    }
    return true;
}

int64_t seam_json_lines(const uint8_t *bytes, int64_t size_bytes, int64_t line_count,
                        const char *name, const struct seam_json_field *fields, int32_t field_count,
                        uint8_t *odd, uint8_t *there, int64_t *ends, int64_t *counts,
                        uint8_t *texts) {
    struct search search;
    if (line_count < 1 || !begin_search(&search, fields, field_count)) {
        return -1;
    }
    struct columns to = {size_bytes, line_count, there, ends, counts, texts};
    for (int32_t i = 0; i < search.text_count; i++) {
        ends[i * (line_count + 1)] = 0;
    }
    const uint8_t *at = bytes, *end = bytes + size_bytes;
    int64_t odd_count = 0;
    for (int64_t line = 0; line < line_count; line++) {
        const uint8_t *stop = memchr(at, '\n', (size_t)(end - at));
        if ((stop == NULL) != (line == line_count - 1)) {
            return -1;
        }
        stop = stop == NULL ? end : stop;
        memset(search.pieces, 0, sizeof search.pieces);
        memset(search.counts, 0xFF, sizeof search.counts);
        odd[line] = !take_line(&search, name, at, stop) || !write_texts(&search, &to, line);
        if (odd[line]) {
            write_nothing(&search, &to, line);
        }
        write_counts(&search, &to, line, odd[line]);
        odd_count += odd[line];
        at = stop == end ? end : stop + 1;
    }
    return odd_count;
}
