// Stochastic rounding on the host: states, means, both sides of a matrix, groups, and the errors.
#include "ops/stochastic_properties.h"
#include "ops/tiles_fixture.h"

namespace diecast {
namespace {

class StochasticOnHost : public TilesOnHost {};

TEST_F(StochasticOnHost, TheStateIsReadAtEachLaunch) {
  testing::expect_state_is_read_at_each_launch(device_);
}

TEST_F(StochasticOnHost, MeansConverge) { testing::expect_means_converge(device_, 1024); }

const std::vector<std::int64_t> kState = {1234, 5};

TEST_F(StochasticOnHost, EachSideDrawsItsOwnNumbersWhicheverOpWritesIt) {
  const Tensor x = matrix(80, 96, 4);
  QuantizeNvfp4Options options;
  options.device = device_;
  options.rng_state = memory(kState);
  const auto squares = [](QuantizedTensor& out) { out.type.square = true; };
  QuantizedTensor both = output(x, squares), rows = output(x, [](QuantizedTensor&) {});
  quantize_nvfp4(*runtime_, x, both, options).value();
  const auto codes = bytes_at(both.rowwise.data, both.rowwise.data_bytes);
  EXPECT_NE(reference::transpose_codes(codes, 80, 96, 16),
            bytes_at(both.columnwise.data, both.columnwise.data_bytes));
  QuantizedTensor by_tiles = output(x, [](QuantizedTensor&) {});
  quantize_nvfp4(*runtime_, x, by_tiles, options).value();
  rows.columnwise = {};
  QuantizeNvfp4Options of_rows;
  of_rows.device = device_;
  of_rows.rng_state = options.rng_state;
  quantize_nvfp4(*runtime_, x, rows, of_rows).value();
  expect_equal(rows.rowwise, by_tiles.rowwise, "rowwise");
}

TEST_F(StochasticOnHost, AStateThatIsMissingOrNotWantedIsAnError) {
  const Tensor x = matrix(16, 32, 2);
  QuantizedTensor out = output(x, [](QuantizedTensor&) {});
  PreparedQuantizeNvfp4::Request request;
  request.sides = Sides::both;
  request.stochastic = true;
  const auto prepared = PreparedQuantizeNvfp4::prepare(*runtime_, device_, request).value();
  EXPECT_EQ(prepared.run(x, out, {}).error().message(),
            "diecast: missing_buffer: quantize_nvfp4: rng_state is null, prepared for "
            "stochastic rounding: true\n"
            "  fix: give {seed, offset} in device memory where the request says stochastic");
  request.stochastic = false;
  const auto nearest = PreparedQuantizeNvfp4::prepare(*runtime_, device_, request).value();
  EXPECT_EQ(nearest.run(x, out, {}, {}, memory(kState)).error().code, ErrorCode::not_supported);
}

}  // namespace
}  // namespace diecast
