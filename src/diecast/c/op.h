// What the C interface knows of an op: its line of the table (diecast/c/ops.h) and six functions
// that a file of ops/ makes of it. A bound op is
//
//   struct BoundAmax : line::amax {  // of the table: Tensors, Options, kName, info(), defaults()
//     using Prepared = PreparedAmax;
//     struct Views { Tensor x; ... };            // what diecast's own functions take
//     static Result<Views> views(const Tensors&, const Options&);
//     static Result<void> outputs(const Tensors&, const Options&, Outputs&);
//     static Result<void> check(const Views&);   // what no device decides
//     static Prepared::Request request(const Views&, const DeviceProperties&);
//     static Result<void> call(Runtime&, const std::shared_ptr<Device>&, const Views&, Stream);
//     static Result<void> run(const Prepared&, const Views&, Stream);
//     static void addresses(Views&, auto&& visit);  // if its calls are recalled: see recall.h
//     static constexpr std::string_view kInPlace;   // an input that may be `out`, if there is one
//   };
//   const BoundOp& bound::amax() { return bound_op<BoundAmax>(); }
#pragma once

#include <diecast/c/objects.h>
#include <diecast/c/op_table.h>
#include <diecast/c/recall.h>
#include <diecast/c/status.h>
#include <diecast/c/tensors.h>
#include <diecast/ops/prepared.h>

#include <memory>
#include <span>
#include <string_view>
#include <vector>

namespace diecast::c {

// The outputs of a call, in the order in which an op names them.
class Outputs {
 public:
  explicit Outputs(const diecast_op_info& info) : info_(info) {}
  void add(std::string_view field, DType type, const Shape& shape);
  std::span<const diecast_output> all() const { return all_; }
  const diecast_op_info& info() const { return info_; }

 private:
  const diecast_op_info& info_;
  std::vector<diecast_output> all_;
};

// A prepared op behind a handle.
class PreparedCall {
 public:
  virtual ~PreparedCall() = default;
  virtual Result<void> run(const void* tensors, const void* options, Stream stream) const = 0;
};

// An op as a whole.
struct BoundOp {
  const diecast_op_info* info;
  Result<void> (*outputs)(const void* tensors, const void* options, Outputs& out);
  Result<void> (*check)(Runtime& runtime, const void* tensors, const void* options);
  // False: `found_only` was asked for, and the op has to be prepared first.
  Result<bool> (*call)(std::uint64_t runtime_handle, Runtime& runtime,
                       const std::shared_ptr<Device>& device, const void* tensors,
                       const void* options, Stream stream, bool found_only);
  Result<std::unique_ptr<PreparedCall>> (*prepare)(Runtime& runtime,
                                                   const std::shared_ptr<Device>& device,
                                                   const void* tensors, const void* options);
};

// Of a number of the table. Errors: not_supported.
Result<const BoundOp*> find_op(std::uint32_t number);
std::span<const BoundOp* const> every_op();

// The tensors of a structure: each one there is checked by itself, lies on the device (if one is
// given), and is not written where another lies, other than `in_place`, which may be an output.
Result<void> check_tensors(const diecast_op_info& info, const void* tensors, const Device* device,
                           std::string_view in_place);
// That `dtype` is not given, or is the type of `out`, where that is given. Errors: dtype_mismatch.
Result<void> check_dtype(const char* dtype, const diecast_tensor* out, std::string_view op);
// That each output's bytes fit in 63 bits. Errors: shape_mismatch.
Result<void> check_sizes(const Outputs& outputs);
// Outputs that a call would have, and that it is described without, get a place in `tensors`, which
// is never read.
class StandIns {
 public:
  void fill(const diecast_op_info& info, void* tensors, const Outputs& outputs);

 private:
  std::vector<diecast_output> shapes_;
  std::vector<diecast_tensor> tensors_;
};

template <class Bound>
struct Binding {
  using Tensors = typename Bound::Tensors;
  using Options = typename Bound::Options;
  using Prepared = typename Bound::Prepared;
  using Views = typename Bound::Views;

  struct Read {
    Tensors tensors;
    Options options;
  };
  static Result<Read> read(const void* tensors, const void* options) {
    DIECAST_CHECK(check_given(tensors, Bound::kName, "tensors"));
    Read out;
    DIECAST_TRY(out.tensors,
                read_structure(static_cast<const Tensors*>(tensors), Tensors{}, "tensors"));
    DIECAST_TRY(out.options,
                read_structure(static_cast<const Options*>(options), Bound::defaults(), "options"));
    if constexpr (requires { out.options.dtype, out.tensors.out; })
      DIECAST_CHECK(check_dtype(out.options.dtype, out.tensors.out, Bound::kName));
    return out;
  }
  static Result<void> check_tensors(const Tensors& tensors, const Device* device) {
    std::string_view in_place;
    if constexpr (requires { Bound::kInPlace; }) in_place = Bound::kInPlace;
    return c::check_tensors(Bound::info(), &tensors, device, in_place);
  }
  static Result<void> outputs(const void* tensors, const void* options, Outputs& out) {
    DIECAST_TRY(const Read given, read(tensors, options));
    DIECAST_CHECK(check_tensors(given.tensors, nullptr));
    DIECAST_CHECK(Bound::outputs(given.tensors, given.options, out));
    return check_sizes(out);
  }
  // The views of a call that is only described: outputs may be left out, and no memory is read.
  static Result<Views> described(const void* tensors, const void* options, const Device* device) {
    DIECAST_TRY(Read given, read(tensors, options));
    DIECAST_CHECK(check_tensors(given.tensors, device));
    Outputs expected(Bound::info());
    DIECAST_CHECK(Bound::outputs(given.tensors, given.options, expected));
    DIECAST_CHECK(check_sizes(expected));
    StandIns stand_ins;
    stand_ins.fill(Bound::info(), &given.tensors, expected);
    DIECAST_TRY(auto views, Bound::views(given.tensors, given.options));
    DIECAST_CHECK(Bound::check(views));
    return views;
  }
  // Of kernels those of sm_80, which has one for whatever another target has one for.
  static Result<void> check(Runtime& runtime, const void* tensors, const void* options) {
    DIECAST_TRY(const auto views, described(tensors, options, nullptr));
    DIECAST_TRY(const Target target, Target::parse("sm_80"));
    DeviceProperties device;
    device.cc = target.cc;
    const auto request = Bound::request(views, device);
    DIECAST_CHECK(check_values(request));
    DIECAST_TRY(const auto kernels, kernels_for(runtime, request, target));
    return check_kernels(runtime, kernels, target);
  }
  // The views of a call whose tensors are checked.
  static Result<Views> views(const void* tensors, const void* options, const Device& device) {
    DIECAST_TRY(const Read given, read(tensors, options));
    DIECAST_CHECK(check_tensors(given.tensors, &device));
    return Bound::views(given.tensors, given.options);
  }
  [[gnu::hot]] static Result<bool> call(std::uint64_t runtime_handle, Runtime& runtime,
                                        const std::shared_ptr<Device>& device, const void* tensors,
                                        const void* options, Stream stream, bool found_only) {
    if constexpr (Recalls<Bound>) {
      if (const Taken<Bound> taken(tensors, options, *device); taken.views != nullptr) {
        if (const Prepared* const known = taken.last->known(runtime_handle)) {
          DIECAST_CHECK(Bound::run(*known, *taken.views, stream));
          return true;
        }
      }
    }
    return call_checked(runtime_handle, runtime, device, tensors, options, stream, found_only);
  }
  // A call that is like none of the thread's last ones.
  [[gnu::noinline]] static Result<bool> call_checked(std::uint64_t runtime_handle, Runtime& runtime,
                                                     const std::shared_ptr<Device>& device,
                                                     const void* tensors, const void* options,
                                                     Stream stream, bool found_only) {
    DIECAST_TRY(auto views, Binding::views(tensors, options, *device));
    if (found_only || Recalls<Bound>) {
      const auto request = Bound::request(views, device->properties());
      const auto* const known = find_kept<Prepared>(runtime, device.get(), request);
      if (found_only && known == nullptr) return false;
      recall(views, tensors, options, *device, runtime_handle, known);
    }
    DIECAST_CHECK(Bound::call(runtime, device, views, stream));
    return true;
  }
  // Keeps a call that was checked for the next one like it.
  static void recall(const Views& views, const void* tensors, const void* options,
                     const Device& device, std::uint64_t runtime_handle, const Prepared* known) {
    if constexpr (Recalls<Bound>) {
      if (Recalled<Bound>* const last =
              LastCalls<Bound>::make_at(form_number(Bound::info(), tensors)))
        last->keep(views, tensors, options, device, runtime_handle, known);
    }
  }

  class Call : public PreparedCall {
   public:
    Call(std::shared_ptr<const Prepared> prepared, std::shared_ptr<Device> device)
        : prepared_(std::move(prepared)), device_(std::move(device)) {}
    [[gnu::hot]] Result<void> run(const void* tensors, const void* options,
                                  Stream stream) const override {
      if constexpr (Recalls<Bound>) {
        if (const Taken<Bound> taken(tensors, options, *device_); taken.views != nullptr)
          return Bound::run(*prepared_, *taken.views, stream);
      }
      return run_checked(tensors, options, stream);
    }

   private:
    [[gnu::noinline]] Result<void> run_checked(const void* tensors, const void* options,
                                               Stream stream) const {
      DIECAST_TRY(const auto views, Binding::views(tensors, options, *device_));
      recall(views, tensors, options, *device_, 0, nullptr);
      return Bound::run(*prepared_, views, stream);
    }

    std::shared_ptr<const Prepared> prepared_;
    std::shared_ptr<Device> device_;
  };
  static Result<std::unique_ptr<PreparedCall>> prepare(Runtime& runtime,
                                                       const std::shared_ptr<Device>& device,
                                                       const void* tensors, const void* options) {
    DIECAST_TRY(const auto views, described(tensors, options, device.get()));
    const auto request = Bound::request(views, device->properties());
    DIECAST_TRY(Prepared made, Prepared::prepare(runtime, device, request));
    const auto prepared = std::make_shared<const Prepared>(std::move(made));
    // Plain calls find it too.
    const auto words = words_of_request(request);
    const auto key = prepared_key<Prepared>(device.get(), words);
    if (!runtime.keeps_enough(key)) runtime.keep_prepared(key, prepared);
    return std::unique_ptr<PreparedCall>(new Call(prepared, device));
  }
};

template <class Bound>
const BoundOp& bound_op() {
  using Of = Binding<Bound>;
  static const BoundOp& only =
      *new BoundOp{&Bound::info(), Of::outputs, Of::check, Of::call, Of::prepare};
  return only;
}

// One for each line of the table; those of a family are in ops/FAMILY.cpp.
namespace bound {
#define DIECAST_C_BOUND(number, name, TABLE, what) const BoundOp& name();
DIECAST_OPS(DIECAST_C_BOUND)
#undef DIECAST_C_BOUND
}  // namespace bound

}  // namespace diecast::c
