/** Secrets and private texts with recognisable values, and the search for them. */

/** `secret`: belongs nowhere. `text`: belongs where conversations are stored and sent. */
export type Canary = {
  readonly name: string;
  readonly kind: 'secret' | 'text';
  readonly value: string;
};

/** A text that the program wrote, answered or sent. */
export type Seen = {
  readonly place: string;
  readonly text: string;
  /** Names of canaries that belong there, or all texts. */
  readonly may: readonly string[] | 'texts';
};

export type Leak = { readonly canary: string; readonly place: string; readonly near: string };

/** Half of a secret is as bad as the whole: a display that shortens a secret leaks it too. */
const pieceLength = 12;
const nearLength = 60;

/** @returns each canary in a place where it does not belong, once a place */
export function leaksIn(seen: readonly Seen[], canaries: readonly Canary[]): readonly Leak[] {
  return seen.flatMap(({ place, text, may }) =>
    canaries
      .filter(({ name, kind }) => (may === 'texts' ? kind === 'secret' : !may.includes(name)))
      .flatMap(({ name, value }) => {
        const at = encodingsOf(value).reduce(
          (found, encoding) => (found >= 0 ? found : text.indexOf(encoding)),
          -1,
        );
        const near = text.slice(Math.max(0, at - nearLength), at + nearLength);
        return at < 0 ? [] : [{ canary: name, place, near }];
      }),
  );
}

/** Parts of a value to search for: either end of it, and the middle of its base64 and hex. */
function encodingsOf(value: string): readonly string[] {
  const bytes = Buffer.from(value);
  const base64 = [0, 1, 2].map((shift) => {
    const text = Buffer.concat([Buffer.alloc(shift), bytes]).toString('base64');
    return text.slice(4, 4 + 2 * pieceLength);
  });
  const ends = [value.slice(0, pieceLength), value.slice(-pieceLength)];
  return [...ends, ...base64, bytes.toString('hex').slice(0, 2 * pieceLength)];
}

/** Returns another value for each name and each `seed`. */
export function canary(kind: Canary['kind'], name: string, seed: number): Canary {
  const digits = (seed * 2_654_435_761 + name.length * 40_503) % 4_294_967_296;
  const word = Math.floor(digits).toString(36).padStart(7, 'q');
  const letters = name.replaceAll(' ', '').slice(0, 12);
  return { name, kind, value: `${word}-${letters}-${word.split('').reverse().join('')}` };
}
