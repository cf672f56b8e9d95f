// The fast half of the argument check takes what the slow half takes and packs the same: one kernel
// has a structure among its arguments, which only the slow half knows, its twin has not.
#include <diecast/base/text.h>
#include <diecast/launch/kernel/arguments.h>
#include <gtest/gtest.h>

#include <optional>
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
          "arg eps f32\n"
          "arg odd i32\n"
          "arg even i32\n"
          "arg seed i64\n",
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

  // What the quick half makes of the arguments, if it takes them: the bytes of all parameters and
  // the sizes.
  std::optional<std::string> quick(const Given& given) const {
    LaunchWords words;
    const ArgumentCheck& check = quick_.check;
    if (!check.may_be_quick() || !check.quick_words(given, words) || !check.quick().take(words))
      return std::nullopt;
    std::string bytes = bytes_of(check, words.parameters.data());
    for (int slot = 0; slot < static_cast<int>(quick_.slots.count()); ++slot)
      bytes += cat(' ', words.numbers[static_cast<std::size_t>(quick_.slots.word(slot))]);
    return bytes;
  }
  // What the slow half does, or the error without its spelling.
  std::string slow(const Given& given) const { return outcome(quick_, given); }
  std::string twins_slow(Given given) const {
    static const std::int64_t table[3] = {};
    given.push_back(KernelArgument::bytes(table, sizeof table));
    return outcome(slow_, given);
  }
  // The same of what the words of the arguments say, where these have the right kinds and types.
  std::optional<std::string> spelled(const Given& given) const {
    LaunchWords words;
    if (!quick_.check.check_kinds(given)) return std::nullopt;
    EXPECT_TRUE(quick_.check.quick_words(given, words));
    Given again(given.size());
    quick_.check.spell_out(words, again);
    return outcome(quick_, again);
  }
  bool may_be_quick() const { return quick_.check.may_be_quick() && !slow_.check.may_be_quick(); }

 private:
  struct Side {
    explicit Side(const Specialization& specialization)
        : slots(LaunchSlots::make(specialization).value()),
          check(ArgumentCheck::make(specialization, slots).value()) {}
    LaunchSlots slots;
    ArgumentCheck check;
  };
  static std::string bytes_of(const ArgumentCheck& check, void* const* parameters) {
    std::string bytes;
    std::vector<std::size_t> sizes = check.parameter_bytes();
    if (sizes.back() == 24) sizes.pop_back();
    for (std::size_t i = 0; i < sizes.size(); ++i)
      bytes.append(static_cast<const char*>(parameters[i]), sizes[i]);
    return bytes;
  }
  static std::string outcome(const Side& side, const Given& given) {
    LaunchSlots::Values values{};
    PackedParameters packed{};
    const auto done = side.check.pack(given, values, packed);
    if (!done) return done.error().message();
    std::string bytes = bytes_of(side.check, packed.pointers.data());
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
               KernelArgument::scalar(0.5f),
               KernelArgument::scalar(static_cast<std::int32_t>(random())),
               KernelArgument::scalar(static_cast<std::int32_t>(random())),
               KernelArgument::scalar(static_cast<std::int64_t>(random()))};
  if (random() % 8 == 0)
    out[4] = KernelArgument::device_size(static_cast<const std::int64_t*>(address()), rows);
  if (random() % 16 == 0) out[random() % 7].kind = KernelArgument::Kind::scalar;
  if (random() % 16 == 0) out[6].dtype = DType::i32;
  if (random() % 16 == 0) out[4].data = testing::address(0x5000);  // ignored beside a host number
  return out;
}

TEST(QuickArguments, AreTakenAndPackedAsTheSlowHalfDoes) {
  std::mt19937_64 random(17);
  int quick = 0, taken = 0, refused = 0;
  for (const bool apart : {true, false})
    for (const int columns : {0, 64}) {
      const Twins twins(Bindings().set("APART", Value::boolean(apart)).set("COLS", columns));
      ASSERT_TRUE(twins.may_be_quick());
      for (int i = 0; i < 5000; ++i) {
        const Given given = some_arguments(random);
        const std::string expected = twins.twins_slow(given);
        ASSERT_EQ(twins.slow(given), expected) << "round " << i;
        const auto packed = twins.quick(given);
        if (packed) {
          ASSERT_EQ(*packed, expected) << "round " << i;
          ++quick;
        }
        ++(expected.starts_with("diecast: ") ? refused : taken);
      }
    }
  EXPECT_GT(quick, 1000);
  EXPECT_GT(taken, quick);
  EXPECT_GT(refused, 1000);
}

// A size that is given as a host number and brings an address too is no such word.
TEST(QuickArguments, OfTheRightKindsAreSaidAgainByTheirWords) {
  std::mt19937_64 random(18);
  const Twins twins(Bindings().set("APART", Value::boolean(true)));
  int said = 0, unlike = 0;
  for (int i = 0; i < 5000; ++i) {
    const Given given = some_arguments(random);
    const auto spelled = twins.spelled(given);
    if (!spelled || given[4].data != nullptr) {
      ++unlike;
      continue;
    }
    ASSERT_EQ(*spelled, twins.slow(given)) << "round " << i;
    ++said;
  }
  EXPECT_GT(said, 1000);
  EXPECT_GT(unlike, 100);
}

TEST(QuickArguments, NoneAtAllAreAnErrorWhereSomeAreDue) {
  const Twins twins({});
  EXPECT_EQ(twins.quick({}), std::nullopt);
  EXPECT_TRUE(
      twins.slow({}).starts_with("diecast: invalid_argument: k COLS=0 APART=1 @ sm_90a: 0 "
                                 "arguments given; the kernel takes 10"))
      << twins.slow({});
}

}  // namespace
}  // namespace diecast
