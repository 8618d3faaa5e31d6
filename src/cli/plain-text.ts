/**
 * Takes out what could drive a terminal: every control character but line feed and tab, and what
 * turns the writing direction. For text that somebody else wrote.
 */
export function plainText(text: string): string {
  return text.replace(/[[\p{Cc}\p{Bidi_Control}]--[\n\t]]/gv, '');
}
