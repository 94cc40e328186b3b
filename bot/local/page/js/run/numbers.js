// Numbers as the run pane shows them.

const whole = new Intl.NumberFormat("en");

export const count = (number) => whole.format(number);

/** Dollars with as many places as a model call needs. */
export function dollars(amount) {
  const value = Number(amount);
  return `$${value.toFixed(value > 0 && value < 0.001 ? 5 : 4)}`;
}

export const percent = (part, all) => (all ? `${Math.round((100 * part) / all)} %` : "0 %");

export const rupees = (paise) =>
  new Intl.NumberFormat("en-IN", { style: "currency", currency: "INR" }).format(paise / 100);

export const seconds = (number) =>
  number < 1
    ? `${Math.round(number * 1000)} ms`
    : number < 10
      ? `${number.toFixed(1)} s`
      : `${Math.round(number)} s`;
