// Launches that repeat, as calls of ops do (recall.h). A thread keeps what reading the arguments of
// its last launches came to. A launch of the same kernel with the same names, shapes and types is
// not read again: its addresses and numbers take the places of the old ones.
#pragma once

#include <diecast/c/abi.h>
#include <diecast/c/of_thread.h>
#include <diecast/launch/kernel.h>

#include <array>
#include <cstdint>
#include <span>

namespace diecast::c {

class RecalledLaunch {
 public:
  // The arguments in the header's order, until the next call; none: it is no launch like the one
  // that is kept.
  // The same is asked of addresses: nothing lies in what the launch writes.
  std::span<const KernelArgument> take(std::uint64_t kernel,
                                       std::span<const diecast_argument> given);
  // Keeps a launch whose arguments were read as `values`, unless it has more or longer ones than
  // are kept.
  void keep(std::uint64_t kernel, const Kernel& of, std::span<const diecast_argument> given,
            std::span<const KernelArgument> values);

 private:
  static constexpr std::size_t kArguments = 16, kLetters = 24, kNumbers = 96;
  struct Given {
    std::array<char, kLetters> name;
    std::int32_t kind = 0;
    std::size_t at = 0;        // in the header's order
    std::int64_t integer = 0;  // of a size, or how many bytes
    std::int64_t extent = 0;   // of a tensor: bytes from its first to its last
    bool written = false;
  };
  bool keep_one(const Kernel& of, const diecast_argument& given, std::size_t& numbers);
  bool take_all(std::span<const diecast_argument> given);
  bool take_one(const Given& kept, const diecast_argument& given, const std::uint64_t*& expected);
  bool is_apart() const;

  std::uint64_t kernel_ = 0;  // a handle, which no other kernel ever has; 0: nothing is kept
  std::size_t given_count_ = 0, value_count_ = 0;
  bool moved_ = false;  // an address is another one than before
  std::array<Given, kArguments> given_;
  std::array<KernelArgument, kArguments> values_;
  std::array<std::uint64_t, kNumbers> numbers_;  // of one tensor after another: see each_number
};

// Where a thread keeps launches: those of different kernels and shapes mostly have places of their
// own.
inline constexpr std::size_t kLaunches = 16;
using LastLaunches = OfThread<RecalledLaunch, kLaunches>;
std::size_t launch_place(std::uint64_t kernel, std::span<const diecast_argument> given);

}  // namespace diecast::c
