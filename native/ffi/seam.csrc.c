#include "seam/seam.h"
