"""Arguments that are no tensors, or not such ones."""

import torch

from .._errors import ArgumentError, DtypeError


def tensors(function, **arguments):
    """Raises DtypeError for an argument that is no tensor."""
    for name, value in arguments.items():
        if not isinstance(value, torch.Tensor):
            raise DtypeError("dtype_mismatch", f"{function}: {name} is {type(value).__name__}, no tensor",
                             f"pass {name} as a tensor of torch")


def sizes(function, **argument):
    """The sizes of a tensor [.., K]: all but K, and K. Raises ArgumentError for one without K."""
    tensors(function, **argument)
    ((name, value),) = argument.items()
    if value.ndim == 0:
        raise ArgumentError("shape_mismatch", f"{function}: {name} has no dimensions",
                            f"pass {name} as [.., K]")
    return value.shape[:-1], value.shape[-1]


def check_number(function, **argument):
    """Raises DtypeError or ArgumentError for what is no tensor of one number."""
    tensors(function, **argument)
    ((name, value),) = argument.items()
    if value.numel() != 1:
        raise ArgumentError("shape_mismatch", f"{function}: {name} has {value.numel()} elements",
                            f"pass {name} as one number for the whole tensor")


def number(function, like, **argument):
    """A tensor of one number as f32 [1] where `like` is."""
    check_number(function, **argument)
    ((_, value),) = argument.items()
    return value.to(like.device, torch.float32).reshape(1)
