"""HTTP/1.1, WebSocket and event streams, without sockets: shared by the sync and the async client."""
