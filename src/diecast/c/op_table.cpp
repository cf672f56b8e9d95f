// Descriptions of the ops, from the one table; see op_table.h.
#include <diecast/base/text.h>
#include <diecast/c/op_table.h>
#include <diecast/ops/every_op.h>

#include <string>

namespace diecast::c {
namespace {

template <HasWords Enum>
const char* all_words() {
  static const std::string& text = *new std::string([] {
    std::string out;
    for (const std::string_view word : words_of(Enum{})) {
      if (!out.empty()) out += ' ';
      out += word;
    }
    return out;
  }());
  return text.c_str();
}

}  // namespace

#define DIECAST_C_TENSOR(field, role, what) diecast_op_tensor{#field, DIECAST_##role, what},
#define DIECAST_C_WORD(field, enumeration, what) \
  diecast_op_option{#field, DIECAST_WORD, all_words<enumeration>(), 0, 0, what},
#define DIECAST_C_FLAG(field, what) diecast_op_option{#field, DIECAST_FLAG, "", 0, 0, what},
#define DIECAST_C_COUNT(field, fallback, what) \
  diecast_op_option{#field, DIECAST_COUNT, "", fallback, 0, what},
#define DIECAST_C_REAL(field, fallback, what) \
  diecast_op_option{#field, DIECAST_REAL, "", 0, fallback, what},
#define DIECAST_C_NO_TENSOR(field, role, what)
#define DIECAST_C_NO_WORD(field, enumeration, what)
#define DIECAST_C_NO_FLAG(field, what)
#define DIECAST_C_NO_NUMBER(field, fallback, what)

#define DIECAST_C_INFO(number, name, TABLE, what)                                                  \
  [[gnu::hot]] const diecast_op_info& line::name::info() {                                         \
    static constexpr diecast_op_tensor kTensors[] = {TABLE(DIECAST_C_TENSOR, DIECAST_C_NO_WORD,    \
                                                           DIECAST_C_NO_FLAG, DIECAST_C_NO_NUMBER, \
                                                           DIECAST_C_NO_NUMBER)};                  \
    static const auto& options = *new auto(std::to_array({TABLE(                                   \
        DIECAST_C_NO_TENSOR, DIECAST_C_WORD, DIECAST_C_FLAG, DIECAST_C_COUNT, DIECAST_C_REAL)}));  \
    static constexpr std::size_t kOptions =                                                        \
        std::tuple_size_v<std::remove_cvref_t<decltype(options)>>;                                 \
    static const auto& info = *new diecast_op_info{                                                \
        number, #name, what, kTensors, std::size(kTensors), options.data(), kOptions};             \
    return info;                                                                                   \
  }
DIECAST_OPS(DIECAST_C_INFO)

#undef DIECAST_C_INFO
#undef DIECAST_C_TENSOR
#undef DIECAST_C_WORD
#undef DIECAST_C_FLAG
#undef DIECAST_C_COUNT
#undef DIECAST_C_REAL
#undef DIECAST_C_NO_TENSOR
#undef DIECAST_C_NO_WORD
#undef DIECAST_C_NO_FLAG
#undef DIECAST_C_NO_NUMBER

Error wrong_word(std::string_view op, std::string_view option, std::string_view word,
                 std::span<const std::string_view> words) {
  const std::vector<std::string> allowed(words.begin(), words.end());
  return {ErrorCode::value_not_allowed,
          cat(op, ": ", option, " = ", quote(word, 40), did_you_mean(word, allowed)),
          cat(option, " is one of ", join(allowed, ", "))};
}

Result<std::int64_t> read_count(std::int64_t count, std::int64_t most, std::string_view op,
                                std::string_view option) {
  if (count >= 0 && count <= most) return count;
  return Error{ErrorCode::value_not_allowed, cat(op, ": ", option, " = ", count),
               cat(option, " is a number from 0 to ", most)};
}

}  // namespace diecast::c
