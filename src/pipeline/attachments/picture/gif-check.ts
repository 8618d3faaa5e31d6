/**
 * Whether the codes of a GIF's frame stand for what came before them: the decoder follows others
 * too, in a circle without an end. Pure.
 *
 * Format: GIF 89a, 22 and appendix F.
 */

const codeBitsMax = 12;
const rootBitsMax = 8;

/**
 * @param from where the data of the frame begins
 * @throws where a code stands for nothing yet
 */
export function checkGifCodes(bytes: Uint8Array, from: number): void {
  const rootBits = bytes[from]!;
  if (!(rootBits >= 1 && rootBits <= rootBitsMax)) throw new Error('no such codes');
  const clear = 1 << rootBits;
  const end = clear + 1;
  let [codeBits, known, isFirst] = [rootBits + 1, end + 1, true];
  let [held, heldBits] = [0, 0];
  for (const byte of dataOf(bytes, from + 1)) {
    held |= byte << heldBits;
    heldBits += 8;
    while (heldBits >= codeBits) {
      const code = held & ((1 << codeBits) - 1);
      held >>>= codeBits;
      heldBits -= codeBits;
      if (code === end) return;
      if (code === clear) {
        [codeBits, known, isFirst] = [rootBits + 1, end + 1, true];
        continue;
      }
      // The one that this code itself makes known is the first that it may not be.
      if (code > known || (code === known && (isFirst || known === 1 << codeBitsMax))) {
        throw new Error('a code for nothing');
      }
      if (!isFirst && known < 1 << codeBitsMax) known += 1;
      if (known === 1 << codeBits && codeBits < codeBitsMax) codeBits += 1;
      isFirst = false;
    }
  }
}

function* dataOf(bytes: Uint8Array, from: number): Generator<number> {
  for (let at = from, size = bytes[at] ?? 0; size > 0; at += 1 + size, size = bytes[at] ?? 0) {
    yield* bytes.subarray(at + 1, at + 1 + size);
  }
}
