import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { PassThrough, Writable } from 'node:stream';
import { test } from 'node:test';
import { within } from '../../test/support/waiting.ts';
import { createLog, type Log, type LogOptions } from './log.ts';

const at = Date.UTC(2026, 0, 2, 3, 4, 5, 678);

/** A stream that keeps its input. */
function collect(): { stream: Writable; text: () => string } {
  const parts: string[] = [];
  const stream = new Writable({
    decodeStrings: false,
    write(chunk: string, _encoding, done) {
      parts.push(chunk);
      done();
    },
  });
  return { stream, text: () => parts.join('') };
}

async function lineOf(options: Partial<LogOptions>, say: (log: Log) => void): Promise<string> {
  const { stream, text } = collect();
  const log = createLog({ stream, level: 'debug', format: 'json', now: () => at, ...options });
  say(log);
  await log.flush();
  return text();
}

test('a JSON line holds its head and the fields, which cannot pose as the head', async () => {
  const line = await lineOf({}, (log) =>
    log.warn('low_disk', 'The disk is nearly full.', {
      freeBytes: 12n,
      level: 'debug',
      gone: undefined,
    }),
  );
  assert.deepEqual(JSON.parse(line), {
    time: '2026-01-02T03:04:05.678Z',
    level: 'warn',
    code: 'low_disk',
    message: 'The disk is nearly full.',
    freeBytes: '12',
  });
  assert.ok(line.endsWith('}\n'));
});

const describeReady = (log: Log): void =>
  log.info('listening', 'Ready.', { address: '127.0.0.1:8090', note: 'two words', none: null });

test('a text line is one readable line, with colours only when asked', async () => {
  const clock = new Date(at).toTimeString().slice(0, 8);
  assert.equal(
    await lineOf({ format: 'text' }, describeReady),
    `${clock} info  Ready.  listening address=127.0.0.1:8090 note="two words"\n`,
  );
  const colored = await lineOf({ format: 'text', color: true }, describeReady);
  assert.ok(colored.includes('\x1b[36minfo '));
});

test('a level that is off costs nothing and writes nothing', async () => {
  const text = await lineOf({ level: 'warn' }, (log) => {
    assert.deepEqual(
      [log.enabled('debug'), log.enabled('info'), log.enabled('warn'), log.enabled('error')],
      [false, false, true, true],
    );
    log.debug('a', 'a', {
      get costly(): never {
        throw new Error('a field was read');
      },
    });
    log.info('b', 'b');
    log.error('c', 'c');
  });
  assert.deepEqual(
    text
      .trim()
      .split('\n')
      .map((line) => (JSON.parse(line) as { code: string }).code),
    ['c'],
  );
});

test('no field breaks a line or steers a terminal', async () => {
  const evil = 'a\nlevel=error\r\x1b[2J\x9b31m\u2028\u202e\x7f\x07';
  for (const format of ['json', 'text'] as const) {
    const line = await lineOf({ format }, (log) =>
      log.info('x', evil, { [evil]: evil, deep: [evil] }),
    );
    assert.equal(line.indexOf('\n'), line.length - 1, format);
    assert.doesNotMatch(line.slice(0, -1), /[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]/u, format);
  }
  const line = await lineOf({}, (log) => log.info('x', 'x', { evil }));
  assert.equal((JSON.parse(line) as { evil: string }).evil, evil);
});

test('fields that JSON cannot hold, or that are far too long, never throw', async () => {
  const round: Record<string, unknown> = {};
  round['round'] = round;
  const bad = {
    toJSON: () => {
      throw new Error('no');
    },
  };
  for (const format of ['json', 'text'] as const) {
    const text = await lineOf({ format }, (log) => {
      log.info('one', 'one', { round });
      log.info('two', 'two', { bad });
      log.info('three', 'three', { long: 'x'.repeat(100_000), error: new TypeError('oh') });
      log.info('four', 'four', { many: Array.from({ length: 50_000 }, () => 'xx') });
    });
    const lines = text.trimEnd().split('\n');
    assert.equal(lines.length, 4);
    for (const line of lines) assert.ok(line.length < 5_000, `${format}: ${line.length}`);
    assert.match(lines[2]!, /TypeError/);
  }
});

test('known secrets are masked by value, however written; short ones are left', async () => {
  const secret = 'k"y\\ with/späce';
  const say = (log: Log): void => {
    log.scrub([secret, 'short']);
    log.error('x', `said ${secret}`, {
      header: `Bearer ${secret}`,
      [secret]: 1,
      url: `http://h/?k=${encodeURIComponent(secret)}`,
      long: `${'x'.repeat(4_086)}${secret}`,
      short: 'short',
    });
  };
  for (const format of ['json', 'text'] as const) {
    const line = await lineOf({ format }, say);
    assert.equal(line.split('[secret]').length - 1, 5, line);
    assert.doesNotMatch(line, /späce|sp%C3|k\\?"y/);
    assert.match(line, /short/);
  }
});

test('a slow reader costs lines, not time, and is told how many', async () => {
  const held: (() => void)[] = [];
  const parts: string[] = [];
  const stream = new Writable({
    decodeStrings: false,
    write(chunk: string, _encoding, done) {
      parts.push(chunk);
      held.push(done);
    },
  });
  const log = createLog({ stream, level: 'info', format: 'json', bufferBytesMax: 1_000 });
  log.warn('first', 'first');
  for (let n = 0; n < 1_000; n++) log.warn('many', 'many', { n });
  held.shift()?.();
  await new Promise(setImmediate);
  held.shift()?.();
  const lines = parts
    .join('')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Line);
  const said = lines.filter((line) => line.code === 'many');
  assert.ok(said.length > 5 && said.length < 15, `${said.length} lines fit the buffer`);
  assert.deepEqual(
    said.map((line) => line.n),
    said.map((_, n) => n),
  );
  assert.equal(lines.at(-1)?.code, 'log_dropped');
  assert.equal(lines.at(-1)?.lines, 1_000 - said.length);
  log.warn('again', 'again');
  await new Promise(setImmediate);
  assert.match(parts.at(-1)!, /"again"/);
});

type Line = { code: string; n: number; lines?: number };

test('warnings are written at once, milestones before the loop turns twice', async () => {
  const { stream, text } = collect();
  const log = createLog({ stream, level: 'debug', format: 'text' });
  log.info('one', 'one');
  assert.equal(text(), '');
  log.warn('two', 'two');
  assert.match(text(), /one[^]*two/);
  log.info('three', 'three');
  await new Promise(setImmediate);
  assert.match(text(), /three/);
});

test('a reader that is gone is no fault of anyone: no throw, and flush returns', async () => {
  const stream = new PassThrough();
  const log = createLog({ stream, level: 'info', format: 'json' });
  stream.destroy(Object.assign(new Error('write EPIPE'), { code: 'EPIPE' }));
  log.error('x', 'x');
  await log.flush();
  log.info('y', 'y');
  await log.flush();
});

test('a pipe that nobody reads does not hold up the process', async () => {
  const program = `
    import { createLog } from ${JSON.stringify(new URL('log.ts', import.meta.url).href)};
    const log = createLog({ stream: process.stderr, level: 'info', format: 'json' });
    for (let n = 0; n < 40; n++) {
      for (let m = 0; m < 1000; m++) log.warn('fill', 'x'.repeat(100));
      await new Promise(setImmediate);
    }
    process.stdout.write('through');
  `;
  const child = spawn(process.execPath, ['--input-type=module', '-e', program], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  try {
    child.stdout.setEncoding('utf8');
    const [said] = (await within('its word', once(child.stdout, 'data'))) as [string];
    assert.equal(said, 'through');
  } finally {
    child.kill('SIGKILL');
  }
});
