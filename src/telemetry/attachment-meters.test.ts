import assert from 'node:assert/strict';
import { PassThrough } from 'node:stream';
import { test } from 'node:test';
import { handClock } from '../../test/support/hand-clock.ts';
import { AttachmentCounts } from './events.ts';
import { failure } from '../domain/failure.ts';
import type { ChannelKey } from '../domain/ids.ts';
import { unreadBy, unreadFor, type Unread } from '../domain/attachment.ts';
import { createLog } from '../lib/log.ts';

const channel = 'messenger_a:12345' as ChannelKey;

function start() {
  const stream = new PassThrough();
  const clock = handClock(1_000_000);
  const log = createLog({ stream, level: 'info', format: 'json', now: clock.now });
  const counts = new AttachmentCounts(log, clock);
  return {
    clock,
    counts,
    was: (unread: Unread) => counts.wasUnread({ channel, ...unread }),
    lines: async (): Promise<Record<string, unknown>[]> => {
      await log.flush();
      let text = '';
      for (let part; (part = stream.read() as Buffer | null) !== null;) text += String(part);
      return text.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line) as never]));
    },
  };
}

test('what was not read is counted by what failed and why', () => {
  const { was, counts } = start();
  was(unreadFor('picture', 'broken'));
  was(unreadFor('picture', 'broken'));
  was(unreadBy('speech', failure('not_found')));
  assert.deepEqual(
    [...counts.unread.values()].map(({ channel: of, part, reason, count }) => [
      of,
      part,
      reason,
      count,
    ]),
    [
      ['messenger_a', 'picture', 'broken', 2],
      ['messenger_a', 'speech', 'not_found', 1],
    ],
  );
});

test('it is told once in ten seconds for each cause, with the number left unsaid', async () => {
  const { was, lines, clock } = start();
  was(unreadFor('picture', 'broken'));
  was(unreadFor('picture', 'broken'));
  was(unreadFor('text', 'not_utf8'));
  clock.pass(10_000);
  was(unreadFor('picture', 'broken'));
  assert.deepEqual(
    (await lines()).map(({ code, part, unsaid }) => [code, part, unsaid]),
    [
      ['attachment_unread', 'picture', undefined],
      ['attachment_unread', 'text', undefined],
      ['attachment_unread', 'picture', 1],
    ],
  );
});

test('of what the operator can mend there is a warning, with what to do', async () => {
  const { was, lines } = start();
  was(unreadBy('speech', failure('unauthorized', { status: 401 })));
  was(unreadBy('download', failure('server_error')));
  was(unreadFor('download', 'no_room'));
  was(unreadBy('speech', failure('empty_answer')));
  was(unreadFor('speech', 'not_listened'));
  was(unreadFor('other', 'unsupported'));
  const said = await lines();
  assert.deepEqual(
    said.map(({ level }) => level),
    ['warn', 'warn', 'warn', 'info', 'info', 'info'],
  );
  assert.deepEqual(said[0], {
    time: said[0]!['time'],
    level: 'warn',
    code: 'attachment_unread',
    message:
      'messenger_a: a voice message was not written down: the key or token was refused. ' +
      'svc sends no key: let the speech server take requests without one.',
    channel: 'messenger_a',
    part: 'speech',
    reason: 'unauthorized',
    detail: 'the key or token was refused',
  });
  assert.match(String(said[3]!['message']), /answer was empty\.$/);
});
