// The plain C structures that Python fills in; mirrored field by field in kernels/native.py.
#pragma once
#include <cstdint>

extern "C" {

// One weight matrix as unsigned integers in groups, in tiles of 16 output rows (layout: quant/grouped.py).
struct ArmMatrix {
    const uint8_t* weights;   // per (tile, 32 columns): nibbles or bytes, then bit planes
    const void* scales;       // [tiles, groups, 16] half or float
    const void* minimums;     // same, or null: weight = scale * (q - zero)
    int64_t num_rows;
    int32_t bits;             // 4, 5, 6 or 8
    int32_t group_size;       // 16 or 32
    int32_t zero;             // subtracted from q when there are no minimums
    int32_t is_half;          // scales and minimums are half precision
};

// One run of query tokens of one sequence against its paged keys and values.
struct ArmQueryRun {
    const int32_t* block_table;
    int64_t first_row;        // row of the first query token in q and out
    int64_t num_tokens;
    int64_t start;            // position of the first query token
};

// Key and value storage of one layer: keys [block, G, D, block_size], values [block, G, block_size, D].
struct ArmCache {
    float* keys;
    float* values;
    int64_t num_kv_heads;
    int64_t head_dim;
    int64_t block_size;
};

}
