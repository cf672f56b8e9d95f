// A training loop over sharded master weights: every rank updates its own shards and casts them,
// and after each step the NVFP4 weights that it gathered equal the whole cast to the bit.
//   sharded_weights [ranks [steps]]          ranks are threads on this processor
//   sharded_weights --nccl [ranks [steps]]   ranks are processes with a GPU each, joined by NCCL
#include <diecast/diecast.h>
#include <dlfcn.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

using namespace diecast;

// Odd shapes and odd bounds on purpose: most shards begin inside a byte of another rank's.
constexpr std::int64_t kShapes[][2] = {{64, 96}, {33, 47}, {16, 130}};
constexpr std::size_t kWeights = 3;

static std::int64_t bound(std::int64_t elements, int rank, int ranks) {
  return rank == ranks ? elements : elements * rank / ranks | (rank > 0 ? 1 : 0);
}

// The gradient of 0.5 * (x - target)^2, with the noise that a batch brings.
static float gradient(float x, std::size_t weight, std::size_t i, int step) {
  const float target = std::sin(0.37f * static_cast<float>(i + 1000 * weight));
  return x - target + 0.3f * std::sin(static_cast<float>(i) * 0.11f + static_cast<float>(step));
}

static DeviceMemory allocate(const std::shared_ptr<Device>& device, std::int64_t bytes) {
  return DeviceMemory::allocate(device, static_cast<std::size_t>(bytes)).value();
}

// One weight on one rank. Every rank knows the whole master, to check; it casts its shard alone.
struct Weight {
  std::vector<float> master, momentum;
  QuantizedBuffer quantized;
  DeviceMemory memory;  // the shard's
  Tensor shard;
  std::int64_t begin, end;

  Weight(const std::shared_ptr<Device>& device, std::size_t index, int rank, int ranks) {
    const std::int64_t rows = kShapes[index][0], cols = kShapes[index][1], elements = rows * cols;
    master.assign(static_cast<std::size_t>(elements), 0.0f);
    momentum = master;
    begin = bound(elements, rank, ranks);
    end = bound(elements, rank + 1, ranks);
    memory = allocate(device, (end - begin) * 4);
    shard = {memory.data(), DType::f32, Shape{end - begin}};
    const QuantizedType squares{.square = true};
    quantized = QuantizedBuffer::allocate(device, Shape{rows, cols}, squares, Sides::both).value();
  }
  void update(std::size_t index, int step) {
    for (std::size_t i = 0; i < master.size(); ++i) {
      momentum[i] = 0.9f * momentum[i] + gradient(master[i], index, i, step);
      master[i] -= 0.05f * momentum[i];
    }
  }
};

static std::vector<std::uint8_t> download(Device& device, const void* from, std::size_t bytes) {
  std::vector<std::uint8_t> out(bytes);
  device.copy_to_host(out.data(), from, bytes, {}).value();
  device.synchronize({}).value();
  return out;
}

// Whether both directions are what casting the whole master gives.
static bool equals_full_cast(Device& device, Weight& weight) {
  std::vector<std::uint16_t> rounded;
  for (const float x : weight.master) rounded.push_back(reference::encode_bf16(x));
  const Tensor whole{rounded.data(), DType::bf16, weight.quantized.tensor().shape};
  reference::TilesOptions squares;
  squares.square = true;
  const auto amax = reference::amax_rowwise(whole, squares.nvfp4);
  const auto same = [&](const QuantizedSide& side, const reference::CodesAndScales& want) {
    const auto its_amax = download(device, side.amax, 4);
    return download(device, side.data, want.codes.size()) == want.codes &&
           download(device, side.scale, want.scales.size()) == want.scales &&
           std::memcmp(its_amax.data(), amax.data(), 4) == 0;
  };
  const QuantizedTensor& quantized = weight.quantized.tensor();
  return same(quantized.rowwise, reference::quantize_rowwise(whole, squares, amax)) &&
         same(quantized.columnwise, reference::quantize_columnwise(whole, squares, amax));
}

// How many steps of this rank were right.
static int train(Runtime& runtime, const std::shared_ptr<Device>& device, Communicator& group,
                 int steps) {
  std::vector<Weight> weights;
  std::vector<QuantizedTensor> quantized;
  std::vector<Tensor> shards;
  std::vector<std::int64_t> starts;
  for (std::size_t i = 0; i < kWeights; ++i) {
    const Weight& w = weights.emplace_back(device, i, group.rank(), group.size());
    quantized.push_back(w.quantized.tensor());
    shards.push_back(w.shard);
    starts.push_back(w.begin);
  }
  MasterCastOptions options;
  options.device = device;
  const auto cast =
      PreparedMasterCast::prepare(runtime, quantized, shards, starts, &group, options).value();
  const auto post = PreparedPostAllGather::prepare(runtime, quantized, {false, device}).value();
  const DeviceMemory scratch = allocate(device, cast.scratch_bytes());

  int right = 0;
  for (int step = 0; step < steps; ++step) {
    for (std::size_t i = 0; i < kWeights; ++i) {
      Weight& w = weights[i];
      w.update(i, step);
      const auto bytes = static_cast<std::size_t>(w.end - w.begin) * sizeof(float);
      device->copy_to_device(w.shard.data, w.master.data() + w.begin, bytes, {}).value();
    }
    cast.run(scratch.data(), {}).value();
    post.run({}).value();
    bool equal = true;
    for (Weight& w : weights) equal = equal && equals_full_cast(*device, w);
    right += equal;
  }
  return right;
}

static bool report(int rank, int right, int steps) {
  std::printf("rank %d: %d of %d steps equal to the full cast\n", rank, right, steps);
  return right == steps;
}

static bool train_threads(int ranks, int steps) {
  const auto runtime = Runtime::create().value();
  const auto device = open_host_device().value();
  const auto group = thread_ranks({static_cast<std::size_t>(ranks), device});
  std::vector<int> right(group.size());
  std::vector<std::thread> threads;
  for (std::size_t r = 0; r < group.size(); ++r) {
    threads.emplace_back([&, r] { right[r] = train(*runtime, device, *group[r], steps); });
  }
  for (std::thread& thread : threads) thread.join();
  bool all = true;
  for (int r = 0; r < ranks; ++r) all = report(r, right[static_cast<std::size_t>(r)], steps) && all;
  return all;
}

// NCCL's own set-up is the caller's business; an application links NCCL and does the same.
struct NcclId {
  char bytes[128];
};
struct SharedId {
  NcclId id;
  volatile bool ready;
};

static bool train_process(SharedId& shared, int rank, int ranks, int steps) {
  setenv("CUDA_VISIBLE_DEVICES", std::to_string(rank).c_str(), 1);  // one GPU a process
  const auto runtime = Runtime::create().value();
  const auto device = runtime->default_device().value();
  device->synchronize({}).value();  // its context is there before NCCL asks for one
  const char* path = std::getenv("DIECAST_NCCL");
  void* nccl = dlopen(path != nullptr ? path : "libnccl.so.2", RTLD_NOW);
  if (nccl == nullptr) return std::fprintf(stderr, "%s\n", dlerror()), false;
  const auto new_id = reinterpret_cast<int (*)(NcclId*)>(dlsym(nccl, "ncclGetUniqueId"));
  const auto join =
      reinterpret_cast<int (*)(void**, int, NcclId, int)>(dlsym(nccl, "ncclCommInitRank"));
  if (rank == 0) {
    if (const int failed = new_id(&shared.id); failed != 0)
      return std::fprintf(stderr, "ncclGetUniqueId gave %d\n", failed), false;
    shared.ready = true;
  }
  while (!shared.ready) usleep(1000);
  void* comm = nullptr;
  if (const int failed = join(&comm, ranks, shared.id, rank); failed != 0) {
    return std::fprintf(stderr, "ncclCommInitRank gave %d\n", failed), false;
  }
  const auto group = nccl_communicator(comm).value();
  return report(rank, train(*runtime, device, *group, steps), steps);
}

static bool train_processes(int ranks, int steps) {
  auto* shared = static_cast<SharedId*>(
      mmap(nullptr, sizeof(SharedId), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  if (shared == MAP_FAILED) return false;
  std::vector<pid_t> running;
  bool all = true;
  for (int r = 0; r < ranks; ++r) {
    const pid_t rank = fork();
    if (rank == 0) {
      const bool right = train_process(*shared, r, ranks, steps);
      std::fflush(stdout);
      _exit(right ? 0 : 1);
    }
    all = all && rank > 0;
    if (rank > 0) running.push_back(rank);
  }
  while (!running.empty()) {
    // Without one of them the others would wait for ever.
    for (const pid_t rank : running) {
      if (!all) kill(rank, SIGTERM);
    }
    int status = 0;
    const pid_t ended = wait(&status);
    if (ended < 0) return false;
    std::erase(running, ended);
    all = all && status == 0;
  }
  return all;
}

int main(int argc, char** argv) {
  const bool nccl = argc > 1 && std::strcmp(argv[1], "--nccl") == 0;
  const int first = nccl ? 2 : 1;
  const int ranks = argc > first ? std::atoi(argv[first]) : nccl ? 2 : 4;
  const int steps = argc > first + 1 ? std::atoi(argv[first + 1]) : 500;
  if (ranks < 1 || steps < 0)
    return std::fprintf(stderr, "usage: sharded_weights [--nccl] [ranks [steps]]\n"), 2;
  return (nccl ? train_processes(ranks, steps) : train_threads(ranks, steps)) ? 0 : 1;
}
