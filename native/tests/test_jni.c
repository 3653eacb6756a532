/* Without a JVM in the process, scanners in Java are unsupported, by name. */
#include "check.h"

#include "seam/jni.h"

#include <string.h>

int main(void) {
    struct seam_error error;
    struct seam_jni_loader *loader = NULL;
    CHECK(seam_jni_loader_new(&loader, &error) == SEAM_UNSUPPORTED);
    CHECK(strstr(error.message, "no JVM") != NULL);
    CHECK(loader == NULL);
    seam_jni_loader_release(NULL);
    return 0;
}
