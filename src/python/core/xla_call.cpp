// JAX's calls of ops: a foreign function of XLA for all of them on the CPU, and one on GPUs.
// Attributes of a call: `op` its name; `fields` which tensor of the table each argument and then
// each result is; the op's options. Scratch is among the results.
#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "ops.h"
#include "place.h"
#include "python.h"
#include "xla_ffi.h"

namespace diecast::python {
namespace {

struct Type {
  xla::DataType type;
  std::uint8_t code, bits;  // DLPack's
};
constexpr Type kTypes[] = {
    {xla::DataType::s8, 0, 8},    {xla::DataType::s32, 0, 32},  {xla::DataType::s64, 0, 64},
    {xla::DataType::u8, 1, 8},    {xla::DataType::u16, 1, 16},  {xla::DataType::u32, 1, 32},
    {xla::DataType::u64, 1, 64},  {xla::DataType::f16, 2, 16},  {xla::DataType::f32, 2, 32},
    {xla::DataType::f64, 2, 64},  {xla::DataType::bf16, 4, 16}, {xla::DataType::e4m3fn, 10, 8},
    {xla::DataType::e5m2, 12, 8}, {xla::DataType::e8m0, 14, 8},
};

// Where a call's work is done.
struct CallPlace {
  bool on_cuda = false;
  int ordinal = 0;
  void* stream = nullptr;
  diecast_handle device = 0;
};

// Of a type that diecast has not, a tensor without a type.
diecast_tensor tensor_of(const xla::Buffer& buffer, const CallPlace& place) {
  diecast_tensor out{};
  out.data = buffer.data;
  out.device_type = place.on_cuda ? 2 : 1;
  out.device_id = place.ordinal;
  out.ndim = static_cast<std::int32_t>(buffer.rank);
  out.shape = buffer.dims;
  const auto* const known = std::ranges::find(kTypes, buffer.type, &Type::type);
  out.type_code = known == std::end(kTypes) ? 0xFF : known->code;
  out.type_bits = known == std::end(kTypes) ? 8 : known->bits;
  out.type_lanes = 1;
  return out;
}

std::string_view view(const xla::Text& text) { return {text.data, text.size}; }

const void* attribute(const xla::Attributes& all, std::string_view name, xla::AttributeType type) {
  for (std::int64_t i = 0; i < all.count; ++i)
    if (view(*all.names[i]) == name && all.types[i] == type) return all.items[i];
  return nullptr;
}

// What a call hands to the library, while it lasts.
struct Arguments {
  const diecast_op_info* info = nullptr;
  std::vector<diecast_tensor> tensors;
  struct {
    std::size_t size = 0;
    const diecast_tensor* fields[kMostTensors]{};
  } structure;
  Options options;
  std::vector<std::string> words;
};

// False: the call's attributes are not those that diecast.jax gives.
bool read_op(Arguments& to, const xla::Attributes& attributes) {
  const auto* const name =
      static_cast<const xla::Text*>(attribute(attributes, "op", xla::AttributeType::string));
  std::uint32_t number = 0;
  return name != nullptr && diecast_op_find(std::string(view(*name)).c_str(), &number) == 0 &&
         diecast_op_describe(number, &to.info) == 0;
}

bool read_tensors(Arguments& to, const xla::Call& call, const CallPlace& place) {
  const auto* const fields = static_cast<const xla::Array*>(
      attribute(call.attributes, "fields", xla::AttributeType::array));
  const std::int64_t count = call.arguments.count + call.results.count;
  if (fields == nullptr || fields->type != xla::DataType::s64 ||
      static_cast<std::int64_t>(fields->count) != count)
    return false;
  to.structure.size = sizeof(std::size_t) * (1 + to.info->tensor_count);
  to.tensors.reserve(kMostTensors);
  for (std::int64_t i = 0; i < count; ++i) {
    std::int64_t field = 0;
    std::memcpy(&field, static_cast<const char*>(fields->data) + i * 8, 8);
    if (field < 0 || field >= static_cast<std::int64_t>(to.info->tensor_count)) return false;
    const std::int64_t result = i - call.arguments.count;
    if ((to.info->tensors[field].role >= DIECAST_OUTPUT) != (result >= 0)) return false;
    to.tensors.push_back(
        tensor_of(result < 0 ? *call.arguments.items[i] : *call.results.items[result], place));
    to.structure.fields[field] = &to.tensors.back();
  }
  return true;
}

void read_option(Arguments& to, std::size_t index, const xla::Attributes& attributes) {
  const diecast_op_option& option = to.info->options[index];
  Options::Field& field = to.options.fields[index];
  if (option.kind == DIECAST_WORD) {
    const auto* const word = static_cast<const xla::Text*>(
        attribute(attributes, option.name, xla::AttributeType::string));
    if (word == nullptr) return;
    field.word = to.words.emplace_back(view(*word)).c_str();
    return;
  }
  const auto* const number = static_cast<const xla::Scalar*>(
      attribute(attributes, option.name, xla::AttributeType::scalar));
  if (number == nullptr) return;
  if (number->type == xla::DataType::pred)
    field.integer = *static_cast<const bool*>(number->value);
  else  // s64 or f64
    std::memcpy(&field, number->value, 8);
}

void read_options(Arguments& to, const xla::Attributes& attributes) {
  to.options.set_defaults(*to.info);
  to.words.reserve(to.info->option_count);
  for (std::size_t i = 0; i < to.info->option_count; ++i) read_option(to, i, attributes);
}

xla::Error* failed(const xla::Call& call, const std::string& message) {
  xla::ErrorText text{sizeof text, nullptr, message.c_str(), xla::kInvalidArgument};
  return call.api->make_error(&text);
}

xla::Error* last_error(const xla::Call& call) {
  diecast_error error{sizeof(diecast_error), 0, "", "", ""};
  diecast_last_error(&error);
  return failed(call, std::string(error.what) + "\n  fix: " + error.fix);
}

// XLA asks what the handler is, by an extension. False: it does not.
bool describe(const xla::Call& call, std::uint32_t traits) {
  if (call.extension == nullptr || call.extension->type != xla::kMetadata) return false;
  xla::Metadata& metadata = *reinterpret_cast<xla::MetadataExtension*>(call.extension)->metadata;
  metadata.version.major = xla::kMajor;
  metadata.version.minor = xla::kMinor;
  metadata.traits = traits;
  return true;
}

xla::Error* run_at(const xla::Call& call, const CallPlace& place) {
  Arguments arguments;
  if (!read_op(arguments, call.attributes) || !read_tensors(arguments, call, place))
    return failed(call, "diecast: not a call of diecast.jax\n  fix: call diecast.jax's functions");
  read_options(arguments, call.attributes);
  // It was opened when diecast.jax was imported, so that nothing of Python is needed here.
  const int code = diecast_op_call(default_runtime(), place.device, arguments.info->number,
                                   &arguments.structure, &arguments.options, place.stream, 0);
  return code == diecast_ok ? nullptr : last_error(call);
}

xla::Error* run_on_host(xla::Call* call) {
  if (describe(*call, 0) || call->stage != xla::Stage::execute) return nullptr;
  return run_at(*call, {.device = host_device()});
}

xla::Error* run_on_cuda(xla::Call* call) {
  if (describe(*call, xla::kInCommandBuffers) || call->stage != xla::Stage::execute) return nullptr;
  if (call->api->size < sizeof(xla::Api))
    return failed(*call,
                  "diecast: this jaxlib does not say which GPU it works on\n"
                  "  fix: use jaxlib 0.8 or later");
  xla::StreamQuestion stream{sizeof stream, nullptr, call->context, nullptr};
  if (xla::Error* const error = call->api->get_stream(&stream)) return error;
  xla::OrdinalQuestion ordinal{sizeof ordinal, nullptr, call->context, 0};
  if (xla::Error* const error = call->api->get_ordinal(&ordinal)) return error;
  const diecast_handle device = opened_cuda_device(ordinal.ordinal);
  if (device == 0)
    return failed(*call,
                  "diecast: the call was not traced for this GPU\n"
                  "  fix: trace it in this process, with the GPU among jax.local_devices()");
  return run_at(*call, {true, ordinal.ordinal, stream.stream, device});
}

}  // namespace

PyObject* xla_handler(PyObject*, PyObject* on_cuda) {
  if (default_runtime() == 0) return nullptr;
  if (on_cuda == Py_True)
    return PyCapsule_New(reinterpret_cast<void*>(run_on_cuda), nullptr, nullptr);
  if (host_device() == 0) return nullptr;
  return PyCapsule_New(reinterpret_cast<void*>(run_on_host), nullptr, nullptr);
}

}  // namespace diecast::python
