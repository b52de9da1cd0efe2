// SPDX-License-Identifier: Apache-2.0
// The function behind each entry of the zoo. Private to the zoo: others call BuildModel().
#pragma once

#include "core/model/zoo.h"

namespace weft::model {

Result<Graph> BuildLenet5(const ModelSpec& spec);
Result<Graph> BuildResnet18Cifar(const ModelSpec& spec);
Result<Graph> BuildResnet18(const ModelSpec& spec);
Result<Graph> BuildResnet34(const ModelSpec& spec);
Result<Graph> BuildResnet50(const ModelSpec& spec);
Result<Graph> BuildResnet101(const ModelSpec& spec);
Result<Graph> BuildResnet152(const ModelSpec& spec);
Result<Graph> BuildVgg11(const ModelSpec& spec);
Result<Graph> BuildVgg16(const ModelSpec& spec);
Result<Graph> BuildVgg19(const ModelSpec& spec);
Result<Graph> BuildGooglenet(const ModelSpec& spec);
Result<Graph> BuildInceptionV4(const ModelSpec& spec);
Result<Graph> BuildMobilenetV2(const ModelSpec& spec);
Result<Graph> BuildSqueezenet11(const ModelSpec& spec);

}  // namespace weft::model
