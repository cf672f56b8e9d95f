// Opening a subcommand's runtime; see open_runtime.h.
#include <diecast/base/file.h>
#include <diecast/base/text.h>
#include <diecast/tool/open_runtime.h>

#include <cstdio>

namespace diecast::tool {

Result<std::shared_ptr<Runtime>> open_runtime(RuntimeOptions options) {
  options.on_event = [](const RuntimeEvent& event) {
    if (event.kind != RuntimeEvent::Kind::degraded) return;
    std::fputs(cat("diecast: cache: ", event.detail, "\n").c_str(), stderr);
  };
  return Runtime::create(std::move(options));
}

Result<void> check_kept(Runtime& runtime) {
  runtime.flush();
  if (runtime.cache() == nullptr || runtime.cache()->writable() == nullptr) return {};
  const DiskCache& root = *runtime.cache()->writable();
  const CacheStatistics counted = root.statistics();
  const std::uint64_t lost = counted.publish_failures + counted.publishes_skipped;
  if (lost == 0) return {};
  if (counted.publish_error < 0)
    return file_error(cat("write ", lost, " kernels to"), root.root(), counted.publish_error);
  return Error{ErrorCode::io_error, cat(lost, " kernels could not be written to ", root.root()),
               "warm again: the disk was too slow or refused for a while"};
}

}  // namespace diecast::tool
