// The built-in templates in a folder of their own, where a condition can be turned: what only GPUs
// run, on this processor. Every output is poisoned before and equal to the reference.
#pragma once

#include <diecast/base/text.h>
#include <diecast/diecast.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "how_many.h"
#include "ops/covering.h"
#include "ops/host_device_test.h"
#include "ops/test_runtime.h"
#include "ops/variants.h"
#include "temporary_directory.h"

namespace diecast::testing {

class ChangedTemplates : public HostDeviceTest {
 protected:
  // The built-in templates, or those that DIECAST_TEMPLATE_DIR names.
  ChangedTemplates() {
    options_ = test_options();
    std::string from = options_.template_directory;
    if (from.empty()) from = DIECAST_SOURCE_DIR "/templates";
    std::filesystem::copy(from, folder_.path(), std::filesystem::copy_options::recursive);
    options_.template_directory = folder_.path();
  }

  // The first place where `text` stands in a file of the folder or of a family's.
  void change(std::string file, const std::string& text, const std::string& instead) {
    for (const auto& family : std::filesystem::directory_iterator(folder_.path()))
      if (std::filesystem::exists(family.path() / file))
        file = family.path().filename().string() + "/" + file;
    std::string all = text_of(folder_ / file);
    const auto at = all.find(text);
    if (at == std::string::npos) FAIL() << file << " has no \"" << text << "\" to change";
    write_text(folder_ / file, all.replace(at, text.size(), instead));
  }

  // Of a template's variants those that are `wanted`, covered so, each in its cases.
  void expect_equal(
      const std::string& name, const std::function<bool(const Bindings&)>& wanted,
      variants::Covered covered,
      const std::function<std::vector<variants::Case>(const Specialization&)>& cases) {
    const auto runtime = Runtime::create(options_).value();
    const auto tmpl = runtime->find_template(name).value();
    const Target target = device_->targets().front();
    auto space = tmpl->space(target).value();
    std::erase_if(space, [&](const Bindings& bindings) { return !wanted(bindings); });
    std::vector<Specialization> specializations;
    const auto most = how_many<std::size_t>(4, SIZE_MAX, SIZE_MAX);  // the first cover the most
    for (const Bindings& bindings : variants::covering_set(space, covered)) {
      if (specializations.size() < most)
        specializations.push_back(Specialization::make(tmpl, bindings, target).value());
    }
    ASSERT_FALSE(specializations.empty());
    for (const WarmOutcome& outcome : warm(*runtime, specializations)) {
      ASSERT_FALSE(outcome.error) << outcome.error->message();
      EXPECT_EQ(outcome.resolved->artifact->log, "") << outcome.specialization->spelling();
    }
    for (const Specialization& one : specializations) {
      const auto kernel = runtime->preload(one, device_).value();
      for (const variants::Case& on : cases(one)) {
        EXPECT_EQ(variants::difference(*kernel, on), "");
      }
    }
    RecordProperty("variants", static_cast<int>(specializations.size()));
  }

 private:
  TemporaryDirectory folder_;
  RuntimeOptions options_;
};

}  // namespace diecast::testing
