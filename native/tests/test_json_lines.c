/* Fields of JSON lines: what is taken, what is left as odd, and that nothing is read or written
 * beyond what there is. */
#include "seam/json_lines.h"

#include "check.h"

#include <stdbool.h>
#include <string.h>

enum { FIELDS = 4, TEXTS = 3, MOST_LINES = 8, ROOM = 1024 };

static const struct seam_json_field ASKED[FIELDS] = {
    {"path", SEAM_JSON_TEXT},
    {"stats", SEAM_JSON_TEXT},
    {"values", SEAM_JSON_OBJECT},
    {"size", SEAM_JSON_COUNT},
};

struct found {
    uint8_t odd[MOST_LINES];
    uint8_t there[TEXTS * MOST_LINES];
    int64_t ends[TEXTS * (MOST_LINES + 1)];
    int64_t counts[MOST_LINES];
    char texts[TEXTS * ROOM];
};

/* Reads lines out of a block of just their size, into one of just the room that is asked for. */
static int64_t read_lines(const char *lines, int64_t size, int64_t count, struct found *found) {
    uint8_t *block = malloc((size_t)size + 1), *texts = malloc((size_t)(TEXTS * size) + 1);
    memcpy(block + 1, lines, (size_t)size);
    memset(found, 0x5A, sizeof *found);
    int64_t odd = seam_json_lines(block + 1, size, count, "add", ASKED, FIELDS, found->odd,
                                  found->there, found->ends, found->counts, texts + 1);
    if (odd >= 0) {
        memcpy(found->texts, texts + 1, (size_t)(TEXTS * size));
    }
    free(block);
    free(texts);
    return odd;
}

static bool is_odd(const char *line) {
    struct found found;
    int64_t odd = read_lines(line, (int64_t)strlen(line), 1, &found);
    CHECK(odd == found.odd[0]);
    if (odd != 0) {
        CHECK(found.counts[0] == -1 && found.ends[1] == 0 && found.there[0] == 0);
    }
    return odd != 0;
}

/* Whether a field of one line has this text; NULL for none. */
static bool has(const char *line, int field, const char *text) {
    struct found found;
    int64_t size = (int64_t)strlen(line);
    CHECK(read_lines(line, size, 1, &found) == 0);
    int64_t begin = found.ends[2 * field], length = found.ends[2 * field + 1] - begin;
    bool is_there = found.there[field] != 0;
    return text == NULL ? !is_there && length == 0
                        : is_there && (size_t)length == strlen(text) &&
                              memcmp(found.texts + field * size, text, strlen(text)) == 0;
}

static void fields_are_found_wherever_they_stand(void) {
    const char *line =
        "{\"add\":{\"size\":7,\"tags\":[{\"path\":\"x\"},1.5e-3,[]],\"path\":\"a b\","
        "\"values\":{\"p\" : \"}\\\"\"},\"stats\":null}}";
    CHECK(has(line, 0, "a b") && has(line, 1, NULL) && has(line, 2, "{\"p\" : \"}\\\"\"}"));
    CHECK(has(" { \"add\"\t: {\"path\" : \"\" } }\r", 0, ""));
    CHECK(has("{\"add\":{}}", 0, NULL) && has("{\"add\":{}}", 2, NULL));
    CHECK(has("{\"add\":{\"path\":\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"}}", 0, "\"\\/\b\f\n\r\t"));
    CHECK(has("{\"add\":{\"stats\":\"{\\\"numRecords\\\":3,\\\"minValues\\\":{}}\"}}", 1,
              "{\"numRecords\":3,\"minValues\":{}}"));
    CHECK(has("{\"add\":{\"path\":\"\xC3\xA4\xF0\x9F\x98\x80 and more\"}}", 0,
              "\xC3\xA4\xF0\x9F\x98\x80 and more"));
    CHECK(has("{\"add\":{\"x\":\"\\u00e4\",\"path\":\"a\"}}", 0, "a"));
    CHECK(
        has("{\"add\":{\"x\":true,\"y\":false,\"z\":null,\"n\":-0.0E+1,\"path\":\"a\"}}", 0, "a"));
}

static void lines_keep_their_places(void) {
    const char *lines = "{\"add\":{\"path\":\"one\",\"size\":999999999999999999}}\n"
                        "\n"
                        "{\"add\":{\"size\":0,\"stats\":\"s\\n\"}}\n"
                        "{\"remove\":{\"path\":\"gone\"}}\n"
                        "{\"add\":{\"path\":\"two\"}}\n";
    struct found found;
    int64_t size = (int64_t)strlen(lines);
    CHECK(read_lines(lines, size, 6, &found) == 3);
    CHECK(memcmp(found.odd, "\0\1\0\1\0\1", 6) == 0);
    CHECK(found.counts[0] == 999999999999999999 && found.counts[2] == 0 && found.counts[4] == -1);
    const int64_t paths[] = {0, 3, 3, 3, 3, 6, 6}, stats[] = {0, 0, 0, 2, 2, 2, 2};
    CHECK(memcmp(found.ends, paths, sizeof paths) == 0);
    CHECK(memcmp(found.ends + 7, stats, sizeof stats) == 0);
    CHECK(memcmp(found.texts, "onetwo", 6) == 0 && memcmp(found.texts + size, "s\n", 2) == 0);
    CHECK(memcmp(found.there, "\1\0\0\0\1\0", 6) == 0);
    CHECK(memcmp(found.there + 6, "\0\0\1\0\0\0", 6) == 0);
    CHECK(read_lines(lines, size, 5, &found) == -1 && read_lines(lines, size, 7, &found) == -1);
    CHECK(read_lines("", 0, 1, &found) == 1 && read_lines("", 0, 0, &found) == -1);
}

static const char *const ODD[] = {
    "",
    " ",
    "[]",
    "{}",
    "{\"add\":null}",
    "{\"add\":[]}",
    "{\"adds\":{}}",
    "{\"ad\":{}}",
    "{\"add\":{}} x",
    "{\"add\":{}}{}",
    "{\"add\":{},\"add\":{}}",
    "{\"add\":{},\"x\":{}}",
    "{\"add\":{\"path\":\"a\",}}",
    "{\"add\":{,}}",
    "{\"add\":{\"path\" \"a\"}}",
    "{\"add\":{\"path\":}}",
    "{\"add\":{path:\"a\"}}",
    "{\"add\":{\"path\":'a'}}",
    "{\"add\":{\"path\":\"a\",\"path\":\"a\"}}",
    "{\"add\":{\"path\":null,\"path\":\"a\"}}",
    "{\"add\":{\"path\":5}}",
    "{\"add\":{\"path\":{}}}",
    "{\"add\":{\"path\":nul}}",
    "{\"add\":{\"path\":nulls}}",
    "{\"add\":{\"values\":[]}}",
    "{\"add\":{\"values\":\"a\"}}",
    "{\"add\":{\"values\":{\"a\"}}}",
    "{\"add\":{\"values\":{\"a\":1,}}}",
    "{\"add\":{\"values\":{\"a\":1]}}",
    "{\"add\":{\"values\":{a:1}}}",
    "{\"add\":{\"p\\u0061th\":\"a\"}}",
    "{\"add\":{\"path\":\"\\u0061\"}}",
    "{\"add\":{\"path\":\"\\x\"}}",
    "{\"add\":{\"path\":\"a\tb\"}}",
    "{\"add\":{\"path\":\"a}}",
    "{\"add\":{\"path\":\"a\\\"}}",
    "{\"add\":{\"x\":\"\\u00g0\"}}",
    "{\"add\":{\"x\":\"\\u00\"}}",
    "{\"add\":{\"x\":\"a long text with a \1 in it\"}}",
    "{\"add\":{\"path\":\"\xFF\"}}",
    "{\"add\":{\"x\":\"\xED\xA0\x80\"}}",
    "\xEF\xBB\xBF{\"add\":{}}",
    "{\"add\":{\"size\":-1}}",
    "{\"add\":{\"size\":-0}}",
    "{\"add\":{\"size\":00}}",
    "{\"add\":{\"size\":7.0}}",
    "{\"add\":{\"size\":7e0}}",
    "{\"add\":{\"size\":\"7\"}}",
    "{\"add\":{\"size\":true}}",
    "{\"add\":{\"size\":1000000000000000000}}",
    "{\"add\":{\"size\":}}",
    "{\"add\":{\"x\":01}}",
    "{\"add\":{\"x\":1.}}",
    "{\"add\":{\"x\":.5}}",
    "{\"add\":{\"x\":-}}",
    "{\"add\":{\"x\":+1}}",
    "{\"add\":{\"x\":1e}}",
    "{\"add\":{\"x\":NaN}}",
    "{\"add\":{\"x\":Infinity}}",
    "{\"add\":{\"x\":tru}}",
    "{\"add\":{\"x\":[1 2]}}",
    "{\"add\":{\"x\":[1,]}}",
    "{\"add\":{\"x\":[,1]}}",
    "{\"add\":{\"x\":[1}}}",
    "{\"add\":{\"x\":{\"a\":1,2}}}",
    "{\"add\":{\"x\":{1:2}}}",
    "{\"add\":{\"x\":[[]}}",
};

static void all_others_are_odd(void) {
    for (size_t i = 0; i < sizeof ODD / sizeof ODD[0]; i++) {
        if (!is_odd(ODD[i])) {
            fprintf(stderr, "taken: %s\n", ODD[i]);
            exit(1);
        }
    }
}

/* Every line that is cut off is odd, and so is one in which a byte is none of JSON's. */
static void no_part_of_a_line_is_taken(void) {
    const char *line =
        "{\"add\":{\"path\":\"a\\\\b\",\"x\":[{\"y\":-1.5e+3}],\"values\":{\"p\":null}"
        ",\"stats\":\"\\\"\\n\",\"size\":12}}";
    char changed[ROOM];
    size_t size = strlen(line);
    CHECK(!is_odd(line));
    for (size_t i = 0; i < size; i++) {
        memcpy(changed, line, size + 1);
        changed[i] = '\1';
        CHECK(is_odd(changed));
        changed[i] = 0; /* what is left of it */
        CHECK(is_odd(changed));
    }
}

/* A level more than there may be. */
static void deep_values_are_odd(void) {
    for (int levels = 59; levels <= 62; levels++) {
        char line[ROOM] = "{\"add\":{\"x\":";
        size_t at = strlen(line);
        memset(line + at, '[', (size_t)levels);
        memset(line + at + levels, ']', (size_t)levels);
        memcpy(line + at + 2 * levels, "}}", 3);
        CHECK(is_odd(line) == (levels > 60));
    }
}

static void fields_are_held_to_their_order(void) {
    const struct seam_json_field turned[] = {{"size", SEAM_JSON_COUNT}, {"path", SEAM_JSON_TEXT}};
    uint8_t odd, there[2], texts[64];
    int64_t ends[4], counts[2];
    const uint8_t *line = (const uint8_t *)"{\"add\":{}}";
    CHECK(seam_json_lines(line, 10, 1, "add", turned, 2, &odd, there, ends, counts, texts) == -1);
    CHECK(seam_json_lines(line, 10, 1, "add", turned, 17, &odd, there, ends, counts, texts) == -1);
    CHECK(seam_json_lines(line, 10, 1, "add", turned + 1, 1, &odd, there, ends, counts, texts) ==
          0);
}

int main(void) {
    fields_are_found_wherever_they_stand();
    lines_keep_their_places();
    all_others_are_odd();
    no_part_of_a_line_is_taken();
    deep_values_are_odd();
    fields_are_held_to_their_order();
    return 0;
}
