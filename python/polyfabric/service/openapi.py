"""The description of the HTTP interface, in OpenAPI 3.1."""

from __future__ import annotations

from typing import Any

from .tokens import OPERATOR


def _text(description: str) -> dict[str, Any]:
    return {"description": description, "content": {"text/plain": {"schema": {"type": "string"}}}}


def _json(description: str) -> dict[str, Any]:
    return {"description": description, "content": {"application/json": {"schema": {"type": "object"}}}}


def _binary(description: str) -> dict[str, Any]:
    return {"description": description, "content": {"application/octet-stream": {}}}


def _parameter(name: str, place: str, description: str, *, required: bool = True) -> dict[str, Any]:
    return {
        "name": name,
        "in": place,
        "required": required,
        "description": description,
        "schema": {"type": "string", "maxLength": 80},
    }


_ERRORS = {
    "400": _text("The request is wrong; the text says what to do."),
    "401": _text("No valid token."),
    "404": _text("No such program or key."),
    "429": {
        **_text("Too many requests, or the queue is full."),
        "headers": {"Retry-After": {"schema": {"type": "integer"}, "description": "Seconds."}},
    },
    "500": _text("A fault of the server."),
}

_PROGRAM = _parameter("program", "path", "Name of a program.")
_KEY = _parameter("key", "path", "Name of one of your keys: 1 to 64 letters, digits, - and _, without case.")


def _operation(
    summary: str, good: dict[str, Any], *parameters: dict[str, Any], body: str = "", **more: dict[str, Any]
) -> dict[str, Any]:
    found: dict[str, Any] = {"summary": summary, "responses": {**good, **_ERRORS, **more}}
    if parameters:
        found["parameters"] = list(parameters)
    if body:
        found["requestBody"] = {"required": True, **_binary(body)}
    return found


_SIZE = {"408": _text("The body came too slowly."), "413": _text("The body is larger than any that belongs here.")}

_ANSWER = _binary("Encrypted outputs, for `pf.Ciphertexts.from_bytes`; with `Accept: text/event-stream`, events.")
_ANSWER["content"]["text/event-stream"] = {
    "schema": {
        "type": "string",
        "description": "`progress` with JSON of stage, done and total; then `answer` with the outputs in base64, or `error` with JSON of status and "
        "text.",
    }
}

DESCRIPTION: dict[str, Any] = {
    "openapi": "3.1.0",
    "info": {
        "title": "Polyfabric",
        "version": "1",
        "description": "Executes programs on encrypted data. `polyfabric.RemoteServer` is a client.",
    },
    "components": {"securitySchemes": {"token": {"type": "http", "scheme": "bearer"}}},
    "security": [{"token": []}],
    "paths": {
        "/health": {
            "get": {"summary": "Whether the server is up.", "security": [], "responses": {"200": _text("It is.")}}
        },
        "/metrics": {
            "get": _operation(
                f"Figures for Prometheus, for the tenant {OPERATOR}.",
                {"200": _text("The figures.")},
                **{"403": _text("Another tenant asks.")},
            )
        },
        "/programs": {"get": _operation("The programs.", {"200": _json("Descriptions by name.")})},
        "/programs/{program}": {
            "get": _operation("A program's specification.", {"200": _json("For `pf.Client`.")}, _PROGRAM)
        },
        "/programs/{program}/keys": {
            "get": _operation("Your keys for a program.", {"200": _json("Their bytes by name.")}, _PROGRAM)
        },
        "/programs/{program}/keys/{key}": {
            "put": _operation(
                "Stores an evaluation key, instead of your earlier one of this name.",
                {"204": {"description": "It is on the disk and serves the program."}},
                _PROGRAM,
                _KEY,
                body="`client.evaluation_key.to_bytes()`",
                **{"403": _text("Your keys would take too much storage."), **_SIZE},
            ),
            "delete": _operation(
                "Removes a key, if there is one.",
                {"204": {"description": "There is none of this name."}},
                _PROGRAM,
                _KEY,
            ),
        },
        "/programs/{program}:run": {
            "post": _operation(
                "Executes on encrypted inputs. Closing the connection cancels the execution.",
                {"200": _ANSWER},
                _PROGRAM,
                _parameter("key", "query", "Name of your key."),
                _parameter(
                    "If-Match",
                    "header",
                    "Last 32 bytes of the key's file, in hexadecimal digits and quotes.",
                    required=False,
                ),
                body="`client.encrypt(..).to_bytes()`",
                **{"412": _text("The stored key is another one than `If-Match` says."), **_SIZE},
            )
        },
    },
}
