/* Everything at once: what the Python module includes. */
#ifndef SEAM_SEAM_H
#define SEAM_SEAM_H

#include "seam/arrow.h"
#include "seam/arrow_build.h"
#include "seam/assemble.h"
#include "seam/avro.h"
#include "seam/byte_stream.h"
#include "seam/column_type.h"
#include "seam/compact_row.h"
#include "seam/engine.h"
#include "seam/error.h"
#include "seam/gather.h"
#include "seam/hash.h"
#include "seam/memory.h"
#include "seam/merge.h"
#include "seam/node.h"
#include "seam/partition.h"
#include "seam/presto_page.h"
#include "seam/presto_stream.h"
#include "seam/row_frames.h"
#include "seam/row_input.h"
#include "seam/row_type.h"
#include "seam/sort_key.h"
#include "seam/sorted_merge.h"
#include "seam/stream_arena.h"
#include "seam/streamvbyte.h"
#include "seam/table.h"
#include "seam/unsafe_row.h"
#include "seam/vector.h"
#include "seam/vector_batch.h"

#endif
