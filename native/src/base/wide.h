/* Loops over whole columns, compiled for any machine and for those with wide vectors. */
#ifndef SEAM_WIDE_H
#define SEAM_WIDE_H

/* Stands before a function whose loops the compiler turns into vector instructions, helpers that it
 * inlines included; which of the copies runs is settled when the library is loaded. Elsewhere than
 * on glibc for x86-64, and under sanitizers, there is one copy: what they watch is no loop of
 * vectors, whatever machine it is compiled for (native/watched.py looks at those in another way).
 * Clang makes copies where the build gives it GCC's runtime to choose by (SEAM_CPU_RUNTIME in
 * CMakeLists.txt): some clangs come with one that knows of no instruction set. */
#if defined(__x86_64__) && defined(__gnu_linux__) && !defined(__SANITIZE_ADDRESS__) &&             \
    !defined(__SANITIZE_THREAD__)
#if defined(SEAM_CPU_RUNTIME) || (!defined(__clang__) && __GNUC__ >= 12)
#define SEAM_WIDE __attribute__((target_clones("arch=x86-64-v4", "avx2", "default")))
#define SEAM_WIDEST 2
#elif !defined(__clang__) && defined(__GNUC__)
#define SEAM_WIDE __attribute__((target_clones("avx2", "default")))
#define SEAM_WIDEST 1
#endif
#endif
#ifndef SEAM_WIDE
#define SEAM_WIDE
#define SEAM_WIDEST 0
#endif

/* Stands before a loop in which row i depends on no other row, whether its result goes to a block
 * apart or to the place it was read from. Without it compilers ask whether the two overlap, and
 * they do. */
#if defined(__clang__)
#define SEAM_EACH_ROW_ALONE _Pragma("clang loop vectorize(assume_safety)")
#elif defined(__GNUC__)
#define SEAM_EACH_ROW_ALONE _Pragma("GCC ivdep")
#else
#define SEAM_EACH_ROW_ALONE
#endif

#endif
