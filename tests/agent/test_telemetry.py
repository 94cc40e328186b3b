"""The trace's facts as OpenTelemetry spans, joined with the SDK's own, and as counters."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from opentelemetry import metrics, trace
from opentelemetry.sdk.metrics import Counter, MeterProvider
from opentelemetry.sdk.metrics.export import (
    AggregationTemporality,
    InMemoryMetricReader,
    NumberDataPoint,
)
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from agent import telemetry
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


READER = InMemoryMetricReader(preferred_temporality={Counter: AggregationTemporality.DELTA})


class Counted:
    """What the counters were raised by since it was made."""

    def __init__(self) -> None:
        READER.get_metrics_data()

    def by(self, name: str) -> list[tuple[float, dict[str, object]]]:
        """Each set of attributes with its count."""
        data = READER.get_metrics_data()
        points = [
            point
            for resource in (data.resource_metrics if data is not None else ())
            for scope in resource.scope_metrics
            for metric in scope.metrics
            if metric.name == name
            for point in metric.data.data_points
        ]
        return [
            (point.value, dict(point.attributes or {}))
            for point in points
            if isinstance(point, NumberDataPoint)
        ]


@pytest.fixture
def counted() -> Counted:
    # Set once a process as well; what was counted before is read and forgotten.
    if not isinstance(metrics.get_meter_provider(), MeterProvider):
        metrics.set_meter_provider(MeterProvider(metric_readers=[READER]))
    return Counted()


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


@pytest.mark.parametrize(("status", "kind"), [(401, "authentication_error"), (413, "too_large")])
async def test_a_refusal_for_good_is_counted_by_what_it_was(
    counted: Counted, bench: Bench, status: int, kind: str
) -> None:
    bench.claude.faults.error(status, kind, "No.")
    await bench.open("The speaker is broken.")
    assert counted.by("casethread.claude.refused") == [(1, {"what": str(status)})]


async def test_a_failure_that_may_pass_is_not_counted_as_a_refusal(
    counted: Counted, bench: Bench
) -> None:
    bench.claude.script("speaker", [say("Thank you.")])
    bench.claude.faults.overloaded()
    await bench.open("The speaker is broken.")
    await bench.go_after(5)
    assert len(bench.answered) == 1
    assert counted.by("casethread.claude.refused") == []


async def test_a_handoff_is_counted_by_its_agent(counted: Counted, bench: Bench) -> None:
    bench.claude.script("speaker", [call("hand_off", reason="Too hard.")])
    await bench.open("The speaker is broken.")
    assert counted.by("casethread.runs.handed_off") == [(1, {"agent": "refunds"})]


async def test_a_client_that_finds_no_tracer_has_no_spans_made(
    spans: InMemorySpanExporter, bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agent.telemetry.has_tracer", lambda: False)
    bench.claude.script("speaker", [say("Thank you.")])
    bench.connect()
    await bench.open("Thank you for the speaker.")
    assert named(spans, "casethread.work")
    assert not named(spans, "anthropic.messages.create")


def test_a_provider_that_was_set_is_a_tracer(spans: InMemorySpanExporter) -> None:
    assert telemetry.has_tracer()
