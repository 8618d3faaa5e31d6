const invisible = /[\u00ad\u200b\u2060\ufeff]/g;
const single = /[\u2018-\u201b\u2032]/g;
const double = /[\u201c-\u201f\u2033\u00ab\u00bb]/g;
const dash = /[\u2010-\u2015\u2212\u2e3a\u2e3b]/g;
// Digits behind a dot or a comma are part of something longer, such as "..5" or a version.
const fraction = /(?<![\p{L}\d.,])\d*\.\d+(?![\p{L}\d]|[.,]\d)/gu;
// The last two are letters that NFKC makes marks of.
const crowd = /([\p{M}\uff9e\uff9f]{31,})/u;

/** Text in one spelling of case, width, quotes, dashes, spaces and fractions. Idempotent. */
export function normalized(text: string): string {
  return composed(composed(text.replace(invisible, '')).toLowerCase())
    .replace(single, "'")
    .replace(double, '"')
    .replace(dash, '-')
    .replace(/\s+/g, ' ')
    .replace(fraction, withoutTrailingZeros);
}

/**
 * NFKC. Ordering a long run of combining marks takes quadratic time (a minute for half a megabyte),
 * and no language has such runs: one of more than 30 stays as it is (UAX #15 draws the same line
 * for its stream-safe format). What stands around it is composed, so a part of a normalized text is
 * normalized.
 */
function composed(text: string): string {
  const parts = text.split(crowd);
  return parts.map((part, at) => (at % 2 === 0 ? part.normalize('NFKC') : part)).join('');
}

/** `2.50` is `2.5`, `2.0` is `2`, `.5` is `0.5`; a version such as `1.2.0` never gets here. */
export function withoutTrailingZeros(number: string): string {
  let end = number.length;
  while (number[end - 1] === '0') end--;
  if (number[end - 1] === '.') end--;
  const kept = number.slice(0, end);
  if (kept === '') return '0';
  return kept.startsWith('.') ? `0${kept}` : kept;
}
