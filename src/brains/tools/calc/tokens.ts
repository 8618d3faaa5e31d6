/** The words of an expression. `end` stands behind the last one, once. */
export type Token = {
  readonly kind: 'number' | 'name' | 'symbol' | 'end';
  readonly text: string;
};

export type Tokens =
  | { readonly kind: 'tokens'; readonly tokens: readonly Token[] }
  | { readonly kind: 'fault'; readonly text: string };

/** UTF-16 code units. */
const lengthMax = 256;
const number = String.raw`(?<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)`;
const name = String.raw`(?<name>\p{L}[\p{L}\d_]*)`;
const symbol = String.raw`(?<symbol>\*\*|[\-+*\/%^\(\),×·÷−])`;
/** Signs that people write, and what they mean. */
const meanings: Readonly<Record<string, string>> = {
  '**': '^',
  '×': '*',
  '·': '*',
  '÷': '/',
  '−': '-',
};

export function tokensOf(expression: string): Tokens {
  const text = expression.trim();
  if (text === '') return { kind: 'fault', text: 'it is empty.' };
  if (text.length > lengthMax) {
    return { kind: 'fault', text: `it is longer than ${lengthMax} characters.` };
  }
  const tokens: Token[] = [];
  const word = new RegExp(String.raw`\s*(?:${number}|${name}|${symbol})`, 'uy');
  for (let at = 0; at < text.length; at = word.lastIndex) {
    const groups = word.exec(text)?.groups;
    if (groups === undefined) return { kind: 'fault', text: unreadable(text.slice(at)) };
    const { number: digits, name: letters, symbol: sign } = groups;
    if (digits !== undefined) tokens.push({ kind: 'number', text: digits });
    else if (letters !== undefined) tokens.push({ kind: 'name', text: letters.toLowerCase() });
    else tokens.push({ kind: 'symbol', text: meanings[sign!] ?? sign! });
  }
  return { kind: 'tokens', tokens: [...tokens, { kind: 'end', text: '' }] };
}

function unreadable(rest: string): string {
  const [character = ''] = rest.trim();
  return `${JSON.stringify(character)} cannot stand in an expression.`;
}
