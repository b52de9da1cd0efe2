// SPDX-License-Identifier: Apache-2.0
#include "core/model/layer.h"

#include <string>

#include <CppUTest/TestHarness.h>

namespace weft::model {

TEST_GROUP(Layer){};

TEST(Layer, OfEachKindIsCalledByItsName) {
  const auto name = [](const Layer& layer) { return std::string(KindName(layer)); };
  STRCMP_EQUAL("input", name(Input{}).c_str());
  STRCMP_EQUAL("conv2d", name(Conv2d{}).c_str());
  STRCMP_EQUAL("linear", name(Linear{}).c_str());
  STRCMP_EQUAL("batch_norm", name(BatchNorm{}).c_str());
  STRCMP_EQUAL("relu", name(Relu{}).c_str());
  STRCMP_EQUAL("relu6", name(Relu6{}).c_str());
  STRCMP_EQUAL("max_pool", name(MaxPool{.kernel = 2, .stride = 2}).c_str());
  STRCMP_EQUAL("avg_pool", name(AvgPool{.kernel = 2, .stride = 2}).c_str());
  STRCMP_EQUAL("adaptive_avg_pool", name(AdaptiveAvgPool{}).c_str());
  STRCMP_EQUAL("add", name(Add{}).c_str());
  STRCMP_EQUAL("concat", name(Concat{}).c_str());
  STRCMP_EQUAL("dropout", name(Dropout{}).c_str());
  STRCMP_EQUAL("flatten", name(Flatten{}).c_str());
}

TEST(Layer, CountsTowardsTheDepthOnlyAsConvolutionOrLinear) {
  CHECK(IsWeighted(Conv2d{}));
  CHECK(IsWeighted(Linear{}));
  CHECK(!IsWeighted(BatchNorm{}));
  CHECK(!IsWeighted(Relu{}));
}

}  // namespace weft::model
