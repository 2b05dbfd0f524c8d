// Curves of a real GPU (sm_90: H100, H200), about 2 minutes. Never run so far.
// nvcc -O3 -arch=sm_90 -o device_bench device_bench.cu && ./device_bench > device_bench.csv
// Loads are ordinary ones (ld.global, cached in L1), as kernels make them; one thread; cycles of clock64.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <random>
#include <vector>
#define CHECK(x)                                                     \
  do {                                                               \
    cudaError_t e = (x);                                             \
    if (e != cudaSuccess) {                                          \
      std::printf("error,%s,%d\n", cudaGetErrorString(e), __LINE__); \
      std::exit(1);                                                  \
    }                                                                \
  } while (0)

__global__ void link_chain(char* buf, uint64_t const* order, uint64_t n) {
  for (uint64_t i = blockIdx.x * uint64_t(blockDim.x) + threadIdx.x; i < n;
       i += uint64_t(gridDim.x) * blockDim.x)
    *reinterpret_cast<uint64_t*>(buf + order[i]) =
        reinterpret_cast<uint64_t>(buf + order[i + 1 == n ? 0 : i + 1]);
}
__global__ void chase(uint64_t const* p, uint64_t hops, uint64_t* out) {
  auto const t0 = clock64();
  for (uint64_t i = 0; i < hops; i += 16) {
#pragma unroll
    for (int u = 0; u < 16; ++u) p = reinterpret_cast<uint64_t const*>(*p);
  }
  auto const t1 = clock64();
  out[0] = t1 - t0;
  out[1] = reinterpret_cast<uint64_t>(p);
}
// A chain through byte offsets in random order; cycles a load, warm.
static double run_chain(char* buf, std::vector<uint64_t> offsets, uint64_t hops_least, uint64_t seed) {
  std::mt19937_64 g(seed);
  std::shuffle(offsets.begin(), offsets.end(), g);
  uint64_t *d, *out;
  CHECK(cudaMalloc(&d, offsets.size() * 8));
  CHECK(cudaMalloc(&out, 16));
  CHECK(cudaMemcpy(d, offsets.data(), offsets.size() * 8, cudaMemcpyHostToDevice));
  link_chain<<<256, 256>>>(buf, d, offsets.size());
  auto const hops =
      (std::max<uint64_t>(hops_least, std::min<uint64_t>(offsets.size(), 600000)) + 15) / 16 * 16;
  auto const* first = reinterpret_cast<uint64_t*>(buf + offsets[0]);
  double best = 1e30;
  for (int r = 0; r < 3; ++r) {
    chase<<<1, 1>>>(first, hops, out);
    uint64_t h[2];
    CHECK(cudaMemcpy(h, out, 16, cudaMemcpyDeviceToHost));
    best = std::min(best, double(h[0]) / hops);
  }
  CHECK(cudaFree(d));
  CHECK(cudaFree(out));
  return best;
}
__global__ void read_all(float4 const* a, uint64_t n, float* out) {
  float s = 0;
  for (uint64_t i = blockIdx.x * uint64_t(blockDim.x) + threadIdx.x; i < n;
       i += uint64_t(gridDim.x) * blockDim.x) {
    auto v = a[i];
    s += v.x + v.y + v.z + v.w;
  }
  if (s == 12345.678f) *out = s;
}
__global__ void copy_all(float4 const* a, float4* b, uint64_t n) {
  for (uint64_t i = blockIdx.x * uint64_t(blockDim.x) + threadIdx.x; i < n;
       i += uint64_t(gridDim.x) * blockDim.x)
    b[i] = a[i];
}
// Random reads of `lanes` x 16 B segments.
__global__ void gather(float4 const* a, uint64_t segments, int lanes, int each, float* out) {
  uint64_t const t = blockIdx.x * uint64_t(blockDim.x) + threadIdx.x;
  uint64_t x = t / lanes * 0x9E3779B97F4A7C15ULL + 1;
  float s = 0;
  for (int k = 0; k < each; ++k) {
    x = x * 6364136223846793005ULL + 1442695040888963407ULL;
    auto v = a[(x >> 16) % segments * lanes + t % lanes];
    s += v.x + v.w;
  }
  if (s == 12345.678f) *out = s;
}
__global__ void small_copy(double const* a, double* b, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) b[i] = a[i] * 0.25;
}
template <class F>
static double seconds(F f, int n) {
  cudaEvent_t a, b;
  CHECK(cudaEventCreate(&a));
  CHECK(cudaEventCreate(&b));
  f();
  CHECK(cudaDeviceSynchronize());
  double best = 1e30;
  for (int r = 0; r < 3; ++r) {
    CHECK(cudaEventRecord(a));
    for (int i = 0; i < n; ++i) f();
    CHECK(cudaEventRecord(b));
    CHECK(cudaEventSynchronize(b));
    float ms;
    CHECK(cudaEventElapsedTime(&ms, a, b));
    best = std::min(best, ms / 1e3 / n);
  }
  return best;
}
int main() {
  cudaDeviceProp p;
  CHECK(cudaGetDeviceProperties(&p, 0));
  size_t avail, total;
  CHECK(cudaMemGetInfo(&avail, &total));
  uint64_t const MIB = 1 << 20, big = avail / MIB * MIB - 4096 * MIB;
  std::printf("# %s, %d SMs, L2 %d B, %zu MiB free\nwhat,x,value,unit\n", p.name, p.multiProcessorCount,
              p.l2CacheSize, avail / MIB);
  char* buf;
  CHECK(cudaMalloc(&buf, big));
  float* out;
  CHECK(cudaMalloc(&out, 4));
  for (uint64_t kib :
       {16,    64,    128,   192,   224,   256,   320,   512,   1024,   4096,   12288,  20480,
        24576, 28672, 32768, 40960, 49152, 57344, 65536, 81920, 131072, 262144, 524288, 1048576}) {
    std::vector<uint64_t> o(kib * 1024 / 128);
    for (uint64_t i = 0; i < o.size(); ++i) o[i] = i * 128;
    std::printf("chase_128B_kib,%lu,%.2f,cycles\n", kib, run_chain(buf, o, 100000, kib));
    std::fflush(stdout);
  }
  // One line in each page of 2 MiB (another set of the caches in each): reach and cost of each TLB level,
  // data in the L2 cache.
  for (uint64_t pages = 1; pages <= big / (2 * MIB); pages = std::max(pages + 1, pages * 5 / 4)) {
    std::vector<uint64_t> o(pages);
    for (uint64_t i = 0; i < pages; ++i) o[i] = i * 2 * MIB + i * 2654435761ULL % (2 * MIB / 128) * 128;
    std::printf("tlb_pages_2mib,%lu,%.2f,cycles\n", pages, run_chain(buf, o, 4 * pages + 4096, pages));
    std::fflush(stdout);
  }
  // The same lines packed into few pages: what is left is not the TLB's.
  for (uint64_t lines : {64UL, 256UL, 1024UL, 4096UL, 16384UL, 32768UL}) {
    std::vector<uint64_t> o(lines);
    for (uint64_t i = 0; i < lines; ++i) o[i] = i * 128;
    std::printf("packed_lines,%lu,%.2f,cycles\n", lines, run_chain(buf, o, 4 * lines + 4096, lines));
  }
  for (uint64_t gib = 1; gib * 1024 * MIB <= big; gib *= 2) {  // random lines over large footprints
    std::vector<uint64_t> o(200000);
    std::mt19937_64 g(gib);
    for (auto& x : o) x = g() % (gib * 1024 * MIB / 128) * 128;
    std::sort(o.begin(), o.end());
    o.erase(std::unique(o.begin(), o.end()), o.end());
    std::printf("random_line_gib,%lu,%.2f,cycles\n", gib, run_chain(buf, o, 200000, gib));
    std::fflush(stdout);
  }
  int const blocks = p.multiProcessorCount * 4;
  for (uint64_t mib : {4, 8, 16, 24, 32, 40, 48, 64, 128, 1024, 4096})
    std::printf(
        "read_mib,%lu,%.1f,GB/s\n", mib,
        mib * MIB / seconds([&] { read_all<<<blocks, 512>>>((float4*)buf, mib * MIB / 16, out); }, 20) / 1e9);
  std::printf(
      "copy_mib,2048,%.1f,GB/s both\n",
      2 * 2048 * MIB /
          seconds(
              [&] { copy_all<<<blocks, 512>>>((float4*)buf, (float4*)(buf + 2048 * MIB), 2048 * MIB / 16); },
              10) /
          1e9);
  for (int warps : {1, 2, 4, 8, 16, 32, 64})  // one block of so many warps an SM
    if (warps <= 32)
      std::printf("read_warps_per_sm,%d,%.1f,GB/s\n", warps,
                  1024 * MIB /
                      seconds(
                          [&] {
                            read_all<<<p.multiProcessorCount, 32 * warps>>>((float4*)buf, 1024 * MIB / 16,
                                                                            out);
                          },
                          3) /
                      1e9);
  for (uint64_t gib = 1; gib * 1024 * MIB <= big; gib *= 2)
    for (int lanes : {1, 2, 4, 8, 32})
      std::printf("gather_%dB_gib,%lu,%.1f,GB/s\n", lanes * 16, gib,
                  double(blocks) * 512 * 64 * 16 /
                      seconds(
                          [&] {
                            gather<<<blocks, 512>>>((float4*)buf, gib * 1024 * MIB / 16 / lanes, lanes, 64,
                                                    out);
                          },
                          3) /
                      1e9);
  for (int n : {4096, 32768, 131072, 524288, 2097152})
    std::printf(
        "back_to_back_kernel,%d,%.3f,us\n", n,
        1e6 *
            seconds([&] { small_copy<<<(n + 255) / 256, 256>>>((double*)buf, (double*)(buf + 64 * MIB), n); },
                    2000));
}
