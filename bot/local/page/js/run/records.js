// The records behind a run, as the store has them: case and run, inbox, outbox, payments.

import { now } from "../actions.js";
import { h } from "../dom.js";
import { nameOf } from "../people.js";
import { when } from "../time.js";
import { json } from "./json.js";
import { rupees } from "./numbers.js";

export function record(found, chosen) {
  return [
    h("h3", null, "Case"),
    json(`case ${found.case_id}`, found.case, { label: "the case" }),
    chosen && h("h3", null, "Run"),
    chosen && json(`run ${chosen.run.run_id}`, chosen.run, { label: "the run" }),
    h("h3", null, "Conversation as stored"),
    json(`messages ${found.case_id}`, found.messages, { label: "the conversation" }),
  ];
}

export function inbox(found) {
  if (!found.inbox.length)
    return nothing("The inbox is empty", "Everything that came in has been taken into the run.");
  return h(
    "ul",
    { class: "records" },
    found.inbox.map(({ seq, event, applied }) =>
      h(
        "li",
        { key: event.event_id },
        h(
          "p",
          { class: "row" },
          h("strong", { class: "grow" }, words(event.fact.kind)),
          h("span", { class: `tag ${applied ? "good" : "warn"}` }, applied ? "applied" : "waits"),
          h("time", { class: "soft" }, when(event.ts, now())),
        ),
        json(
          `event ${event.event_id}`,
          { seq, ...event },
          { label: "the event", open: () => false },
        ),
      ),
    ),
  );
}

export function outbox(found) {
  if (!found.outbox.length)
    return nothing(
      "The outbox is empty",
      "Everything to say has been posted, or there was nothing to say.",
    );
  return h(
    "ul",
    { class: "records" },
    found.outbox.map(({ seq, token, post, sent }) =>
      h(
        "li",
        { key: post.post_id },
        h(
          "p",
          { class: "row" },
          h(
            "strong",
            { class: "grow" },
            `${words(post.content.kind)}${post.update_of ? ", changes an earlier post" : ""}`,
          ),
          h("span", { class: `tag ${sent ? "good" : "warn"}` }, sent ? "posted" : "to post"),
        ),
        json(
          `post ${post.post_id}`,
          { seq, token, sent, ...post },
          { label: "the post", open: () => false },
        ),
      ),
    ),
  );
}

export function payments(found, chosen) {
  const list = chosen?.payments ?? [];
  if (!list.length)
    return nothing(
      "No refund was proposed",
      "As soon as the agent proposes one, its row in the shop's ledger stands here.",
    );
  return h(
    "ul",
    { class: "records" },
    list.map((refund) =>
      h(
        "li",
        { key: refund.key },
        h(
          "p",
          { class: "row" },
          h(
            "strong",
            { class: "grow" },
            `${rupees(refund.amount_paise)} on order ${refund.order_id}`,
          ),
          h("span", { class: `tag ${TONE[refund.status] ?? "warn"}` }, refund.status),
        ),
        h(
          "p",
          { class: "soft" },
          [
            words(refund.reason),
            refund.automatic ? "paid without a lead" : null,
            refund.decided_by && `decided by ${nameOf(refund.decided_by)}`,
            refund.reference && `reference ${refund.reference}`,
          ]
            .filter(Boolean)
            .join(", "),
        ),
        json(`refund ${refund.key}`, refund, { label: "the ledger's row", open: () => false }),
      ),
    ),
  );
}

const TONE = { paid: "good", refused: "bad", declined: "bad", failed: "bad" };

const words = (name) => name[0].toUpperCase() + name.slice(1).replaceAll("_", " ");

const nothing = (title, text) => h("p", { class: "empty" }, h("strong", null, title), text);
