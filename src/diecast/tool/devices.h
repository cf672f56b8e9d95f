// The choice of a device by the words of --target, always said aloud: nobody computes at the host's
// speed unknowingly.
#pragma once

#include <diecast/base/error.h>
#include <diecast/launch/device.h>
#include <diecast/runtime/runtime.h>

#include <memory>
#include <string>

namespace diecast::tool {

// "cuda": GPU 0. "host": this processor. "auto": the GPU when there is one, else the host.
Result<std::shared_ptr<Device>> open_device(Runtime& runtime, const std::string& word);

// "NVIDIA H200 (sm_90a)" or "this processor (host_v3, 2 threads)".
std::string describe(Device& device);

}  // namespace diecast::tool
