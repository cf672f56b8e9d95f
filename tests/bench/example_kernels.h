// The everyday kernels of examples/kernels as the bench runs them: bf16, as they stand.
#pragma once

#include <diecast/runtime/runtime.h>

#include <memory>
#include <string>
#include <vector>

#include "bench/bench.h"

namespace diecast::tool {

// Those that tests/bench/triton has too, in the order of the page that has their table.
const std::vector<std::string>& example_names();

// The matrices that a kernel is timed on: what it takes makes them rows and columns, as
// tests/bench/triton/pairs.py does. Small ones for a processor.
std::vector<BenchShape> example_shapes(const std::string& name, bool host);

// A runtime without a cache, so that a first call compiles, with these kernels.
Result<std::shared_ptr<Runtime>> example_runtime(const std::vector<std::string>& names);

// The kernel for matrices of that shape. Errors: constraint_violated for what it does not take.
Result<Specialization> example_kernel(Runtime& runtime, const std::string& name, BenchShape shape,
                                      const Target& target);

// Lines of its file.
Result<int> example_lines(const std::string& name);

struct ExampleTimes {
  double first_ms = 0;     // a first call, its compile included
  std::vector<double> us;  // a launch on each shape
};
// In CUDA graphs, on a GPU on inputs that rotate beyond any second-level cache.
Result<ExampleTimes> time_example(Runtime& runtime, const std::shared_ptr<Device>& device,
                                  const std::string& name, const std::vector<BenchShape>& shapes);

}  // namespace diecast::tool
