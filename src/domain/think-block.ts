const opening = /\s*<think(?:ing)?>/iy;
const closing = /<\/think(?:ing)?>/gi;

/**
 * An answer without the think blocks at its head, for reasoning is no part of an answer. A block
 * that never ends takes the whole text with it. Text that has none comes back as it is. Linear in
 * the text's length: what was scanned once is not looked at again.
 */
export function withoutThinkBlock(text: string): string {
  let at = 0;
  for (;;) {
    opening.lastIndex = at;
    if (!opening.test(text)) break;
    closing.lastIndex = opening.lastIndex;
    if (!closing.test(text)) return '';
    at = closing.lastIndex;
  }
  return at === 0 ? text : text.slice(at).trimStart();
}
