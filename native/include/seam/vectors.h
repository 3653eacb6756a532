/* Which of its copies for several instruction sets the core runs. */
#ifndef SEAM_VECTORS_H
#define SEAM_VECTORS_H

/* "avx512", "avx2", or "portable" where there is one copy, or a machine that has neither. */
const char *seam_vectors(void);

#endif
