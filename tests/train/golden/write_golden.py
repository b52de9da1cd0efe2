#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the .inc files beside itself, what PyTorch and its model zoos answer:

optimizer.inc  parameters after some steps of torch.optim.SGD and AdamW
loss.inc       cross_entropy and its gradient, computed in float64
schedule.inc   learning-rate factors of torch.optim.lr_scheduler
initial.inc    mean, deviation and largest value of each random tensor of a fresh model

Needs torchvision and timm; the files here come from torch 1.13.1, torchvision 0.14.1 and timm
1.0.29.dev0.
"""

import itertools
import pathlib
import warnings

import timm
import torch
import torchvision
from torch import nn
from torch.optim import lr_scheduler

HERE = pathlib.Path(__file__).resolve().parent


def numbers(tensor):
    return ", ".join(f"{x:.9g}" for x in tensor.detach().flatten().tolist())


def write(name, rows):
    (HERE / f"{name}.inc").write_text("".join(f"{row}\n" for row in rows))


# Sixths and sevenths would be rounded differently on the way; eighths are exact.
def parameter(i):
    return ((3 * i) % 7 - 3) / 4 + 0.125


def gradient(i, step):
    return ((7 * i + 5 * step) % 11 - 5) / 8


def optimizers():
    specs = {
        "Sgd{}": ("SGD", {}),
        "Sgd{.weight_decay = 0.01}": ("SGD", {"weight_decay": 0.01}),
        "Sgd{.momentum = 0.9}": ("SGD", {"momentum": 0.9}),
        "Sgd{.momentum = 0.9, .weight_decay = 5e-4}":
            ("SGD", {"momentum": 0.9, "weight_decay": 5e-4}),
        "Sgd{.momentum = 0.9, .weight_decay = 5e-4, .nesterov = true}":
            ("SGD", {"momentum": 0.9, "weight_decay": 5e-4, "nesterov": True}),
        "AdamW{}": ("AdamW", {}),
        "AdamW{.beta1 = 0.8, .beta2 = 0.99, .eps = 1e-3, .weight_decay = 0.1}":
            ("AdamW", {"betas": (0.8, 0.99), "eps": 1e-3, "weight_decay": 0.1}),
    }
    for spec, (kind, options) in specs.items():
        weights = nn.Parameter(torch.tensor([parameter(i) for i in range(7)]))
        optimizer = getattr(torch.optim, kind)([weights], lr=0.1, **options)
        for step in range(1, 31):
            optimizer.param_groups[0]["lr"] = 0.1 / step
            weights.grad = torch.tensor([gradient(i, step) for i in range(7)])
            optimizer.step()
            if step in (1, 2, 30):
                yield f"{{{spec}, {step}, {{{numbers(weights)}}}}},"


def losses():
    torch.manual_seed(1)
    labels = torch.tensor([2, 0, 6, 3])
    for scale, smoothing in itertools.product((1, 100), (0.0, 0.1, 1.0)):
        logits = (torch.randn(4, 7) * scale).double().requires_grad_()
        loss = nn.functional.cross_entropy(logits, labels, label_smoothing=smoothing)
        loss.backward()
        yield (f"{{{smoothing}, {loss.item():.12g},\n {{{numbers(logits)}}},\n"
               f" {{{numbers(logits.grad)}}}}},")


def schedules():
    def cosine(optimizer, steps):
        return lr_scheduler.CosineAnnealingLR(optimizer, steps)

    def drops(optimizer, _):
        return lr_scheduler.StepLR(optimizer, 3, 0.5)

    def constant(optimizer, _):
        return lr_scheduler.LambdaLR(optimizer, lambda _: 1)

    def warmed(then):
        def make(optimizer, steps):
            rise = lr_scheduler.LinearLR(optimizer, start_factor=0.25, total_iters=3)
            return lr_scheduler.SequentialLR(optimizer, [rise, then(optimizer, steps - 4)], [4])
        return make

    makers = {"constant": constant, "step:3:0.5": drops, "cosine": cosine,
              "constant+warmup:4": warmed(constant), "step:3:0.5+warmup:4": warmed(drops),
              "cosine+warmup:4": warmed(cosine)}
    for text, make in makers.items():
        optimizer = torch.optim.SGD([nn.Parameter(torch.zeros(1))], lr=1)
        scheduler = make(optimizer, 12)
        factors = []
        for _ in range(12):
            factors.append(optimizer.param_groups[0]["lr"])
            optimizer.step()
            scheduler.step()
        yield f'{{"{text}", {{{", ".join(f"{x:.12g}" for x in factors)}}}}},'


def lenet5():
    return nn.ModuleDict({"conv1": nn.Conv2d(1, 6, 5, padding=2), "conv2": nn.Conv2d(6, 16, 5),
                          "fc1": nn.Linear(400, 120), "fc2": nn.Linear(120, 84),
                          "fc3": nn.Linear(84, 10)})


def fresh_models():
    torch.manual_seed(2)
    yield "lenet5", lenet5()
    for name in "resnet18 vgg11 mobilenet_v2 squeezenet1_1".split():
        yield name, torchvision.models.get_model(name, weights=None, num_classes=10)
    yield ("googlenet", torchvision.models.googlenet(weights=None, aux_logits=False,
                                                     init_weights=True, num_classes=10))
    yield "inception_v4", timm.create_model("inception_v4", num_classes=10)


def initial_tensors():
    for model_name, model in fresh_models():
        for name, tensor in model.state_dict().items():
            tensor = tensor.double()
            # torch's trunc_normal_ rounds about one draw in 10^7 to an infinity, which it cuts to 2:
            # 200 deviations, where the next largest is 5.
            tensor = tensor[tensor.abs() != 2] if model_name == "googlenet" else tensor
            if (tensor == tensor.flatten()[0]).all():
                expected = 1 if name.endswith(("running_var", "weight")) else 0
                assert (tensor == expected).all(), name
                continue
            yield (f'{{"{model_name}", "{name}", {tensor.mean():.4g}, '
                   f"{tensor.std(unbiased=False):.4g}, {tensor.abs().max():.4g}}},")


def main():
    warnings.simplefilter("ignore")  # LambdaLR and SequentialLR step each other
    write("optimizer", optimizers())
    write("loss", losses())
    write("schedule", schedules())
    write("initial", initial_tensors())


if __name__ == "__main__":
    main()
