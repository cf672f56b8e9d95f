// Requests as values, of every op in the list: their words hold every field, their names are those
// of the kernels' parameters, and messages name what differs.
#include <diecast/ops/every_op.h>
#include <diecast/ops/nvfp4/quantize_nvfp4_kernels.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cstring>
#include <set>
#include <string>
#include <vector>

namespace diecast {
namespace {

DeviceProperties gpu(int cc) {
  DeviceProperties properties;
  properties.cc = cc;
  properties.sm_count = 132;
  return properties;
}

#if defined(__GNUC__) && !defined(__clang__)
// Which bytes of a request hold values: those that are no padding.
template <class Request>
std::vector<std::size_t> value_bytes() {
  alignas(Request) unsigned char bytes[sizeof(Request)];
  std::memset(bytes, 0xFF, sizeof bytes);
  __builtin_clear_padding(reinterpret_cast<Request*>(bytes));
  std::vector<std::size_t> out;
  for (std::size_t i = 0; i < sizeof bytes; ++i)
    if (bytes[i] != 0) out.push_back(i);
  return out;
}

template <class Request>
bool is_unused(const Request& request, std::size_t byte) {
  if constexpr (requires { request.out.unused; })
    return reinterpret_cast<const char*>(&request.out.unused) -
               reinterpret_cast<const char*>(&request) ==
           static_cast<std::ptrdiff_t>(byte);
  return false;
}

TEST(Requests, HaveEveryByteOfTheirFieldsInTheirWords) {
  for_each_request([]<class Request>(std::type_identity<Request>) {
    const Request plain{};
    std::set<RequestWords<Request>> words = {words_of_request(plain)};
    for (const std::size_t byte : value_bytes<Request>()) {
      if (is_unused(plain, byte)) continue;
      Request changed{};
      reinterpret_cast<unsigned char*>(&changed)[byte] ^= 1;
      EXPECT_TRUE(words.insert(words_of_request(changed)).second)
          << Request::kName << " byte " << byte;
      EXPECT_FALSE(changed == plain) << Request::kName << " byte " << byte;
    }
    EXPECT_TRUE(plain == Request{});
  });
}
#endif

TEST(Requests, HaveHashesOfTheirWords) {
  QuantizeNvfp4Request one, other;
  EXPECT_EQ(hash_of_words(words_of_request(one)), hash_of_words(words_of_request(other)));
  std::set<std::uint64_t> hashes, tops;
  for (other.cols = 0; other.cols < 100000; ++other.cols) {
    const std::uint64_t hash = hash_of_words(words_of_request(other));
    hashes.insert(hash);
    tops.insert(hash >> 56);
  }
  EXPECT_EQ(hashes.size(), 100000u);
  EXPECT_EQ(tops.size(), 256u);
}

TEST(Requests, RefuseANumberThatIsNoValueOfAFieldsEnum) {
  for_each_request([]<class Request>(std::type_identity<Request>) {
    EXPECT_TRUE(check_values(Request{})) << Request::kName;
    std::size_t count = 0;
    const Request plain{};
    Request::fields(plain, [&](std::string_view, const auto&) { ++count; });
    for (std::size_t i = 0; i < count; ++i) {
      Request wrong{};
      bool has_words = false;
      Request::fields(wrong, [&, at = std::size_t{0}](std::string_view, auto& field) mutable {
        if (at++ != i) return;
        if constexpr (HasWords<std::remove_cvref_t<decltype(field)>>) {
          has_words = true;
          field = static_cast<std::remove_cvref_t<decltype(field)>>(200);
        }
      });
      if (!has_words) continue;
      const auto checked = check_values(wrong);
      ASSERT_FALSE(checked) << Request::kName << " field " << i;
      EXPECT_EQ(checked.error().code, ErrorCode::value_not_allowed);
    }
  });
  QuantizeMxRequest wrong;
  wrong.mode = static_cast<MxMode>(7);
  EXPECT_EQ(check_values(wrong).error().what, "quantize_mx: mode = 7 is no value of its enum");
}

TEST(Requests, NameWhatDiffersFromWhatAnOpWasPreparedFor) {
  QuantizeMxRequest prepared, asked;
  asked.out.layout = ScaleLayout::s128x4;
  asked.sides = Sides::both;
  const Error error = not_as_prepared("quantize_mx", "out", prepared, asked);
  EXPECT_EQ(error.code, ErrorCode::not_supported);
  EXPECT_EQ(error.what,
            "quantize_mx: prepared for sides = rowwise, layout = linear; out has sides = both, "
            "layout = s128x4");
  EXPECT_EQ(error.fix, "prepare another op for this output");
}

// The kernels that a request's variants may ask for.
template <class Request>
std::vector<KernelWanted> kernels_of(Runtime& runtime, const Request& request,
                                     const DeviceProperties& device) {
  if constexpr (std::is_same_v<Request, QuantizeNvfp4Request>) {
    if (!request.along_rows()) return {nvfp4_tiles_kernel(request, false, device)};
    const auto kernels = quantize_nvfp4_kernels(runtime, request, device).value();
    std::vector<KernelWanted> out = {kernels.any};
    for (const auto& few : kernels.few) out.push_back(few.kernel);
    return out;
  } else if constexpr (requires { request.kernels(device); }) {
    return request.kernels(device);
  } else {
    return {request.kernel(device)};
  }
}

TEST(Requests, HaveNamesOfTheirKernelsParameters) {
  RuntimeOptions options;
  options.cache = "off";
  const auto runtime = Runtime::create(options).value();
  for_each_request([&]<class Request>(std::type_identity<Request>) {
    Request other{};  // as unlike the default as the list of kernels may depend on
    Request::fields(other, [](std::string_view, auto& field) {
      using Field = std::remove_cvref_t<decltype(field)>;
      if constexpr (std::is_same_v<Field, bool>) field = true;
      if constexpr (std::is_same_v<Field, Sides>) field = Sides::both;
    });
    std::set<std::string> known;
    for (const Request& request : {Request{}, other})
      for (const KernelWanted& wanted : kernels_of(*runtime, request, gpu(90))) {
        const auto tmpl = runtime->find_template(wanted.name);
        ASSERT_TRUE(tmpl) << wanted.name;
        for (const Parameter& parameter : (*tmpl)->parameters()) known.insert(parameter.name);
        for (const auto& [name, value] : wanted.bindings.entries())
          EXPECT_TRUE((*tmpl)->parameter(name)) << wanted.name << ' ' << name;
      }
    Request::fields(other, [&](std::string_view name, const auto&) {
      if (std::islower(static_cast<unsigned char>(name[0]))) return;
      // An op need not have a choice of all that a quantized type says, nor a group of strides.
      if (name == "SCALES_APART") return;
      if (name == "FORMAT" || name == "PROFILE" || name == "ROW_SCALE" || name == "BOUND") return;
      EXPECT_TRUE(known.contains(std::string(name))) << Request::kName << ' ' << name;
    });
  });
}

}  // namespace
}  // namespace diecast
