/** `1 message`, `2 messages`. */
export function plural(number: number, word: string, words = `${word}s`): string {
  return `${number} ${number === 1 ? word : words}`;
}
