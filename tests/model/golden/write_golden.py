#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes <model>.inc beside itself: the state_dict() of the peer's model, in its order, one line per
module. Prints each model's parameters and multiply-adds, the numbers in zoo_test.cc.

Needs torchvision and timm; the files here come from torchvision 0.14.1 and timm 1.0.29.dev0.
"""

import itertools
import pathlib

import timm
import torch
import torchvision

TORCHVISION = ("resnet18 resnet34 resnet50 resnet101 resnet152 vgg11 vgg16 vgg19 mobilenet_v2 "
               "squeezenet1_1").split()


def models():
    for name in TORCHVISION:
        yield name, torchvision.models.get_model(name, weights=None), 224
    yield ("googlenet",
           torchvision.models.googlenet(weights=None, aux_logits=False, init_weights=False), 224)
    yield "inception_v4", timm.create_model("inception_v4"), 299


def module_lines(model):
    tensors = [(*name.rsplit(".", 1), list(tensor.shape))
               for name, tensor in model.state_dict().items()]
    for module, group in itertools.groupby(tensors, key=lambda tensor: tensor[0]):
        yield f"{module}: " + "; ".join(f"{leaf} {shape}" for _, leaf, shape in group)


def multiply_adds(model, size):
    counts = []

    def count(module, _, output):
        counts.append(output[0].numel() * module.weight[0].numel())

    for module in model.modules():
        if isinstance(module, (torch.nn.Conv2d, torch.nn.Linear)):
            module.register_forward_hook(count)
    with torch.no_grad():
        model.eval()(torch.zeros(1, 3, size, size))
    return sum(counts)


def main():
    here = pathlib.Path(__file__).resolve().parent
    for name, model, size in models():
        text = "\n".join(module_lines(model))
        (here / f"{name}.inc").write_text(f'R"(\n{text}\n)"\n')
        parameters = sum(tensor.numel() for tensor in model.parameters())
        print(f"{name}: {parameters} parameters, {multiply_adds(model, size)} multiply-adds")


if __name__ == "__main__":
    main()
