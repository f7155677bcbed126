"""One product per file, and for each test a model of its own and a conversation with it.

Every death is one that the product recovers from, so the tests of a file can share it.
"""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from activities.provider.scripted.script import Reply
from tests.product.harness import Product, installed
from tests.product.talk import Talk

Begin = Callable[..., Awaitable[Talk]]


@pytest.fixture(scope="module")
async def product(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Product]:
    """A running product."""
    async with installed(tmp_path_factory.mktemp("product")) as product:
        yield product


@pytest.fixture
async def begin(product: Product, tmp_path: Path) -> AsyncIterator[Begin]:
    """Open a conversation whose model gives the replies; it is served until the test ends."""
    async with AsyncExitStack() as stack:

        async def open_with(*replies: Reply) -> Talk:
            await product.up()
            # As if each test were a command of its own.
            product.conversations = product.client()
            provider = await stack.enter_async_context(product.model(*replies))
            return await Talk.open(product, provider, tmp_path / "project")

        yield open_with
