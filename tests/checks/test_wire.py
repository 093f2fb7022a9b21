"""Frames: what goes in comes out, and nothing else can be made to come out."""

import json
import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from course_utils.checks import wire

dtypes = st.sampled_from([np.dtype(name) for name in wire.DTYPES])
some_arrays = dtypes.flatmap(lambda d: arrays(d, array_shapes(min_dims=0, max_dims=4, min_side=0)))


@given(st.dictionaries(st.text(max_size=5), some_arrays, max_size=4), st.text(max_size=20))
def test_a_reply_survives_the_way(found, note):
    reply = wire.Reply("ok", found, {"note": note}, "")
    (back,) = wire.unpack_response(wire.pack_response({"x": [reply]}))["x"]
    assert back.notes == reply.notes
    assert back.arrays.keys() == found.keys()
    for name, array in found.items():
        assert back.arrays[name].dtype == array.dtype
        np.testing.assert_array_equal(back.arrays[name], array)


def test_numbers_in_the_other_byte_order_arrive_as_the_same_numbers():
    swapped = np.array([1.5, -2.0]).astype(np.dtype(float).newbyteorder())
    reply = wire.Reply("ok", {"out0": swapped})
    (back,) = wire.unpack_response(wire.pack_response({"x": [reply]}))["x"]
    assert back.arrays["out0"].tolist() == [1.5, -2.0]


@given(st.binary(max_size=200))
def test_random_bytes_are_refused(content):
    with pytest.raises(wire.BadFrame):
        wire.unpack_response(content)


@given(st.data())
def test_a_damaged_frame_is_refused_or_read_as_numbers(data):
    frame = bytearray(
        wire.pack_response({"x": [wire.Reply("ok", {"out0": np.arange(6.0).reshape(2, 3)})]})
    )
    place = data.draw(st.integers(0, len(frame) - 1))
    frame[place] = data.draw(st.integers(0, 255))
    try:
        content = wire.unpack_response(bytes(frame))
    except wire.BadFrame:
        return
    for replies in content.values():
        assert all(isinstance(r, wire.Reply) for r in replies)


def frame_of(header, tail: bytes = b"") -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return wire.MAGIC + struct.pack("<Q", len(text)) + text + tail


REPLY = {"status": "ok", "arrays": {}, "notes": {}, "error": ""}


@pytest.mark.parametrize(
    "frame",
    [
        b"",
        frame_of([]),
        frame_of({"x": 1}),
        frame_of({"x": [1]}),
        frame_of({"x": [{**REPLY, "status": "perfect"}]}),
        frame_of({"x": [{**REPLY, "points": 8}]}),
        frame_of({"x": [{**REPLY, "notes": {"a": 1}}]}),
        frame_of({"x": [{**REPLY, "arrays": {"a": [1, 2]}}]}),
        frame_of({"x": [{**REPLY, "arrays": {"a": {"__array__": ["object", [1]]}}}]}, b"12345678"),
        frame_of({"x": [{**REPLY, "arrays": {"a": {"__array__": ["float64", [-1]]}}}]}),
        frame_of({"x": [{**REPLY, "arrays": {"a": {"__array__": ["float64", [2]]}}}]}, b"12345678"),
        frame_of({"x": [{**REPLY, "arrays": {"a": {"__array__": ["float64", [10**12]]}}}]}),
        frame_of({"x": [REPLY]}, b"more"),
        frame_of({"x": [REPLY]}) * 2,
        frame_of(b"[" * 100_000),
        wire.MAGIC + struct.pack("<Q", 2**60) + b"{}",
        b"XXXXX" + frame_of({"x": [REPLY]})[5:],
    ],
    ids=str,
)
def test_a_forged_frame_is_refused(frame):
    with pytest.raises(wire.BadFrame):
        wire.unpack_response(frame)
