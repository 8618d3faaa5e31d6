/** The tools that need no cage, and the one that only passes a note on. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { callTool } from '../../../test/agents/tool-call.ts';
import { createEcho } from './echo.ts';
import { createMemoryNote } from './memory-note.ts';
import { createTime } from './time.ts';

const summer = Date.UTC(2026, 6, 15, 12, 30, 45);
const winter = Date.UTC(2026, 0, 15, 23, 30, 45);

test('time is told with its offset and the weekday of that place', async () => {
  const table: readonly [string | undefined, number, string][] = [
    [undefined, summer, '2026-07-15T12:30:45+00:00 (UTC), a Wednesday'],
    ['', summer, '2026-07-15T12:30:45+00:00 (UTC), a Wednesday'],
    ['UTC', summer, '2026-07-15T12:30:45+00:00 (UTC), a Wednesday'],
    ['Europe/Berlin', summer, '2026-07-15T14:30:45+02:00 (Europe/Berlin), a Wednesday'],
    ['Europe/Berlin', winter, '2026-01-16T00:30:45+01:00 (Europe/Berlin), a Friday'],
    [' Asia/Kathmandu ', winter, '2026-01-16T05:15:45+05:45 (Asia/Kathmandu), a Friday'],
    ['America/St_Johns', winter, '2026-01-15T20:00:45-03:30 (America/St_Johns), a Thursday'],
    ['Pacific/Kiritimati', summer, '2026-07-16T02:30:45+14:00 (Pacific/Kiritimati), a Thursday'],
  ];
  for (const [timezone, at, text] of table) {
    const called = await callTool(
      createTime(() => at),
      { timezone },
    );
    assert.deepEqual(called, { kind: 'done', text, cut: false });
  }
});

test('the hour that comes twice is told apart by its offset', async () => {
  const timeAt = async (at: number): Promise<string> =>
    (
      await callTool(
        createTime(() => at),
        { timezone: 'Europe/Berlin' },
      )
    ).text;
  const first = Date.UTC(2026, 9, 25, 0, 30);
  assert.match(await timeAt(first), /^2026-10-25T02:30:00\+02:00/);
  assert.match(await timeAt(first + 3_600_000), /^2026-10-25T02:30:00\+01:00/);
});

test('an unknown zone is said to be one, and is never taken for UTC', async () => {
  const odd = ['Mars/Olympus', 'Berlin', '../UTC', 'UTC\0', 'x'.repeat(10_000), '__proto__'];
  for (const timezone of odd) {
    const called = await callTool(
      createTime(() => 0),
      { timezone },
    );
    assert.equal(called.kind, 'failed', timezone.slice(0, 20));
    assert.match(called.text, /There is no time zone ".*IANA name/);
    assert.ok(called.text.length < 500);
  }
  for (const timezone of [5, true, {}, ['UTC']]) {
    assert.equal(
      (
        await callTool(
          createTime(() => 0),
          { timezone },
        )
      ).kind,
      'invalid',
    );
  }
});

test('echo gives back what it is given, a long text cut with a mark', async () => {
  for (const text of ['', 'as it is', 'line\nline\0"\\', '𝕏🙂']) {
    assert.deepEqual(await callTool(createEcho(), { text }), { kind: 'done', text, cut: false });
  }
  const long = await callTool(createEcho(), { text: `x${'🙂'.repeat(10_000)}` });
  assert.ok(long.kind === 'done' && long.cut);
  assert.ok(long.text.isWellFormed());
  assert.match(long.text, /\n\[cut: 15999 of 20001 characters\]$/);
  assert.equal((await callTool(createEcho(), { text: 5 })).kind, 'invalid');
});

test('a note is handed on, trimmed, and the turn says what became of it', async () => {
  const kept: string[] = [];
  const note = (text: string): string => `Kept as number ${kept.push(text)}.`;
  const tool = createMemoryNote(5);
  const called = await callTool(tool, { note: '  12🙂45 \n' }, { note });
  assert.deepEqual(called, { kind: 'done', text: 'Kept as number 1.', cut: false });
  await callTool(tool, { note: 'a\uD800b' }, { note });
  assert.deepEqual(kept, ['12🙂45', 'a\uFFFDb']);
});

test('a note that is empty, too long or no text is not handed on', async () => {
  const note = (): never => assert.fail('it was kept');
  for (const given of ['', ' \n\t', '123456', '🙂'.repeat(6), 'x'.repeat(1_000_000), 5, null, {}]) {
    const called = await callTool(createMemoryNote(5), { note: given }, { note });
    assert.equal(called.kind, 'invalid');
  }
});
