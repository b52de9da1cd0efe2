#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes small_ops.inc beside itself: what PyTorch makes, in float64, of the ops in small_ops.cc on
their grid-filled data; results forward and gradients by autograd. One line per tensor: the op, the
tensor, its values.

Needs torch; the file here comes from torch 1.13.
"""

import itertools
import pathlib

import torch
import torch.nn.functional as F

MASK = 2**64 - 1


def mix(z):
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
    return z ^ (z >> 31)


def words(seed, stream):
    """core/rng.h"""
    state = mix(seed) ^ mix(stream ^ MASK)
    while True:
        state = (state + 0x9E3779B97F4A7C15) & MASK
        yield mix(state)


def grid(shape, stream):
    """Values() with Fill::kGrid in op_data.cc: steps of 1/4 from -3 to 3."""
    tensor = torch.empty(shape, dtype=torch.float64)
    limit = MASK - MASK % 25
    draws = (word % 25 - 12 for word in words(1, stream) if word < limit)
    tensor.view(-1).copy_(torch.tensor(list(itertools.islice(draws, tensor.numel()))) / 4)
    return tensor.requires_grad_()


IMAGE = (2, 2, 5, 4)
WIDE = (2, 4, 3, 5)


def unchanged(x):
    return x


def conv2d(out, kernel, groups=1, bias=True, shape=IMAGE, then=unchanged, **options):
    kernel = kernel if isinstance(kernel, tuple) else (kernel, kernel)
    params = [(out, shape[1] // groups, *kernel)] + ([(out,)] if bias else [])
    return [shape], params, lambda x, *p: then(F.conv2d(x, *p, groups=groups, **options))


def linear(out, shape=(3, 7), bias=True, then=unchanged):
    params = [(out, shape[1])] + ([(out,)] if bias else [])
    return [shape], params, lambda x, *p: then(F.linear(x, *p))


def batch_norm(training=True, then=unchanged, **options):
    def run(x, gamma, beta, mean, variance):
        return then(F.batch_norm(x, mean, variance, gamma, beta, training, **options))
    return [IMAGE], [(2,), (2,)], run


def pool(function, *arguments, shape=IMAGE, **options):
    return [shape], [], lambda x: function(x, *arguments, **options)


def join(function, *shapes):
    return list(shapes), [], lambda *srcs: function(srcs)


# name: shapes of the sources, shapes of the parameters, function of all of them
OPS = {
    "conv2d": conv2d(3, 3),
    "conv2d_1x1_no_bias": conv2d(3, 1, bias=False),
    "conv2d_padding": conv2d(3, 3, padding=1),
    "conv2d_stride": conv2d(3, 3, stride=2, padding=1),
    "conv2d_stride_beyond_kernel": conv2d(3, 1, stride=2),
    "conv2d_dilation": conv2d(3, 2, padding=2, dilation=(2, 3)),
    "conv2d_padding_beyond_kernel": conv2d(2, 2, stride=3, padding=3),
    "conv2d_rectangular": conv2d(3, (1, 3), stride=(2, 1), padding=(0, 1)),
    "conv2d_groups": conv2d(6, 3, padding=1, groups=2, bias=False, shape=WIDE),
    "conv2d_depthwise": conv2d(4, 3, stride=2, padding=1, groups=4, shape=WIDE),
    "conv2d_depthwise_twice": conv2d(8, (3, 2), padding=1, groups=4, shape=WIDE),
    "conv2d_relu": conv2d(3, 3, then=F.relu),
    "conv2d_relu6": conv2d(3, 3, then=F.relu6),
    "linear": linear(4),
    "linear_no_bias": linear(5, (1, 3), bias=False),
    "linear_relu": linear(4, then=F.relu),
    "linear_relu6": linear(4, then=F.relu6),
    "batch_norm": batch_norm(),
    "batch_norm_eps_momentum": batch_norm(eps=0.5, momentum=0.75),
    "batch_norm_relu": batch_norm(then=F.relu),
    "batch_norm_relu6": batch_norm(then=F.relu6),
    "batch_norm_inference": batch_norm(training=False),
    "batch_norm_relu6_inference": batch_norm(training=False, then=F.relu6),
    "relu": pool(F.relu),
    "relu_of_features": pool(F.relu, shape=(3, 7)),
    "relu6": pool(F.relu6, shape=(2, 4, 5, 4)),
    "max_pool": pool(F.max_pool2d, 2),
    "max_pool_overlapping": pool(F.max_pool2d, 3, 1, 1),
    "max_pool_ceil": pool(F.max_pool2d, 2, ceil_mode=True),
    "max_pool_ceil_drops_last": pool(F.max_pool2d, 2, 2, 1, ceil_mode=True),
    "max_pool_rectangular": pool(F.max_pool2d, (3, 2), (2, 1), (1, 0), ceil_mode=True),
    "avg_pool": pool(F.avg_pool2d, 2),
    "avg_pool_padding": pool(F.avg_pool2d, 3, 2, 1),
    "avg_pool_without_padding": pool(F.avg_pool2d, 3, 1, 1, count_include_pad=False),
    "avg_pool_ceil": pool(F.avg_pool2d, 3, 2, (0, 1), ceil_mode=True, shape=(2, 2, 6, 5)),
    "avg_pool_ceil_without_padding": pool(F.avg_pool2d, (2, 3), (2, 3), (1, 1), ceil_mode=True,
                                          count_include_pad=False),
    "adaptive_avg_pool_global": pool(F.adaptive_avg_pool2d, 1),
    "adaptive_avg_pool": pool(F.adaptive_avg_pool2d, (3, 2)),
    "adaptive_avg_pool_repeating": pool(F.adaptive_avg_pool2d, (7, 3)),
    "add": join(sum, IMAGE, IMAGE),
    "add_three_relu": join(lambda srcs: F.relu(sum(srcs)), IMAGE, IMAGE, IMAGE),
    "add_three_relu6": join(lambda srcs: F.relu6(sum(srcs)), IMAGE, IMAGE, IMAGE),
    "add_of_features": join(sum, (3, 7), (3, 7)),
    "concat": join(lambda srcs: torch.cat(srcs, 1), (2, 1, 3, 4), (2, 3, 3, 4), (2, 2, 3, 4)),
    "flatten": pool(torch.flatten, 1),
}


def lines(name, src_shapes, param_shapes, function):
    # The streams are those of MakeData().
    srcs = [grid(shape, stream) for stream, shape in enumerate(src_shapes)]
    params = [grid(shape, 16 + stream) for stream, shape in enumerate(param_shapes)]
    running = []
    if name.startswith("batch_norm"):
        running = [grid((2,), 32).detach(), grid((2,), 33).detach().abs() + 0.5]
    dst = function(*srcs, *params, *running)
    dst.backward(grid(dst.shape, 48).detach())

    tensors = [("dst", dst)] + [("running", tensor) for tensor in running]
    if not name.endswith("_inference"):
        tensors += [("d_src", src.grad) for src in srcs]
        tensors += [("d_param", param.grad) for param in params]
    for what, tensor in tensors:
        yield f"{name} {what} " + " ".join(f"{value:.8g}" for value in tensor.reshape(-1).tolist())


def main():
    text = "\n".join(line for name, op in OPS.items() for line in lines(name, *op))
    (pathlib.Path(__file__).resolve().parent / "small_ops.inc").write_text(f'R"(\n{text}\n)"\n')


if __name__ == "__main__":
    main()
