/* What Spark's tasks call: the native methods of seamkit.NativeCode. */
#include "jni/calls.h"

#include "seam/arrow_build.h"
#include "seam/batches.h"

#include <stdio.h>
#include <string.h>

/* By the name that Python gives an error of a code. */
static const char *error_name(int code) {
    switch (code) {
    case SEAM_BAD_INPUT:
    case SEAM_TOO_LARGE:
        return "InputError";
    case SEAM_UNSUPPORTED:
        return "RefusedError";
    case SEAM_BAD_ARGUMENT:
        return "UsageError";
    default:
        return "SeambenchError";
    }
}

/* A RuntimeException with the sentence; if Java cannot make one, what it throws itself. */
static void throw_text(java_env env, const char *text) {
    union java_value bytes = {.l = java_byte_array(env, (int32_t)strlen(text), text)};
    java_ref string = bytes.l == NULL ? NULL : java_find_class(env, "java/lang/String");
    java_ref kind = string == NULL ? NULL : java_find_class(env, "java/lang/RuntimeException");
    java_method decode = kind == NULL ? NULL : java_method_of(env, string, "<init>", "([B)V");
    java_method make =
        decode == NULL ? NULL : java_method_of(env, kind, "<init>", "(Ljava/lang/String;)V");
    union java_value sentence = {.l = make == NULL ? NULL : java_new(env, string, decode, &bytes)};
    java_ref thrown = sentence.l == NULL ? NULL : java_new(env, kind, make, &sentence);
    if (thrown != NULL) {
        java_throw(env, thrown);
    }
}

static void throw_if(java_env env, int code, const struct seam_error *error) {
    char text[sizeof error->message + 128];
    char at[48] = "";
    if (code == SEAM_OK) {
        return;
    }
    if (error->offset >= 0 && code != SEAM_BAD_ARGUMENT && code != SEAM_NO_MEMORY) {
        snprintf(at, sizeof at, " (at byte %lld)", (long long)error->offset);
    }
    snprintf(text, sizeof text, "\nseambase.errors.%s: %s%s", error_name(code), error->message, at);
    throw_text(env, text);
}

static void *pointer(int64_t address) {
    return (void *)(intptr_t)address;
}

static int64_t address(const void *pointer) {
    return (int64_t)(intptr_t)pointer;
}

static void retain(java_env env, java_ref class, int64_t batches, int64_t handle) {
    struct seam_error error;
    (void)class;
    throw_if(env, seam_batches_retain(pointer(batches), handle, &error), &error);
}

static void release(java_env env, java_ref class, int64_t batches, int64_t handle) {
    struct seam_error error;
    (void)class;
    throw_if(env, seam_batches_release(pointer(batches), handle, &error), &error);
}

/* The next batch of a stream: its handle, 0 without columns, and its rows, -1 at the end. */
static void next_batch(java_env env, java_ref class, int64_t batches, int32_t form, int64_t from,
                       int64_t out) {
    struct seam_error error;
    struct ArrowArrayStream *stream = pointer(from);
    struct ArrowArray array = {.release = NULL};
    int64_t *words = pointer(out);
    (void)class;
    if (stream->get_next(stream, &array) != 0) {
        const char *text = stream->get_last_error(stream);
        throw_text(env, text == NULL ? "a reader failed, and does not say why" : text);
        return;
    }
    words[0] = 0;
    words[1] = array.release == NULL ? -1 : array.length;
    if (array.n_children > 0 && array.release != NULL) {
        throw_if(env, seam_batches_hold(pointer(batches), form, &array, &words[0], &error), &error);
    }
    seam_array_release(&array);
}

static int64_t arrow_array(java_env env, java_ref class, int64_t batches, int64_t handle) {
    struct seam_error error;
    const struct ArrowArray *array = NULL;
    (void)class;
    throw_if(env, seam_batches_array(pointer(batches), handle, &array, &error), &error);
    return address(array);
}

static void rows_of(java_env env, java_ref class, int64_t converter, int64_t handle, int64_t first,
                    int64_t out) {
    struct seam_error error;
    (void)class;
    throw_if(env, seam_row_converter_rows(pointer(converter), handle, first, pointer(out), &error),
             &error);
}

static int64_t batch_of(java_env env, java_ref class, int64_t converter, int64_t data,
                        int64_t lengths, int32_t rows) {
    struct seam_error error;
    int64_t handle = 0;
    (void)class;
    throw_if(env,
             seam_row_converter_batch(pointer(converter), pointer(data), pointer(lengths), rows,
                                      &handle, &error),
             &error);
    return handle;
}

static void end_converter(java_env env, java_ref class, int64_t converter) {
    (void)env;
    (void)class;
    seam_row_converter_free(pointer(converter));
}

static const struct java_native NATIVES[] = {
    {"retain", "(JJ)V", (void (*)(void))retain},
    {"release", "(JJ)V", (void (*)(void))release},
    {"nextBatch", "(JIJJ)V", (void (*)(void))next_batch},
    {"arrowArray", "(JJ)J", (void (*)(void))arrow_array},
    {"rowsOf", "(JJJJ)V", (void (*)(void))rows_of},
    {"batchOf", "(JJJI)J", (void (*)(void))batch_of},
    {"endConverter", "(J)V", (void (*)(void))end_converter},
};

int seam_jni_operators(struct seam_error *error) {
    java_env env = NULL;
    SEAM_TRY(seam_java_env(&env, error));
    int code = SEAM_OK;
    if (java_push_frame(env, 16) != 0) {
        java_exception_clear(env);
        return seam_fail(error, SEAM_NO_MEMORY, -1, "the JVM has no memory for references");
    }
    java_ref loader = seam_java_context_loader(env);
    java_ref class = loader == NULL ? NULL : seam_java_class(env, loader, "seamkit.NativeCode");
    int32_t count = (int32_t)(sizeof NATIVES / sizeof NATIVES[0]);
    if (class == NULL || java_register(env, class, NATIVES, count) != 0) {
        java_exception_clear(env);
        code = seam_fail(error, SEAM_UNSUPPORTED, -1,
                         "the thread's Java class loader has no seamkit.NativeCode with our "
                         "native methods");
    }
    java_pop_frame(env);
    return code;
}
