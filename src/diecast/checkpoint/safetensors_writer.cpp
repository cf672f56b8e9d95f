// Layout and encoding are one writer's choice of many valid ones, so they are fixed here: the bytes
// of the reference writer, with metadata sorted by key.
#include <diecast/base/text.h>
#include <diecast/checkpoint/safetensors_writer.h>
#include <errno.h>
#include <fcntl.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <nlohmann/json.hpp>
#include <tuple>

namespace diecast {
namespace {

Error refuse(std::string what, std::string fix) {
  return {ErrorCode::invalid_argument, std::move(what), std::move(fix)};
}

// JSON text; bytes that are not UTF-8 come out replaced, which lay_out() notices.
std::string json_string(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

void append_tensor(std::string& json, const TensorInfo& tensor) {
  json += cat(json_string(tensor.name), R"(:{"dtype":")", stored_dtype_name(tensor.dtype),
              R"(","shape":[)");
  for (std::size_t i = 0; i < tensor.shape.size(); ++i) json += cat(i ? "," : "", tensor.shape[i]);
  json += cat(R"(],"data_offsets":[)", tensor.begin, ",", tensor.end, "]}");
}

Result<void> check_path(FileSystem& files, const std::string& path,
                        const SafetensorsReader* input) {
  struct stat old = {};
  const int found = files.status_at(AT_FDCWD, path.c_str(), &old, 0);
  if (found == -ENOENT) return {};
  if (found < 0) return file_error("write", path, found);
  if (input != nullptr && input->is(old)) {
    return refuse(
        cat("the output ", quote(path, 1000), " is the input ", quote(input->path(), 1000)),
        "give the output another name; the input is never changed");
  }
  if (S_ISREG(old.st_mode)) return {};
  return Error{ErrorCode::file_exists,
               cat("the output ", quote(path, 1000),
                   S_ISDIR(old.st_mode) ? " is a directory" : " is not a regular file"),
               "give the output the path of a new or regular file"};
}

}  // namespace

std::string encode_header(const SafetensorsHeader& header) {
  std::string json = "{";
  const auto comma = [&] { json += json.size() > 1 ? "," : ""; };
  if (!header.metadata.empty()) {
    json += R"("__metadata__":{)";
    const std::size_t begin = json.size();
    for (const auto& [key, text] : header.metadata) {
      json += cat(json.size() > begin ? "," : "", json_string(key), ":", json_string(text));
    }
    json += "}";
  }
  for (const TensorInfo& tensor : header.tensors) {
    comma();
    append_tensor(json, tensor);
  }
  json += "}";
  json.resize((json.size() + 7) / 8 * 8, ' ');
  const std::uint64_t length = json.size();
  std::string bytes(sizeof length, '\0');
  std::memcpy(bytes.data(), &length, sizeof length);
  return bytes + json;
}

Result<SafetensorsHeader> lay_out(std::vector<TensorInfo> tensors, Metadata metadata) {
  SafetensorsHeader layout;
  layout.tensors = std::move(tensors);
  layout.metadata = std::move(metadata);
  std::sort(layout.tensors.begin(), layout.tensors.end(), [](const auto& a, const auto& b) {
    return std::tie(b.dtype, a.name) < std::tie(a.dtype, b.name);
  });
  std::uint64_t end = 0;
  for (TensorInfo& tensor : layout.tensors) {
    const TensorSize size = tensor_size(tensor.dtype, tensor.shape);
    if (!size.fault.empty() || size.bytes > (std::uint64_t{1} << 62) - end) {
      return refuse(cat("tensor ", quote(tensor.name), ", shape ", shape_text(tensor.shape), ": ",
                        size.fault.empty() ? "the file would be too large" : size.fault),
                    "give the tensor a shape that fits a file");
    }
    tensor.begin = end;
    tensor.end = end += size.bytes;
  }
  const std::string bytes = encode_header(layout);
  if (bytes.size() - 8 > kHeaderLimit) {
    return refuse(cat("the output's header would take ", bytes.size() - 8, " bytes, the limit is ",
                      kHeaderLimit),
                  "leave tensors out or shorten their names");
  }
  // The file is what readers make of it: the header must read back as what it was made from.
  const std::uint64_t file_bytes = bytes.size() + layout.data_bytes();
  Result<SafetensorsHeader> read =
      parse_header(std::string_view(bytes).substr(8), file_bytes, "output", true);
  if (!read) return refuse(read.error().what, "give every tensor a name of its own");
  const auto same_name = [](const auto& a, const auto& b) { return a.name == b.name; };
  if (read->metadata != layout.metadata ||
      !std::equal(read->tensors.begin(), read->tensors.end(), layout.tensors.begin(),
                  layout.tensors.end(), same_name)) {
    return refuse("a name or metadata text of the output is not UTF-8", "give it in UTF-8");
  }
  return read;
}

Result<SafetensorsWriter> SafetensorsWriter::create(const std::string& path,
                                                    SafetensorsHeader layout,
                                                    const SafetensorsReader* input,
                                                    FileSystem& files) {
  DIECAST_CHECK(check_path(files, path, input));
  const mode_t most = input == nullptr ? 07777 : input->mode() | S_IRUSR | S_IWUSR;
  DIECAST_TRY(AtomicFile file, AtomicFile::create(files, path, most));
  SafetensorsWriter writer(std::move(file), std::move(layout));
  DIECAST_CHECK(writer.file_.reserve(writer.layout_.file_bytes()));
  DIECAST_CHECK(writer.file_.write_at(as_bytes(encode_header(writer.layout_)), 0));
  for (std::size_t i = 0; i < writer.missing_.size(); ++i) {
    writer.missing_[i] = writer.layout_.tensors[i].bytes();
  }
  return writer;
}

Result<void> SafetensorsWriter::write(const TensorInfo& tensor, std::uint64_t offset,
                                      ByteSpan bytes) {
  const std::atomic_ref missing(
      missing_[static_cast<std::size_t>(&tensor - layout_.tensors.data())]);
  if (offset > tensor.bytes() || bytes.size() > tensor.bytes() - offset ||
      bytes.size() > missing.fetch_sub(bytes.size())) {
    return Error{ErrorCode::internal,
                 cat("tensor ", quote(tensor.name), " of ", tensor.bytes(), " bytes was given ",
                     bytes.size(), " more at byte ", offset),
                 "report this with the command and the input"};
  }
  return file_.write_at(bytes, layout_.data_begin + tensor.begin + offset);
}

Result<void> SafetensorsWriter::commit() {
  for (std::size_t i = 0; i < missing_.size(); ++i) {
    if (missing_[i] == 0) continue;
    return Error{ErrorCode::internal,
                 cat("tensor ", quote(layout_.tensors[i].name), " lacks ", missing_[i], " of its ",
                     layout_.tensors[i].bytes(), " bytes"),
                 "report this with the command and the input"};
  }
  return file_.commit();
}

}  // namespace diecast
