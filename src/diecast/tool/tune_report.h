// What `diecast tune` says of the configurations it has records of.
#pragma once

#include <diecast/base/error.h>
#include <diecast/runtime/tuning/record.h>

#include <span>

namespace diecast::tool {

// A table, and below it why configurations have no time; or JSON.
void print_records(std::span<const TuningRecord> records, bool json);

// Errors: results_differ where a configuration differs from the default one, a fault of the
// template; process_failed where no configuration of a kernel has a time.
Result<void> check_records(std::span<const TuningRecord> records);

}  // namespace diecast::tool
