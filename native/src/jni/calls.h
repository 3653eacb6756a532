/* Java's side of a scan: its classes and methods, and what it throws. Private. */
#ifndef SEAM_JNI_CALLS_H
#define SEAM_JNI_CALLS_H

#include "seam/jni.h"

#include "jni/vm.h"

/* References are global, methods those of seamkit.offheap.Host. */
struct seam_jni_loader {
    java_ref loader;
    java_ref host;
    java_ref string; /* java.lang.String */
    java_method create;
    java_method open;
    java_method next;
    java_method converted;
    java_method release_column;
    java_method describe;
    java_method form;
    java_method close;
    java_method failure;
};

/* Of the scanner that this thread is in; NULL outside of all. */
extern _Thread_local struct seam_allocator *seam_jni_allocator;

/* SEAM_OK unless Java threw, which is cleared and told by `error`. */
int seam_java_thrown(const struct seam_jni_loader *loader, java_env env, struct seam_error *error);

/* The class loader of this thread, and a class of it by its name with dots; NULL, and an exception,
 * if there is none. */
java_ref seam_java_context_loader(java_env env);
java_ref seam_java_class(java_env env, java_ref loader, const char *name);

#endif
