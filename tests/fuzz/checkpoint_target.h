// What a stranger's model folder says: its config, and the headers of weights in other tools'
// formats.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace diecast::testing {

void fuzz_config(std::string_view input);
std::vector<std::string> config_seeds();

// A file's header and the size of the whole file before it, as 8 bytes each.
void fuzz_weights(std::string_view input);
std::vector<std::string> weights_seeds();

}  // namespace diecast::testing
