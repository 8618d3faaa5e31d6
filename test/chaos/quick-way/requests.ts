/**
 * Requests for the quick way: plain ones, and what is made of them. The techniques are those by
 * which requests have been smuggled past servers: the mutations of `smuggler` (defparam), the tests
 * of llhttp, and the lists of CL.TE, TE.CL, TE.TE and CL.CL (PortSwigger). One character is one
 * byte (latin1).
 */
import { secret } from '../../fake/webhook.ts';

export type Parts = {
  readonly line: string;
  /** Whole lines, without their ends. */
  readonly headers: readonly string[];
  readonly body: string;
};
type Random = () => number;
type Spoil = (parts: Parts, random: Random) => string;

const upTo = (most: number, random: Random): number => Math.floor(random() * most);
const one = <T>(list: readonly T[], random: Random): T => list[upTo(list.length, random)]!;
const byte = (random: Random): string => String.fromCharCode(upTo(256, random));

export const whole = ({ line, headers, body }: Parts): string =>
  `${[line, ...headers].join('\r\n')}\r\n\r\n${body}`;

export const goodBody = '{"sender_id":"ann","text":"hello"}';

export function good(body: string = goodBody, more: readonly string[] = []): Parts {
  const headers = [
    'host: svc',
    `authorization: Bearer ${secret}`,
    'content-type: application/json',
    `content-length: ${body.length}`,
    ...more,
  ];
  return { line: 'POST /webhook HTTP/1.1', headers, body };
}

/** `line` in the place of the header `name`. */
function withHeader(parts: Parts, name: string, line: string): Parts {
  const headers = parts.headers.map((old) => (nameOf(old) === name ? line : old));
  return { ...parts, headers };
}
const nameOf = (line: string): string => line.split(':')[0]!.toLowerCase();
const add = (parts: Parts, line: string): Parts => ({
  ...parts,
  headers: [...parts.headers, line],
});
const addFirst = (parts: Parts, line: string): Parts => ({
  ...parts,
  headers: [line, ...parts.headers],
});

const controls = [0, 1, 4, 8, 9, 0xa, 0xb, 0xc, 0xd, 0x1f, 0x20, 0x7f, 0x85, 0xa0, 0xff].map(
  (code) => String.fromCharCode(code),
);

/** Lines that say chunked to one reader and nothing to another. */
export const hiddenChunked: readonly string[] = [
  'Transfer-Encoding: chunked',
  'Transfer-Encoding:chunked',
  'TrAnSFer-EnCODinG: cHuNkeD',
  'Transfer-Encoding:  chunked',
  'Transfer-Encoding\t:\tchunked',
  'Transfer Encoding: chunked',
  'Transfer_Encoding: chunked',
  'Transfer-Encoding: "chunked"',
  "Transfer-Encoding: 'chunked'",
  'Transfer-Encoding: chunked, cow',
  'Transfer-Encoding: cow, chunked',
  'Transfer-Encoding: chunk',
  'Transfer-Encoding: x chunked',
  'Transfer-Encoding: identity',
  'Transfer-Encoding:',
  'Transfer-Encoding:\n chunked',
  'Transfer-Encoding:\r\n chunked',
  'Transfer-Encoding: cow\r\nTransfer-Encoding: chunked',
  'Transfer\r-Encoding: chunked',
  'Transf\x82r-Encoding: chunked',
  'Transfer-Encoding: ch\x96nked',
  'X:X\rTransfer-Encoding: chunked',
  'X:X\nTransfer-Encoding: chunked',
  'x:\nTransfer-Encoding: chunked',
  'x:\rTransfer-Encoding: chunked',
  'Content-Encoding: chunked',
  'TE: trailers, chunked',
  'Trailer: x',
  ...controls.flatMap((odd) => [
    `Transfer-Encoding:${odd}chunked`,
    `Transfer-Encoding${odd}: chunked`,
    `${odd}Transfer-Encoding: chunked`,
    `Transfer-Encoding: chunked${odd}`,
    `X: X${odd}Transfer-Encoding: chunked`,
    `X: X\r${odd}Transfer-Encoding: chunked`,
    `Transfer-Encoding: chunked${odd}X: X`,
  ]),
];

const lengthsOf = (right: number): readonly string[] => [
  `+${right}`,
  `-${right}`,
  `0${right}`,
  `0x${right.toString(16)}`,
  `${right}.0`,
  `${right}e0`,
  `${right}, ${right}`,
  `${right},`,
  `,${right}`,
  `${right} `,
  ` ${right}`,
  `\t${right}`,
  `${right}\t`,
  `${right}\x0b`,
  `${right} ${right}`,
  `"${right}"`,
  `${right};q=1`,
  '',
  ' ',
  '0',
  '1',
  `${right - 1}`,
  `${right + 1}`,
  '9'.repeat(40),
  '18446744073709551616',
  `${right}\r\n `,
  `\r\n ${right}`,
];

const otherHeaders: readonly string[] = [
  'host: elsewhere',
  'Host: svc',
  'host:',
  'connection: close',
  'connection: keep-alive',
  'Connection: Keep-Alive',
  'connection: keep-alive, close',
  'connection: upgrade\r\nupgrade: websocket',
  'connection: content-length',
  'upgrade: h2c',
  'proxy-connection: close',
  'proxy-connection: keep-alive',
  'expect: 100-continue',
  'expect: 200-ok',
  'expect:',
  'http2-settings: AAMAAABkAARAAAAAAAIAAAAA',
  'authorization: Bearer other',
  'Authorization: Basic eDp5',
  'content-type: text/plain',
  'content-type: application/json',
  'webhook-id: one',
  'idempotency-key: one\r\nidempotency-key: two',
  `idempotency-key: ${'k'.repeat(257)}`,
  'set-cookie: a=b',
  'cookie: a=b',
  'cookie: a=b\r\ncookie: c=d',
  'x-forwarded-for: 192.0.2.1\r\nx-forwarded-for: 192.0.2.2',
  'constructor: x',
  '__proto__: x',
  'x: ',
  'x:',
  'x: a  ',
  'x: a\t',
  'x:\ta',
  'x: a\r\n folded',
  'x: a\r\n\tfolded',
  'x : a',
  ': a',
  'no colon',
  '',
  ' x: a',
  'x: \xe9',
  'x: a\0b',
  'x\0: a',
  'x: \x7f',
  'x(y): a',
  'x_y: a',
  "!#$%&'*+.^`|~: a",
  'x: a: b',
  'keep-alive: timeout=1',
  'date: Thu, 01 Jan 1970 00:00:00 GMT',
  'range: bytes=0-1',
  'accept-encoding: gzip',
];

const firstLines: readonly string[] = [
  'POST /webhook HTTP/1.0',
  'POST /webhook HTTP/1.2',
  'POST /webhook HTTP/2.0',
  'POST /webhook HTTP/0.9',
  'POST /webhook HTTP/1.1 ',
  'POST /webhook HTTP/1.1\t',
  'POST /webhook HTTP/01.1',
  'POST /webhook http/1.1',
  'POST /webhook',
  'POST  /webhook HTTP/1.1',
  'POST /webhook  HTTP/1.1',
  'POST\t/webhook HTTP/1.1',
  ' POST /webhook HTTP/1.1',
  'post /webhook HTTP/1.1',
  'PUT /webhook HTTP/1.1',
  'GET /webhook HTTP/1.1',
  'QUERY /webhook HTTP/1.1',
  'PRI * HTTP/2.0',
  'POST http://svc/webhook HTTP/1.1',
  'POST //webhook HTTP/1.1',
  'POST webhook HTTP/1.1',
  'POST * HTTP/1.1',
  'POST /webhook? HTTP/1.1',
  'POST /webhook?a=b&c=%20 HTTP/1.1',
  'POST /webhook?a=/../b:@!$,;+~ HTTP/1.1',
  'POST /webhook?a=b?c HTTP/1.1',
  'POST /webhook#x HTTP/1.1',
  'POST /webhook/ HTTP/1.1',
  'POST /web%68ook HTTP/1.1',
  'POST /./webhook HTTP/1.1',
  'POST /webhook%00 HTTP/1.1',
  'POST /webhook\0 HTTP/1.1',
  'POST /webhook\x80 HTTP/1.1',
  'POST /webhook?\xff HTTP/1.1',
  'POST /webhook?{}|^`"<>\\ HTTP/1.1',
  'POST /healthz HTTP/1.1',
  'GET /healthz HTTP/1.1',
  'POST /other HTTP/1.1',
  'CONNECT /webhook HTTP/1.1',
  'POST /webhook HTTP/1.1\r\n\r\nPOST /webhook HTTP/1.1',
];

const hidden = whole(good('{"sender_id":"eve","text":"smuggled"}'));

const types: readonly string[] = [
  'text/plain',
  'application/json; charset=utf-8',
  'application/json; charset=latin1',
  'APPLICATION/JSON;v=1',
  'application/jsonx',
];

/** A request whose length counts what stands before it. */
function counted(parts: Parts, before: string): string {
  const length = `content-length: ${parts.body.length + before.length}`;
  return before + whole(withHeader(parts, 'content-length', length));
}

/** One spoil a list, so that each is tried as often as the others. */
const spoils: readonly Spoil[] = [
  (parts, random) => whole(add(parts, one(hiddenChunked, random))),
  (parts, random) => whole(addFirst(parts, one(hiddenChunked, random))),
  (parts, random) => {
    const chunks = `${parts.body.length.toString(16)}\r\n${parts.body}\r\n0\r\n\r\n`;
    return whole(add({ ...parts, body: chunks }, one(hiddenChunked, random)));
  },
  (parts, random) => `${whole(add(parts, one(hiddenChunked, random)))}0\r\n\r\n${hidden}`,
  (parts, random) => {
    const length = one(lengthsOf(parts.body.length), random);
    return whole(withHeader(parts, 'content-length', `content-length: ${length}`));
  },
  (parts, random) => {
    const length = one(lengthsOf(parts.body.length), random);
    const line = `Content-Length: ${length}`;
    return whole(random() < 0.5 ? add(parts, line) : addFirst(parts, line));
  },
  (parts, random) => {
    const name = `Content-Length${one(controls, random)}`;
    return whole(withHeader(parts, 'content-length', `${name}: ${parts.body.length}`));
  },
  (parts, random) => whole(add(parts, one(otherHeaders, random))),
  (parts, random) => whole(addFirst(parts, one(otherHeaders, random))),
  (parts, random) => whole({ ...parts, line: one(firstLines, random) }),
  (parts, random) => {
    const at = upTo(parts.headers.length, random);
    return whole({ ...parts, headers: parts.headers.filter((_, index) => index !== at) });
  },
  (parts, random) => whole(add(parts, one(parts.headers, random))),
  (parts, random) => {
    const [text, at] = [whole(parts), upTo(whole(parts).length, random)];
    return text.slice(0, at) + byte(random) + text.slice(at + upTo(2, random));
  },
  (parts, random) => {
    const head = whole({ ...parts, body: '' });
    const at = upTo(head.length, random);
    return (
      head.slice(0, at) + one(controls, random) + head.slice(at + upTo(2, random)) + parts.body
    );
  },
  (parts, random) => {
    const ends = [...whole(parts).matchAll(/\r\n/g)].map(({ index }) => index);
    const [text, at] = [whole(parts), one(ends, random)];
    const end = one(['\n', '\r', '\r\r\n', '\n\r\n', ' \r\n', '\r \n', '\r\n ', '\0\r\n'], random);
    return text.slice(0, at) + end + text.slice(at + 2);
  },
  (parts) => whole(parts).replaceAll('\r\n', '\n'),
  (parts, random) => one(['\r\n', '\n', '\r', ' ', '\0', '\r\n\r\n', 'x'], random) + whole(parts),
  (parts, random) => counted(parts, one(['\r\n', ' ', 'x', 'GET / HTTP/1.1\r\n'], random)),
  (parts, random) => whole(parts) + one(['\r\n', '\n', ' ', '\0', 'x', 'GET / HT', '0'], random),
  (parts) => whole(parts) + hidden,
  (parts, random) => whole(parts).slice(0, upTo(whole(parts).length, random)),
  (parts, random) => whole(add(parts, `x: ${'y'.repeat(upTo(20_000, random))}`)),
  (parts, random) => whole({ ...parts, line: `POST /${'y'.repeat(upTo(5_000, random))} HTTP/1.1` }),
  (parts, random) => whole(add(parts, `x: ${' '.repeat(upTo(3_000, random))}`)),
  (parts, random) => {
    const more = Array.from({ length: upTo(120, random) }, (_, index) => `x-${index}: y`);
    return whole({ ...parts, headers: [...parts.headers, ...more] });
  },
  (parts, random) =>
    whole(withHeader(parts, 'content-type', `content-type: ${one(types, random)}`)),
  (parts, random) => {
    const name = one(['authorization', 'content-type', 'host'], random);
    return whole(withHeader(parts, name, `${name}: ${one(controls, random)}Bearer x`));
  },
];

const bodies: readonly string[] = [
  goodBody,
  goodBody,
  goodBody,
  '{"sender_id":7,"text":"a longer text of this person, and more of it"}',
  '{"sender_id":"ann",\r\n\r\n"text":"behind an empty line"}',
  '{"sender_id":"\xc3\xa4","conversation_id":"\xe2\x82\xac","text":"\xf0\x9f\x98\x80"}',
  '{"sender_id":"ann","conversation_id":9007199254740993000,"text":"x"}',
  '{"sender_id":"ann"}',
  '{"sender_id":"ann","text":"\xff"}',
  '{"sender_id":"ann","text":"a\0b"}',
  '{',
  '[]',
  ' ',
];

const harmless: readonly string[] = [
  'User-Agent: curl/8.5.0',
  'accept: */*',
  'Accept-Encoding: gzip, deflate',
  'connection: keep-alive',
  'Keep-Alive: timeout=5',
  'x-forwarded-for: 192.0.2.1, 192.0.2.2',
  'traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
  'Cookie: a=b; c=d',
  'via: 1.1 proxy',
];
const ids = ['webhook-id', 'idempotency-key'];

/** A plain request as clients of many kinds send it. */
export function plain(random: Random): Parts {
  const more = harmless.filter(() => random() < 0.3);
  if (random() < 0.3) more.push(`${one(ids, random)}: id ${upTo(40, random)}`);
  const parts = good(one(bodies, random), more);
  const spelt = parts.headers.map((line) => {
    const [name, value] = [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 2)];
    const way = random();
    const written = way < 0.3 ? name.toUpperCase() : way < 0.4 ? name.toLowerCase() : name;
    return `${written}:${random() < 0.9 ? ' ' : ''}${value}`;
  });
  const from = upTo(spelt.length, random);
  return { ...parts, headers: [...spelt.slice(from), ...spelt.slice(0, from)] };
}

/** Two in five are plain; of the others some are spoiled twice. */
export function generated(random: Random): Buffer {
  const parts = plain(random);
  if (random() < 0.4) return Buffer.from(whole(parts), 'latin1');
  const spoiled = one(spoils, random)(parts, random);
  if (random() < 0.8) return Buffer.from(spoiled, 'latin1');
  const at = upTo(spoiled.length, random);
  return Buffer.from(spoiled.slice(0, at) + byte(random) + spoiled.slice(at), 'latin1');
}

/** Every technique once, each alone. */
export function corpus(): readonly Buffer[] {
  const parts = good();
  const chunks = `${parts.body.length.toString(16)}\r\n${parts.body}\r\n0\r\n\r\n`;
  const lengths = lengthsOf(parts.body.length);
  const texts = [
    ...hiddenChunked.flatMap((line) => [
      whole(add(parts, line)),
      whole(addFirst({ ...parts, body: chunks }, line)),
      `${whole(add(parts, line))}0\r\n\r\n${hidden}`,
    ]),
    ...lengths.flatMap((length) => [
      whole(withHeader(parts, 'content-length', `content-length: ${length}`)),
      whole(add(parts, `content-length: ${length}`)),
      whole(addFirst(parts, `content-length: ${length}`)),
    ]),
    ...otherHeaders.flatMap((line) => [whole(add(parts, line)), whole(addFirst(parts, line))]),
    ...firstLines.map((line) => whole({ ...parts, line })),
    ...bodies.map((body) => whole(good(body))),
    ...types.map((type) => whole(withHeader(parts, 'content-type', `content-type: ${type}`))),
    ...['\r\n', '\n', '\r', ' ', '\0', 'x', '\r\n\r\n'].flatMap((before) => [
      before + whole(parts),
      counted(parts, before),
    ]),
    ...['\r\n', '\n', ' ', '\0', 'x', 'POST /web'].map((behind) => whole(parts) + behind),
    whole(parts) + whole(parts),
    whole(parts) + hidden + whole(parts),
    '',
  ];
  return texts.map((text) => Buffer.from(text, 'latin1'));
}
