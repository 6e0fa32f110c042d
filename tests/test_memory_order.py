"""Buffers in C and in Fortran order: a call whose two buffers differ is refused, as its elements would come out permuted."""

from __future__ import annotations

import numpy as np
import pytest

import phicoll

SHAPE = (3, 4)

# The calls with two buffers, as a group of one makes them: what it sends comes back to it.
CALLS = {
    "Reduce": lambda comm, s, r: comm.Reduce(s, r),
    "Allreduce": lambda comm, s, r: comm.Allreduce(s, r),
    "Scan": lambda comm, s, r: comm.Scan(s, r),
    "Exscan": lambda comm, s, r: comm.Exscan(s, r),
    "Reduce_scatter_block": lambda comm, s, r: comm.Reduce_scatter_block(s, r),
    "Reduce_scatter": lambda comm, s, r: comm.Reduce_scatter(s, r, [s.size]),
    "Gather": lambda comm, s, r: comm.Gather(s, r),
    "Scatter": lambda comm, s, r: comm.Scatter(s, r),
    "Allgather": lambda comm, s, r: comm.Allgather(s, r),
    "Alltoall": lambda comm, s, r: comm.Alltoall(s, r),
    "Gatherv": lambda comm, s, r: comm.Gatherv(s, [r, [s.size]]),
    "Scatterv": lambda comm, s, r: comm.Scatterv([s, [s.size]], r),
    "Allgatherv": lambda comm, s, r: comm.Allgatherv(s, [r, [s.size]]),
    "Alltoallv": lambda comm, s, r: comm.Alltoallv([s, [s.size]], [r, [s.size]]),
}


def array(order):
    """Elements whose places in memory tell which order they were read in."""
    values = np.arange(12.0).reshape(SHAPE)
    return {
        "C": values,
        "F": np.asfortranarray(values),
        "C with gaps": np.repeat(values, 2, axis=1)[:, ::2],
    }[order]


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS.keys())
@pytest.mark.parametrize(
    ("send", "receive", "refused"),
    [
        ("F", "C", "recvbuf: got memory in C order; allowed: the order of sendbuf, Fortran, or np.ravel"),
        ("C", "F", "recvbuf: got memory in Fortran order; allowed: the order of sendbuf, C, or np.ravel"),
        ("C with gaps", "F", "recvbuf: got memory in Fortran order"),
        ("F", "C with gaps", "recvbuf: got memory in C order"),
    ],
)
def test_buffers_of_different_orders_are_refused(call, send, receive, refused):
    received = np.full_like(array(receive), -1.0)
    with pytest.raises(phicoll.ArgumentError) as caught:
        call(phicoll.COMM_SELF, array(send), received)
    assert str(caught.value).startswith(refused)
    assert (received == -1).all()


@pytest.mark.parametrize("call", [c for name, c in CALLS.items() if name != "Exscan"])
@pytest.mark.parametrize("order", ["C", "F", "C with gaps"])
def test_buffers_of_one_order_keep_their_elements(call, order):
    received = np.full_like(array(order), -1.0)
    call(phicoll.COMM_SELF, array(order), received)
    assert np.array_equal(received, array(order))


@pytest.mark.parametrize("call", [c for name, c in CALLS.items() if name != "Exscan"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_one_dimension_has_no_order(call, order):
    flat = np.ravel(array(order), "K")
    received = np.full(12, -1.0)
    call(phicoll.COMM_SELF, array(order), received)
    assert np.array_equal(received, flat)
    shaped = np.full_like(array(order), -1.0)
    call(phicoll.COMM_SELF, flat.copy(), shaped)
    assert np.array_equal(np.ravel(shaped, "K"), flat)


def test_columns_of_one_element_and_nothing_have_no_order():
    for shape in [(1, 4), (4, 1), (0, 3)]:
        sent, received = np.ones(shape, order="F"), np.zeros(shape, order="C")
        phicoll.COMM_SELF.Allreduce(sent, received)
        assert np.array_equal(sent, received)


def test_an_array_is_not_reduced_into_its_own_transpose():
    square = np.arange(9.0).reshape(3, 3)
    with pytest.raises(phicoll.ArgumentError, match="recvbuf: got memory in Fortran order"):
        phicoll.COMM_SELF.Allreduce(square, square.T)


def test_other_objects_with_the_buffer_protocol_have_an_order_too():
    received = np.zeros(SHAPE)
    with pytest.raises(phicoll.ArgumentError, match="recvbuf: got memory in C order"):
        phicoll.COMM_SELF.Allreduce(memoryview(array("F")), received)


def test_a_rank_s_refusal_reaches_the_others():
    def function(comm):
        comm.Allreduce(array("F" if comm.rank == 1 else "C"), np.empty(SHAPE))

    with pytest.raises(phicoll.ArgumentError, match="recvbuf: got memory in C order") as caught:
        phicoll.run(function, ranks=2, mode="threads", timeout=20)
    assert caught.value.rank == 1


def test_reduce_local_refuses_it_too():
    inout = array("C")
    with pytest.raises(
        phicoll.ArgumentError, match="inoutbuf: got memory in C order; allowed: the order of inbuf"
    ):
        phicoll.SUM.Reduce_local(array("F"), inout)
    assert np.array_equal(inout, array("C"))
