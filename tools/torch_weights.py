#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Weights between weft and PyTorch, by a reader and a writer of safetensors that share nothing with
ours. Needs torch and torchvision (Debian: python3-torch python3-torchvision); run by hand.

torch_weights.py check <model> <file>  load_state_dict(strict=True), then print the model's hash,
                                       which weft-edge prints as model_hash
torch_weights.py write <model> <file>  a fresh model, and print its hash
"""

import hashlib
import json
import struct
import sys

import torch

from torch_models import make

DTYPES = {"F32": torch.float32, "I64": torch.int64}


def read(path):
    with open(path, "rb") as file:
        (length,) = struct.unpack("<Q", file.read(8))
        header = json.loads(file.read(length))
        data = bytearray(file.read())
    header.pop("__metadata__", None)
    tensors = {}
    end = 0
    for name, entry in sorted(header.items(), key=lambda item: item[1]["data_offsets"]):
        dtype = DTYPES[entry["dtype"]]
        begin, next_end = entry["data_offsets"]
        assert begin == end and begin % torch.empty(0, dtype=dtype).element_size() == 0, name
        end = next_end
        count = torch.Size(entry["shape"]).numel()
        flat = torch.frombuffer(data, dtype=dtype, count=count, offset=begin)
        tensors[name] = flat.reshape(entry["shape"])
    assert end == len(data)
    return {name: tensors[name] for name in header}


def write(path, tensors):
    header, chunks, end = {}, [], 0
    for name, tensor in tensors.items():
        chunk = tensor.numpy().tobytes()
        dtype = next(key for key, value in DTYPES.items() if value == tensor.dtype)
        header[name] = {"dtype": dtype, "shape": list(tensor.shape),
                        "data_offsets": [end, end + len(chunk)]}
        chunks.append(chunk)
        end += len(chunk)
    text = json.dumps(header).encode()
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + b"".join(chunks))


def main():
    verb, name, path = sys.argv[1:]
    torch.manual_seed(1)
    if verb == "check":
        tensors = read(path)
        classes = len(list(tensors.values())[-1])  # the classifier's bias
        model = make(name, classes)
        assert list(tensors) == list(model.state_dict()), "not in state_dict order"
        print(model.load_state_dict(tensors, strict=True))
    else:
        model = make(name)
        for tensor in model.state_dict().values():
            if tensor.dtype == torch.int64:
                tensor += 7
        write(path, model.state_dict())
    values = b"".join(p.detach().numpy().tobytes() for p in model.parameters())
    print(hashlib.sha256(values).hexdigest())


if __name__ == "__main__":
    main()
