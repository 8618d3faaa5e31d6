/** Exact amounts of money: decimal numbers as text, in plain notation, in any currency. */
import type { Price, Tokens, Used } from './spend.ts';

/** A decimal number: `units` divided by ten to the power of `places`. */
type Decimal = { readonly units: bigint; readonly places: number };

/**
 * The exact cost of the tokens.
 * @param tokens `cached` of the input tokens came from the provider's cache; absent: none
 */
export function costOf(tokens: Tokens & Pick<Partial<Used>, 'cached'>, price: Price): string {
  const cached = Math.min(tokens.cached ?? 0, tokens.input);
  const fresh = times(tokens.input - cached, parseDecimal(price.input));
  const fromCache = times(cached, parseDecimal(price.cachedInput ?? price.input));
  const cost = plus(plus(fresh, fromCache), times(tokens.output, parseDecimal(price.output)));
  // A price is for a million tokens.
  return formatDecimal({ units: cost.units, places: cost.places + 6 });
}

/**
 * The price to assume before a call, when nobody knows how much of it a cache holds: the dearer
 * one.
 */
export function dearest({ input, output, cachedInput = input }: Price): Price {
  return { input: compareAmounts(cachedInput, input) > 0 ? cachedInput : input, output };
}

export function sumOf(...amounts: readonly string[]): string {
  return formatDecimal(amounts.map(parseDecimal).reduce(plus, { units: 0n, places: 0 }));
}

/** Below 0: `one` is less than `other`. Above 0: it is more. 0: they are equal. */
export function compareAmounts(one: string, other: string): number {
  const [a, b] = aligned(parseDecimal(one), parseDecimal(other));
  return a < b ? -1 : a > b ? 1 : 0;
}

/**
 * Converts a JSON number to a decimal number in plain notation.
 * @returns the number as JavaScript writes it. That is the original text unless it has more than 17
 *   digits.
 */
export function amountOf(number: number): string {
  const [digits = '0', power = '0'] = String(number).split('e');
  const { units, places } = parseDecimal(digits);
  const moved = places - Number(power);
  return formatDecimal(
    moved < 0 ? { units: units * 10n ** BigInt(-moved), places: 0 } : { units, places: moved },
  );
}

/** @param text a sign, digits and a point, as `formatDecimal` makes it */
function parseDecimal(text: string): Decimal {
  const [whole = '0', fraction = ''] = text.split('.');
  return { units: BigInt(whole + fraction), places: fraction.length };
}

function times(count: number, { units, places }: Decimal): Decimal {
  return { units: BigInt(count) * units, places };
}

function plus(one: Decimal, other: Decimal): Decimal {
  const [a, b] = aligned(one, other);
  return { units: a + b, places: Math.max(one.places, other.places) };
}

function aligned(one: Decimal, other: Decimal): readonly [bigint, bigint] {
  const places = Math.max(one.places, other.places);
  const at = ({ units, places: own }: Decimal): bigint => units * 10n ** BigInt(places - own);
  return [at(one), at(other)];
}

/** Without superfluous zeros. */
function formatDecimal({ units, places }: Decimal): string {
  const sign = units < 0n ? '-' : '';
  const digits = String(units < 0n ? -units : units).padStart(places + 1, '0');
  const whole = digits.slice(0, digits.length - places);
  const fraction = digits.slice(digits.length - places).replace(/0+$/, '');
  return fraction === '' ? `${sign}${whole}` : `${sign}${whole}.${fraction}`;
}
