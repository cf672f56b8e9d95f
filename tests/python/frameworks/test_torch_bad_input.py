"""What diecast.torch refuses: wrong calls, CPU tensors unasked, tensors that only stand for others."""

import pytest
import torch
from test_torch_ops import every_call
from torch_tensors import matrix, on_host, same  # noqa: F401, a fixture

import diecast
import diecast.torch


def test_cpu_tensors_are_refused_until_asked_for():
    diecast.torch.use_host(False)
    with pytest.raises(diecast.ArgumentError, match="on the CPU") as caught:
        diecast.torch.amax(matrix(1, 16))
    assert "use_host" in caught.value.fix


@pytest.mark.parametrize("call, error, text", [
    (lambda x: diecast.torch.quantize_nvfp4(x, layout="s1x4"), diecast.ArgumentError, "layout"),
    (lambda x: diecast.torch.quantize_nvfp4(x.long()), diecast.DtypeError, "i64"),
    (lambda x: diecast.torch.quantize_nvfp4(x.t()), diecast.ArgumentError, "apart"),
    (lambda x: diecast.torch.amax(x, accumulate=True), diecast.ArgumentError, "accumulate"),
    (lambda x: diecast.torch.amax(x, out=(x, x)), diecast.ArgumentError, "1 outputs"),
    (lambda x: diecast.torch.quantize_nvfp4(x, out=x[:0]), diecast.ArgumentError, "3 outputs"),
    (lambda x: torch.ops.diecast.amax.out(x), diecast.ArgumentError, "no output"),
    (lambda x: torch.ops.diecast.quantize_nvfp4.out(x, out_data=x), diecast.Error, "out_"),
    (lambda x: diecast.torch.amax(x, out=x), diecast.Error, "out"),
    (lambda x: diecast.torch.amax(x, size=3), RuntimeError, "size"),
    (lambda x: diecast.torch.amax(None), diecast.ArgumentError, "x is not given"),
    (lambda x: diecast.torch.dequantize_nvfp4(x), diecast.ArgumentError, "scale is not given"),
    (lambda x: diecast.torch.amax("x"), RuntimeError, "Tensor"),
])
def test_bad_calls_are_errors_with_a_type(call, error, text):
    with pytest.raises(error, match=text):
        call(matrix(4, 32))


@pytest.mark.parametrize("shape", [(0, 64), (4, 0)])
def test_21_22_23_nothing_has_amaxes_of_zero(shape):
    """torch's tensors without elements lie at no address, and have strides of their own."""
    x = torch.empty(shape, dtype=torch.bfloat16)
    for options, count in (({}, 1), ({"row_scaled": True}, shape[0]), ({"direction": "columnwise"}, 1)):
        data, scale, _ = diecast.torch.quantize_nvfp4(x, **options)
        amax = torch.full((count,), 7.0)
        diecast.torch.quantize_nvfp4(x, out=(data, scale, amax), **options)
        assert amax.tolist() == [0] * count


def refusal(function, *tensors):
    try:
        function(*tensors)
    except diecast.Error as error:
        return type(error), str(error)
    return None


@pytest.mark.parametrize("rank", [0, 1, 4])
def test_a_packed_weight_has_rows(rank):
    from torch._subclasses.fake_tensor import FakeTensorMode
    data = torch.zeros([1] * (rank - 1) + [32] * min(rank, 1), dtype=torch.uint8)
    of_data = refusal(diecast.torch.pack_linear, data, data)
    assert "pack_linear: the weight's shape is" in of_data[1]
    with FakeTensorMode() as mode:
        fake = mode.from_tensor(data)
        assert refusal(diecast.torch.pack_linear, fake, fake) == of_data


def others(tensor):
    """Tensors of other shapes, layouts and types."""
    if tensor.ndim == 2:
        yield from (tensor[:, :-1], tensor.t())
    yield from (tensor[:-1], tensor.reshape(-1), tensor[None])
    yield from (torch.zeros(tensor.shape, dtype=kind)
                for kind in (torch.float32, torch.uint8, torch.int64, torch.bool) if kind != tensor.dtype)


@every_call
def test_a_traced_call_refuses_what_one_that_runs_does(name, inputs, options):
    from torch._subclasses.fake_tensor import FakeTensorMode
    for place, one in enumerate(inputs):
        for other in () if one is None else others(one):
            tensors = [*inputs[:place], other, *inputs[place + 1:]]
            with FakeTensorMode() as mode:
                fakes = [tensor if tensor is None else mode.from_tensor(tensor) for tensor in tensors]
                traced = refusal(lambda *of: getattr(diecast.torch, name)(*of, **options), *fakes)
            ran = refusal(lambda *of: getattr(diecast.torch, name)(*of, **options), *tensors)
            assert traced == ran or traced is None and "row offset" in ran[1]


def test_a_compiled_call_is_refused_where_it_is_traced():
    ran = []
    compiled = torch.compile(lambda x, out: diecast.torch.amax(x, out=out),
                             backend=lambda module, _: ran.append(module) or module)
    with pytest.raises(RuntimeError, match="amax: out has 3 elements, not 1"):
        compiled(matrix(4, 32), torch.zeros(3))
    assert ran == []


def test_an_output_that_a_gradient_needs_is_seen():
    saved, weight = torch.full((1,), 2.0), torch.ones(1, requires_grad=True)
    product = weight * saved
    diecast.torch.amax(matrix(4, 32), out=saved)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        product.backward()
    for out in (weight, weight * 1):
        with pytest.raises(diecast.ArgumentError, match="an output requires gradients"):
            diecast.torch.amax(matrix(4, 32), out=out)
    with torch.no_grad():
        diecast.torch.amax(matrix(4, 32), out=weight)
    with torch.inference_mode():
        diecast.torch.amax(matrix(4, 32), out=torch.empty(1))


class Wrapped(torch.Tensor):
    """A type that answers torch's calls itself, as DTensor does."""

    @classmethod
    def __torch_dispatch__(cls, function, types, args=(), kwargs=None):
        raise NotImplementedError


class Named(torch.Tensor):
    """A type that is a tensor with another name."""


def test_tensors_that_only_stand_for_others_are_refused():
    from torch._subclasses.fake_tensor import FakeTensorMode
    with FakeTensorMode():
        fake = torch.empty(4, 64)
    wrapped = torch.Tensor._make_wrapper_subclass(Wrapped, (4, 64))
    for one in (fake, wrapped):
        for _ in range(2):
            with pytest.raises(diecast.DtypeError, match="only stands for a tensor") as caught:
                diecast.quantize_nvfp4(one, device="host")
            assert "to_local" in caught.value.fix
    x = matrix(4, 64)
    assert same(diecast.quantize_nvfp4(x.as_subclass(Named), device="host")[0],
                diecast.quantize_nvfp4(x, device="host")[0])


def test_a_negative_view_keeps_its_sign_through_torch_alone():
    """The raw path reads memory, as torch's own DLPack does; the front page says so."""
    x = torch.full((4, 64), 2.0)
    negative = torch._neg_view(x)
    assert negative[0, 0] == -2 and torch.from_dlpack(negative)[0, 0] == 2
    codes = diecast.torch.quantize_nvfp4(negative)[0]
    assert torch.equal(codes, diecast.torch.quantize_nvfp4(-x)[0])
    assert torch.equal(codes, diecast.quantize_nvfp4(negative.resolve_neg(), device="host")[0])
    assert torch.equal(diecast.quantize_nvfp4(negative, device="host")[0],
                       diecast.quantize_nvfp4(x, device="host")[0])
    with pytest.raises((diecast.DtypeError, BufferError)):
        diecast.quantize_nvfp4(torch.ones(4, 64, dtype=torch.complex64).conj(), device="host")
