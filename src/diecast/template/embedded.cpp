// The built-in templates and device headers by name, from the library or from a folder.
#include <diecast/base/file.h>
#include <diecast/base/text.h>
#include <diecast/template/embedded.h>
#include <diecast/template/embedded_file.h>
#include <diecast/template/parse/code_scan.h>
#include <fcntl.h>

namespace diecast {
namespace {

constexpr std::string_view kTemplateEnd = ".cu", kHeaderEnd = ".h";
constexpr std::uint64_t kLargestFile = 4 << 20;
constexpr int kDeepestFolder = 8;  // folders in one another
constexpr int kMostNames = 4096;   // of files and folders, in all: links may lead round in circles

using Texts = std::map<std::string, std::string, std::less<>>;

std::vector<std::string> names_of(const Texts& texts) {
  std::vector<std::string> names;
  for (const auto& [name, text] : texts) names.push_back(name);
  return names;
}

const std::string* text_of(const Texts& texts, std::string_view name) {
  const auto found = texts.find(name);
  return found == texts.end() ? nullptr : &found->second;
}

// "diecast/device/base/simt.h" is "simt.h".
std::string_view file_of(std::string_view path) { return path.substr(path.rfind('/') + 1); }

// "nvfp4/quantize_nvfp4.cu" is quantize_nvfp4: folders tell families apart and are no part of a
// name.
std::string template_of(std::string_view path) {
  const std::string_view file = file_of(path);
  return std::string(file.substr(0, file.size() - kTemplateEnd.size()));
}

// What a folder has, but for hidden files.
Result<std::vector<std::string>> names_in(const std::string& folder) {
  FileSystem& files = system_files();
  const int opened = files.open_at(AT_FDCWD, folder.c_str(), O_RDONLY | O_DIRECTORY, 0);
  if (opened < 0) return file_error("open the folder", folder, opened);
  const Descriptor directory(files, opened);
  std::vector<std::string> names;
  const int listed = files.list_directory(directory.number(), [&](const char* name) {
    if (name[0] != '.') names.emplace_back(name);
    return true;
  });
  if (listed < 0) return file_error("list the folder", folder, listed);
  return names;
}

// The files of a folder and of the folders in it, `depth` deep, whose names end so: their text by
// their path from there.
Result<Texts> read_folder(const std::string& folder, std::string_view end, int depth, int& left) {
  FileSystem& files = system_files();
  DIECAST_TRY(const auto names, names_in(folder));
  Texts texts;
  for (const std::string& name : names) {
    const std::string path = cat(folder, "/", name);
    if (--left < 0)
      return Error{ErrorCode::invalid_argument,
                   cat("a folder of headers has more than ", kMostNames, " files, ", quote(path),
                       " among them"),
                   "name a folder that has nothing but the headers of your kernels"};
    if (name.size() > end.size() && name.ends_with(end)) {
      DIECAST_TRY(const Bytes bytes, read_file(files, path, kLargestFile));
      texts.emplace(name, file_text(bytes));
    } else if (depth > 0 && name.find('.') == name.npos) {  // a folder
      DIECAST_TRY(const Texts more, read_folder(path, end, depth - 1, left));
      for (const auto& [file, text] : more) texts.emplace(cat(name, "/", file), text);
    }
  }
  return texts;
}
Result<Texts> read_folder(const std::string& folder, std::string_view end, int depth = 1) {
  int left = kMostNames;
  return read_folder(folder, end, depth, left);
}

}  // namespace

TemplateFiles TemplateFiles::embedded() {
  TemplateFiles out;
  for (const EmbeddedFile* file = embedded_files(); file->name != nullptr; ++file) {
    const std::string_view name(file->name);
    std::string text(reinterpret_cast<const char*>(file->bytes), file->size);
    if (name.ends_with(kTemplateEnd))
      out.templates_.emplace(template_of(name), std::move(text));
    else
      out.headers_.emplace(cat("diecast/", name), std::move(text));
  }
  return out;
}

Result<TemplateFiles> TemplateFiles::from_directory(const std::string& directory) {
  TemplateFiles out;
  DIECAST_TRY(const Texts templates, read_folder(directory, kTemplateEnd));
  const auto headers = read_folder(directory + "/device", kHeaderEnd);
  if (!headers) {
    return Error{headers.error().code, headers.error().what,
                 "a folder of templates stands in for all that are built in, device/ with its "
                 "headers too; one template of your own comes by --add or runtime.add"};
  }
  for (const auto& [name, text] : templates) out.templates_.emplace(template_of(name), text);
  for (const auto& [name, text] : *headers) out.headers_.emplace("diecast/device/" + name, text);
  return out;
}

Result<void> TemplateFiles::add_header(const std::string& name, std::string_view text) {
  if (!is_header_name(name) || name.starts_with("diecast/"))
    return Error{ErrorCode::invalid_argument,
                 cat(quote(name, 80), " cannot name a header of your own"),
                 "name it as templates include it, by a folder that is not diecast, letters, "
                 "digits and _: my/common.h"};
  if (text.find('\0') != text.npos)
    return Error{ErrorCode::invalid_argument, cat("the header ", name, " has a zero byte in it"),
                 "a header is text: write the file anew"};
  const auto [known, fresh] = headers_.emplace(name, text);
  if (fresh || known->second == text) return {};
  return Error{ErrorCode::file_exists, cat("another header is already named ", name),
               "rename one, or put it into a folder of another name"};
}

Result<void> TemplateFiles::add_headers_of(const std::string& folder) {
  DIECAST_TRY(const Texts headers, read_folder(folder, kHeaderEnd, kDeepestFolder));
  for (const auto& [name, text] : headers)
    if (is_header_name(name)) DIECAST_CHECK(add_header(name, text));
  return {};
}

std::vector<std::string> TemplateFiles::template_names() const { return names_of(templates_); }
std::vector<std::string> TemplateFiles::header_names() const { return names_of(headers_); }

const std::string* TemplateFiles::template_text(std::string_view name) const {
  return text_of(templates_, name);
}

const std::string* TemplateFiles::header_text(std::string_view name) const {
  return text_of(headers_, name);
}

// By the name of its file, which no other header has: a header that moved to another folder is
// found.
std::string TemplateFiles::meant(std::string_view header) const {
  std::map<std::string, std::string, std::less<>> paths;
  for (const auto& [path, text] : headers_) paths.emplace(file_of(path), path);
  const auto found = paths.find(file_of(header));
  if (found != paths.end()) return cat("; ", found->first, " is <", found->second, ">");
  std::vector<std::string> names;
  for (const auto& [name, path] : paths) names.push_back(name);
  const std::string_view best = nearest(file_of(header), names);
  return best.empty() ? "" : cat("; did you mean <", paths.find(best)->second, ">?");
}

}  // namespace diecast
