/** Money in the proof's own arithmetic, independent of svc's: whole numbers of 10⁻¹⁸. */
import type { Price } from './brains.ts';
import type { Tokens } from './provider.ts';

const places = 18;

/** @param text a decimal number in plain notation */
export function unitsOf(text: string): bigint {
  const [whole = '0', fraction = ''] = text.split('.');
  return BigInt(whole + fraction.padEnd(places, '0'));
}

/** A price is for a million tokens. */
export function costIn(tokens: Tokens, price: Price): bigint {
  const ofInput = BigInt(tokens.input) * unitsOf(String(price.input));
  const ofOutput = BigInt(tokens.output) * unitsOf(String(price.output));
  return (ofInput + ofOutput) / 1_000_000n;
}
