"""How the stand-in says no: the API's error body, its statuses and the names of its errors."""

from __future__ import annotations

from typing import Any


class RefusedError(Exception):
    """A request that breaks a rule of the API; the server answers it with `status` and the text."""

    def __init__(
        self, message: str, *, status: int = 400, error_type: str = "invalid_request_error"
    ) -> None:
        super().__init__(message)
        self.message = message
        self.status = status
        self.error_type = error_type


def error_body(error_type: str, message: str, request_id: str) -> dict[str, Any]:
    """The JSON of every error answer, as the API's reference gives it."""
    return {
        "type": "error",
        "error": {"type": error_type, "message": message},
        "request_id": request_id,
    }
