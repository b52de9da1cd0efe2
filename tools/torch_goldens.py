#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Asks PyTorch what weft's networks must answer, and writes it to tests/torch/golden:

losses.txt  ten steps of SGD: the loss of each, then that of the first batch in evaluation mode
logits.txt  every model of the zoo in evaluation mode: some logits of two images

Weights and images are not stored. Both sides make them from tensor names and counters by the rule in
tests/torch/made_up.cc, which is repeated here. PyTorch computes in float64; how far its own float32
is from that is printed, and says what the tests' tolerances are worth.

Takes some minutes and 4 GB. Needs torch and torchvision (Debian: python3-torch python3-torchvision);
the files there come from torch 1.13.0 and torchvision 0.14.1. weft's suites need neither.
"""

import math
import pathlib

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

from torch_models import ZOO, make

GOLDEN = pathlib.Path(__file__).resolve().parent.parent / "tests/torch/golden"

# Model, image size, batch, learning rate. The sizes a network is meant for, and some small enough
# for an emulated board.
TRAINING = [
    ("lenet5", 28, 8, 0.002),
    ("resnet18-cifar", 8, 8, 0.0005),
    ("mobilenet_v2", 64, 8, 0.0005),
    ("resnet18-cifar", 32, 8, 0.0005),
    ("mobilenet_v2", 224, 4, 0.0005),
]
STEPS = 10
BATCHES = 3  # different ones; then they come again
MOMENTUM = 0.9
WEIGHT_DECAY = 5e-4


# What tests/torch/made_up.cc makes up.

def mix(z):
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def words(name, count):
    """The first `count` of core/rng.h's Rng(1, hash of the name)."""
    stream = 0xCBF29CE484222325
    for byte in name.encode():
        stream = ((stream ^ byte) * 0x100000001B3) % 2**64
    state = mix(np.array([1], np.uint64)) ^ mix(np.array([stream ^ (2**64 - 1)], np.uint64))
    return mix(state + np.arange(1, count + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15))


def made_up(name, shape):
    """The float32 values of the tensor `name`."""
    count = int(np.prod(shape))
    unit = (words(name, count) >> np.uint64(11)).astype(np.float64) * 2.0**-52 - 1  # [-1, 1)
    if len(shape) > 1:
        unit *= math.sqrt(6 / np.prod(shape[1:]))
    elif name.endswith("running_mean"):
        unit *= 0.25
    else:
        # Biases around 1 leave most ReLUs open. Around 0, mobilenet_v2 amplifies the rounding errors
        # of a step a hundredfold in the next.
        unit = 1 + 0.25 * unit
        # The ends of residual branches add little, or resnet152 would end at 1e10.
        if name.endswith(("bn2.weight", "bn3.weight", "conv.3.weight")):
            unit *= 0.5
    return torch.from_numpy(unit.reshape(shape).astype(np.float32))


def fill(model):
    for name, tensor in model.state_dict().items():
        tensor.copy_(made_up(name, tuple(tensor.shape)) if tensor.dtype != torch.int64
                     else torch.tensor(0))


def samples(count, channels, size, classes):
    """Images of 4 x 4 cells of their own brightness, and noise on top: were they noise alone, deep
    layers would see them all alike, and batch normalisation would blow up rounding errors."""
    cells = (words("cells", count * channels * 16) >> np.uint64(56)).astype(np.int64)
    noise = (words("noise", count * channels * size * size) >> np.uint64(56)).astype(np.int64)
    cell_of = np.arange(size) * 4 // size
    smooth = cells.reshape(count, channels, 4, 4)[:, :, cell_of][:, :, :, cell_of]
    pixels = (3 * smooth + noise.reshape(smooth.shape)) // 4
    labels = (words("labels", count) % np.uint64(classes)).astype(np.int64)
    return torch.from_numpy((pixels / 255 - 0.5) / 0.25), torch.from_numpy(labels)


def shape_of(name):
    """Channels, image size and classes a model is meant for."""
    return {"lenet5": (1, 28, 10), "resnet18-cifar": (3, 32, 10),
            "inception_v4": (3, 299, 1000)}.get(name, (3, 224, 1000))


def train(name, size, batch, rate, dtype):
    channels, _, classes = shape_of(name)
    model = make(name)
    fill(model)
    for module in model.modules():
        if isinstance(module, nn.Dropout):
            module.p = 0.0  # chance cannot be compared
    model = model.to(dtype).train()
    images, labels = samples(BATCHES * batch, channels, size, classes)
    images = images.to(dtype)
    optimizer = torch.optim.SGD(model.parameters(), lr=rate, momentum=MOMENTUM,
                                weight_decay=WEIGHT_DECAY)
    losses = []
    for step in range(STEPS):
        these = slice(step % BATCHES * batch, (step % BATCHES + 1) * batch)
        loss = F.cross_entropy(model(images[these]), labels[these])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    with torch.no_grad():
        losses.append(F.cross_entropy(model.eval()(images[:batch]), labels[:batch]).item())
    return losses


def write_losses():
    lines = []
    for name, size, batch, rate in TRAINING:
        losses = train(name, size, batch, rate, torch.float64)
        single = train(name, size, batch, rate, torch.float32)
        apart = max(abs(a - b) / a for a, b in zip(losses, single))
        print(f"{name} at {size}, batch {batch}: {losses[0]:.4f} to {losses[-2]:.4f}, evaluated "
              f"{losses[-1]:.4f}; float32 is {apart:.1e} away", flush=True)
        lines.append(f"{name} {size} {batch} {rate} {MOMENTUM} {WEIGHT_DECAY} "
                     + " ".join(f"{loss:.9g}" for loss in losses))
    (GOLDEN / "losses.txt").write_text("\n".join(lines) + "\n")


def write_logits():
    lines = []
    for name in ZOO:
        channels, size, classes = shape_of(name)
        model = make(name)
        fill(model)
        images, _ = samples(2, channels, size, classes)
        with torch.no_grad():
            single = model.eval()(images.float()).double()
            logits = model.double()(images)
        largest = logits.abs().max().item()
        apart = (single - logits).abs().max().item() / largest
        images_apart = (logits[0] - logits[1]).abs().max().item() / largest
        print(f"{name}: logits up to {largest:.4g}, of two images {images_apart:.2g} apart; float32 "
              f"is {apart:.1e} away", flush=True)
        shown = logits[:, ::max(1, classes // 50)].flatten().tolist()
        lines.append(f"{name} {largest:.9g} " + " ".join(f"{x:.9g}" for x in shown))
    (GOLDEN / "logits.txt").write_text("\n".join(lines) + "\n")


def main():
    write_losses()
    write_logits()


if __name__ == "__main__":
    main()
