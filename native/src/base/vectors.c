#include "seam/vectors.h"

#include "base/wide.h"

const char *seam_vectors(void) {
#if SEAM_WIDEST > 0
    /* What the choice of copies asks, in its order. */
    __builtin_cpu_init();
#if SEAM_WIDEST > 1
    if (__builtin_cpu_supports("x86-64-v4")) {
        return "avx512";
    }
#endif
    if (__builtin_cpu_supports("avx2")) {
        return "avx2";
    }
#endif
    return "portable";
}
