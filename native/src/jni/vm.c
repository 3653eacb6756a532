#include "jni/vm.h"

#include <dlfcn.h>
#include <pthread.h>
#include <string.h>

enum {
    JNI_VERSION = 0x00010008,
    VM_ATTACHED = 0,
    VM_DETACH_CURRENT_THREAD = 5,
    VM_GET_ENV = 6,
    VM_ATTACH_AS_DAEMON = 7,
};

typedef void *const *java_vm;
typedef void (*any_function)(void);

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t attached; /* by us: the value is the JVM */
static int key_made;

/* Functions of JNI's tables lie there as data pointers; POSIX has both of one size. */
static any_function at(const void *const *table, int index) {
    any_function function = NULL;
    memcpy(&function, &((void *const *)*table)[index], sizeof function);
    return function;
}

#define CALL(env, index, type) ((type)at((const void *const *)(env), (index)))

static void detach(void *vm) {
    CALL(vm, VM_DETACH_CURRENT_THREAD, int32_t (*)(void *))(vm);
}

static void make_key(void) {
    key_made = pthread_key_create(&attached, detach) == 0;
}

static java_vm running(void) {
    int32_t (*created)(java_vm *, int32_t, int32_t *) = NULL;
    void *symbol = dlsym(RTLD_DEFAULT, "JNI_GetCreatedJavaVMs");
    memcpy(&created, &symbol, sizeof created);
    java_vm vm = NULL;
    int32_t count = 0;
    return created != NULL && created(&vm, 1, &count) == 0 && count > 0 ? vm : NULL;
}

int seam_java_env(java_env *out, struct seam_error *error) {
    java_vm vm = running();
    if (vm == NULL) {
        return seam_fail(error, SEAM_UNSUPPORTED, -1, "no JVM runs in this process");
    }
    void *env = NULL;
    if (CALL(vm, VM_GET_ENV, int32_t (*)(java_vm, void **, int32_t))(vm, &env, JNI_VERSION) ==
        VM_ATTACHED) {
        *out = env;
        return SEAM_OK;
    }
    struct {
        int32_t version;
        char *name;
        void *group;
    } arguments = {JNI_VERSION, NULL, NULL};
    if (CALL(vm, VM_ATTACH_AS_DAEMON, int32_t (*)(java_vm, void **, void *))(vm, &env,
                                                                             &arguments) != 0) {
        return seam_fail(error, SEAM_NO_MEMORY, -1, "the JVM takes no further thread");
    }
    pthread_once(&once, make_key);
    if (key_made) { /* else the thread stays attached, as a daemon */
        pthread_setspecific(attached, (const void *)vm);
    }
    *out = env;
    return SEAM_OK;
}

java_ref java_find_class(java_env env, const char *name) {
    return CALL(env, JNI_FIND_CLASS, java_ref (*)(java_env, const char *))(env, name);
}

java_ref java_exception(java_env env) {
    return CALL(env, JNI_EXCEPTION_OCCURRED, java_ref (*)(java_env))(env);
}

void java_exception_clear(java_env env) {
    CALL(env, JNI_EXCEPTION_CLEAR, void (*)(java_env))(env);
}

int32_t java_push_frame(java_env env, int32_t refs) {
    return CALL(env, JNI_PUSH_LOCAL_FRAME, int32_t (*)(java_env, int32_t))(env, refs);
}

void java_pop_frame(java_env env) {
    CALL(env, JNI_POP_LOCAL_FRAME, java_ref (*)(java_env, java_ref))(env, NULL);
}

java_ref java_global(java_env env, java_ref ref) {
    return CALL(env, JNI_NEW_GLOBAL_REF, java_ref (*)(java_env, java_ref))(env, ref);
}

void java_delete_global(java_env env, java_ref ref) {
    if (ref != NULL) {
        CALL(env, JNI_DELETE_GLOBAL_REF, void (*)(java_env, java_ref))(env, ref);
    }
}

typedef java_method (*find_method)(java_env, java_ref, const char *, const char *);

java_method java_method_of(java_env env, java_ref class, const char *name, const char *signature) {
    return CALL(env, JNI_GET_METHOD_ID, find_method)(env, class, name, signature);
}

java_method java_static_method_of(java_env env, java_ref class, const char *name,
                                  const char *signature) {
    return CALL(env, JNI_GET_STATIC_METHOD_ID, find_method)(env, class, name, signature);
}

typedef java_ref (*call_object)(java_env, java_ref, java_method, const union java_value *);
typedef int64_t (*call_long)(java_env, java_ref, java_method, const union java_value *);
typedef void (*call_void)(java_env, java_ref, java_method, const union java_value *);

java_ref java_call(java_env env, java_ref object, java_method method,
                   const union java_value *args) {
    return CALL(env, JNI_CALL_OBJECT_METHOD_A, call_object)(env, object, method, args);
}

java_ref java_call_static(java_env env, java_ref class, java_method method,
                          const union java_value *args) {
    return CALL(env, JNI_CALL_STATIC_OBJECT_METHOD_A, call_object)(env, class, method, args);
}

int64_t java_call_static_long(java_env env, java_ref class, java_method method,
                              const union java_value *args) {
    return CALL(env, JNI_CALL_STATIC_LONG_METHOD_A, call_long)(env, class, method, args);
}

void java_call_static_void(java_env env, java_ref class, java_method method,
                           const union java_value *args) {
    CALL(env, JNI_CALL_STATIC_VOID_METHOD_A, call_void)(env, class, method, args);
}

java_ref java_string(java_env env, const uint16_t *units, int32_t length) {
    return CALL(env, JNI_NEW_STRING, java_ref (*)(java_env, const uint16_t *, int32_t))(env, units,
                                                                                        length);
}

int32_t java_array_length(java_env env, java_ref array) {
    return CALL(env, JNI_GET_ARRAY_LENGTH, int32_t (*)(java_env, java_ref))(env, array);
}

java_ref java_object_array(java_env env, int32_t length, java_ref class) {
    return CALL(env, JNI_NEW_OBJECT_ARRAY,
                java_ref (*)(java_env, int32_t, java_ref, java_ref))(env, length, class, NULL);
}

void java_set_element(java_env env, java_ref array, int32_t index, java_ref value) {
    CALL(env, JNI_SET_OBJECT_ARRAY_ELEMENT,
         void (*)(java_env, java_ref, int32_t, java_ref))(env, array, index, value);
}

void java_bytes(java_env env, java_ref array, int32_t start, int32_t length, void *out) {
    CALL(env, JNI_GET_BYTE_ARRAY_REGION,
         void (*)(java_env, java_ref, int32_t, int32_t, void *))(env, array, start, length, out);
}

java_ref java_byte_array(java_env env, int32_t length, const void *bytes) {
    java_ref array = CALL(env, JNI_NEW_BYTE_ARRAY, java_ref (*)(java_env, int32_t))(env, length);
    if (array != NULL) {
        CALL(env, JNI_SET_BYTE_ARRAY_REGION,
             void (*)(java_env, java_ref, int32_t, int32_t, const void *))(env, array, 0, length,
                                                                           bytes);
    }
    return array;
}

java_ref java_new(java_env env, java_ref class, java_method constructor,
                  const union java_value *args) {
    return CALL(env, JNI_NEW_OBJECT_A, call_object)(env, class, constructor, args);
}

void java_throw(java_env env, java_ref exception) {
    CALL(env, JNI_THROW, int32_t (*)(java_env, java_ref))(env, exception);
}

int32_t java_register(java_env env, java_ref class, const struct java_native *natives, int32_t n) {
    return CALL(env, JNI_REGISTER_NATIVES,
                int32_t (*)(java_env, java_ref, const struct java_native *, int32_t))(env, class,
                                                                                      natives, n);
}
