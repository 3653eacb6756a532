#include "jni/calls.h"

#include "offheap/engine_buffers.h"

#include <stdlib.h>
#include <time.h>

enum { LOCALS = 16 };

struct seam_jni_scanner {
    struct seam_jni_loader *loader; /* borrowed */
    java_ref scanner;               /* global */
    struct seam_allocator *allocator;
    struct seam_jni_counters counters;
    int64_t java_ns; /* in Java, making chunks */
};

static int64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

_Thread_local struct seam_allocator *seam_jni_allocator;

/* This thread's way into the JVM, and room for references that go with the frame. */
static int enter(const struct seam_jni_scanner *scanner, java_env *env, int32_t refs,
                 struct seam_error *error) {
    int code = seam_java_env(env, error);
    if (code == SEAM_OK && java_push_frame(*env, refs) != 0) {
        java_exception_clear(*env);
        code = seam_fail(error, SEAM_NO_MEMORY, -1, "the JVM has no memory for references");
    }
    seam_jni_allocator = code == SEAM_OK ? scanner->allocator : NULL;
    return code;
}

static void way_out(java_env env) {
    java_pop_frame(env);
    seam_jni_allocator = NULL;
}

static int leave(const struct seam_jni_loader *loader, java_env env, struct seam_error *error) {
    int code = seam_java_thrown(loader, env, error);
    way_out(env);
    return code;
}

static java_ref text_of(java_env env, struct seam_jni_text text) {
    return java_string(env, text.units, text.length);
}

/* The texts as a String[]; NULL, and an exception, where there is no memory. */
static java_ref texts_of(const struct seam_jni_loader *loader, java_env env,
                         const struct seam_jni_text *texts, int64_t n) {
    java_ref array = java_object_array(env, (int32_t)n, loader->string);
    for (int64_t i = 0; i < n && java_exception(env) == NULL; i++) {
        java_ref text = text_of(env, texts[i]);
        if (java_exception(env) == NULL) {
            java_set_element(env, array, (int32_t)i, text);
        }
    }
    return array;
}

int seam_jni_scanner_new(struct seam_jni_loader *loader, struct seam_jni_text class_name,
                         int32_t fetch_size, const struct seam_jni_text *parameters, int64_t n,
                         struct seam_allocator *allocator, struct seam_jni_scanner **out,
                         struct seam_error *error) {
    if (n < 0 || n > 1 << 20 || n % 2 != 0) {
        return seam_fail(error, SEAM_BAD_ARGUMENT, -1, "%lld names and values are no pairs",
                         (long long)n);
    }
    struct seam_jni_scanner *scanner = calloc(1, sizeof *scanner);
    if (scanner == NULL) {
        return seam_fail(error, SEAM_NO_MEMORY, -1, "no memory for a scanner");
    }
    *scanner = (struct seam_jni_scanner){.loader = loader, .allocator = allocator};
    int64_t start = now_ns();
    java_env env = NULL;
    int code = enter(scanner, &env, LOCALS + (int32_t)n, error);
    if (code == SEAM_OK) {
        java_ref name = text_of(env, class_name);
        java_ref named = java_exception(env) == NULL ? texts_of(loader, env, parameters, n) : NULL;
        if (java_exception(env) == NULL) {
            const union java_value arguments[] = {{.l = loader->loader},
                                                  {.l = name},
                                                  {.i = fetch_size},
                                                  {.l = named},
                                                  {.j = (int64_t)(intptr_t)allocator}};
            java_ref made = java_call_static(env, loader->host, loader->create, arguments);
            scanner->scanner = java_exception(env) == NULL ? java_global(env, made) : NULL;
        }
        code = leave(loader, env, error);
    }
    if (code != SEAM_OK) {
        free(scanner);
        return code;
    }
    scanner->counters.open_ns = now_ns() - start;
    *out = scanner;
    return SEAM_OK;
}

int seam_jni_scanner_open(struct seam_jni_scanner *scanner, struct seam_error *error) {
    int64_t start = now_ns();
    java_env env = NULL;
    int code = enter(scanner, &env, LOCALS, error);
    if (code == SEAM_OK) {
        union java_value argument = {.l = scanner->scanner};
        java_call_static_void(env, scanner->loader->host, scanner->loader->open, &argument);
        code = leave(scanner->loader, env, error);
    }
    scanner->counters.open_ns += now_ns() - start;
    return code;
}

int seam_jni_scanner_describe(struct seam_jni_scanner *scanner, char **out,
                              struct seam_error *error) {
    const struct seam_jni_loader *loader = scanner->loader;
    java_env env = NULL;
    SEAM_TRY(enter(scanner, &env, LOCALS, error));
    int code = SEAM_OK;
    union java_value argument = {.l = scanner->scanner};
    java_ref text = java_call_static(env, loader->host, loader->describe, &argument);
    if (java_exception(env) == NULL) {
        int32_t length = java_array_length(env, text);
        void *block = NULL;
        code = seam_alloc(scanner->allocator, (size_t)length + 1, &block, error);
        if (code == SEAM_OK) {
            java_bytes(env, text, 0, length, block);
            ((char *)block)[length] = 0;
            *out = block;
        }
    }
    int thrown = leave(loader, env, error);
    return code != SEAM_OK ? code : thrown;
}

/* Takes what the scanner says was conversion out of the time in Java. It may be an estimate, and is
 * somebody else's code: it is kept within that time. */
static void count_conversion(struct seam_jni_scanner *scanner, java_env env) {
    const struct seam_jni_loader *loader = scanner->loader;
    union java_value argument = {.l = scanner->scanner};
    int64_t told = java_call_static_long(env, loader->host, loader->converted, &argument);
    int64_t most = scanner->java_ns;
    scanner->counters.convert_ns = told < 0 ? 0 : told > most ? most : told;
    scanner->counters.read_ns = most - scanner->counters.convert_ns;
}

/* Has Java make the next chunk. */
static int next_chain(struct seam_jni_scanner *scanner, java_env env, struct seam_chain *out,
                      struct seam_error *error) {
    const struct seam_jni_loader *loader = scanner->loader;
    int64_t start = now_ns();
    union java_value argument = {.l = scanner->scanner};
    int64_t address = java_call_static_long(env, loader->host, loader->next, &argument);
    scanner->java_ns += now_ns() - start;
    scanner->counters.read_ns = scanner->java_ns - scanner->counters.convert_ns;
    SEAM_TRY(seam_java_thrown(loader, env, error));
    count_conversion(scanner, env);
    if (address == 0) {
        return seam_fail(error, SEAM_BAD_INPUT, -1, "the scanner gave a chunk without an address");
    }
    *out = (struct seam_chain){
        .words = (const int64_t *)(intptr_t)address,
        .n_words = -1,
        .as_text = (int32_t)java_call_static_long(env, loader->host, loader->form, &argument)};
    if (out->words[0] < 0) {
        return seam_fail(error, SEAM_BAD_INPUT, -1, "the scanner gave a chunk of %lld rows",
                         (long long)out->words[0]);
    }
    scanner->counters.rows += out->words[0];
    scanner->counters.chunks += out->words[0] > 0;
    return SEAM_OK;
}

int seam_jni_scanner_chain(struct seam_jni_scanner *scanner, struct seam_chain *out,
                           struct seam_error *error) {
    java_env env = NULL;
    SEAM_TRY(enter(scanner, &env, LOCALS, error));
    int code = next_chain(scanner, env, out, error);
    way_out(env);
    return code;
}

struct source {
    struct seam_jni_scanner *scanner;
    java_env env;
};

static void release_column(void *opaque, int64_t index) {
    struct source *source = opaque;
    const struct seam_jni_loader *loader = source->scanner->loader;
    const union java_value arguments[] = {{.l = source->scanner->scanner}, {.i = (int32_t)index}};
    java_call_static_void(source->env, loader->host, loader->release_column, arguments);
    seam_java_thrown(loader, source->env, NULL); /* the chunk goes as a whole soon, too */
}

static int64_t bytes_of(const struct seam_engine_column *column) {
    int64_t bytes = 0;
    for (int i = 0; i < SEAM_ENGINE_BUFFERS; i++) {
        bytes += column->buffers[i] == NULL ? 0 : seam_engine_buffer_bytes(column, i);
    }
    for (int64_t i = 0; i < column->n_children; i++) {
        bytes += bytes_of(&column->children[i]);
    }
    return bytes;
}

static int fill(struct seam_jni_scanner *scanner, java_env env, const struct seam_chain *chain,
                const struct seam_engine_slot *slots, int64_t n_slots, struct ArrowArray *out,
                struct seam_error *error) {
    int64_t start = now_ns();
    struct source source = {scanner, env};
    struct seam_engine_column column;
    seam_engine_column_init(&column, scanner->allocator);
    int code = seam_engine_open(&column, slots, n_slots, chain, error);
    if (code == SEAM_OK) {
        scanner->counters.bytes += bytes_of(&column);
        seam_engine_release_by(&column, release_column, &source);
        code = seam_engine_export(&column, out, error);
    }
    seam_engine_column_reset(&column);
    scanner->counters.fill_ns += now_ns() - start;
    return code;
}

int seam_jni_scanner_next(struct seam_jni_scanner *scanner, const struct seam_engine_slot *slots,
                          int64_t n_slots, struct ArrowArray *out, int64_t *rows,
                          struct seam_error *error) {
    java_env env = NULL;
    SEAM_TRY(enter(scanner, &env, LOCALS, error));
    struct seam_chain chain;
    int code = next_chain(scanner, env, &chain, error);
    *rows = code == SEAM_OK ? chain.words[0] : 0;
    if (*rows > 0) {
        code = fill(scanner, env, &chain, slots, n_slots, out, error);
    }
    way_out(env);
    return code;
}

void seam_jni_scanner_counters(const struct seam_jni_scanner *scanner,
                               struct seam_jni_counters *out) {
    *out = scanner->counters;
}

int seam_jni_scanner_close(struct seam_jni_scanner *scanner, struct seam_error *error) {
    java_env env = NULL;
    int code = enter(scanner, &env, LOCALS, error);
    if (code == SEAM_OK) {
        union java_value argument = {.l = scanner->scanner};
        java_call_static_void(env, scanner->loader->host, scanner->loader->close, &argument);
        code = leave(scanner->loader, env, error);
        java_delete_global(env, scanner->scanner);
    }
    free(scanner);
    return code;
}
