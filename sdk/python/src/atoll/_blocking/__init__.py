"""The client without asyncio; `atoll` has its names. Most of it is generated from `aio`."""
