"""The client without asyncio, written by `make client` from `league.client.asynchronous`."""
