const alphabet = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
const codeLength = 10;

/** 50 random bits: a code that is written by a person, and not to be guessed. */
export function newApprovalCode(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(codeLength));
  return Array.from(bytes, (byte) => alphabet[byte & 31]!).join('');
}

/**
 * Whether a word of it has the form of one, in letters of either case, also with a letter that none
 * has, and whatever stands around it.
 */
export function holdsApprovalCode(text: string): boolean {
  return text.split(/[^0-9A-Za-z]+/).some(({ length }) => length === codeLength);
}
