#include "jni/calls.h"

#include <stdlib.h>
#include <string.h>

enum { LOCALS = 32 };

/* What Host.failure says: a sign that tells the code, then the message, cut to what an error holds.
 */
static int told(java_env env, java_ref text, struct seam_error *error) {
    char message[sizeof error->message] = "";
    int32_t length = java_array_length(env, text);
    int32_t kept = length < (int32_t)sizeof message - 1 ? length : (int32_t)sizeof message - 1;
    java_bytes(env, text, 0, kept, message);
    while (kept > 1 && length > kept && (message[kept] & 0xC0) == 0x80) {
        kept--; /* not in the middle of a character */
    }
    message[kept] = 0;
    int code = message[0] == 'm'   ? SEAM_NO_MEMORY
               : message[0] == 'r' ? SEAM_UNSUPPORTED
                                   : SEAM_BAD_INPUT;
    return seam_fail(error, code, -1, "%s", message + 1);
}

int seam_java_thrown(const struct seam_jni_loader *loader, java_env env, struct seam_error *error) {
    java_ref thrown = java_exception(env);
    if (thrown == NULL) {
        return SEAM_OK;
    }
    java_exception_clear(env);
    union java_value argument = {.l = thrown};
    java_ref text = loader->failure == NULL
                        ? NULL
                        : java_call_static(env, loader->host, loader->failure, &argument);
    if (java_exception(env) != NULL || text == NULL) {
        java_exception_clear(env);
        return seam_fail(error, SEAM_BAD_INPUT, -1, "Java threw, and does not say what");
    }
    return told(env, text, error);
}

static int64_t allocate(java_env env, java_ref class, int64_t allocator, int64_t bytes) {
    (void)env;
    (void)class;
    void *block = NULL;
    struct seam_allocator *from = (struct seam_allocator *)(intptr_t)allocator;
    int code = bytes < 0 ? SEAM_TOO_LARGE : seam_alloc(from, (size_t)bytes, &block, NULL);
    return code == SEAM_OK ? (int64_t)(intptr_t)block : 0;
}

/* Where StarRocks' own classes get their blocks: they name no allocator, so it is that of the
 * scanner which this thread is in. */
static int64_t allocate_here(java_env env, java_ref class, int64_t bytes) {
    struct seam_allocator *here = seam_jni_allocator;
    return here == NULL ? 0 : allocate(env, class, (int64_t)(intptr_t)here, bytes);
}

static void give_back(java_env env, java_ref class, int64_t block) {
    (void)env;
    (void)class;
    seam_free((void *)(intptr_t)block);
}

java_ref seam_java_context_loader(java_env env) {
    java_ref thread = java_find_class(env, "java/lang/Thread");
    java_method current =
        java_static_method_of(env, thread, "currentThread", "()Ljava/lang/Thread;");
    java_method loader =
        java_method_of(env, thread, "getContextClassLoader", "()Ljava/lang/ClassLoader;");
    return java_call(env, java_call_static(env, thread, current, NULL), loader, NULL);
}

java_ref seam_java_class(java_env env, java_ref loader, const char *name) {
    java_ref class = java_find_class(env, "java/lang/ClassLoader");
    java_method method =
        java_method_of(env, class, "loadClass", "(Ljava/lang/String;)Ljava/lang/Class;");
    uint16_t units[64];
    int32_t length = (int32_t)strlen(name);
    for (int32_t i = 0; i < length; i++) {
        units[i] = (uint16_t)name[i];
    }
    union java_value argument = {.l = java_string(env, units, length)};
    return java_call(env, loader, method, &argument);
}

#define SCANNER "Lseamkit/offheap/ChunkSource;"

/* Methods of Host. One that is not there leaves an exception behind. */
static void find_methods(struct seam_jni_loader *loader, java_env env) {
    const struct {
        java_method *out;
        const char *name;
        const char *signature;
    } wanted[] = {
        {&loader->failure, "failure", "(Ljava/lang/Throwable;)[B"},
        {&loader->create, "create",
         "(Ljava/lang/ClassLoader;Ljava/lang/String;I[Ljava/lang/String;J)" SCANNER},
        {&loader->open, "open", "(" SCANNER ")V"},
        {&loader->next, "next", "(" SCANNER ")J"},
        {&loader->converted, "converted", "(" SCANNER ")J"},
        {&loader->release_column, "releaseColumn", "(" SCANNER "I)V"},
        {&loader->describe, "describe", "(" SCANNER ")[B"},
        {&loader->form, "form", "(" SCANNER ")J"},
        {&loader->close, "close", "(" SCANNER ")V"},
    };
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0] && java_exception(env) == NULL; i++) {
        *wanted[i].out =
            java_static_method_of(env, loader->host, wanted[i].name, wanted[i].signature);
    }
}

static void register_natives(java_env env, java_ref memory) {
    const struct java_native natives[] = {
        {"allocate0", "(JJ)J", (void (*)(void))allocate},
        {"free0", "(J)V", (void (*)(void))give_back},
    };
    java_register(env, memory, natives, 2);
}

/* StarRocks' classes get blocks from natives of this one, if the class path has it. */
static void register_trackers(java_env env, java_ref found) {
    const struct java_native natives[] = {
        {"memoryTrackerMalloc", "(J)J", (void (*)(void))allocate_here},
        {"memoryTrackerFree", "(J)V", (void (*)(void))give_back},
    };
    java_ref helper = seam_java_class(env, found, "com.starrocks.utils.NativeMethodHelper");
    if (java_exception(env) == NULL) {
        java_register(env, helper, natives, 2);
    }
    java_exception_clear(env); /* no such class, or none that asks for blocks */
}

static int fill_loader(struct seam_jni_loader *loader, java_env env, struct seam_error *error) {
    java_ref found = seam_java_context_loader(env);
    java_ref host = found == NULL ? NULL : seam_java_class(env, found, "seamkit.offheap.Host");
    java_ref memory = host == NULL ? NULL : seam_java_class(env, found, "seamkit.offheap.Memory");
    if (memory == NULL) {
        java_exception_clear(env);
        return seam_fail(error, SEAM_UNSUPPORTED, -1,
                         "the thread's Java class loader has no classes of seamkit.offheap");
    }
    loader->loader = java_global(env, found);
    loader->host = java_global(env, host);
    loader->string = java_global(env, java_find_class(env, "java/lang/String"));
    find_methods(loader, env);
    if (java_exception(env) == NULL) {
        register_natives(env, memory);
    }
    if (java_exception(env) == NULL) {
        register_trackers(env, found);
    }
    return seam_java_thrown(loader, env, error);
}

int seam_jni_loader_new(struct seam_jni_loader **out, struct seam_error *error) {
    java_env env = NULL;
    SEAM_TRY(seam_java_env(&env, error));
    struct seam_jni_loader *loader = calloc(1, sizeof *loader);
    if (loader == NULL || java_push_frame(env, LOCALS) != 0) {
        free(loader);
        java_exception_clear(env);
        return seam_fail(error, SEAM_NO_MEMORY, -1, "no memory for a Java class loader");
    }
    int code = fill_loader(loader, env, error);
    java_pop_frame(env);
    if (code != SEAM_OK) {
        seam_jni_loader_release(loader);
        return code;
    }
    *out = loader;
    return SEAM_OK;
}

void seam_jni_loader_release(struct seam_jni_loader *loader) {
    java_env env = NULL;
    if (loader == NULL) {
        return;
    }
    if (seam_java_env(&env, NULL) == SEAM_OK) { /* else the JVM is gone, and its references */
        java_delete_global(env, loader->loader);
        java_delete_global(env, loader->host);
        java_delete_global(env, loader->string);
    }
    free(loader);
}
