/** Reads answers one after another, and fails at the first that is not well-formed. */
import assert from 'node:assert/strict';

export type Answer = {
  readonly status: number;
  readonly headers: ReadonlyMap<string, string>;
  readonly body: Buffer;
};

const none = Buffer.alloc(0);
const fieldLine = /^([!#$%&'*+.^_`|~\w-]+):[\t ]*([\t\x20-\x7e\x80-\xff]*)$/;
const headBytesMax = 16_384;

export class AnswerReader {
  readonly #methodOf: (index: number) => string;
  #bytes: Buffer = none;
  /** The number of whole answers, without those of a status 1xx. */
  whole = 0;
  #isClosing = false;

  /** @param methodOf the method of an answer's request: an answer to HEAD has no body */
  constructor(methodOf: (index: number) => string) {
    this.#methodOf = methodOf;
  }

  /** @returns the answers that are whole with these bytes */
  read(bytes: Buffer): readonly Answer[] {
    this.#bytes = this.#bytes.length === 0 ? bytes : Buffer.concat([this.#bytes, bytes]);
    const answers: Answer[] = [];
    for (let one = this.#next(); one !== null; one = this.#next()) {
      if (one.status >= 200) answers.push(one);
    }
    return answers;
  }

  #next(): Answer | null {
    if (this.#bytes.length === 0) return null;
    assert.ok(!this.#isClosing, 'bytes came behind an answer with Connection: close');
    const end = this.#bytes.indexOf('\r\n\r\n');
    const known = end < 0 ? this.#bytes.length : end;
    assert.ok(known <= headBytesMax, `a head without an end: ${this.#start()}`);
    // An unfinished answer must have begun well.
    assert.ok('HTTP/1.1 '.startsWith(this.#start(9)), `no answer begins so: ${this.#start()}`);
    if (end < 0) return null;
    const [first = '', ...lines] = this.#bytes.toString('latin1', 0, end).split('\r\n');
    const status = Number(/^HTTP\/1\.1 ([1-5]\d\d) [\x20-\x7e]*$/.exec(first)?.[1]);
    assert.ok(status >= 100, `no status line: ${first}`);
    const headers = headersOf(lines);
    const body = this.#body(status, headers, end + 4);
    if (body === null) return null;
    this.#bytes = this.#bytes.subarray(body.end);
    if (status < 200) return { status, headers, body: none };
    this.whole++;
    this.#isClosing = headers.get('connection')?.toLowerCase() === 'close';
    const answer = { status, headers, body: body.bytes };
    if (body.bytes.length > 0) assertJson(answer);
    return answer;
  }

  /** null: it is not whole yet. */
  #body(status: number, headers: Answer['headers'], start: number) {
    const length = headers.get('content-length');
    const coding = headers.get('transfer-encoding');
    assert.ok(length === undefined || coding === undefined, 'an answer has two lengths');
    if (status < 200 || status === 204 || status === 304) return { bytes: none, end: start };
    assert.ok(length !== undefined || coding === 'chunked', 'an answer has no length');
    if (this.#methodOf(this.whole) === 'HEAD') return { bytes: none, end: start };
    if (length === undefined) return this.#chunks(start);
    assert.match(length, /^\d{1,9}$/);
    const end = start + Number(length);
    return end <= this.#bytes.length ? { bytes: this.#bytes.subarray(start, end), end } : null;
  }

  #chunks(start: number) {
    const parts: Buffer[] = [];
    for (let at = start; ;) {
      const lineEnd = this.#bytes.indexOf('\r\n', at);
      if (lineEnd < 0) return null;
      const line = this.#bytes.toString('latin1', at, lineEnd);
      assert.match(line, /^[\da-f]{1,8}$/i, 'a chunk has no size');
      const size = Number.parseInt(line, 16);
      const end = lineEnd + 2 + size;
      if (end + 2 > this.#bytes.length) return null;
      assert.equal(
        this.#bytes.toString('latin1', end, end + 2),
        '\r\n',
        'a chunk has another size',
      );
      parts.push(this.#bytes.subarray(lineEnd + 2, end));
      at = end + 2;
      if (size === 0) return { bytes: Buffer.concat(parts), end: at };
    }
  }

  #start(bytes = 200): string {
    return this.#bytes.toString('latin1', 0, bytes);
  }
}

function headersOf(lines: readonly string[]): ReadonlyMap<string, string> {
  const headers = new Map<string, string>();
  for (const line of lines) {
    const [, name, value] = fieldLine.exec(line) ?? [];
    assert.ok(name !== undefined && value !== undefined, `no field line: ${line}`);
    assert.ok(!headers.has(name.toLowerCase()), `a field line came twice: ${line}`);
    headers.set(name.toLowerCase(), value.trim());
  }
  return headers;
}

function assertJson({ headers, body }: Answer): void {
  if (!/[/+]json(?:;|$)/.test(headers.get('content-type') ?? '')) return;
  const text = body.toString();
  assert.doesNotThrow(() => JSON.parse(text), `no JSON: ${text.slice(0, 200)}`);
}
