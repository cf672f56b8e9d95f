// Calls that repeat. A thread keeps what checking and reading its last calls came to. A call of the
// same form has the same types, shapes, strides and options, at other addresses. It is neither
// checked nor read again: its addresses take the places of the old ones.
#pragma once

#include <diecast/c/abi.h>
#include <diecast/c/of_thread.h>
#include <diecast/launch/device.h>
#include <diecast/ops/quantized_tensor.h>
#include <diecast/ops/tensor.h>

#include <array>
#include <cstdint>

namespace diecast::c {

// What of a call decides whether it is right, apart from addresses.
class CallForm {
 public:
  // Keeps that of a call which was checked. False: it has more tensors, dimensions or longer words
  // than are kept, or more than two tensors at one address.
  bool keep(const diecast_op_info& info, const void* tensors, const void* options,
            const Device& device);
  enum class Taken { no, same, moved };
  // Whether a call has this form, its addresses are aligned alike, and nothing lies in what it
  // writes. Then its addresses are those of address(); `same`: as they were.
  Taken take(const diecast_op_info& info, const void* tensors, const void* options,
             const Device& device);
  void forget() { count_ = 0; }

  void* address(int tensor) const { return tensors_[static_cast<std::size_t>(tensor)].address; }
  // The tensor that begins at an address; -1: none does.
  int tensor_at(const void* address) const;

 private:
  static constexpr std::size_t kTensors = 8, kOptions = 32, kLetters = 24, kNumbers = 64;
  struct OneTensor {
    char* address = nullptr;
    std::int64_t bytes = 0;   // from its first to its last
    std::uint32_t field = 0;  // its place in the op's structure
    bool written = false;
  };
  bool keep_tensors(const diecast_op_info& info, const void* tensors);
  bool same_options(const diecast_op_info& info, const void* options) const;
  bool same_words(const diecast_op_info& info, const void* options) const;  // where some are given
  bool keep_options(const diecast_op_info& info, const void* options);
  bool are_one(std::size_t a, std::size_t b) const {
    return one_ >= 0 && ((static_cast<int>(a) == one_ && static_cast<int>(b) == same_) ||
                         (static_cast<int>(a) == same_ && static_cast<int>(b) == one_));
  }
  bool move(const std::array<char*, kTensors>& addresses);

  std::size_t count_ = 0;  // 0: nothing is kept
  // Two tensors at one address, as a residual that is out; -1: none. They have one in calls of this
  // form, and lie apart in calls of another.
  int one_ = -1, same_ = -1;
  // Another device at a dead one's address may be of another kind, or another GPU.
  const Device* device_ = nullptr;
  int ordinal_ = 0, capability_ = 0;
  bool has_words_ = false;
  std::array<OneTensor, kTensors> tensors_;
  std::array<std::uint64_t, kNumbers> numbers_;    // of one tensor after another: see each_number
  std::array<std::uint64_t, kOptions> options_{};  // behind the structure's size
  std::array<std::array<char, kLetters>, kOptions> words_{};
};

// Calls `visit` with each address of a view.
template <class Visit>
void each_address(Tensor& view, Visit&& visit) {
  visit(view.data), visit(view.device_rows);
}
template <class Visit>
void each_address(QuantizedTensor& view, Visit&& visit) {
  for (QuantizedSide* const side : {&view.rowwise, &view.columnwise})
    visit(side->data), visit(side->scale), visit(side->amax);
}

// A form and the views that a bound op made of its call (see op.h). Bound::addresses(views, visit)
// calls `visit` with each address in them.
template <class Bound>
class Recalled {
 public:
  using Views = typename Bound::Views;

  // The views of a call of the form that is kept, until they are given back; null: it is of
  // another, or a call from within a call.
  Views* take(const diecast_op_info& info, const void* tensors, const void* options,
              const Device& device) {
    if (taken_) return nullptr;
    const auto taken = form_.take(info, tensors, options, device);
    if (taken == CallForm::Taken::no) return nullptr;
    if (taken == CallForm::Taken::moved) move();
    taken_ = true;
    return &views_;
  }
  void give_back() { taken_ = false; }

  // What the runtime of a handle keeps for calls of this form; null where that is not known.
  using Prepared = typename Bound::Prepared;
  const Prepared* known(std::uint64_t runtime) const {
    return runtime == runtime_ ? known_ : nullptr;
  }

  void keep(const Views& views, const void* tensors, const void* options, const Device& device,
            std::uint64_t runtime, const Prepared* known) {
    if (taken_ || !form_.keep(Bound::info(), tensors, options, device)) return;
    views_ = views;
    runtime_ = runtime;
    known_ = known;
    std::size_t i = 0;
    Bound::addresses(views_, [&](auto*& address) {
      if (i == from_.size()) return form_.forget();
      from_[i] = static_cast<std::int8_t>(form_.tensor_at(address));
      if (address != nullptr && from_[i] < 0) form_.forget();
      ++i;
    });
  }

 private:
  // The views get the form's addresses.
  void move() {
    std::size_t i = 0;
    Bound::addresses(views_, [&](auto*& address) {
      const int tensor = from_[i++];
      if (tensor >= 0) set(address, form_.address(tensor));
    });
  }
  template <class T>
  static void set(T*& address, void* to) {
    address = static_cast<T*>(to);
  }

  bool taken_ = false;
  std::uint64_t runtime_ = 0;  // its handle, which no other runtime ever has
  const Prepared* known_ = nullptr;
  CallForm form_;
  Views views_{};
  std::array<std::int8_t, 24> from_{};  // the tensor of each address
};

template <class Bound>
concept Recalls = requires(typename Bound::Views& views) {
  Bound::addresses(views, [](auto*&) {});
};

// A number below kForms that calls of different shapes mostly differ in. 0 for what is no call.
inline constexpr std::size_t kForms = 8;
std::size_t form_number(const diecast_op_info& info, const void* tensors);

// A thread's last calls of an op, one for each number of a form.
template <class Bound>
using LastCalls = OfThread<Recalled<Bound>, kForms>;

// The views of a call like this thread's last one, while it lasts; null: there was none.
template <class Bound>
struct Taken {
  Recalled<Bound>* last = nullptr;
  typename Bound::Views* views = nullptr;

  Taken(const void* tensors, const void* options, const Device& device) {
    const diecast_op_info& info = Bound::info();
    last = LastCalls<Bound>::at(form_number(info, tensors));
    if (last != nullptr) views = last->take(info, tensors, options, device);
  }
  Taken(const Taken&) = delete;
  ~Taken() {
    if (views != nullptr) last->give_back();
  }
};

}  // namespace diecast::c
