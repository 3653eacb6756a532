#include "presto/presto_type.h"

#include "seam/node.h"

#include <string.h>

#define NAME(text) {text, sizeof(text) - 1}

const struct presto_name PRESTO_NAMES[PRESTO_N_ENCODINGS] = {
    NAME("BYTE_ARRAY"),   NAME("SHORT_ARRAY"),    NAME("INT_ARRAY"), NAME("LONG_ARRAY"),
    NAME("INT128_ARRAY"), NAME("VARIABLE_WIDTH"), NAME("ARRAY"),     NAME("MAP"),
    NAME("ROW"),          NAME("DICTIONARY"),     NAME("RLE"),       NAME("MAP_ELEMENT"),
    NAME("ROW_ELEMENT"),
};

/* What is the same for every type of a kind; of SEAM_PRESTO_FIXED the widths follow from the size.
 */
static const struct {
    enum presto_encoding encoding;
    int32_t wire_bytes;
    int32_t arrow_bytes;
    int32_t n_children; /* -1 = any */
} KINDS[] = {
    [SEAM_PRESTO_UNKNOWN] = {PRESTO_BYTE_ARRAY, 1, 0, 0},
    [SEAM_PRESTO_BOOLEAN] = {PRESTO_BYTE_ARRAY, 1, 0, 0},
    [SEAM_PRESTO_FIXED] = {PRESTO_BYTE_ARRAY, 0, 0, 0},
    [SEAM_PRESTO_DOUBLE] = {PRESTO_LONG_ARRAY, 8, 8, 0},
    [SEAM_PRESTO_TIME] = {PRESTO_LONG_ARRAY, 8, 4, 0},
    [SEAM_PRESTO_SHORT_DECIMAL] = {PRESTO_LONG_ARRAY, 8, 16, 0},
    [SEAM_PRESTO_LONG_DECIMAL] = {PRESTO_INT128_ARRAY, 16, 16, 0},
    [SEAM_PRESTO_NANOS] = {PRESTO_LONG_ARRAY, 16, 8, 0},
    [SEAM_PRESTO_BINARY] = {PRESTO_VARIABLE_WIDTH, 0, 0, 0},
    [SEAM_PRESTO_TEXT] = {PRESTO_VARIABLE_WIDTH, 0, 0, 0},
    [SEAM_PRESTO_SLICE] = {PRESTO_VARIABLE_WIDTH, 0, 0, 0},
    [SEAM_PRESTO_ARRAY] = {PRESTO_ARRAY, 0, 0, 1},
    [SEAM_PRESTO_MAP] = {PRESTO_MAP, 0, 0, 2},
    [SEAM_PRESTO_ROW] = {PRESTO_ROW, 0, 0, -1},
};
enum { N_KINDS = sizeof KINDS / sizeof KINDS[0] };

static bool size_fits(int32_t kind, int32_t size) {
    switch (kind) {
    case SEAM_PRESTO_FIXED:
        return size == 1 || size == 2 || size == 4 || size == 8 || size == 16;
    case SEAM_PRESTO_SHORT_DECIMAL:
        return size >= 1 && size <= 18;
    case SEAM_PRESTO_LONG_DECIMAL:
        return size >= 19 && size <= 38;
    case SEAM_PRESTO_SLICE:
        return size >= 1;
    default:
        return true;
    }
}

/* Where compilation stands. */
struct compiler {
    const struct seam_presto_type *types;
    int32_t n_types;
    int32_t next;
    struct presto_type *out;
    char *names; /* NULL while sizes are added up */
    size_t names_bytes;
};

static const char *keep_name(struct compiler *compiler, const char *name) {
    const char *text = name == NULL ? "" : name;
    char *kept = compiler->names + compiler->names_bytes;
    size_t size = strlen(text) + 1;
    memcpy(kept, text, size);
    compiler->names_bytes += size;
    return kept;
}

static int compile(struct compiler *compiler, int depth, struct seam_error *error) {
    int32_t at = compiler->next;
    if (at >= compiler->n_types) {
        return seam_fail(error, SEAM_BAD_ARGUMENT, -1, "%d types end before their tree does",
                         compiler->n_types);
    }
    const struct seam_presto_type *type = &compiler->types[at];
    bool known = type->kind >= 0 && type->kind < N_KINDS;
    if (!known || !size_fits(type->kind, type->size) || type->n_children < 0 ||
        (KINDS[type->kind].n_children >= 0 && type->n_children != KINDS[type->kind].n_children)) {
        return seam_fail(error, SEAM_BAD_ARGUMENT, -1,
                         "type %d is none: kind %d of size %d with %d children", at, type->kind,
                         type->size, type->n_children);
    }
    if (depth > SEAM_NODE_DEPTH - 2) { /* one level is the batch itself, one a map's entries */
        return seam_fail(error, SEAM_UNSUPPORTED, -1, "types are nested more than %d levels deep",
                         SEAM_NODE_DEPTH - 2);
    }
    struct presto_type *out = &compiler->out[at];
    *out = (struct presto_type){
        .kind = (enum seam_presto_kind)type->kind,
        .size = type->size,
        .n_children = type->n_children,
        .hashed = type->hashed != 0 &&
                  (KINDS[type->kind].encoding == PRESTO_VARIABLE_WIDTH || type->size >= 4),
        .encoding = KINDS[type->kind].encoding,
        .wire_bytes = KINDS[type->kind].wire_bytes,
        .arrow_bytes = KINDS[type->kind].arrow_bytes,
        .name = keep_name(compiler, type->name)};
    if (type->kind == SEAM_PRESTO_FIXED) {
        out->wire_bytes = out->arrow_bytes = type->size;
        for (int32_t width = 1; width < type->size; width *= 2) {
            out->encoding += 1; /* encodings stand in the order of their widths */
        }
    } else if (type->kind == SEAM_PRESTO_SLICE) {
        out->arrow_bytes = type->size;
    }
    compiler->next += 1;
    for (int32_t i = 0; i < type->n_children; i++) {
        SEAM_TRY(compile(compiler, depth + (type->kind == SEAM_PRESTO_MAP ? 2 : 1), error));
    }
    out->span = compiler->next - at;
    return SEAM_OK;
}

static int allocate(struct seam_allocator *allocator, struct compiler *compiler,
                    struct seam_presto_program **out, struct seam_error *error) {
    size_t names = 0;
    for (int32_t i = 0; i < compiler->n_types; i++) {
        const char *name = compiler->types[i].name;
        names += name == NULL ? 1 : strlen(name) + 1;
    }
    size_t types = (size_t)compiler->n_types * sizeof(struct presto_type);
    void *block;
    SEAM_TRY(
        seam_alloc(allocator, sizeof(struct seam_presto_program) + types + names, &block, error));
    struct seam_presto_program *program = block;
    program->types = (struct presto_type *)(program + 1);
    program->names = (char *)program->types + types;
    compiler->out = program->types;
    compiler->names = program->names;
    *out = program;
    return SEAM_OK;
}

int seam_presto_program_new(struct seam_allocator *allocator, const struct seam_presto_type *types,
                            int32_t n_types, int32_t n_columns, struct seam_presto_program **out,
                            struct seam_error *error) {
    struct compiler compiler = {.types = types, .n_types = n_types};
    *out = NULL;
    if (n_types < 0 || n_columns < 0) {
        return seam_fail(error, SEAM_BAD_ARGUMENT, -1, "%d types for %d columns", n_types,
                         n_columns);
    }
    struct seam_presto_program *program;
    SEAM_TRY(allocate(allocator, &compiler, &program, error));
    int code = SEAM_OK;
    program->n_columns = n_columns;
    for (int32_t i = 0; i < n_columns && code == SEAM_OK; i++) {
        code = compile(&compiler, 2, error);
    }
    if (code == SEAM_OK && compiler.next != n_types) {
        code = seam_fail(error, SEAM_BAD_ARGUMENT, -1, "%d types, of which %d belong to a column",
                         n_types, compiler.next);
    }
    if (code != SEAM_OK) {
        seam_free(program);
        return code;
    }
    *out = program;
    return SEAM_OK;
}

void seam_presto_program_free(struct seam_presto_program *program) {
    seam_free(program);
}
