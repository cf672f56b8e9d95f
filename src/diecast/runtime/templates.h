// The templates of a runtime: those built in or of a folder, which are parsed when first asked for,
// and those that a caller adds. A template's code and headers are read once for all its sources.
#pragma once

#include <diecast/base/fork.h>
#include <diecast/runtime/common.h>

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace diecast {

class Templates {
 public:
  explicit Templates(Common& common) : common_(common) {}
  // Errors: what reading RuntimeOptions::template_directory and `include` gives.
  Result<void> open();

  // As Runtime has them.
  Result<std::shared_ptr<const Template>> add(const std::string& path);
  Result<std::shared_ptr<const Template>> add_text(std::string_view name, std::string_view text);
  Result<void> add_header(const std::string& name, const std::string& path);
  Result<std::shared_ptr<const Template>> find(std::string_view name);
  std::vector<std::string> names() const;
  Result<Source> render(const Specialization& specialization);

 private:
  using Parts = std::shared_ptr<const SourceParts>;
  Result<Parts> parts_of(const std::shared_ptr<const Template>& tmpl);

  // Those of now: a header that is added later makes others.
  std::shared_ptr<const TemplateFiles> files() const;

  Common& common_;
  mutable ForkSafe<std::mutex> mutex_;  // of the files and of both maps
  std::shared_ptr<const TemplateFiles> files_ = std::make_shared<TemplateFiles>();
  std::map<std::string, std::shared_ptr<const Template>, std::less<>> known_;
  std::map<std::shared_ptr<const Template>, Parts> parts_;
};

}  // namespace diecast
