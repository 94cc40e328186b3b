// Points in time as people here read them: in the viewer's own zone and language.

const DAY = 86_400_000;
const clock = new Intl.DateTimeFormat(undefined, { hour: "numeric", minute: "2-digit" });
const exact = new Intl.DateTimeFormat(undefined, { dateStyle: "full", timeStyle: "medium" });
const weekday = new Intl.DateTimeFormat(undefined, {
  weekday: "long",
  day: "numeric",
  month: "long",
});
const short = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short" });
const dated = new Intl.DateTimeFormat(undefined, {
  day: "numeric",
  month: "short",
  year: "numeric",
});
const long = new Intl.DateTimeFormat(undefined, { dateStyle: "long" });

/** A message's ts (seconds as text), or seconds, as a Date. */
export const dateOf = (ts) => new Date(Number(ts) * 1000);

export const timeOfDay = (ts) => clock.format(dateOf(ts));
export const fullTime = (ts) => exact.format(dateOf(ts));

/** One key for each day, to part a list by. */
export const dayKey = (ts) => dateOf(ts).toDateString();

/** "Today", "Yesterday" or the day; `now` in milliseconds, as the workspace's clock has it. */
export function dayName(ts, now) {
  return nearDay(dateOf(ts), now) ?? weekday.format(dateOf(ts));
}

function nearDay(date, now) {
  if (date.toDateString() === new Date(now).toDateString()) return "Today";
  if (date.toDateString() === new Date(now - DAY).toDateString()) return "Yesterday";
  return null;
}

/** Slack's date tokens, such as "{date_short_pretty} at {time}", for a time in seconds. */
export function slackDate(seconds, format, now) {
  const date = dateOf(seconds);
  const near = nearDay(date, now)?.toLowerCase();
  const forms = {
    date_num: date.toISOString().slice(0, 10),
    date: long.format(date),
    date_pretty: near ?? long.format(date),
    date_short: dated.format(date),
    date_short_pretty: near ?? dated.format(date),
    date_long: weekday.format(date),
    date_long_pretty: near ?? weekday.format(date),
    time: clock.format(date),
    time_secs: date.toLocaleTimeString(),
    ago: span((now - date) / 1000) + " ago",
  };
  return format.replace(/\{(\w+)\}/g, (whole, name) => forms[name] ?? whole);
}

/** When, as short as it can be said: the time today, else the day with it. */
export function when(seconds, now) {
  const date = dateOf(seconds);
  if (date.toDateString() === new Date(now).toDateString()) return clock.format(date);
  return `${short.format(date)}, ${clock.format(date)}`;
}

/** A number of seconds in words: "45 s", "12 min", "4 h", "3 d". */
export function span(seconds) {
  if (seconds < 90) return `${Math.max(0, Math.round(seconds))} s`;
  if (seconds < 5400) return `${Math.round(seconds / 60)} min`;
  if (seconds < 129_600) return `${Math.round(seconds / 3600)} h`;
  return `${Math.round(seconds / 86_400)} d`;
}
