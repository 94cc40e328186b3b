// The server's API. Every answer is JSON; a failure becomes words that a person can read.

import { state } from "./store.js";

export class RequestError extends Error {
  constructor(words, { status = 0, code = "" } = {}) {
    super(words);
    this.status = status;
    this.code = code;
  }
}

/** `as` is added for everything that depends on who looks. */
export async function get(path, query = {}) {
  const parameters = new URLSearchParams(query);
  return answered(await reached(`${path}?${parameters}`));
}

export const getAsMe = (path, query = {}) => get(path, { as: state.me, ...query });

export async function post(path, body = {}) {
  return answered(
    await reached(path, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(body),
    }),
  );
}

/** What a person does in Slack. The answer has `ok`, and `error` in words when it is false. */
export async function act(kind, fields = {}) {
  try {
    return await post("/api/act", { as: state.me, kind, ...fields });
  } catch (problem) {
    if (problem instanceof RequestError) return { ok: false, error: problem.message };
    throw problem;
  }
}

async function reached(path, options) {
  try {
    return await fetch(path, options);
  } catch {
    throw new RequestError("The workspace doesn't answer. Is it still running?");
  }
}

async function answered(response) {
  let body;
  try {
    body = await response.json();
  } catch {
    body = null;
  }
  if (body === null || !response.ok) {
    throw new RequestError(body?.error ?? `The workspace answered ${response.status}.`, {
      status: response.status,
      code: body?.code ?? "",
    });
  }
  return body;
}
