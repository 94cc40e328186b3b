// What this browser keeps between visits. Nothing depends on it: storage may be off or full.

const PREFIX = "casethread.";

export function remembered(name, fallback) {
  try {
    const kept = localStorage.getItem(PREFIX + name);
    return kept === null ? fallback : JSON.parse(kept);
  } catch {
    return fallback;
  }
}

export function remember(name, value) {
  try {
    localStorage.setItem(PREFIX + name, JSON.stringify(value));
  } catch {
    // The choice then holds until the page is left.
  }
}

/** Kept by this tab alone, so that two tabs can be two people. */
export function rememberInTab(name, value) {
  try {
    sessionStorage.setItem(PREFIX + name, JSON.stringify(value));
  } catch {
    // As above.
  }
}

export function rememberedInTab(name) {
  try {
    return JSON.parse(sessionStorage.getItem(PREFIX + name));
  } catch {
    return null;
  }
}
