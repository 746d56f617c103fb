// Compiles body.hpp for each instruction set and chooses at run time; exports the plain C functions.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>
#if defined(__x86_64__)
#include <immintrin.h>
#endif
#include "abi.hpp"
#include "pool.hpp"

using armillary::parallel_for;
using armillary::Pool;

static inline float half_to_float(uint16_t half) {
    const uint32_t sign = static_cast<uint32_t>(half & 0x8000) << 16, exponent = (half >> 10) & 31, mantissa = half & 1023;
    if (exponent == 0) {
        const float tiny = std::ldexp(static_cast<float>(mantissa), -24);
        return sign ? -tiny : tiny;
    }
    const uint32_t bits = sign | ((exponent == 31 ? 255 : exponent + 112) << 23) | (mantissa << 13);
    float out;
    std::memcpy(&out, &bits, 4);
    return out;
}

// Memory of the calling thread that lives until its next call.
static char* scratch(int64_t num_bytes) {
    static thread_local std::vector<char> memory;
    if (static_cast<int64_t>(memory.size()) < num_bytes) memory.resize(static_cast<size_t>(num_bytes));
    return memory.data();
}

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define ARM_HAS_TARGETS 1
#pragma GCC push_options
#pragma GCC target("avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx2,fma,f16c")
#define ARM_AVX512 1
namespace avx512vnni {
#include "body.hpp"
}
#undef ARM_AVX512
#pragma GCC pop_options
#pragma GCC push_options
#pragma GCC target("avx2,fma,f16c")
#define ARM_AVX512 0
namespace avx2 {
#include "body.hpp"
}
#undef ARM_AVX512
#pragma GCC pop_options
#endif

#define ARM_AVX512 0
namespace portable {
#include "body.hpp"
}
#undef ARM_AVX512

namespace {

struct Kernels {
    const char* name;
    decltype(&portable::linear) linear;
    decltype(&portable::rms_norm) rms_norm;
    decltype(&portable::silu_mul) silu_mul;
    decltype(&portable::rotate_and_store) rotate_and_store;
    decltype(&portable::attention) attention;
};

#define ARM_KERNELS(isa) \
    Kernels { #isa, isa::linear, isa::rms_norm, isa::silu_mul, isa::rotate_and_store, isa::attention }

std::vector<Kernels> usable() {
    std::vector<Kernels> found;
#if ARM_HAS_TARGETS
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512vnni") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
        found.push_back(ARM_KERNELS(avx512vnni));
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) found.push_back(ARM_KERNELS(avx2));
#endif
    found.push_back(ARM_KERNELS(portable));
    return found;
}

const std::vector<Kernels> kUsable = usable();
Kernels active = kUsable.front();

}  // namespace

extern "C" {

// Name of the i-th usable instruction set, best first; null past the end.
const char* arm_instruction_set(int64_t i) {
    return i < static_cast<int64_t>(kUsable.size()) ? kUsable[static_cast<size_t>(i)].name : nullptr;
}

// Run with the i-th usable instruction set from now on.
void arm_select(int64_t i) { active = kUsable[static_cast<size_t>(i)]; }

void arm_set_threads(int64_t num_threads) { Pool::instance().set_threads(static_cast<int>(num_threads)); }

void arm_linear(const float* x, int64_t M, int64_t K, int64_t terms, const ArmMatrix* parts, int64_t num_parts,
                float* y) {
    active.linear(x, M, K, terms, parts, num_parts, y);
}

void arm_rms_norm(const float* x, const float* weight, int64_t M, int64_t K, float epsilon, float* y) {
    active.rms_norm(x, weight, M, K, epsilon, y);
}

void arm_silu_mul(const float* x, int64_t M, int64_t F, float* y) { active.silu_mul(x, M, F, y); }

void arm_rotate_and_store(float* qkv, const float* bias, int64_t M, int64_t H, const ArmCache* cache,
                          const int64_t* slots, const float* cosines, const float* sines) {
    active.rotate_and_store(qkv, bias, M, H, *cache, slots, cosines, sines);
}

void arm_attention(const float* q, int64_t stride, const ArmQueryRun* runs, int64_t num_runs, int64_t H,
                   const ArmCache* cache, float scale, float* out) {
    active.attention(q, stride, runs, num_runs, H, *cache, scale, out);
}

}
