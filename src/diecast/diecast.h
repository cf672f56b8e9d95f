// Everything an application needs: #include <diecast/diecast.h>, link diecast::diecast.
#pragma once

#include <diecast/base/error.h>
#include <diecast/launch/cuda_device.h>
#include <diecast/launch/host_device.h>
#include <diecast/launch/kernel.h>
#include <diecast/ops/amax.h>
#include <diecast/ops/dequantize_nvfp4.h>
#include <diecast/ops/quantize_mx.h>
#include <diecast/ops/quantize_nvfp4.h>
#include <diecast/ops/quantized_group.h>
#include <diecast/ops/quantized_tensor.h>
#include <diecast/ops/reference/numbers.h>
#include <diecast/ops/reference/nvfp4_te.h>
#include <diecast/ops/reference/nvfp4_tiles.h>
#include <diecast/ops/tensor.h>
#include <diecast/ops/weights/callback_communicator.h>
#include <diecast/ops/weights/master_weights.h>
#include <diecast/ops/weights/megatron.h>
#include <diecast/ops/weights/nccl.h>
#include <diecast/ops/weights/post_all_gather.h>
#include <diecast/ops/weights/thread_ranks.h>
#include <diecast/runtime/manifest.h>
#include <diecast/runtime/runtime.h>
#include <diecast/runtime/warm.h>
