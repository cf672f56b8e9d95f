// Making, comparing and timing launches; see trial.h.
#include <diecast/base/text.h>
#include <diecast/runtime/tuning/extents.h>
#include <diecast/runtime/tuning/trial.h>

#include <algorithm>
#include <cmath>

namespace diecast {
namespace {

constexpr std::size_t kPiece = 1u << 22;  // bytes filled and read at once
constexpr double kSampleMs = 1;           // what a sample should take, at least
constexpr int kMostLaunches = 100;        // in a sample, one graph
constexpr std::size_t kGraphs = 3;        // in turns: what is quick in one may be slow in another

bool is_index(DType type) {
  return type == DType::i32 || type == DType::u32 || type == DType::i64 || type == DType::u64 ||
         type == DType::u16;
}

Error not_told(const Specialization& specialization, const BoundArgument& argument) {
  const bool readable =
      argument.kind == Argument::Kind::scalar && parse_scalar("1", argument.dtype).has_value();
  const bool tensor = argument.kind == Argument::Kind::tensor;
  const std::string_view name = argument.name;
  return {ErrorCode::not_supported,
          cat(specialization.tmpl().name(), ": the header does not tell what to give for ", name),
          readable ? cat("give a value: --scalar ", name, "=1, in Python ", name, "=1")
                   : cat("give its bytes: --given ", name, "=FILE",
                         tensor ? cat(" (to `run` also as --in ", name, "=", name, ".npy)") : "",
                         ", in a program TuneRequest::given, in Python ", name, "=")};
}

Result<std::int64_t> size_of(const Specialization& specialization, const BoundArgument& size,
                             const RunSizes& sizes) {
  if (size.fixed) return size.fixed_value;
  const auto found = std::ranges::find(sizes, size.name, &RunSizes::value_type::first);
  if (found != sizes.end()) return found->second;
  return Error{ErrorCode::value_missing,
               cat(specialization.tmpl().name(), " is launched without a value of ", size.name),
               cat("give one: --size ", size.name, "=4096")};
}

double ms_of(const std::vector<double>& sorted, std::size_t quarter) {
  return sorted[sorted.size() * quarter / 4];
}

}  // namespace

Result<Trial> Trial::make(const Specialization& specialization, std::shared_ptr<Device> device,
                          const RunSizes& sizes, const GivenArguments& given) {
  DIECAST_CHECK(check_given(specialization.tmpl(), given));
  Trial out;
  out.device_ = std::move(device);
  for (const BoundArgument& argument : specialization.arguments()) {
    if (const KernelArgument* const own = find_given(given, argument.name)) {
      out.arguments_.push_back(*own);
    } else if (argument.kind == Argument::Kind::size) {
      DIECAST_TRY(const std::int64_t value, size_of(specialization, argument, sizes));
      out.arguments_.push_back(KernelArgument::size(value));
    } else if (argument.kind == Argument::Kind::scalar && argument.dtype == DType::f32) {
      out.arguments_.push_back(KernelArgument::scalar(1.0f));
    } else if (argument.absent) {
      out.arguments_.push_back(KernelArgument::tensor(argument.dtype, nullptr));
    } else if (argument.kind == Argument::Kind::tensor) {
      DIECAST_TRY(const auto extents, extents_at(specialization, argument, sizes));
      const std::int64_t elements = elements_of(extents);
      // Indices mean something; any state of a random generator will do.
      const bool read = argument.direction == Argument::Direction::in && elements > 0;
      if (read && is_index(argument.dtype) && argument.name != "rng")
        return not_told(specialization, argument);
      // What is f32 whatever the options is no data but an amax or a scale: never negative.
      const std::size_t index =
          static_cast<std::size_t>(&argument - specialization.arguments().data());
      const bool data = specialization.tmpl().arguments()[index].type != dtype_name(DType::f32);
      DIECAST_CHECK(out.add_tensor(argument, extents, data));
    } else {
      return not_told(specialization, argument);
    }
  }
  for (const Memory& one : out.memory_)
    if (!one.written) out.largest_ = std::max(out.largest_, one.elements());
  for (Memory& one : out.memory_) one.tensor.largest = one.elements() == out.largest_;
  DIECAST_CHECK(out.draw(0));
  DIECAST_CHECK(out.reset());
  return out;
}

Result<void> Trial::add_tensor(const BoundArgument& argument, std::span<const std::int64_t> extents,
                               bool is_data) {
  Memory one;
  const std::int64_t elements = elements_of(extents);
  one.bytes = static_cast<std::size_t>(elements * dtype_bits(argument.dtype) / 8);
  DIECAST_TRY(one.memory, DeviceMemory::allocate(device_, one.bytes));
  one.written = argument.direction != Argument::Direction::in;
  one.before = argument.direction == Argument::Direction::out ? 0xA5 : 0;
  one.tensor.type = argument.dtype;
  one.tensor.cols = extents.empty() ? 1 : extents.back();
  one.tensor.rows = elements / std::max<std::int64_t>(one.tensor.cols, 1);
  one.tensor.data = is_data;
  one.tensor.place = static_cast<int>(std::ranges::count(memory_, false, &Memory::written));
  arguments_.push_back(KernelArgument::tensor(argument.dtype, one.memory.data()));
  memory_.push_back(std::move(one));
  return {};
}

Result<void> Trial::draw(std::uint64_t which) {
  for (Memory& one : memory_) {
    if (one.written) continue;
    while (one.draws.size() <= which) one.draws.push_back(drawn(one.tensor, one.draws.size()));
    const Bytes& values = one.draws[which];
    for (std::size_t at = 0; at < one.bytes; at += values.size()) {
      DIECAST_CHECK(device_->copy_to_device(static_cast<std::byte*>(one.memory.data()) + at,
                                            values.data(), std::min(values.size(), one.bytes - at),
                                            {}));
    }
    DIECAST_CHECK(device_->synchronize({}));
  }
  return {};
}

Result<void> Trial::reset() const {
  for (const Memory& one : memory_) {
    if (one.written && one.bytes > 0)
      DIECAST_CHECK(device_->fill(one.memory.data(), one.before, one.bytes, {}));
  }
  return device_->synchronize({});
}

Result<std::vector<Digest>> Trial::outputs() const {
  std::vector<Digest> out;
  for (const Memory& one : memory_) {
    if (!one.written) continue;
    Bytes digests, piece;
    for (std::size_t at = 0; at < one.bytes; at += kPiece) {
      piece.resize(std::min(kPiece, one.bytes - at));
      DIECAST_CHECK(device_->copy_to_host(
          piece.data(), static_cast<std::byte*>(one.memory.data()) + at, piece.size(), {}));
      DIECAST_CHECK(device_->synchronize({}));
      const std::string digest = xxh3_128(piece).hex();
      const ByteSpan bytes = as_bytes(digest);
      digests.insert(digests.end(), bytes.begin(), bytes.end());
    }
    out.push_back(xxh3_128(digests));
  }
  return out;
}

Result<std::vector<Bytes>> Trial::output_bytes() const {
  std::vector<Bytes> out;
  for (const Memory& one : memory_) {
    if (!one.written) continue;
    Bytes& bytes = out.emplace_back(one.bytes);
    DIECAST_CHECK(device_->copy_to_host(bytes.data(), one.memory.data(), bytes.size(), {}));
    DIECAST_CHECK(device_->synchronize({}));
  }
  return out;
}

Result<void> check_samples(int samples) {
  if (samples >= 1) return {};
  return Error{ErrorCode::invalid_argument, cat(samples, " samples of a launch"),
               "take one or more"};
}

Result<double> time_repetition(Device& device, RepeatedCalls& calls, Event from, Event to,
                               Stream stream) {
  DIECAST_CHECK(calls.repeat());
  DIECAST_CHECK(device.record(from, stream));
  DIECAST_CHECK(calls.repeat());
  DIECAST_CHECK(device.record(to, stream));
  return device.elapsed_ms(from, to);
}

Result<LaunchTime> time_launch(const Kernel& kernel, std::span<const KernelArgument> arguments,
                               const LaunchTunes& tunes, int samples) {
  DIECAST_CHECK(check_samples(samples));
  Device& device = kernel.device();
  DIECAST_TRY(const Event from, device.create_event());
  DIECAST_TRY(const Event to, device.create_event());
  DIECAST_TRY(const Stream stream, device.create_stream());
  const auto captured = [&](int launches) {
    return device.capture(stream, [&, launches]() -> Result<void> {
      for (int i = 0; i < launches; ++i) DIECAST_CHECK(kernel.launch(arguments, stream, tunes));
      return {};
    });
  };
  const auto sample = [&](RepeatedCalls& calls) {
    return time_repetition(device, calls, from, to, stream);
  };
  const auto measure = [&]() -> Result<LaunchTime> {
    std::vector<std::unique_ptr<RepeatedCalls>> graphs(1);
    DIECAST_TRY(graphs[0], captured(1));
    DIECAST_TRY(const double once, sample(*graphs[0]));
    const int launches =
        static_cast<int>(std::clamp(kSampleMs / std::max(once, 1e-6), 1.0, double{kMostLaunches}));
    if (launches > 1) {
      graphs.resize(kGraphs);
      for (auto& graph : graphs) {
        DIECAST_TRY(graph, captured(launches));
      }
    }
    std::vector<double> ms;
    for (std::size_t i = 0; i < static_cast<std::size_t>(samples); ++i) {
      DIECAST_TRY(const double all, sample(*graphs[i % graphs.size()]));
      ms.push_back(all / launches);
    }
    std::sort(ms.begin(), ms.end());
    const double median = std::max(ms_of(ms, 2), 1e-6);
    return LaunchTime{std::llround(median * 1e6),
                      std::llround((ms_of(ms, 3) - ms_of(ms, 1)) / median * 1000),
                      static_cast<std::int64_t>(ms.size())};
  };
  auto measured = measure();
  (void)device.destroy_stream(stream).ok();
  (void)device.destroy_event(from).ok();
  (void)device.destroy_event(to).ok();
  return measured;
}

}  // namespace diecast
