"""The trace's facts as OpenTelemetry spans, joined with the SDK's own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from bot.local.claude import call, say
from tests.agent.bench import Bench

EXPORTER = InMemorySpanExporter()


@pytest.fixture
def spans() -> Iterator[InMemorySpanExporter]:
    # The API takes one provider a process, so it is set once and emptied for each test.
    if not isinstance(trace.get_tracer_provider(), TracerProvider):
        provider = TracerProvider()
        provider.add_span_processor(SimpleSpanProcessor(EXPORTER))
        trace.set_tracer_provider(provider)
    EXPORTER.clear()
    yield EXPORTER
    EXPORTER.clear()


def named(spans: InMemorySpanExporter, name: str) -> list[ReadableSpan]:
    return [each for each in spans.get_finished_spans() if each.name == name]


async def test_model_calls_and_tools_are_children_of_the_work_on_the_case(
    spans: InMemorySpanExporter, bench: Bench
) -> None:
    bench.claude.script("speaker", [call("get_order", order_id="4471"), say("Thank you.")])
    bench.connect()
    await bench.open("The speaker is broken.")
    [work] = named(spans, "casethread.work")
    [tool] = named(spans, "casethread.tool")
    sdk = [
        each
        for each in spans.get_finished_spans()
        if each.instrumentation_scope and "anthropic" in each.instrumentation_scope.name
    ]
    assert len(sdk) == 2
    assert work.context is not None
    for child in [tool, *sdk]:
        assert child.parent is not None
        assert child.parent.span_id == work.context.span_id
    attributes = dict(work.attributes or {})
    assert attributes["casethread.run.id"] == (await bench.run()).run_id
    assert attributes["casethread.run.status"] == "done"


async def test_no_span_holds_what_people_wrote(spans: InMemorySpanExporter, bench: Bench) -> None:
    bench.claude.script("speaker", [call("get_order", order_id="4471"), say("A secret reply.")])
    bench.connect()
    await bench.open("The speaker with my phone number 98765.")
    told = str([dict(each.attributes or {}) for each in spans.get_finished_spans()])
    assert "98765" not in told
    assert "secret reply" not in told
