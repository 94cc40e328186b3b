// Keeps what floats (menus, lists of options) beside what opened it, inside the window.

const GAP = 4;
const EDGE = 8;

/**
 * Put `element` (position: fixed) under its anchor, or above where there is no room. `wide`: as
 * wide as the anchor; `end`: right edges meet; `above`: never below.
 */
export function float(element, anchor, { wide = false, end = false, above = false } = {}) {
  element.anchor = { anchor, wide, end, above };
  put(element);
}

function put(element) {
  const { anchor, wide, end, above } = element.anchor;
  const at = anchor.getBoundingClientRect();
  if (wide) element.style.width = `${at.width}px`;
  element.style.maxHeight = "none";
  const { width, height } = element.getBoundingClientRect();
  const below = window.innerHeight - at.bottom - GAP - EDGE;
  const up = above || (height > below && at.top > below);
  const left = end ? at.right - width : at.left;
  const room = Math.max(120, (up ? at.top - GAP : below) - EDGE);
  element.style.maxHeight = `${room}px`;
  element.style.left = `${Math.max(EDGE, Math.min(left, window.innerWidth - width - EDGE))}px`;
  element.style.top = up ? `${at.top - GAP - Math.min(height, room)}px` : `${at.bottom + GAP}px`;
}

/** Once, at the start: what floats follows its anchor when anything scrolls. */
export function followAnchors() {
  const follow = () => {
    for (const element of document.querySelectorAll("[data-float]")) {
      if (element.anchor?.anchor.isConnected) put(element);
    }
  };
  window.addEventListener("scroll", follow, { capture: true, passive: true });
  window.addEventListener("resize", follow);
}
