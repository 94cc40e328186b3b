// Moving with the arrow keys among siblings, and ids for elements that name each other.

const NEXT = { ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1 };

/** The place to go to from `index` among `count`, or null when the key doesn't move. */
export function moved(key, index, count, { wraps = true } = {}) {
  if (!count) return null;
  if (key === "Home") return 0;
  if (key === "End") return count - 1;
  const step = NEXT[key];
  if (!step) return null;
  if (index < 0) return step > 0 ? 0 : count - 1;
  const to = index + step;
  if (wraps) return (to + count) % count;
  return Math.min(count - 1, Math.max(0, to));
}

/** A keydown handler for a list whose items match `selector`: focus moves, and nothing else. */
export const roving = (selector, options) => (event) => {
  if (event.altKey || event.ctrlKey || event.metaKey) return;
  const item = event.target.closest(selector);
  if (!item || item !== event.target) return;
  const items = [...event.currentTarget.querySelectorAll(selector)];
  const to = moved(event.key, items.indexOf(item), items.length, options);
  if (to === null) return;
  event.preventDefault();
  items[to].focus();
};

const ids = new Map();

/** An id that is short and lasts, for a key that may hold anything. */
export function idFor(key) {
  if (!ids.has(key)) ids.set(key, `id-${ids.size + 1}`);
  return ids.get(key);
}
