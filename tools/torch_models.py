# SPDX-License-Identifier: Apache-2.0
"""The models of weft's zoo in PyTorch, by weft's names: torchvision's own, and here those that it does
not have."""

import pathlib

import torch
import torchvision
from torch import nn
from torch.nn import functional as F

ROOT = pathlib.Path(__file__).resolve().parent.parent

ZOO = ("lenet5 resnet18-cifar resnet18 resnet34 resnet50 resnet101 resnet152 vgg11 vgg16 vgg19 "
       "googlenet inception_v4 mobilenet_v2 squeezenet1_1").split()


class Lenet5(nn.Module):
    def __init__(self, num_classes=10):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 6, 5, padding=2)
        self.conv2 = nn.Conv2d(6, 16, 5)
        self.fc1 = nn.Linear(400, 120)
        self.fc2 = nn.Linear(120, 84)
        self.fc3 = nn.Linear(84, num_classes)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        x = F.max_pool2d(F.relu(self.conv2(x)), 2).flatten(1)
        return self.fc3(F.relu(self.fc2(F.relu(self.fc1(x)))))


def resnet18_cifar(num_classes=10):
    model = torchvision.models.resnet18(num_classes=num_classes)
    model.conv1 = nn.Conv2d(3, 64, 3, padding=1, bias=False)
    model.maxpool = nn.Identity()
    return model


class ConvNormRelu(nn.Module):
    """One of Inception-v4's. A kernel of (1, 7) or (7, 1) keeps the size of the image."""

    def __init__(self, inputs, outputs, kernel, stride=1, same=False):
        super().__init__()
        kernel = kernel if isinstance(kernel, tuple) else (kernel, kernel)
        same = same or kernel[0] != kernel[1]
        padding = tuple(k // 2 if same else 0 for k in kernel)
        self.conv = nn.Conv2d(inputs, outputs, kernel, stride, padding, bias=False)
        self.bn = nn.BatchNorm2d(outputs, eps=0.001)

    def forward(self, x):
        return F.relu(self.bn(self.conv(x)))


def chain(inputs, *convs):
    modules = []
    for outputs, kernel, *more in convs:
        modules.append(ConvNormRelu(inputs, outputs, kernel, *more))
        inputs = outputs
    return nn.Sequential(*modules)


def averaged(inputs, outputs):
    return nn.Sequential(nn.AvgPool2d(3, 1, 1, count_include_pad=False),
                         ConvNormRelu(inputs, outputs, 1))


class Branches(nn.Module):
    """Side by side, then joined in the order given."""

    def __init__(self, **branches):
        super().__init__()
        for name, branch in branches.items():
            self.add_module(name, branch)

    def forward(self, x):
        return torch.cat([branch(x) for branch in self.children()], 1)


class InceptionC(nn.Module):
    def __init__(self):
        super().__init__()
        self.branch0 = ConvNormRelu(1536, 256, 1)
        self.branch1_0 = ConvNormRelu(1536, 384, 1)
        self.branch1_1a = ConvNormRelu(384, 256, (1, 3))
        self.branch1_1b = ConvNormRelu(384, 256, (3, 1))
        self.branch2_0 = ConvNormRelu(1536, 384, 1)
        self.branch2_1 = ConvNormRelu(384, 448, (3, 1))
        self.branch2_2 = ConvNormRelu(448, 512, (1, 3))
        self.branch2_3a = ConvNormRelu(512, 256, (1, 3))
        self.branch2_3b = ConvNormRelu(512, 256, (3, 1))
        self.branch3 = averaged(1536, 256)

    def forward(self, x):
        one = self.branch1_0(x)
        two = self.branch2_2(self.branch2_1(self.branch2_0(x)))
        return torch.cat([self.branch0(x), self.branch1_1a(one), self.branch1_1b(one),
                          self.branch2_3a(two), self.branch2_3b(two), self.branch3(x)], 1)


class InceptionV4(nn.Module):
    """Under timm's names, which tests/model/golden has from timm itself."""

    def __init__(self, num_classes=1000):
        super().__init__()
        row, column = (1, 7), (7, 1)

        def halve():
            return nn.MaxPool2d(3, 2)

        def a():
            return Branches(
                branch0=ConvNormRelu(384, 96, 1),
                branch1=chain(384, (64, 1), (96, 3, 1, True)),
                branch2=chain(384, (64, 1), (96, 3, 1, True), (96, 3, 1, True)),
                branch3=averaged(384, 96))

        def b():
            return Branches(
                branch0=ConvNormRelu(1024, 384, 1),
                branch1=chain(1024, (192, 1), (224, row), (256, column)),
                branch2=chain(1024, (192, 1), (192, column), (224, row), (224, column),
                              (256, row)),
                branch3=averaged(1024, 128))

        self.features = nn.Sequential(
            ConvNormRelu(3, 32, 3, 2), ConvNormRelu(32, 32, 3), ConvNormRelu(32, 64, 3, 1, True),
            Branches(maxpool=halve(), conv=ConvNormRelu(64, 96, 3, 2)),
            Branches(branch0=chain(160, (64, 1), (96, 3)),
                     branch1=chain(160, (64, 1), (64, row), (64, column), (96, 3))),
            Branches(conv=ConvNormRelu(192, 192, 3, 2), maxpool=halve()),
            a(), a(), a(), a(),
            Branches(branch0=ConvNormRelu(384, 384, 3, 2),
                     branch1=chain(384, (192, 1), (224, 3, 1, True), (256, 3, 2)),
                     branch2=halve()),
            b(), b(), b(), b(), b(), b(), b(),
            Branches(branch0=chain(1024, (192, 1), (192, 3, 2)),
                     branch1=chain(1024, (256, 1), (256, row), (320, column), (320, 3, 2)),
                     branch2=halve()),
            InceptionC(), InceptionC(), InceptionC())
        self.last_linear = nn.Linear(1536, num_classes)

    def forward(self, x):
        return self.last_linear(self.features(x).mean((2, 3)))


def check_names():
    """Whether the model above has the tensors that timm says its own has."""
    lines = {}
    for key, tensor in InceptionV4().state_dict().items():
        module, leaf = key.rsplit(".", 1)
        lines.setdefault(module, []).append(f"{leaf} {list(tensor.shape)}")
    timm = (ROOT / "tests/model/golden/inception_v4.inc").read_text().splitlines()[1:-1]
    assert timm == [f"{module}: " + "; ".join(leaves) for module, leaves in lines.items()]


def make(name, classes=None):
    """A model of the zoo, with as many classes as it is meant for unless another number is given."""
    options = {} if classes is None else {"num_classes": classes}
    if name == "inception_v4":
        check_names()
        return InceptionV4(**options)
    own = {"lenet5": Lenet5, "resnet18-cifar": resnet18_cifar}
    if name in own:
        return own[name](**options)
    if name == "googlenet":
        options.update(aux_logits=False, init_weights=False)
    return torchvision.models.get_model(name, weights=None, **options)
