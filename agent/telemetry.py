"""The trace's facts as OpenTelemetry spans and counters, when the program set a provider.

Without one these calls do nothing. The Anthropic SDK makes the spans of its own calls; they become
children of ours, so no call has two. Spans hold ids and numbers, never what people wrote.
"""

from __future__ import annotations

from collections.abc import Mapping

from opentelemetry import metrics, trace
from opentelemetry.trace import Span, Tracer
from opentelemetry.util.types import AttributeValue

from agent.run import Run

_SCOPE = "casethread"


def has_tracer() -> bool:
    """Whether the program has set a tracer provider by now."""
    return not isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider)


def tracer() -> Tracer:
    return trace.get_tracer(_SCOPE)


def run_attributes(run: Run) -> Mapping[str, AttributeValue]:
    """What tells one run's spans from another's."""
    return {
        "casethread.run.id": run.run_id,
        "casethread.case.id": run.case_id,
        "gen_ai.agent.name": run.agent,
        "gen_ai.request.model": run.model,
    }


def tell_progress(span: Span, run: Run) -> None:
    """How far the run came while the span lasted."""
    span.set_attributes(
        {
            "casethread.run.status": run.status.value,
            "casethread.run.steps": run.steps,
            "casethread.run.cost_usd": float(run.cost_usd),
        }
    )


def count(name: str, **attributes: AttributeValue) -> None:
    """Add one to a counter like `casethread.runs.handed_off`."""
    metrics.get_meter(_SCOPE).create_counter(name).add(1, attributes)
