// All kernels, written once over 16-wide vectors and compiled once per instruction set: kernels.cpp includes this file
// several times, each in a namespace of its own. No include guard for that reason, and no templates of the standard
// library that need code of their own: one instance would serve all instruction sets.
//
// Every row of an output depends on that row of the input only, in a fixed order of operations: one row alone and the
// same row among many give the same bits.

typedef float v16f __attribute__((vector_size(64)));
typedef int32_t v16i __attribute__((vector_size(64)));

static inline v16f splat(float x) { return v16f{} + x; }
static inline v16f load(const float* p) { v16f v; std::memcpy(&v, p, 64); return v; }
static inline void store(float* p, v16f v) { std::memcpy(p, &v, 64); }
static inline v16f vmax(v16f a, v16f b) { return a > b ? a : b; }

static inline float sum_lanes(v16f v) {
    float total = 0;
    for (int width = 8; width; width >>= 1)
        for (int i = 0; i < width; ++i) v[i] += v[i + width];
    return total + v[0];
}

static inline float max_lanes(v16f v) {
    for (int width = 8; width; width >>= 1)
        for (int i = 0; i < width; ++i) v[i] = v[i] > v[i + width] ? v[i] : v[i + width];
    return v[0];
}

// exp(x), x clamped to -87 .. 88 where float32 ends, relative error below 2e-7: 2^n * p(r), n = round(x / ln 2),
// |r| <= ln 2 / 2.
static inline v16f vexp(v16f x) {
    x = vmax(x, splat(-87.0f));
    x = x > 88.0f ? splat(88.0f) : x;
    const v16f magic = splat(12582912.0f);
    const v16f n = (x * 1.44269504f + magic) - magic;
    const v16f r = (x - n * 0.693359375f) - n * -2.12194440e-4f;
    v16f p = splat(1.9875691500e-4f);
    p = p * r + 1.3981999507e-3f;
    p = p * r + 8.3334519073e-3f;
    p = p * r + 4.1665795894e-2f;
    p = p * r + 1.6666665459e-1f;
    p = p * r + 5.0000001201e-1f;
    p = p * r * r + r + 1.0f;
    const v16i power = (__builtin_convertvector(n, v16i) + 127) << 23;
    v16f scale;
    std::memcpy(&scale, &power, 64);
    return p * scale;
}

static inline v16f load_scales(const void* base, int64_t index, bool is_half) {
    if (!is_half) return load(static_cast<const float*>(base) + index * 16);
    const uint16_t* half = static_cast<const uint16_t*>(base) + index * 16;
#if ARM_AVX512
    return reinterpret_cast<v16f>(_mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(half))));
#else
    v16f out;
    for (int i = 0; i < 16; ++i) out[i] = half_to_float(half[i]);
    return out;
#endif
}

// ---- activations to int8, one scale per 32 columns ----

struct Activations {
    int8_t* q;        // [M, K]
    float* scales;    // [M, K/32]
    float* sums;      // [M, K/16] sums of q: small integers, exact
    int64_t num_columns;
};

static void quantize_group(const float* x, const Activations& out, int64_t row, int64_t g) {
    const int64_t K = out.num_columns;
    const v16f a = load(x), b = load(x + 16);
    const float peak = max_lanes(vmax(vmax(a, -a), vmax(b, -b)));
    const float inverse = peak > 0 ? 127.0f / peak : 0.0f;
    out.scales[row * (K / 32) + g] = peak / 127.0f;
    for (int half = 0; half < 2; ++half) {
        // Adding 1.5 * 2^23 rounds to the nearest even integer and leaves it in the low bits.
        const v16f shifted = (half ? b : a) * inverse + 12582912.0f;
        v16i bits;
        std::memcpy(&bits, &shifted, 64);
        const v16i rounded = bits - 0x4B400000;
        int32_t sum = 0;
        for (int i = 0; i < 16; ++i) {
            out.q[row * K + g * 32 + half * 16 + i] = static_cast<int8_t>(rounded[i]);
            sum += rounded[i];
        }
        out.sums[row * (K / 16) + g * 2 + half] = static_cast<float>(sum);
    }
}

// A row as `terms` rows of int8 whose sum it is: each further term rounds what the terms before left over.
static void quantize_row(const float* x, const Activations& out, int64_t row, int64_t terms) {
    for (int64_t g = 0; g < out.num_columns / 32; ++g) {
        float rest[32];
        std::memcpy(rest, x + g * 32, sizeof rest);
        for (int64_t term = 0; term < terms; ++term) {
            const int64_t target = row * terms + term;
            quantize_group(rest, out, target, g);
            const float scale = out.scales[target * (out.num_columns / 32) + g];
            const int8_t* q = out.q + target * out.num_columns + g * 32;
            for (int i = 0; i < 32; ++i) rest[i] -= scale * static_cast<float>(q[i]);
        }
    }
}

// ---- integer matrix product over one tile of 16 output rows ----

#if ARM_AVX512
typedef __m512i Bytes;
static inline Bytes load_bytes(const uint8_t* p) { return _mm512_loadu_si512(p); }
static inline Bytes low_nibbles(Bytes v) { return _mm512_and_si512(v, _mm512_set1_epi8(15)); }
static inline Bytes high_nibbles(Bytes v) { return low_nibbles(_mm512_srli_epi16(v, 4)); }
static inline Bytes add_plane(Bytes v, const uint8_t* mask, int bit) {
    uint64_t bits;
    std::memcpy(&bits, mask, 8);
    return _mm512_mask_add_epi8(v, static_cast<__mmask64>(bits), v, _mm512_set1_epi8(static_cast<char>(1 << bit)));
}
static inline v16i dot4(v16i acc, Bytes weights, const int8_t* x) {
    int32_t four;
    std::memcpy(&four, x, 4);
    return reinterpret_cast<v16i>(
        _mm512_dpbusd_epi32(reinterpret_cast<__m512i>(acc), weights, _mm512_set1_epi32(four)));
}
#else
struct Bytes { uint8_t v[64]; };
static inline Bytes load_bytes(const uint8_t* p) { Bytes b; std::memcpy(b.v, p, 64); return b; }
static inline Bytes low_nibbles(Bytes b) { for (uint8_t& x : b.v) x &= 15; return b; }
static inline Bytes high_nibbles(Bytes b) { for (uint8_t& x : b.v) x >>= 4; return b; }
static inline Bytes add_plane(Bytes b, const uint8_t* mask, int bit) {
    for (int i = 0; i < 64; ++i) b.v[i] = static_cast<uint8_t>(b.v[i] + (((mask[i / 8] >> (i % 8)) & 1) << bit));
    return b;
}
static inline v16i dot4(v16i acc, const Bytes& weights, const int8_t* x) {
    int32_t out[16];
    for (int i = 0; i < 16; ++i) {
        const uint8_t* w = weights.v + 4 * i;
        out[i] = w[0] * x[0] + w[1] * x[1] + w[2] * x[2] + w[3] * x[3];
    }
    v16i add;
    std::memcpy(&add, out, 64);
    return acc + add;
}
#endif

static constexpr int64_t chunk_bytes(int bits) { return 64 * bits; }  // 16 rows x 32 columns

// Vector j holds, for each of the 16 rows, columns 4j .. 4j+3 of the 32; for 4 to 6 bits, vectors j and j+4 share one
// load (low and high nibbles) and each further bit is a 64-bit mask per vector. `low` and `high` may be the same array.
template <int BITS, int ROWS>
static inline __attribute__((always_inline)) void dot_chunk(const uint8_t* w, const int8_t* x, int64_t stride,
                                                            v16i* low, v16i* high) {
    for (int j = 0; j < 4; ++j) {
        Bytes first, second;
        if (BITS == 8) {
            first = load_bytes(w + 64 * j);
            second = load_bytes(w + 64 * (j + 4));
        } else {
            const Bytes both = load_bytes(w + 64 * j);
            first = low_nibbles(both);
            second = high_nibbles(both);
            for (int plane = 0; plane < BITS - 4; ++plane) {
                first = add_plane(first, w + 256 + 64 * plane + 8 * j, 4 + plane);
                second = add_plane(second, w + 256 + 64 * plane + 8 * (j + 4), 4 + plane);
            }
        }
        for (int r = 0; r < ROWS; ++r) low[r] = dot4(low[r], first, x + r * stride + 4 * j);
        for (int r = 0; r < ROWS; ++r) high[r] = dot4(high[r], second, x + r * stride + 16 + 4 * j);
    }
}

// (dot - zero * sum) * scale, summed over the groups in ascending order. The difference is exact: both are integers
// below 2^24.
template <int BITS, int ROWS, bool FINE>
static void matmul_tile(const ArmMatrix& m, int64_t tile, const Activations& x, int64_t row, float* y, int64_t stride) {
    const int64_t K = x.num_columns, chunks = K / 32;
    const float zero = static_cast<float>(m.zero);
    const int8_t* q = x.q + row * K;
    const float* row_scales = x.scales + row * chunks;
    const float* sums = x.sums + row * chunks * 2;
    const uint8_t* w = m.weights + tile * chunks * chunk_bytes(BITS);
    v16f acc[ROWS];
    for (int r = 0; r < ROWS; ++r) acc[r] = v16f{};
    for (int64_t c = 0; c < chunks; ++c, w += chunk_bytes(BITS), q += 32) {
        v16i low[ROWS], high[ROWS];
        for (int r = 0; r < ROWS; ++r) low[r] = high[r] = v16i{};
        dot_chunk<BITS, ROWS>(w, q, K, low, FINE ? high : low);
        const int64_t group = FINE ? (tile * chunks + c) * 2 : tile * chunks + c;
        const v16f scale = load_scales(m.scales, group, m.is_half);
        const v16f scale_high = FINE ? load_scales(m.scales, group + 1, m.is_half) : scale;
        for (int r = 0; r < ROWS; ++r) {
            const float a = row_scales[r * chunks + c], *sum = sums + r * chunks * 2 + c * 2;
            const float first = FINE ? sum[0] : sum[0] + sum[1];
            acc[r] += (__builtin_convertvector(low[r], v16f) - zero * first) * (scale * a);
            if (FINE) acc[r] += (__builtin_convertvector(high[r], v16f) - zero * sum[1]) * (scale_high * a);
        }
        if (m.minimums) {
            const v16f minimum = load_scales(m.minimums, group, m.is_half);
            for (int r = 0; r < ROWS; ++r) {
                const float* sum = sums + r * chunks * 2 + c * 2;
                acc[r] += minimum * (row_scales[r * chunks + c] * (sum[0] + sum[1]));
            }
        }
    }
    for (int r = 0; r < ROWS; ++r) store(y + (row + r) * stride + tile * 16, acc[r]);
}

template <int BITS, int ROWS>
static void matmul_tile(const ArmMatrix& m, int64_t tile, const Activations& x, int64_t row, float* y, int64_t stride) {
    if (m.group_size == 16) matmul_tile<BITS, ROWS, true>(m, tile, x, row, y, stride);
    else matmul_tile<BITS, ROWS, false>(m, tile, x, row, y, stride);
}

// The last, short block has as many rows as are left: every weight is unpacked once per block of rows.
template <int BITS, int ROWS>
static void matmul_rest(const ArmMatrix& m, int64_t tile, const Activations& x, int64_t row, int64_t count, float* y,
                        int64_t stride) {
    if (count == ROWS) matmul_tile<BITS, ROWS>(m, tile, x, row, y, stride);
    else if constexpr (ROWS > 1) matmul_rest<BITS, ROWS - 1>(m, tile, x, row, count, y, stride);
}

template <int BITS>
static void matmul_rows(const ArmMatrix& m, int64_t tile, const Activations& x, int64_t begin, int64_t end, float* y,
                        int64_t stride) {
    int64_t row = begin;
    for (; row + 8 <= end; row += 8) matmul_tile<BITS, 8>(m, tile, x, row, y, stride);
    if (row < end) matmul_rest<BITS, 7>(m, tile, x, row, end - row, y, stride);
}

static void matmul_any(const ArmMatrix& m, int64_t tile, const Activations& x, int64_t begin, int64_t end, float* y,
                       int64_t stride) {
    switch (m.bits) {
        case 4: return matmul_rows<4>(m, tile, x, begin, end, y, stride);
        case 5: return matmul_rows<5>(m, tile, x, begin, end, y, stride);
        case 6: return matmul_rows<6>(m, tile, x, begin, end, y, stride);
        default: return matmul_rows<8>(m, tile, x, begin, end, y, stride);
    }
}

// y[M, N1+N2+...] = x[M, K] @ [W1; W2; ...]^T, each row of x as a sum of `terms` rows of int8. Weights are read once.
static void linear(const float* x, int64_t M, int64_t K, int64_t terms, const ArmMatrix* parts, int64_t num_parts,
                   float* y) {
    int64_t tiles = 0, columns = 0;
    for (int64_t p = 0; p < num_parts; ++p) { tiles += parts[p].num_rows / 16; columns += parts[p].num_rows; }
    const int64_t rows = M * terms;
    const int64_t per_row = K + K / 32 * 4 + K / 16 * 4 + (terms > 1 ? columns * 4 : 0);
    Activations a;
    a.scales = reinterpret_cast<float*>(scratch(rows * per_row));
    a.sums = a.scales + rows * (K / 32);
    float* sums = terms > 1 ? a.sums + rows * (K / 16) : y;
    a.q = reinterpret_cast<int8_t*>(terms > 1 ? sums + rows * columns : a.sums + rows * (K / 16));
    a.num_columns = K;
    if (M == 1) quantize_row(x, a, 0, terms);
    else parallel_for(M, [&](int64_t row) { quantize_row(x + row * K, a, row, terms); });

    const int64_t tasks = std::min<int64_t>(tiles, 16 * Pool::instance().num_threads());
    parallel_for(tasks, [&](int64_t task) {
        int64_t tile = tiles * task / tasks;
        const int64_t end = tiles * (task + 1) / tasks;
        float* out = sums;
        for (int64_t p = 0, first = 0; p < num_parts && tile < end; ++p) {
            const int64_t count = parts[p].num_rows / 16;
            for (; tile < end && tile < first + count; ++tile)
                for (int64_t row = 0; row < rows; row += 64)
                    matmul_any(parts[p], tile - first, a, row, std::min(row + 64, rows), out, columns);
            first += count;
            out += parts[p].num_rows;
        }
    });
    if (terms == 1) return;
    parallel_for(M, [&](int64_t row) {
        for (int64_t i = 0; i < columns; i += 16) {
            v16f total = load(sums + row * terms * columns + i);
            for (int64_t term = 1; term < terms; ++term) total += load(sums + (row * terms + term) * columns + i);
            store(y + row * columns + i, total);
        }
    });
}

// ---- element-wise parts of a layer ----

static void rms_norm(const float* x, const float* weight, int64_t M, int64_t K, float epsilon, float* y) {
    parallel_for((M + 7) / 8, [&](int64_t task) {
        for (int64_t row = task * 8; row < std::min(task * 8 + 8, M); ++row) {
            const float* in = x + row * K;
            v16f squares{};
            for (int64_t k = 0; k < K; k += 16) { const v16f v = load(in + k); squares += v * v; }
            const float scale = 1.0f / std::sqrt(sum_lanes(squares) / static_cast<float>(K) + epsilon);
            for (int64_t k = 0; k < K; k += 16) store(y + row * K + k, load(in + k) * scale * load(weight + k));
        }
    });
}

// y[M, F] = silu(x[M, :F]) * x[M, F:]
static void silu_mul(const float* x, int64_t M, int64_t F, float* y) {
    const int64_t span = std::min<int64_t>(F, 2048), spans = (F + span - 1) / span;
    parallel_for(M * spans, [&](int64_t task) {
        const int64_t row = task / spans, begin = task % spans * span;
        const float* gate = x + row * 2 * F;
        for (int64_t f = begin; f < std::min(begin + span, F); f += 16) {
            const v16f g = load(gate + f);
            store(y + row * F + f, g / (1.0f + vexp(-g)) * load(gate + F + f));
        }
    });
}

// Add the bias, rotate queries and keys (pairs i and i + D/2), and put keys and values into their blocks.
// qkv: [M, (H + 2G) * D], queries rotated in place; slots: [M] block * block_size + offset; cosines, sines: [M, D/2].
static void rotate_and_store(float* qkv, const float* bias, int64_t M, int64_t H, const ArmCache& cache,
                             const int64_t* slots, const float* cosines, const float* sines) {
    const int64_t G = cache.num_kv_heads, D = cache.head_dim, B = cache.block_size, width = (H + 2 * G) * D;
    parallel_for(M, [&](int64_t row) {
        float* x = qkv + row * width;
        if (bias) for (int64_t i = 0; i < width; i += 16) store(x + i, load(x + i) + load(bias + i));
        for (int64_t h = 0; h < H + G; ++h)
            for (int64_t i = 0; i < D / 2; i += 16) {
                float* first = x + h * D + i;
                const v16f a = load(first), b = load(first + D / 2);
                const v16f c = load(cosines + row * (D / 2) + i), s = load(sines + row * (D / 2) + i);
                store(first, a * c - b * s);
                store(first + D / 2, b * c + a * s);
            }
        const int64_t block = slots[row] / B, offset = slots[row] % B;
        for (int64_t g = 0; g < G; ++g) {
            float* keys = cache.keys + (block * G + g) * D * B + offset;
            for (int64_t d = 0; d < D; ++d) keys[d * B] = x[(H + g) * D + d];
            std::memcpy(cache.values + ((block * G + g) * B + offset) * D, x + (H + G + g) * D, D * sizeof(float));
        }
    });
}

// ---- attention over paged keys and values, block by block in ascending order ----

static constexpr int kMaxHeadDim = 256, kQueryRows = 8;

struct Softmax { float peak, total; };

// Scores of one query against one block of 32 keys, masked to the first `visible`.
static inline void score_block(const float* query, const float* keys, int64_t D, int64_t visible, v16f* scores) {
    v16f low{}, high{};
    for (int64_t d = 0; d < D; ++d) {
        low += query[d] * load(keys + d * 32);
        high += query[d] * load(keys + d * 32 + 16);
    }
    for (int64_t i = visible; i < 32; ++i) (i < 16 ? low[i] : high[i - 16]) = -INFINITY;
    scores[0] = low;
    scores[1] = high;
}

static inline void add_values(const v16f* weights, const float* values, int64_t D, int64_t visible, float* out) {
    for (int64_t i = 0; i < visible; ++i) {
        const float p = weights[i / 16][i % 16];
        const float* v = values + i * D;
        for (int64_t d = 0; d < D; d += 16) store(out + d, load(out + d) + p * load(v + d));
    }
}

static inline void attend_block(const float* query, const float* keys, const float* values, int64_t D, int64_t visible,
                                Softmax& state, float* out) {
    v16f s[2];
    score_block(query, keys, D, visible, s);
    const float peak = std::max(state.peak, max_lanes(vmax(s[0], s[1])));
    if (peak > state.peak) {
        const float shrink = std::exp(state.peak - peak);
        state.total *= shrink;
        for (int64_t d = 0; d < D; d += 16) store(out + d, load(out + d) * shrink);
        state.peak = peak;
    }
    for (v16f& part : s) part = vexp(part - peak);
    for (int64_t i = visible; i < 32; ++i) s[i / 16][i % 16] = 0.0f;
    state.total += sum_lanes(s[0] + s[1]);
    add_values(s, values, D, visible, out);
}

// q: [M, H, D] inside rows of `stride` floats; out: [M, H, D].
static void attention(const float* q, int64_t stride, const ArmQueryRun* runs, int64_t num_runs, int64_t H,
                      const ArmCache& cache, float scale, float* out) {
    const int64_t G = cache.num_kv_heads, D = cache.head_dim, share = H / G;
    struct Item { int64_t run, token, kv_head; };
    int64_t count = 0;
    for (int64_t r = 0; r < num_runs; ++r) count += runs[r].num_tokens * G;
    Item* items = reinterpret_cast<Item*>(scratch(count * static_cast<int64_t>(sizeof(Item))));
    // Later tokens see more keys: longest first keeps the threads even.
    int64_t filled = 0;
    for (int64_t r = 0; r < num_runs; ++r)
        for (int64_t t = runs[r].num_tokens - 1; t >= 0; --t)
            for (int64_t g = 0; g < G; ++g) items[filled++] = {r, t, g};
    parallel_for(count, [&](int64_t task) {
        const Item item = items[task];
        const ArmQueryRun& run = runs[item.run];
        const int64_t row = run.first_row + item.token, visible = run.start + item.token + 1;
        float queries[kQueryRows * kMaxHeadDim];
        Softmax states[kQueryRows];
        for (int64_t first = 0; first < share; first += kQueryRows) {
            const int64_t count = std::min<int64_t>(kQueryRows, share - first);
            const int64_t head = item.kv_head * share + first;
            float* result = out + (row * H + head) * D;
            for (int64_t i = 0; i < count * D; ++i) { queries[i] = q[row * stride + head * D + i] * scale; result[i] = 0; }
            for (int64_t i = 0; i < count; ++i) states[i] = {-INFINITY, 0.0f};
            for (int64_t begin = 0; begin < visible; begin += 32) {
                const int64_t block = run.block_table[begin / 32] * G + item.kv_head;
                for (int64_t i = 0; i < count; ++i)
                    attend_block(queries + i * D, cache.keys + block * D * 32, cache.values + block * D * 32, D,
                                 std::min<int64_t>(32, visible - begin), states[i], result + i * D);
            }
            for (int64_t i = 0; i < count; ++i)
                for (int64_t d = 0; d < D; d += 16)
                    store(result + i * D + d, load(result + i * D + d) / states[i].total);
        }
    });
}
