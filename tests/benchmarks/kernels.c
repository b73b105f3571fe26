/* The four kernels of STREAM, a sum that only reads, and a copy that stores past the cache, as a C
   programmer would write them: one loop, its iterations split evenly over the threads. */

#include <stddef.h>

#define PARALLEL _Pragma("omp parallel for num_threads(threads) schedule(static)")

void copy(float *restrict a, const float *restrict b, const float *restrict c, float q, ptrdiff_t n,
          int threads) {
    (void)c, (void)q;
    PARALLEL for (ptrdiff_t i = 0; i < n; i++) a[i] = b[i];
}

void scale(float *restrict a, const float *restrict b, const float *restrict c, float q,
           ptrdiff_t n, int threads) {
    (void)c;
    PARALLEL for (ptrdiff_t i = 0; i < n; i++) a[i] = q * b[i];
}

void add(float *restrict a, const float *restrict b, const float *restrict c, float q, ptrdiff_t n,
         int threads) {
    (void)q;
    PARALLEL for (ptrdiff_t i = 0; i < n; i++) a[i] = b[i] + c[i];
}

void triad(float *restrict a, const float *restrict b, const float *restrict c, float q,
           ptrdiff_t n, int threads) {
    PARALLEL for (ptrdiff_t i = 0; i < n; i++) a[i] = b[i] + q * c[i];
}

/* Each thread keeps a sum for every element of a vector, so that additions do not wait for each
   other; the total is left in a[0]. */
void sum(float *restrict a, const float *restrict b, const float *restrict c, float q, ptrdiff_t n,
         int threads) {
    (void)c, (void)q;
    float total = 0;
    _Pragma("omp parallel for simd num_threads(threads) schedule(static) reduction(+ : total)")
    for (ptrdiff_t i = 0; i < n; i++) total += b[i];
    a[0] = total;
}

/* A store that bypasses the cache fills a whole, aligned vector. The floats before the first and
   after the last of those are stored as usual. */
#if defined(__AVX512F__)
#include <immintrin.h>
#define VECTOR 16
#define STREAM(to, from) _mm512_stream_ps(to, _mm512_loadu_ps(from))
#elif defined(__AVX__)
#include <immintrin.h>
#define VECTOR 8
#define STREAM(to, from) _mm256_stream_ps(to, _mm256_loadu_ps(from))
#elif defined(__SSE2__)
#include <emmintrin.h>
#define VECTOR 4
#define STREAM(to, from) _mm_stream_ps(to, _mm_loadu_ps(from))
#endif

#ifdef VECTOR
void copy_nontemporal(float *restrict a, const float *restrict b, const float *restrict c, float q,
                      ptrdiff_t n, int threads) {
    (void)c, (void)q;
    ptrdiff_t head = 0;
    while (head < n && (size_t)(a + head) % (VECTOR * sizeof *a)) a[head] = b[head], head++;
    const ptrdiff_t vectors = (n - head) / VECTOR;
#pragma omp parallel num_threads(threads)
    {
#pragma omp for schedule(static)
        for (ptrdiff_t i = 0; i < vectors; i++) STREAM(a + head + i * VECTOR, b + head + i * VECTOR);
        _mm_sfence();
    }
    for (ptrdiff_t i = head + vectors * VECTOR; i < n; i++) a[i] = b[i];
}
#endif
