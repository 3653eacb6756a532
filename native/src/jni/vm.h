/* The JVM of this process, as far as scans need it. Private. */
#ifndef SEAM_JNI_VM_H
#define SEAM_JNI_VM_H

#include "seam/error.h"

#include <stdint.h>

typedef void *java_ref; /* jobject, jclass, jstring, ... */
typedef void *java_method;

union java_value {
    uint8_t z;
    int32_t i;
    int64_t j;
    java_ref l;
};

struct java_native {
    const char *name;
    const char *signature;
    void (*function)(void);
};

/* A thread's way into the JVM: a pointer to a pointer to JNI's table of functions. */
typedef void *const *java_env;

/* Places in the table of functions, as the specification of JNI numbers them. */
enum java_function {
    JNI_FIND_CLASS = 6,
    JNI_THROW = 13,
    JNI_EXCEPTION_OCCURRED = 15,
    JNI_EXCEPTION_CLEAR = 17,
    JNI_PUSH_LOCAL_FRAME = 19,
    JNI_POP_LOCAL_FRAME = 20,
    JNI_NEW_GLOBAL_REF = 21,
    JNI_DELETE_GLOBAL_REF = 22,
    JNI_NEW_OBJECT_A = 30,
    JNI_GET_METHOD_ID = 33,
    JNI_CALL_OBJECT_METHOD_A = 36,
    JNI_GET_STATIC_METHOD_ID = 113,
    JNI_CALL_STATIC_OBJECT_METHOD_A = 116,
    JNI_CALL_STATIC_LONG_METHOD_A = 134,
    JNI_CALL_STATIC_VOID_METHOD_A = 143,
    JNI_NEW_STRING = 163,
    JNI_GET_ARRAY_LENGTH = 171,
    JNI_NEW_OBJECT_ARRAY = 172,
    JNI_SET_OBJECT_ARRAY_ELEMENT = 174,
    JNI_NEW_BYTE_ARRAY = 176,
    JNI_GET_BYTE_ARRAY_REGION = 200,
    JNI_SET_BYTE_ARRAY_REGION = 208,
    JNI_REGISTER_NATIVES = 215,
};

/* This thread's way into the JVM; it is attached if need be. SEAM_UNSUPPORTED: there is no JVM. */
int seam_java_env(java_env *out, struct seam_error *error);

/* The calls, by the names of the specification. None but those that clear an exception may be made
 * while one is there. */
java_ref java_find_class(java_env env, const char *name);
java_ref java_exception(java_env env);
void java_exception_clear(java_env env);
int32_t java_push_frame(java_env env, int32_t refs);
void java_pop_frame(java_env env);
java_ref java_global(java_env env, java_ref ref);
void java_delete_global(java_env env, java_ref ref);
java_method java_method_of(java_env env, java_ref class, const char *name, const char *signature);
java_method java_static_method_of(java_env env, java_ref class, const char *name,
                                  const char *signature);
java_ref java_call(java_env env, java_ref object, java_method method, const union java_value *args);
java_ref java_call_static(java_env env, java_ref class, java_method method,
                          const union java_value *args);
int64_t java_call_static_long(java_env env, java_ref class, java_method method,
                              const union java_value *args);
void java_call_static_void(java_env env, java_ref class, java_method method,
                           const union java_value *args);
java_ref java_string(java_env env, const uint16_t *units, int32_t length);
int32_t java_array_length(java_env env, java_ref array);
java_ref java_object_array(java_env env, int32_t length, java_ref class);
void java_set_element(java_env env, java_ref array, int32_t index, java_ref value);
void java_bytes(java_env env, java_ref array, int32_t start, int32_t length, void *out);
java_ref java_byte_array(java_env env, int32_t length, const void *bytes);
java_ref java_new(java_env env, java_ref class, java_method constructor,
                  const union java_value *args);
void java_throw(java_env env, java_ref exception);
int32_t java_register(java_env env, java_ref class, const struct java_native *natives, int32_t n);

#endif
