// From a name to a template, and from a specialization to its source; see templates.h.
#include <diecast/base/file.h>
#include <diecast/base/text.h>
#include <diecast/runtime/templates.h>
#include <diecast/template/former_names.h>

#include <algorithm>
#include <mutex>

namespace diecast {

Result<void> Templates::open() {
  const std::string& directory = common_.options.template_directory;
  TemplateFiles files;
  if (directory.empty()) {
    files = TemplateFiles::embedded();
  } else {
    DIECAST_TRY(files, TemplateFiles::from_directory(directory));
  }
  for (const std::string_view folder : split(common_.options.include, ',')) {
    if (folder.empty()) continue;
    if (auto added = files.add_headers_of(std::string(folder)); !added) {
      Error error = std::move(added).error();
      error.what = cat("DIECAST_INCLUDE: ", error.what);
      return error;
    }
  }
  files_ = std::make_shared<const TemplateFiles>(std::move(files));
  return {};
}

std::shared_ptr<const TemplateFiles> Templates::files() const {
  std::lock_guard lock(mutex_);
  return files_;
}

Result<void> Templates::add_header(const std::string& name, const std::string& path) {
  DIECAST_TRY(const Bytes bytes, read_file(system_files(), path, 4u << 20));
  std::lock_guard lock(mutex_);
  auto more = std::make_shared<TemplateFiles>(*files_);
  DIECAST_CHECK(more->add_header(name, file_text(bytes)));
  files_ = std::move(more);
  return {};
}

Result<std::shared_ptr<const Template>> Templates::add(const std::string& path) {
  DIECAST_TRY(const Bytes bytes, read_file(system_files(), path, 4u << 20));
  std::string name = path.substr(path.rfind('/') + 1);
  if (!name.ends_with(".cu")) {
    return Error{ErrorCode::invalid_argument,
                 cat("a template's file is NAME.cu, not ", quote(name)),
                 "rename the file; NAME becomes the kernel's symbol"};
  }
  name.resize(name.size() - 3);
  auto added = add_text(name, file_text(bytes));
  if (!added && added.error().code == ErrorCode::file_exists) {
    return Error{ErrorCode::file_exists, added.error().what, cat("rename ", quote(path))};
  }
  return added;
}

Result<std::shared_ptr<const Template>> Templates::add_text(std::string_view name,
                                                            std::string_view text) {
  const auto files = this->files();
  DIECAST_TRY(auto added, Template::parse(name, text, *files));

  std::lock_guard lock(mutex_);
  const auto known = known_.find(name);
  const std::string* built_in = files->template_text(name);
  const std::string* other = known != known_.end() ? &known->second->text() : built_in;
  if (other != nullptr && *other != text) {
    return Error{ErrorCode::file_exists, cat("another template is already named ", quote(name)),
                 "give the new one another name"};
  }
  return known_.emplace(std::string(name), std::move(added)).first->second;
}

Result<std::shared_ptr<const Template>> Templates::find(std::string_view name) {
  {
    std::lock_guard lock(mutex_);
    if (const auto known = known_.find(name); known != known_.end()) return known->second;
  }
  const auto files = this->files();
  const std::string* text = files->template_text(name);
  if (text == nullptr) {
    const std::string_view now = name_now(name);
    if (!now.empty())
      return Error{ErrorCode::unknown_template, cat("the template ", name, " is now ", now),
                   cat("write ", now, " in its place")};
    return Error{ErrorCode::unknown_template,
                 cat("no template is named ", quote(name), did_you_mean(name, names())),
                 "`diecast list` shows the templates; your own come by --add NAME.cu, in a program "
                 "by runtime.add(\"NAME.cu\")"};
  }
  DIECAST_TRY(auto parsed, Template::parse(name, *text, *files));
  std::lock_guard lock(mutex_);
  return known_.emplace(std::string(name), std::move(parsed)).first->second;
}

std::vector<std::string> Templates::names() const {
  std::vector<std::string> names = files()->template_names();
  std::lock_guard lock(mutex_);
  for (const auto& [name, known] : known_) {
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

// Reading a template's code and headers is most of a rendering.
Result<Templates::Parts> Templates::parts_of(const std::shared_ptr<const Template>& tmpl) {
  {
    std::lock_guard lock(mutex_);
    if (const auto known = parts_.find(tmpl); known != parts_.end()) return known->second;
  }
  DIECAST_TRY(SourceParts made, source_parts(*tmpl, *files(), common_.options.build));
  auto parts = std::make_shared<const SourceParts>(std::move(made));
  std::lock_guard lock(mutex_);
  return parts_.emplace(tmpl, std::move(parts)).first->second;
}

Result<Source> Templates::render(const Specialization& specialization) {
  DIECAST_TRY(const Parts parts, parts_of(specialization.shared_tmpl()));
  DIECAST_TRY(Source source, diecast::render(specialization, *parts, common_.options.build));
  ++common_.count.rendered;
  common_.tell(RuntimeEvent::Kind::rendered, specialization.spelling(), "", 0);
  return source;
}

}  // namespace diecast
