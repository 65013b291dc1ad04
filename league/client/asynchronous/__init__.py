"""The client for asyncio, made by hand; `make client` writes `league.client.synchronous` from it."""
