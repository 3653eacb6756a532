/* Lines of JSON that hold one object under one name each, such as {"add":{"path":"a","size":7}}:
 * some fields of many such objects at once.
 *
 * A line is taken where it is plain: JSON by RFC 8259 in valid UTF-8, the one object and nothing
 * beside it, each field that is asked for there at most once, of its kind or null. All others,
 * whether something is wrong with them or they are merely rare, are told as odd and are another
 * reader's: those where a text that is asked for, or a name, has a character by its number, numbers
 * of many digits, what is nested deeper than 60 levels. Nothing is allocated.
 */
#ifndef SEAM_JSON_LINES_H
#define SEAM_JSON_LINES_H

#include <stdint.h>

enum seam_json_kind {
    SEAM_JSON_TEXT = 0,   /* a text; its escapes are undone */
    SEAM_JSON_OBJECT = 1, /* an object; its JSON as it stands */
    SEAM_JSON_COUNT = 2,  /* a whole number from 0 on, of at most 18 digits */
};

enum { SEAM_JSON_MOST_FIELDS = 16 };

struct seam_json_field {
    const char *name;
    int32_t kind;
};

/* Takes `field_count` fields, at most SEAM_JSON_MOST_FIELDS, of `line_count` lines, between which
 * ends of lines stand. Texts and objects are the first fields, counts the last ones.
 *
 * Each field has its values side by side, those of line i at i: of texts and objects in `there`
 * whether it is there and not null, and in `texts`, where each field has room for `size_bytes`
 * bytes, its bytes, which end at i + 1 in `ends` and begin at i (there each field has one number
 * more than there are lines); of counts in `counts` the number, -1 where it is null or not there.
 * `odd[i]` says whether a line is odd: then it has nothing. Returns the number of odd ones; -1
 * where there are not so many lines, or no such fields. */
int64_t seam_json_lines(const uint8_t *bytes, int64_t size_bytes, int64_t line_count,
                        const char *name, const struct seam_json_field *fields, int32_t field_count,
                        uint8_t *odd, uint8_t *there, int64_t *ends, int64_t *counts,
                        uint8_t *texts);

#endif
