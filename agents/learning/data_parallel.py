"""Several processes that learn as one: data parallelism that leaves every algorithm as it is.

Each holds the same learner and is given the same fragments. Of a minibatch each asks the network about its
part only, then everybody is told what the others' parts gave. So all of them compute the loss of the whole
minibatch, with its means, its standardised advantages and its V-trace, each with a gradient through its own
part; those gradients, added up, are the gradient that one process would have found, whatever the loss is made
of. (DistributedDataParallel averages the gradients of separate losses instead, which is another algorithm
where advantages are standardised.)
"""

from __future__ import annotations

import datetime
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import distributed, nn

from agents.errors import DeviceError
from agents.networks.inputs import NetworkInputs

WAIT = datetime.timedelta(seconds=60)


@dataclass(frozen=True)
class DataParallel:
    """One of `size` processes; `rank` 0 leads."""

    rank: int
    size: int

    @classmethod
    def meet(cls, rank: int, size: int, place: str, device: torch.device) -> DataParallel:
        """Waits for the others.

        Args:
          place: where they meet: `file:` and a path on one machine, `tcp:` and host:port in a cluster.
          device: where they learn; gloo connects processors, NCCL GPUs, one a process.

        Raises:
          DeviceError: there are not as many GPUs. RuntimeError: somebody did not come within a minute.
        """
        kind, _, where = place.partition(":")
        if kind == "file":
            for library in ("GLOO", "NCCL"):  # nobody else needs to reach them
                os.environ[f"{library}_SOCKET_IFNAME"] = "lo0" if sys.platform == "darwin" else "lo"
            store: Any = distributed.FileStore(where, size)  # type: ignore[attr-defined]
        else:
            host, _, port = where.rpartition(":")
            store = distributed.TCPStore(host, int(port), size, rank == 0, WAIT)  # type: ignore[attr-defined]
        if device.type == "cuda":
            _require_gpus(size if kind == "file" else 1)
            torch.cuda.set_device(rank % torch.cuda.device_count())
        backend = "nccl" if device.type == "cuda" else "gloo"
        distributed.init_process_group(backend, store=store, rank=rank, world_size=size, timeout=WAIT)
        distributed.all_reduce(torch.zeros(1, device=device))  # whoever is still on the way in reads the file
        if kind == "file" and rank == 0:
            Path(where).unlink(missing_ok=True)
        return cls(rank, size)

    def part(self, heads: Callable[[NetworkInputs], torch.Tensor], inputs: NetworkInputs) -> torch.Tensor:
        """Returns a network's logits and value of all inputs, [R, A + 1], as `heads` would.

        Args:
          heads: asked about this process's part alone; the gradient flows through that.
        """
        each = -(-inputs.count // self.size)
        first = min(self.rank * each, inputs.count)
        length = min(each, inputs.count - first)
        # With fewer rows than processes some have none; they look at the first for its shape.
        own = heads(inputs.part(first, length) if length else inputs.part(0, 1))
        own = own.reshape(-1, max(length, 1), own.shape[-1]).transpose(0, 1)  # [count, T or 1, A + 1]
        sent = own.new_zeros(each, *own.shape[1:])
        sent[:length] = own.detach()[:length]
        parts = [torch.empty_like(sent) for _ in range(self.size)]
        distributed.all_gather(parts, sent)
        whole = torch.cat(parts)[: inputs.count]
        whole = torch.cat([whole[:first], own[:length], whole[first + length :]])
        if not length:
            whole = whole + 0.0 * own.sum()
        return whole.transpose(0, 1).flatten(0, 1)

    def add_gradients(self, network: nn.Module) -> None:
        """Makes every gradient the sum of everybody's."""
        learnt = [p for p in network.parameters() if p.requires_grad]
        grads = [torch.zeros_like(p) if p.grad is None else p.grad for p in learnt]
        flat = torch.cat([g.flatten() for g in grads])
        distributed.all_reduce(flat)
        parts = torch.split(flat, [g.numel() for g in grads])
        for parameter, grad in zip(learnt, parts, strict=True):
            parameter.grad = grad.view_as(parameter)

    def agreed(self, number: torch.Tensor) -> float:
        """Returns what the leader found: rounding may differ between machines, decisions must not."""
        told = number.detach().clone()
        distributed.broadcast(told, 0)
        return float(told)


def _require_gpus(size: int) -> None:
    result = torch.cuda.device_count()
    if result < size:
        raise DeviceError(
            f"learner_processes: {size} learn together, each on its own GPU, but this machine has {result}; "
            "use fewer or learner.device: cpu"
        )


def leave_group() -> None:
    """Leaves the others; whoever waits for this process fails at once."""
    if distributed.is_initialized():
        distributed.destroy_process_group()
