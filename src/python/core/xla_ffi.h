// The structures by which XLA calls a foreign function, as far as this one reads them: version 0.1
// of the interface in xla/ffi/api/c_api.h. Later minor versions add to them at their end.
#pragma once

#include <cstddef>
#include <cstdint>

namespace diecast::python::xla {

inline constexpr int kMajor = 0, kMinor = 1;

enum class Stage : std::int32_t { instantiate, prepare, initialize, execute };
enum class AttributeType : std::int32_t { array = 1, dictionary = 2, scalar = 3, string = 4 };
enum class DataType : std::int32_t {
  pred = 1,
  s8 = 2,
  s32 = 4,
  s64 = 5,
  u8 = 6,
  u16 = 7,
  u32 = 8,
  u64 = 9,
  f16 = 10,
  f32 = 11,
  f64 = 12,
  bf16 = 16,
  e5m2 = 19,
  e4m3fn = 20,
  e8m0 = 33
};
inline constexpr std::int32_t kMetadata = 1;           // of an extension
inline constexpr std::int32_t kInvalidArgument = 3;    // of an error
inline constexpr std::uint32_t kInCommandBuffers = 1;  // of a handler: it only launches

struct Extension {
  std::size_t size;
  std::int32_t type;
  Extension* next;
};
struct Version {
  std::size_t size;
  Extension* extension;
  int major, minor;
};
// What a handler tells of itself, asked for by an extension of a call without anything else.
struct Metadata {
  std::size_t size;
  Version version;
  std::uint32_t traits;
};
struct MetadataExtension {
  Extension base;
  Metadata* metadata;
};

struct Error;
struct ErrorText {
  std::size_t size;
  Extension* extension;
  const char* message;
  std::int32_t code;
};
// What a call on a GPU asks: its stream, and the number of its device.
struct StreamQuestion {
  std::size_t size;
  Extension* extension;
  void* context;
  void* stream;
};
struct OrdinalQuestion {
  std::size_t size;
  Extension* extension;
  void* context;
  std::int32_t ordinal;
};
struct Api {
  std::size_t size;
  Extension* extension;
  Version version;
  const void* internal;
  Error* (*make_error)(ErrorText*);
  const void* of_errors_and_handlers[3];
  Error* (*get_stream)(StreamQuestion*);
  const void* of_states_memory_and_threads[12];
  Error* (*get_ordinal)(OrdinalQuestion*);  // jaxlib 0.8 and later
};

struct Buffer {
  std::size_t size;
  Extension* extension;
  DataType type;
  void* data;
  std::int64_t rank;
  std::int64_t* dims;
};
struct Buffers {
  std::size_t size;
  Extension* extension;
  std::int64_t count;
  std::int32_t* types;
  Buffer** items;
};

struct Text {
  const char* data;
  std::size_t size;
};
struct Scalar {
  DataType type;
  const void* value;
};
struct Array {
  DataType type;
  std::size_t count;
  const void* data;
};
struct Attributes {
  std::size_t size;
  Extension* extension;
  std::int64_t count;
  AttributeType* types;
  Text** names;
  void** items;
};

struct Call {
  std::size_t size;
  Extension* extension;
  const Api* api;
  void* context;
  Stage stage;
  Buffers arguments, results;
  Attributes attributes;
};

}  // namespace diecast::python::xla
