// The fast half of the argument check takes what the slow half takes and packs the same: one kernel
// has a structure among its arguments, which only the slow half knows, its twin has not.
#include <diecast/base/text.h>
#include <diecast/launch/kernel/arguments.h>
#include <gtest/gtest.h>

#include <random>

#include "sample_kernel.h"

namespace diecast {
namespace {

using Given = std::vector<KernelArgument>;

Specialization twin(bool quick, const Bindings& bindings) {
  return testing::specialize(
      "k",
      cat("/* diecast\n"
          "shape int COLS = 0\n"
          "shape bool APART = true\n"
          "size rows device\n"
          "size cols = COLS divisible (APART ? 1 : 16)\n"
          "arg x in bf16 [rows, cols] stride (APART) align (APART ? 2 : 16)\n"
          "arg codes out u8 [rows, align_up(cols, 16) / 2] align 8\n"
          "arg amax in f32 [1]\n"
          "arg none in i64 [0]\n"
          "arg rows\n"
          "arg cols\n"
          "arg eps f32\n",
          quick ? "" : "arg table struct Table 24\n",
          "launch grid(rows) block(32)\n"
          "target sm_80+\n"
          "*/\nstruct Table { i64 a, b, c; };\nDIECAST_KERNEL {}\n"),
      bindings);
}

class Twins {
 public:
  explicit Twins(const Bindings& bindings)
      : quick_(twin(true, bindings)), slow_(twin(false, bindings)) {}

  // What both say of the arguments: the bytes of all parameters, or the error without its spelling.
  std::string quick(const Given& given) const { return outcome(quick_, given); }
  std::string slow(Given given) const {
    static const std::int64_t table[3] = {};
    given.push_back(KernelArgument::bytes(table, sizeof table));
    return outcome(slow_, given);
  }

 private:
  struct Side {
    explicit Side(const Specialization& specialization)
        : slots(LaunchSlots::make(specialization).value()),
          check(ArgumentCheck::make(specialization, slots).value()) {}
    LaunchSlots slots;
    ArgumentCheck check;
  };
  static std::string outcome(const Side& side, const Given& given) {
    LaunchSlots::Values values{};
    PackedParameters packed{};
    const auto done = side.check.pack(given, values, packed);
    if (!done) return done.error().message();
    std::string bytes;
    std::vector<std::size_t> sizes = side.check.parameter_bytes();
    if (sizes.back() == 24) sizes.pop_back();
    for (std::size_t i = 0; i < sizes.size(); ++i)
      bytes.append(static_cast<const char*>(packed.pointers[i]), sizes[i]);
    for (std::size_t slot = 0; slot < side.slots.count(); ++slot) bytes += cat(' ', values[slot]);
    return bytes;
  }
  Side quick_, slow_;
};

// Right arguments, each of which may be made wrong or unusual.
Given some_arguments(std::mt19937_64& random) {
  const auto one_of = [&](auto usual, auto... others) {
    const decltype(usual) all[] = {usual, usual, usual, usual, usual, others...};
    return all[random() % (5 + sizeof...(others))];
  };
  const auto address = [&] { return testing::address(one_of(0x1000u, 0x1008u, 0x1001u, 0u)); };
  const std::int64_t rows = one_of(7, 1, 0, -1), cols = one_of(64, 48, 40, 13, -16);
  const std::int64_t stride = one_of(0L, static_cast<long>(cols), 80L, 32L, 81L, -64L, INT64_MIN);
  Given out = {KernelArgument::tensor(one_of(DType::bf16, DType::f32), address(), stride),
               KernelArgument::tensor(DType::u8, address(), one_of(0, 32, 8)),
               KernelArgument::tensor(DType::f32, address()),
               KernelArgument::tensor(DType::i64, testing::address(one_of(0u, 0x1001u))),
               KernelArgument::size(rows),
               KernelArgument::size(cols),
               KernelArgument::scalar(0.5f)};
  if (random() % 8 == 0)
    out[4] = KernelArgument::device_size(static_cast<const std::int64_t*>(address()), rows);
  if (random() % 16 == 0) out[random() % 7].kind = KernelArgument::Kind::scalar;
  if (random() % 16 == 0) out[6].dtype = DType::i32;
  if (random() % 16 == 0) out[4].data = testing::address(0x5000);  // ignored beside a host number
  return out;
}

TEST(QuickArguments, AreTakenAndPackedAsTheSlowHalfDoes) {
  std::mt19937_64 random(17);
  int taken = 0, refused = 0;
  for (const bool apart : {true, false})
    for (const int columns : {0, 64}) {
      const Twins twins(Bindings().set("APART", Value::boolean(apart)).set("COLS", columns));
      for (int i = 0; i < 5000; ++i) {
        const Given given = some_arguments(random);
        const std::string expected = twins.slow(given);
        ASSERT_EQ(twins.quick(given), expected) << "round " << i;
        ++(expected.starts_with("diecast: ") ? refused : taken);
      }
    }
  EXPECT_GT(taken, 1000);
  EXPECT_GT(refused, 1000);
}

TEST(QuickArguments, NoneAtAllAreAnErrorWhereSomeAreDue) {
  const Twins twins({});
  EXPECT_TRUE(
      twins.quick({}).starts_with("diecast: invalid_argument: k COLS=0 APART=1 @ sm_90a: 0 "
                                  "arguments given; the kernel takes 7"))
      << twins.quick({});
}

}  // namespace
}  // namespace diecast
