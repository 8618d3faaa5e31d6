/** Requests that no client should send, made from good ones. One character is one byte (latin1). */

/** The two parts of a good request, from which spoiled ones are made. */
export type Good = { readonly head: string; readonly body: string };
type Spoil = (good: Good, random: () => number) => string;

/** Stands in requests that hide in the body of another; svc must never read it as a message. */
export const smuggled = 'a smuggled message';

const whole = ({ head, body }: Good): string => head + body;
const upTo = (most: number, random: () => number): number => Math.floor(random() * most);
const byte = (random: () => number): string => String.fromCharCode(upTo(256, random));
const one = <T>(list: readonly T[], random: () => number): T => list[upTo(list.length, random)]!;

/** Inserts a line into the head. */
const withLine = ({ head }: Good, line: string): string => head.replace('\r\n', `\r\n${line}\r\n`);
/** Removes the length. */
const bare = (good: Good): Good => ({
  ...good,
  head: good.head.replace(/content-length: .*\r\n/, ''),
});
/** Keeps the connection for another request. */
const kept = ({ head, body }: Good): Good => ({
  head: head.replace('connection: close', 'connection: keep-alive'),
  body,
});
/** Chunked, with the chunks as given. */
const chunked = (good: Good, chunks: string): string =>
  withLine(bare(good), 'transfer-encoding: chunked') + chunks;
const chunkOf = ({ body }: Good): string => `${body.length.toString(16)}\r\n${body}\r\n`;
const hidden = (good: Good): string => framed(good, good.body.replace('hello', smuggled));

/** Wrong bytes in wrong places. */
const bytes: readonly Spoil[] = [
  (good, random) => whole(good).slice(0, upTo(whole(good).length, random)),
  (good, random) => {
    const [text, at] = [whole(good), upTo(whole(good).length, random)];
    return text.slice(0, at) + byte(random) + text.slice(at + 1);
  },
  (good, random) => {
    const [text, at] = [whole(good), upTo(whole(good).length, random)];
    return text.slice(0, at) + byte(random).repeat(20) + text.slice(at);
  },
  (good, random) => Array.from({ length: 200 }, () => byte(random)).join('') + whole(good),
  (good, random) => {
    const at = upTo(good.head.length, random);
    return `${good.head.slice(0, at)}\0${good.head.slice(at)}${good.body}`;
  },
  (good) => whole(good).replaceAll('\r\n', '\n'),
  (good) => whole(good).replaceAll('\r\n', '\r'),
  () => '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03',
  () => 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
  () => '\r\n'.repeat(5_000),
  () => '',
];

/** Lines of the head that are wrong, absurd, or repeated. */
const heads: readonly Spoil[] = [
  (good, random) =>
    whole(good).replace(
      'HTTP/1.1',
      one(['HTTP/9.9', 'HTTP/0.9', 'http/1.1', '', 'HTTP/1.1 x'], random),
    ),
  (good, random) =>
    whole(good).replace(
      /^\w+/,
      one(['BREW', 'CONNECT', 'TRACE', 'post', 'OPTIONS', 'PATCH'], random),
    ),
  (good, random) => {
    const targets = ['*', '//', '/%', '/%00', 'http://', 'http://[', '/../..', '?', '/\xff', ' '];
    return whole(good).replace(/ \S+ /, ` ${one(targets, random)} `);
  },
  (good, random) => whole(good).replace(/ \S+ /, ` /${'y'.repeat(upTo(100_000, random))} `),
  (good, random) => withLine(good, `x: ${'y'.repeat(upTo(100_000, random))}`) + good.body,
  (good, random) => withLine(good, 'x: y\r\n'.repeat(upTo(5_000, random))) + good.body,
  (good) => withLine(good, `x: a\r\n folded: b`) + good.body,
  (good) => withLine(good, 'x : y') + good.body,
  (good) => withLine(good, ': y') + good.body,
  (good) => withLine(good, 'no colon at all') + good.body,
  (good) => withLine(good, 'host: elsewhere') + good.body,
  (good) => withLine(good, 'authorization: Bearer other') + good.body,
  (good) => withLine(good, 'content-type: text/plain') + good.body,
  (good) => withLine(good, 'connection: upgrade\r\nupgrade: websocket') + good.body,
  (good) => withLine(good, 'connection: upgrade, http2-settings\r\nupgrade: h2c') + good.body,
  (good, random) =>
    withLine(good, `expect: ${one(['100-continue', '200-ok'], random)}`) + good.body,
  (good) => whole(good).replace(/host: .*\r\n/, ''),
  (good) => whole(good).replace(/Bearer /, 'Bearer \xff\xfe\x80'),
];

/** Lengths and chunks that contradict each other or themselves. */
const framings: readonly Spoil[] = [
  (good, random) => {
    const lengths = ['-1', '+5', '0x10', '1e3', '9'.repeat(40), '5, 5', '', ' ', '5 5', '\t7'];
    return whole(good).replace(/(content-length: ).*/, `$1${one(lengths, random)}`);
  },
  (good, random) => withLine(good, `content-length: ${upTo(100, random)}`) + good.body,
  (good, random) =>
    whole(good).replace(/(content-length: ).*/, `$1${good.body.length + upTo(1_000, random) - 20}`),
  (good) => `${withLine(kept(good), 'transfer-encoding: chunked')}0\r\n\r\n${hidden(good)}`,
  (good, random) => {
    const names = ['Transfer-Encoding : chunked', 'transfer-encoding: xchunked'];
    const more = ['transfer-encoding:\tchunked', 'transfer-encoding: chunked, identity'];
    return `${withLine(kept(good), one([...names, ...more], random))}0\r\n\r\n${hidden(good)}`;
  },
  (good) => {
    const chunk = chunkOf({ ...good, body: hidden(good) });
    return `${withLine(kept(good), 'transfer-encoding: chunked')}${chunk}0\r\n\r\n`;
  },
  (good, random) => {
    const sizes = ['zz', '-1', 'f'.repeat(17), 'f'.repeat(15), '', ' ', '5;'.repeat(9_000), '0x5'];
    return chunked(good, `${one(sizes, random)}\r\n${good.body}\r\n0\r\n\r\n`);
  },
  (good) => chunked(good, chunkOf(good)),
  (good) => chunked(good, `${chunkOf(good).slice(0, -2)}0\r\n\r\n`),
  (good) => chunked(good, `${chunkOf(good)}0\r\nx: ${'y'.repeat(50_000)}\r\n\r\n`),
  (good) => chunked(good, '1\r\n{\r\n'.repeat(2_000)),
  (good) => chunked(good, `${chunkOf(good)}0\r\n\r\n`).replace(/HTTP\/1.1/, 'HTTP/1.0'),
];

/** Broken bodies with a right length. */
const bodies: readonly Spoil[] = [
  (good, random) => {
    const texts = ['"\\ud800"', '"\\u0000"', '"\xff\xfe"', '7', 'null', '[]', '{}', '1e999', '"'];
    return framed(good, good.body.replace('"hello"', one(texts, random)));
  },
  (good) => framed(good, `\xef\xbb\xbf${good.body}`),
  (good) => framed(good, '['.repeat(100_000)),
  (good) => framed(good, '{"a":'.repeat(50_000)),
  (good) => framed(good, good.body.replace('{', '{"__proto__":{"text":"x"},"constructor":1,')),
  (good) => framed(good, good.body.replace('ann', 'a'.repeat(5_000))),
  (good) => framed(good, 'x'.repeat(200_000)),
  (good) => framed(good, ''),
];

function framed(good: Good, body: string): string {
  return good.head.replace(/(content-length: ).*/, `$1${body.length}`) + body;
}

/** More than one request on a connection. */
const pipelines: readonly Spoil[] = [
  (good) => whole(kept(good)).repeat(20),
  (good, random) => whole(kept(good)).repeat(3) + one(single, random)(good, random),
  (good, random) => one(single, random)(good, random) + whole(kept(good)).repeat(3),
];

const single: readonly Spoil[] = [...bytes, ...heads, ...framings, ...bodies];
const spoils: readonly Spoil[] = [...single, ...pipelines];

/** @param good its sender `sender` becomes one of a thousand of the same length */
export function malformed({ head, body }: Good, random: () => number): Buffer {
  const name = `ann${String(upTo(1_000, random)).padStart(3, '0')}`;
  const good = { head, body: body.replace('sender"', `${name}"`) };
  return Buffer.from(one(spoils, random)(good, random), 'latin1');
}
