/** Texts of everything that UTF-16 can hold, including halves of pairs. */
import { array, integer, type Arbitrary } from 'fast-check';

/**
 * In place of `string({ unit: 'binary' })`, which lists all existing characters before the first.
 * @param length in code points, as for an array
 */
export function anyText(length: Parameters<typeof array>[1] = {}): Arbitrary<string> {
  return array(integer({ min: 0, max: 0x10_ff_ff }), length).map((points) => {
    return String.fromCodePoint(...points);
  });
}
