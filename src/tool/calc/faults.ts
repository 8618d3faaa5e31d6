/** What doubles make of numbers that they cannot hold, told from what is truly so. */
import { isZero, overflows, tooLarge, tooSmall, vanishes, type Num } from './number.ts';

/** @returns what is wrong with the result of an operator, in a sentence; null: nothing */
export function faultOf(symbol: string, left: Num, right: Num, result: Num): string | null {
  if (result.kind === 'exact') return null;
  const small = vanishes(left) || vanishes(right);
  if (Number.isNaN(result.number)) {
    if (overflows(left) || overflows(right)) return tooLarge;
    return small ? tooSmall : 'it has no real result.';
  }
  // Of a power, the base is what was lost.
  if (!Number.isFinite(result.number))
    return symbol === '^' && vanishes(left) ? tooSmall : tooLarge;
  if (result.number !== 0) return null;
  if (symbol === '^' && overflows(left)) return tooLarge;
  if (symbol === '*') return isZero(left) || isZero(right) ? null : tooSmall;
  if (symbol === '/' || symbol === '^') return isZero(left) ? null : tooSmall;
  return small ? tooSmall : null;
}
