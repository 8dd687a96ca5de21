"""Many calls of one function in one request, and the response to each as it comes; no sockets."""

from __future__ import annotations

from concurrent.futures import Future
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple

from ..errors import ApiError, GloveboxError, api_error
from ..values.codec import ValueRefused
from .call_protocol import MAX_BATCH, CallEncoder, StalePlan
from .retries import Repeats, is_not_started

__all__ = ["Batch"]

Arguments = Tuple[Any, ...]
# Most inputs of one request, as the server has it.
MAX_INPUTS = 10_000


class Batch:
    """The calls of one request, or of several if they do not fit into one.

    ``encoder`` gives the encoder for a template; True: with what the function uses as it is now.
    """

    def __init__(
        self, calls: Sequence[Arguments], encoder: Callable[[Optional[str], bool], CallEncoder], is_idempotent: bool
    ) -> None:
        self.futures: List["Future[Any]"] = [Future() for _ in calls]
        #: Those without a response.
        self.left: List[int] = list(range(len(calls)))
        self._calls = calls
        self._encoder_for = encoder
        self._repeats = [Repeats(is_idempotent) for _ in calls]
        self._fields = ""
        self._inputs: Dict[int, str] = {}

    def prepare(self, template: Optional[str]) -> None:
        """Encodes what has no response yet. A call that cannot be sent gets the reason as its response."""
        try:
            encoder = self._encoder_for(template, False)
            self._fields = encoder.shared_fields()
        except StalePlan:
            encoder = self._encoder_for(template, True)
            self._fields = encoder.shared_fields()
        for index in list(self.left):
            if index not in self._inputs:
                try:
                    self._inputs[index] = encoder.shared_input(self._calls[index], {})
                except ValueRefused as error:
                    self.put(index, error)

    def next_request(self, parallel: int) -> Tuple[List[int], bytes]:
        """Some of the calls, by their places, and the body of the request for them."""
        indexes: List[int] = []
        size = 0
        for index in self.left:
            size += len(self._inputs[index])
            if indexes and (size > MAX_BATCH or len(indexes) >= MAX_INPUTS):
                break
            indexes.append(index)
        inputs = ",".join([self._inputs[index] for index in indexes])
        return indexes, f'{self._fields},"parallel":{parallel},"inputs":[{inputs}]}}'.encode("ascii")

    def answer(self, index: int, line: Mapping[str, Any]) -> Optional[ApiError]:
        """Takes the server's line about a call. Returns why the call was not started, if it was not."""
        if line.get("status") == 200:
            if not self._repeats[index].wants_after(None, line):
                self.put(index, line)
            return None
        error = _error_of(line)
        if is_not_started(error):
            return error
        self.lose(index, error)
        return None

    def lose(self, index: int, error: GloveboxError) -> None:
        """There will be no response; the call may have run."""
        if not self._repeats[index].wants_after(error):
            self.put(index, error)

    def put(self, index: int, response: Any) -> None:
        """A response, or an exception."""
        self.left.remove(index)
        self._inputs.pop(index, None)
        future = self.futures[index]
        if not future.set_running_or_notify_cancel():
            return
        if isinstance(response, BaseException):
            future.set_exception(response)
        else:
            future.set_result(response)

    def cancel(self) -> None:
        """What has no response gets none."""
        for index in list(self.left):
            self.futures[index].cancel()


def _error_of(line: Mapping[str, Any]) -> ApiError:
    error = line.get("error")
    status = line.get("status")
    code, message = "unknown", "the server gave no reason"
    if isinstance(error, dict):
        code, message = str(error.get("code")), str(error.get("message"))
    return api_error(status if isinstance(status, int) else 500, code, message)
