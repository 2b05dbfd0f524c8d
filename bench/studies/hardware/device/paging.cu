// SPDX-License-Identifier: Apache-2.0
// Demand paging of a real GPU (sm_90), about a minute: faults, prefetching, copies, oversubscription, remote
// loads, launches. nvcc -O3 -arch=sm_90 -o paging paging.cu && ./paging > paging.csv Managed memory is
// written by the host first, unless a row says "fresh". Times in a kernel are those of %globaltimer.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <random>
#include <vector>

#define CHECK(x)                                                       \
  do {                                                                 \
    cudaError_t e_ = (x);                                              \
    if (e_ != cudaSuccess) {                                           \
      std::printf("error,%s,%d,\n", cudaGetErrorString(e_), __LINE__); \
      std::exit(1);                                                    \
    }                                                                  \
  } while (0)

static std::uint64_t const kKib = 1024, kMib = 1024 * kKib, kGib = 1024 * kMib;

static void row(char const* what, std::uint64_t x, double value, char const* unit) {
  std::printf("%s,%llu,%.4g,%s\n", what, static_cast<unsigned long long>(x), value, unit);
  std::fflush(stdout);
}

__device__ std::uint64_t now_ns() {
  std::uint64_t t;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t)::"memory");
  return t;
}

// One thread touches offsets one after another; cycles of each touch.
__global__ void touch_each(char const* p, std::uint64_t const* offsets, int n, std::uint64_t* cycles,
                           std::uint64_t* sink) {
  std::uint64_t x = 0;
  for (int i = 0; i < n; ++i) {
    auto const t0 = clock64();
    x += *reinterpret_cast<std::uint64_t const volatile*>(p + offsets[i] + (x & 0));
    asm volatile("" ::"l"(x) : "memory");
    if (x == 0xdeadbeefULL) *sink = x;
    auto const t1 = clock64();
    cycles[i] = t1 - t0;
  }
  *sink = x;
}
// Every thread reads 8 bytes of each of its pages; the lanes of a warp read different pages.
__global__ void touch_all(char const* p, std::uint64_t stride, std::uint64_t n, std::uint64_t* sink) {
  std::uint64_t x = 0;
  for (std::uint64_t i = blockIdx.x * std::uint64_t(blockDim.x) + threadIdx.x; i < n;
       i += std::uint64_t(gridDim.x) * blockDim.x)
    x += *reinterpret_cast<std::uint64_t const*>(p + i * stride);
  if (x == 0xdeadbeefULL) *sink = x;
}
__global__ void write_all(float4* p, std::uint64_t n) {
  for (std::uint64_t i = blockIdx.x * std::uint64_t(blockDim.x) + threadIdx.x; i < n;
       i += std::uint64_t(gridDim.x) * blockDim.x)
    p[i] = make_float4(1, 2, 3, 4);
}
__global__ void read_all(float4 const* p, std::uint64_t n, float* sink) {
  float s = 0;
  for (std::uint64_t i = blockIdx.x * std::uint64_t(blockDim.x) + threadIdx.x; i < n;
       i += std::uint64_t(gridDim.x) * blockDim.x) {
    auto const v = p[i];
    s += v.x + v.w;
  }
  if (s == 12345.678f) *sink = s;
}
__global__ void read_random(float4 const* p, std::uint64_t n, int each, float* sink) {
  std::uint64_t x = (blockIdx.x * std::uint64_t(blockDim.x) + threadIdx.x) / 8 * 0x9E3779B97F4A7C15ULL + 1;
  float s = 0;
  for (int k = 0; k < each; ++k) {
    x = x * 6364136223846793005ULL + 1442695040888963407ULL;
    s += p[(x >> 16) % (n / 8) * 8 + threadIdx.x % 8].x;
  }
  if (s == 12345.678f) *sink = s;
}
__global__ void chase(std::uint64_t const* p, int hops, std::uint64_t* out) {
  auto const t0 = now_ns();
  auto const c0 = clock64();
  for (int i = 0; i < hops; ++i)
    p = reinterpret_cast<std::uint64_t const*>(*reinterpret_cast<std::uint64_t const volatile*>(p));
  auto const c1 = clock64();
  auto const t1 = now_ns();
  out[0] = t1 - t0;
  out[1] = c1 - c0;
  out[2] = reinterpret_cast<std::uint64_t>(p);
}
__global__ void nothing() {}
__global__ void copy_small(double const* a, double* b, int n) {
  int const i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) b[i] = a[i] * 0.25;
}

template <class F>
static double device_seconds(F f) {
  cudaEvent_t a, b;
  CHECK(cudaEventCreate(&a));
  CHECK(cudaEventCreate(&b));
  CHECK(cudaEventRecord(a));
  f();
  CHECK(cudaEventRecord(b));
  CHECK(cudaEventSynchronize(b));
  float ms;
  CHECK(cudaEventElapsedTime(&ms, a, b));
  CHECK(cudaEventDestroy(a));
  CHECK(cudaEventDestroy(b));
  return ms / 1e3;
}
template <class F>
static double host_seconds(F f) {
  auto const t0 = std::chrono::steady_clock::now();
  f();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - t0).count();
}
static char* managed(std::uint64_t bytes, bool written) {
  char* p;
  CHECK(cudaMallocManaged(&p, bytes));
  if (written) std::memset(p, 1, bytes);
  return p;
}
static void advise(char* p, std::uint64_t bytes, cudaMemoryAdvise what, bool host) {
  cudaMemLocation place{};
  place.type = host ? cudaMemLocationTypeHost : cudaMemLocationTypeDevice;
  place.id = 0;
  CHECK(cudaMemAdvise(p, bytes, what, place));
}
static void prefetch(char* p, std::uint64_t bytes, bool host) {
  cudaMemLocation place{};
  place.type = host ? cudaMemLocationTypeHost : cudaMemLocationTypeDevice;
  place.id = 0;
  CHECK(cudaMemPrefetchAsync(p, bytes, place, 0, 0));
}

int main() {
  cudaDeviceProp prop;
  CHECK(cudaGetDeviceProperties(&prop, 0));
  int sm_khz = 0;
  CHECK(cudaDeviceGetAttribute(&sm_khz, cudaDevAttrClockRate, 0));
  int driver = 0, runtime = 0;
  CHECK(cudaDriverGetVersion(&driver));
  CHECK(cudaRuntimeGetVersion(&runtime));
  std::printf(
      "# %s, %d SMs, clock up to %d kHz, CUDA driver %d runtime %d, pageable access %d, concurrent managed "
      "%d\nwhat,x,value,unit\n",
      prop.name, prop.multiProcessorCount, sm_khz, driver, runtime, prop.pageableMemoryAccess,
      prop.concurrentManagedAccess);
  int const blocks = prop.multiProcessorCount * 4;
  std::uint64_t *sink, *cycles;
  CHECK(cudaMalloc(&sink, 64));
  CHECK(cudaMalloc(&cycles, 65536 * 8));
  auto* const fsink = reinterpret_cast<float*>(sink);
  {  // the clock is raised before anything is timed
    char* p;
    CHECK(cudaMalloc(&p, kGib));
    for (int i = 0; i < 2000; ++i) write_all<<<blocks, 512>>>(reinterpret_cast<float4*>(p), kGib / 16);
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFree(p));
  }
  {  // cycles and nanoseconds of the same chase: the clock
    char* p;
    CHECK(cudaMalloc(&p, kMib));
    std::vector<std::uint64_t> host(kMib / 8);
    auto const n = kMib / 128;
    for (std::uint64_t i = 0; i < n; ++i)
      host[i * 16] = reinterpret_cast<std::uint64_t>(p + (i + 1) % n * 128);
    CHECK(cudaMemcpy(p, host.data(), kMib, cudaMemcpyHostToDevice));
    chase<<<1, 1>>>(reinterpret_cast<std::uint64_t*>(p), 1000000, sink);
    std::uint64_t h[3];
    CHECK(cudaMemcpy(h, sink, 24, cudaMemcpyDeviceToHost));
    row("sm_clock", 0, double(h[1]) / h[0] * 1000, "MHz");
    CHECK(cudaFree(p));
  }
  // A single thread touches pages one after another, in ascending and in random order.
  for (std::uint64_t stride : {4 * kKib, 64 * kKib, 2 * kMib})
    for (int order = 0; order < 2; ++order)
      for (int fresh = 0; fresh < 2; ++fresh) {
        int const n = 256;
        auto const bytes = stride * n;
        char* p = managed(bytes, !fresh);
        std::vector<std::uint64_t> o(n);
        for (int i = 0; i < n; ++i) o[i] = i * stride;
        if (order) {
          std::mt19937_64 g(7);
          std::shuffle(o.begin(), o.end(), g);
        }
        std::uint64_t* d;
        CHECK(cudaMalloc(&d, n * 8));
        CHECK(cudaMemcpy(d, o.data(), n * 8, cudaMemcpyHostToDevice));
        CHECK(cudaDeviceSynchronize());
        touch_each<<<1, 1>>>(p, d, n, cycles, sink);
        std::vector<std::uint64_t> c(n);
        CHECK(cudaMemcpy(c.data(), cycles, n * 8, cudaMemcpyDeviceToHost));
        char name[96];
        auto const kind = std::snprintf(name, sizeof name, "touch_%s_%s", fresh ? "fresh" : "host",
                                        order ? "random" : "ascending");
        auto const faults = std::count_if(c.begin(), c.end(), [](auto x) { return x > 8000; });
        double sum = 0;
        for (auto x : c)
          if (x > 8000) sum += double(x);
        std::snprintf(name + kind, sizeof name - kind, "_faults_of_256");
        row(name, stride, double(faults), "count");
        std::snprintf(name + kind, sizeof name - kind, "_mean_of_faults");
        row(name, stride, faults ? sum / faults : 0, "cycles");
        std::sort(c.begin(), c.end());
        std::vector<std::uint64_t> f(c.end() - faults, c.end());
        if (faults) {
          std::snprintf(name + kind, sizeof name - kind, "_least_of_faults");
          row(name, stride, double(f.front()), "cycles");
          std::snprintf(name + kind, sizeof name - kind, "_median_of_faults");
          row(name, stride, double(f[f.size() / 2]), "cycles");
          std::snprintf(name + kind, sizeof name - kind, "_most_of_faults");
          row(name, stride, double(f.back()), "cycles");
        }
        CHECK(cudaFree(d));
        CHECK(cudaFree(p));
      }
  // Many threads touch pages at once: pages a second, by stride.
  for (int fresh = 0; fresh < 2; ++fresh)
    for (std::uint64_t stride : {4 * kKib, 16 * kKib, 64 * kKib, 256 * kKib, 2 * kMib}) {
      auto const bytes = std::min<std::uint64_t>(2 * kGib, stride * 65536);
      auto const n = bytes / stride;
      char* p = managed(bytes, !fresh);
      CHECK(cudaDeviceSynchronize());
      auto const s = device_seconds([&] { touch_all<<<blocks, 256>>>(p, stride, n, sink); });
      row(fresh ? "touch_many_fresh_stride" : "touch_many_host_stride", stride, double(n) / s, "pages/s");
      row(fresh ? "touch_many_fresh_bytes" : "touch_many_host_bytes", stride, double(bytes) / s / 1e9,
          "GB/s of footprint");
      CHECK(cudaFree(p));
    }
  // A kernel that reads, or writes, managed memory from its start to its end.
  for (std::uint64_t size :
       {64 * kKib, 256 * kKib, kMib, 4 * kMib, 16 * kMib, 64 * kMib, 256 * kMib, kGib, 4 * kGib}) {
    char* p = managed(size, true);
    CHECK(cudaDeviceSynchronize());
    row("stream_faults_read", size,
        1e6 * device_seconds(
                  [&] { read_all<<<blocks, 512>>>(reinterpret_cast<float4*>(p), size / 16, fsink); }),
        "us");
    row("stream_resident_read", size,
        1e6 * device_seconds(
                  [&] { read_all<<<blocks, 512>>>(reinterpret_cast<float4*>(p), size / 16, fsink); }),
        "us");
    CHECK(cudaFree(p));
    p = managed(size, true);
    CHECK(cudaDeviceSynchronize());
    row("stream_faults_write", size,
        1e6 * device_seconds([&] { write_all<<<blocks, 512>>>(reinterpret_cast<float4*>(p), size / 16); }),
        "us");
    CHECK(cudaFree(p));
    p = managed(size, false);
    row("stream_faults_fresh_write", size,
        1e6 * device_seconds([&] { write_all<<<blocks, 512>>>(reinterpret_cast<float4*>(p), size / 16); }),
        "us");
    CHECK(cudaFree(p));
    p = managed(size, true);
    CHECK(cudaDeviceSynchronize());
    row("prefetch_to_gpu", size, 1e6 * host_seconds([&] {
                                   prefetch(p, size, false);
                                   CHECK(cudaDeviceSynchronize());
                                 }),
        "us");
    row("prefetch_to_host", size, 1e6 * host_seconds([&] {
                                    prefetch(p, size, true);
                                    CHECK(cudaDeviceSynchronize());
                                  }),
        "us");
    CHECK(cudaFree(p));
    p = managed(size, true);
    write_all<<<blocks, 512>>>(reinterpret_cast<float4*>(p), size / 16);
    CHECK(cudaDeviceSynchronize());
    row("host_reads_back_by_faults", size, 1e6 * host_seconds([&] {
                                             volatile char x = 0;
                                             for (std::uint64_t i = 0; i < size; i += 4096) x += p[i];
                                           }),
        "us");
    CHECK(cudaFree(p));
  }
  // Copies between pinned host memory and the GPU.
  for (std::uint64_t size : {4 * kKib, 64 * kKib, kMib, 16 * kMib, 256 * kMib, kGib}) {
    char *h, *d;
    CHECK(cudaMallocHost(&h, size));
    CHECK(cudaMalloc(&d, size));
    for (int way = 0; way < 2; ++way) {
      double best = 1e30;
      for (int r = 0; r < 5; ++r)
        best = std::min(best, device_seconds([&] {
                          CHECK(cudaMemcpyAsync(way ? h : d, way ? d : h, size,
                                                way ? cudaMemcpyDeviceToHost : cudaMemcpyHostToDevice, 0));
                        }));
      row(way ? "copy_to_host" : "copy_to_gpu", size, best * 1e6, "us");
    }
    CHECK(cudaFree(d));
    CHECK(cudaFreeHost(h));
  }
  {  // Loads of host memory from a kernel: latency, then bandwidth.
    for (std::uint64_t size : {64 * kKib, kMib, 64 * kMib, kGib}) {
      char* h;
      CHECK(cudaMallocHost(&h, size));
      auto const n = size / 128;
      std::vector<std::uint64_t> o(n);
      std::iota(o.begin(), o.end(), 0);
      std::mt19937_64 g(3);
      std::shuffle(o.begin(), o.end(), g);
      for (std::uint64_t i = 0; i < n; ++i)
        *reinterpret_cast<std::uint64_t*>(h + o[i] * 128) =
            reinterpret_cast<std::uint64_t>(h + o[(i + 1) % n] * 128);
      int const hops = 20000;
      chase<<<1, 1>>>(reinterpret_cast<std::uint64_t*>(h), hops, sink);
      std::uint64_t t[3];
      CHECK(cudaMemcpy(t, sink, 24, cudaMemcpyDeviceToHost));
      row("pinned_chase", size, double(t[0]) / hops, "ns");
      double best = 1e30;
      for (int r = 0; r < 3; ++r)
        best = std::min(best, device_seconds([&] {
                          read_all<<<blocks, 512>>>(reinterpret_cast<float4*>(h), size / 16, fsink);
                        }));
      row("pinned_read", size, size / best / 1e9, "GB/s");
      row("pinned_write", size, size / device_seconds([&] {
                                  write_all<<<blocks, 512>>>(reinterpret_cast<float4*>(h), size / 16);
                                }) / 1e9,
          "GB/s");
      CHECK(cudaFreeHost(h));
    }
  }
  // Managed memory that prefers the host and is mapped for the GPU: passes over it. A change after some
  // passes is access counters at work.
  for (int prefers = 0; prefers < 2; ++prefers) {
    auto const size = 256 * kMib;
    char* p = managed(size, true);
    if (prefers) advise(p, size, cudaMemAdviseSetPreferredLocation, true);
    advise(p, size, cudaMemAdviseSetAccessedBy, false);
    CHECK(cudaDeviceSynchronize());
    for (int pass = 0; pass < 12; ++pass)
      row(prefers ? "mapped_prefers_host_pass" : "mapped_pass", pass,
          size / device_seconds([&] {
            read_all<<<blocks, 512>>>(reinterpret_cast<float4*>(p), size / 16, fsink);
          }) / 1e9,
          "GB/s");
    std::uint64_t const hot =
        2 * kMib;  // few regions, read often: over the counters' threshold within one pass
    for (int pass = 0; pass < 12; ++pass)
      row(prefers ? "mapped_prefers_host_hot_pass" : "mapped_hot_pass", pass,
          64.0 * hot / device_seconds([&] {
            for (int i = 0; i < 64; ++i)
              read_all<<<blocks, 512>>>(reinterpret_cast<float4*>(p), hot / 16, fsink);
          }) / 1e9,
          "GB/s");
    CHECK(cudaFree(p));
  }
  {  // Read-mostly copies.
    auto const size = 256 * kMib;
    char* p = managed(size, true);
    advise(p, size, cudaMemAdviseSetReadMostly, false);
    CHECK(cudaDeviceSynchronize());
    row("read_mostly_first_read", size,
        1e6 * device_seconds(
                  [&] { read_all<<<blocks, 512>>>(reinterpret_cast<float4*>(p), size / 16, fsink); }),
        "us");
    row("read_mostly_first_write", size,
        1e6 * device_seconds([&] { write_all<<<blocks, 512>>>(reinterpret_cast<float4*>(p), size / 16); }),
        "us");
    CHECK(cudaFree(p));
  }
  {  // Oversubscription: all but 4 GiB are taken.
    size_t available, total;
    CHECK(cudaMemGetInfo(&available, &total));
    std::vector<char*> ballast;
    while (available > 4 * kGib + 64 * kMib) {
      char* b;
      auto const bytes = std::min<std::uint64_t>(16 * kGib, (available - 4 * kGib) / (2 * kMib) * (2 * kMib));
      if (bytes < 2 * kMib || cudaMalloc(&b, bytes) != cudaSuccess) break;
      ballast.push_back(b);
      CHECK(cudaMemGetInfo(&available, &total));
    }
    row("oversubscription_free", 0, double(available) / kMib, "MiB");
    for (std::uint64_t percent : {50, 90, 100, 110, 125, 150, 200}) {
      auto const size = available / 100 * percent / (2 * kMib) * (2 * kMib);
      char* p = managed(size, true);
      CHECK(cudaDeviceSynchronize());
      for (int pass = 0; pass < 3; ++pass) {
        char name[64];
        std::snprintf(name, sizeof name, "oversubscribed_read_pass_%d", pass);
        row(name, percent, size / device_seconds([&] {
                             read_all<<<blocks, 512>>>(reinterpret_cast<float4*>(p), size / 16, fsink);
                           }) / 1e9,
            "GB/s");
      }
      row("oversubscribed_write", percent,
          size / device_seconds([&] {
            write_all<<<blocks, 512>>>(reinterpret_cast<float4*>(p), size / 16);
          }) / 1e9,
          "GB/s");
      int const each = 2;
      row("oversubscribed_random", percent,
          double(blocks) * 512 / 8 * each / device_seconds([&] {
            read_random<<<blocks, 512>>>(reinterpret_cast<float4*>(p), size / 16, each, fsink);
          }),
          "lines/s");
      CHECK(cudaFree(p));
    }
    for (auto* b : ballast) CHECK(cudaFree(b));
  }
  {  // Launches: alone, queued, and as nodes of a graph.
    for (int r = 0; r < 100; ++r) nothing<<<1, 32>>>();
    CHECK(cudaDeviceSynchronize());
    double best = 1e30, all = 0;
    for (int r = 0; r < 200; ++r) {
      auto const s = host_seconds([&] {
        nothing<<<1, 32>>>();
        CHECK(cudaDeviceSynchronize());
      });
      best = std::min(best, s);
      all += s;
    }
    row("launch_and_wait_least", 1, best * 1e6, "us");
    row("launch_and_wait_mean", 1, all / 200 * 1e6, "us");
    double *a, *b;
    CHECK(cudaMalloc(&a, 64 * kMib));
    CHECK(cudaMalloc(&b, 64 * kMib));
    cudaStream_t stream;
    CHECK(cudaStreamCreate(&stream));
    for (int n : {1, 4096, 8192, 32768, 131072, 524288}) {
      auto const launch = [&] {
        if (n == 1)
          nothing<<<1, 32, 0, stream>>>();
        else
          copy_small<<<(n + 255) / 256, 256, 0, stream>>>(a, b, n);
      };
      int const many = 1000;
      cudaEvent_t e0, e1;
      CHECK(cudaEventCreate(&e0));
      CHECK(cudaEventCreate(&e1));
      float ms, least = 1e30f;
      for (int r = 0; r < 3; ++r) {
        CHECK(cudaEventRecord(e0, stream));
        for (int i = 0; i < many; ++i) launch();
        CHECK(cudaEventRecord(e1, stream));
        CHECK(cudaEventSynchronize(e1));
        CHECK(cudaEventElapsedTime(&ms, e0, e1));
        least = std::min(least, ms);
      }
      row("queued_kernel", n, least * 1e3 / many, "us");
      cudaGraph_t graph;
      cudaGraphExec_t exec;
      CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
      for (int i = 0; i < many; ++i) launch();
      CHECK(cudaStreamEndCapture(stream, &graph));
      CHECK(cudaGraphInstantiate(&exec, graph, 0));
      least = 1e30f;
      for (int r = 0; r < 4; ++r) {
        CHECK(cudaEventRecord(e0, stream));
        CHECK(cudaGraphLaunch(exec, stream));
        CHECK(cudaEventRecord(e1, stream));
        CHECK(cudaEventSynchronize(e1));
        CHECK(cudaEventElapsedTime(&ms, e0, e1));
        if (r) least = std::min(least, ms);
      }
      row("graph_kernel", n, least * 1e3 / many, "us");
      CHECK(cudaGraphExecDestroy(exec));
      CHECK(cudaGraphDestroy(graph));
    }
  }
  std::printf("# end\n");
}
