// An amax that is given is whatever lies in device memory: of a negative one every kernel makes
// what the formulas say, block scales with a sign and the codes of its magnitude.
#include <diecast/ops/reference/nvfp4.h>
#include <diecast/ops/reference/nvfp4_sides.h>

#include <algorithm>

#include "ops/tiles_fixture.h"

namespace diecast {
namespace {

class NegativeAmaxOnHost : public TilesOnHost {
 protected:
  // With an amax for each line of a side, or one.
  static void give(const QuantizedSide& side, std::vector<float>& given) {
    for (std::int64_t i = 0; i < side.amax_count; ++i) given.push_back(-7.5f - 0.3f * float(i));
    std::copy(given.begin(), given.end(), side.amax);
  }
  // Rows alone; `options` and `same` ask for one thing.
  void check_rows(const Tensor& x, QuantizedTensor out, QuantizeNvfp4Options options,
                  const reference::Nvfp4Options& same) {
    out.columnwise = {};
    std::vector<float> given;
    give(out.rowwise, given);
    options.amax_given = true;
    options.device = device_;
    quantize_nvfp4(*runtime_, x, out, options).value();
    expect(out.rowwise, reference::quantize_nvfp4(x, same, given).value());
  }
  template <class Wanted>
  static void expect(const QuantizedSide& got, const Wanted& want) {
    EXPECT_EQ(bytes_at(got.scale, got.scale_bytes), want.scales);
    EXPECT_EQ(bytes_at(got.data, got.data_bytes), want.codes);
    EXPECT_TRUE(std::ranges::all_of(want.scales, [](int scale) { return scale >= 0x80; }));
  }
};

// Few rows, which neighbours share, and many.
TEST_F(NegativeAmaxOnHost, AlongRows) {
  for (const std::int64_t rows : {1, 64, 1024}) {
    for (const DType in : {DType::bf16, DType::f32}) {
      for (const bool row_scaled : {false, true}) {
        for (const FourOverSix rule : {FourOverSix::off, FourOverSix::mae}) {
          SCOPED_TRACE(::testing::Message()
                       << rows << ' ' << dtype_name(in) << ' ' << row_scaled << ' ' << word(rule));
          const Tensor x = matrix(rows, 256, 2, 0, in);
          QuantizeNvfp4Options options;
          options.four_over_six = rule;
          reference::Nvfp4Options same;
          same.row_scaled = row_scaled;
          same.four_over_six = rule;
          check_rows(x, output(x, [&](QuantizedTensor& o) { o.type.row_scaled = row_scaled; }),
                     options, same);
        }
      }
    }
  }
}

// The profiles whose scales have no lower bound, by what may be given to them.
TEST_F(NegativeAmaxOnHost, UnderOtherProfiles) {
  struct Kind {
    Profile profile;
    GlobalScale global;
    bool row_scaled;
  };
  constexpr Kind kKinds[] = {{Profile::pr546, GlobalScale::amax, false},
                             {Profile::pr546, GlobalScale::decode, true},
                             {Profile::te_ref, GlobalScale::amax, true},
                             {Profile::te_ref, GlobalScale::encode, false},
                             {Profile::te_fast, GlobalScale::amax, false}};
  for (const Kind& kind : kKinds) {
    SCOPED_TRACE(::testing::Message() << word(kind.profile) << ' ' << word(kind.global));
    const Tensor x = matrix(64, 256, 2, 0, DType::bf16);
    QuantizeNvfp4Options options;
    options.global = kind.global;
    reference::Nvfp4Options same;
    same.profile = kind.profile;
    same.global = kind.global;
    same.row_scaled = kind.row_scaled;
    check_rows(x,
               output(x,
                      [&](QuantizedTensor& o) {
                        o.type.row_scaled = kind.row_scaled;
                        o.type.profile = kind.profile;
                      }),
               options, same);
  }
}

TEST_F(NegativeAmaxOnHost, AlongBothSides) {
  const Tensor x = matrix(160, 272, 4);
  const QuantizedTensor out = output(x, [](QuantizedTensor&) {});
  std::vector<float> rows, columns;
  give(out.rowwise, rows), give(out.columnwise, columns);
  QuantizeNvfp4Options options;
  options.amax_given = true;
  options.device = device_;
  quantize_nvfp4(*runtime_, x, out, options).value();
  expect(out.rowwise, reference::quantize_rowwise(x, {}, rows));
  expect(out.columnwise, reference::quantize_columnwise(x, {}, columns));
}

}  // namespace
}  // namespace diecast
