/** A text as a quotation: no line of it can be taken for anything else. */

/** Each line with `> ` before it. */
export function quotedLines(text: string): string {
  return text
    .toWellFormed()
    .split(/\r\n|[\r\n\u2028\u2029]/)
    .map((line) => `> ${line}`)
    .join('\n');
}

/** Without half a character at its end. */
export function beginning(text: string, length: number): string {
  return text.slice(0, length).replace(/[\uD800-\uDBFF]$/, '');
}
