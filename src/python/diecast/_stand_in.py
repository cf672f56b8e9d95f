"""Stand-ins: what frameworks that trace a program know of a tensor. The library reads them as it reads
tensors, for checks and for preparing."""

import types


class StandIn:
    """A tensor of a shape and type without memory, at an address that nothing reads. typestr and name
    are those of numpy's type ("<f4"); place: others of the call have others; strides, in bytes, and
    gpu, an ordinal, may be None."""

    def __init__(self, place, shape, typestr, name, strides=None, gpu=None):
        self.dtype = types.SimpleNamespace(name=name)
        interface = {"shape": tuple(shape), "typestr": typestr, "strides": strides,
                     "data": ((place + 1) << 44, False), "version": 3}
        if gpu is None:
            self.__array_interface__ = interface
        else:
            self.__cuda_array_interface__ = interface
            self.device = types.SimpleNamespace(id=gpu)
