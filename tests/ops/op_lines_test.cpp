// A manifest's line with the fields of a request names exactly the kernels that preparing the op
// for that request takes: for every op, on a fake GPU.
#include <diecast/base/text.h>
#include <diecast/diecast.h>
#include <diecast/ops/every_op.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <random>
#include <set>

#include "how_many.h"
#include "ops/fake_gpu.h"

namespace diecast {
namespace {

// A request whose fields are drawn: any word, small numbers.
template <class Request>
Request drawn(std::mt19937& random) {
  Request request{};
  Request::fields(request, [&]<class Field>(std::string_view name, Field& field) {
    if constexpr (std::is_same_v<Field, bool>)
      field = random() % 4 == 0;
    else if constexpr (std::is_same_v<Field, DType>)
      field = name == "ID" ? std::array{DType::i32, DType::i64}[random() % 2]
                           : std::array{DType::bf16, DType::f16, DType::f32}[random() % 3];
    else if constexpr (std::is_enum_v<Field>)
      field = static_cast<Field>(random() % 3 == 0 ? random() % words_of(Field{}).size() : 0);
    else if (name == "COLS")
      field = static_cast<Field>(std::array{0, 64, 4096}[random() % 3]);
  });
  return request;
}

// "op NAME field=value ...", with every field.
template <class Request>
std::string line_of(const Request& request) {
  std::string line = cat("op ", Request::kName);
  Request::fields(request, [&](std::string_view name, const auto& field) {
    line += cat(" ", request_detail::in_lower_case(name), "=",
                request_detail::value_of(field).spelling());
  });
  return line;
}

// Holds lines of ops against what preparing them asks a runtime for.
class LinesOfOps : public testing::OnFakeGpu {
 protected:
  template <class Prepared>
  void expect_what_is_asked_for() {
    ++ops_;
    const auto names = op_names();
    ASSERT_EQ(std::ranges::count(names, Prepared::Request::kName), 1) << Prepared::Request::kName;
    std::mt19937 random;
    const int draws = testing::how_many(30, 120, 1000);
    int possible = 0;
    for (int i = 0; i < draws; ++i) {
      const auto request = drawn<typename Prepared::Request>(random);
      const std::string line = line_of(request);
      RuntimeOptions options = machine_.options();
      options.cache = "off";
      options.trace = folder_ / "trace.txt";
      std::filesystem::remove(options.trace);
      const bool prepared =
          Prepared::prepare(*Runtime::create(options).value(), device_, request).ok();
      const auto expanded = expand_manifest(*runtime_, line, "m.txt",
                                            std::array{Target::for_device(90).front()}, expand_op);
      EXPECT_EQ(prepared, expanded.ok()) << line << (expanded ? "" : expanded.error().message());
      if (!prepared || !expanded) continue;
      std::set<std::string> asked, named;
      const std::string trace = testing::text_of(options.trace);
      for (const std::string_view one : split(trim(trace), '\n')) asked.emplace(one);
      for (const Specialization& one : *expanded) named.insert(one.spelling());
      EXPECT_EQ(named, asked) << line;
      ++possible;
    }
    EXPECT_GT(possible, draws / 30) << Prepared::Request::kName;
  }
  std::size_t ops_ = 0;
  testing::TemporaryDirectory folder_;
};

// Those of sharded weights are prepared for a rank's lists, and cuBLASLt's products have no name
// that a line could say.
TEST_F(LinesOfOps, NameExactlyWhatPreparingTakes) {
  for_each_op([&]<class Prepared>(std::type_identity<Prepared>) {
    using Request = typename Prepared::Request;
    if constexpr (requires { Prepared::prepare(*runtime_, device_, Request{}); }) {
      if (Request::kName.find(' ') == Request::kName.npos) expect_what_is_asked_for<Prepared>();
    }
  });
  EXPECT_EQ(op_names().size(), ops_ + 2);
}

}  // namespace
}  // namespace diecast
