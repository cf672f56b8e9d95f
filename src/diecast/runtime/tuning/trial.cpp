// Making, comparing and timing launches; see trial.h.
#include <diecast/base/text.h>
#include <diecast/runtime/tuning/extents.h>
#include <diecast/runtime/tuning/trial.h>

#include <algorithm>
#include <cmath>
#include <random>

namespace diecast {
namespace {

constexpr std::size_t kPiece = 1u << 22;  // bytes drawn, filled and read at once
constexpr double kSampleMs = 1;           // what a sample should take, at least
constexpr int kMostLaunches = 100;        // in a sample, one graph
constexpr std::size_t kGraphs = 3;        // in turns: what is quick in one may be slow in another

// The bits of one element: a float, or any byte. Most data are between 2^-9 and 1/4 and some as far
// as 2^-20 (f16: 2^-14) and 16, so that sums in another order are other sums. What is no data is
// above all data, as an amax is: a kernel's way for elements beyond it is not the one to be timed.
std::uint64_t element_bits(DType type, bool data, std::uint64_t random) {
  const std::uint64_t sign = data ? random >> 63 : 0, power = (random >> 32) % 7;
  const bool far = (random >> 40) % 4 == 0;
  const std::uint64_t wide = !data ? 24 : far ? (random >> 44) % 24 : 11 + power;  // from 2^-20 on
  switch (type) {
    case DType::bf16:
      return sign << 15 | (107 + wide) << 7 | (random & 127);
    case DType::f16:
      return sign << 15 | (std::max<std::uint64_t>(wide, 6) - 5) << 10 | (random & 1023);
    case DType::f32:
      return sign << 31 | (107 + wide) << 23 | (random & 0x7fffff);
    case DType::f64:
      return sign << 63 | (1003 + wide) << 52 | (random & 0xfffffffffffff);
    case DType::e4m3:
      return (4 + power) << 3 | (random & 7);
    case DType::e5m2:
      return (12 + power) << 2 | (random & 3);
    case DType::e8m0:
      return 124 + power;
    default:
      return random & 255;
  }
}

Bytes drawn(DType type, bool data, std::size_t bytes) {
  const auto width = static_cast<std::size_t>(dtype_bits(type) / 8);
  Bytes out(std::min(bytes, kPiece));
  std::mt19937_64 random(static_cast<std::uint64_t>(type) + 1);
  for (std::size_t at = 0; at + width <= out.size(); at += width) {
    const std::uint64_t bits = element_bits(type, data, random());
    for (std::size_t i = 0; i < width; ++i) out[at + i] = static_cast<std::byte>(bits >> (8 * i));
  }
  return out;
}

bool is_index(DType type) {
  return type == DType::i32 || type == DType::u32 || type == DType::i64 || type == DType::u64 ||
         type == DType::u16;
}

Error not_told(const Specialization& specialization, const BoundArgument& argument) {
  const bool readable =
      argument.kind == Argument::Kind::scalar && parse_scalar("1", argument.dtype).has_value();
  return {ErrorCode::not_supported,
          cat(specialization.tmpl().name(), ": the header does not tell what to give for ",
              argument.name),
          readable ? cat("give a value: --scalar ", argument.name, "=1")
                   : cat("give its bytes: --given ", argument.name,
                         "=FILE, or in a program TuneRequest::given")};
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
      DIECAST_CHECK(out.add_tensor(argument, elements, data));
    } else {
      return not_told(specialization, argument);
    }
  }
  DIECAST_CHECK(out.reset());
  return out;
}

Result<void> Trial::add_tensor(const BoundArgument& argument, std::int64_t elements, bool is_data) {
  Memory one;
  one.bytes = static_cast<std::size_t>(elements * dtype_bits(argument.dtype) / 8);
  DIECAST_TRY(one.memory, DeviceMemory::allocate(device_, one.bytes));
  void* const data = one.memory.data();
  one.written = argument.direction != Argument::Direction::in;
  one.before = argument.direction == Argument::Direction::out ? 0xA5 : 0;
  if (!one.written) {
    const Bytes values = drawn(argument.dtype, is_data, one.bytes);
    for (std::size_t at = 0; at < one.bytes; at += values.size()) {
      DIECAST_CHECK(device_->copy_to_device(static_cast<std::byte*>(data) + at, values.data(),
                                            std::min(values.size(), one.bytes - at), {}));
    }
    DIECAST_CHECK(device_->synchronize({}));
  }
  arguments_.push_back(KernelArgument::tensor(argument.dtype, data));
  memory_.push_back(std::move(one));
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
