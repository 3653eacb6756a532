/* The bytes that a fuzz target is given, taken one by one. */
#ifndef SEAM_FUZZ_INPUT_H
#define SEAM_FUZZ_INPUT_H

#include <stddef.h>
#include <stdint.h>

struct input {
    const uint8_t *data;
    size_t left;
};

/* The next byte; 0 behind the last. */
static inline uint8_t take(struct input *input) {
    if (input->left == 0) {
        return 0;
    }
    input->left -= 1;
    return *input->data++;
}

#endif
