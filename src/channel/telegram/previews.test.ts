import assert from 'node:assert/strict';
import { test } from 'node:test';
import { mockedClock } from '../../../test/hand-clock.ts';
import type { Previewed } from '../channel.ts';
import { growingTimes } from '../growing-message.ts';
import type { CallResult } from './bot-api.ts';
import { loadLexer } from './markdown.ts';
import { openPreview } from './previews.ts';

const lost = { kind: 'fault', fault: 'connection_lost' } as const;
const cases: readonly (readonly [string, CallResult, number])[] = [
  ['may have arrived is not sent again', { ...lost, sent: true }, 1],
  ['was not sent is tried again', { ...lost, sent: false }, 2],
];

for (const [what, first, asked] of cases) {
  test(`a beginning that ${what}`, async (t) => {
    const lexer = await loadLexer();
    t.mock.timers.enable({ apis: ['setTimeout', 'Date'], now: 1_000_000 });
    const calls: string[] = [];
    const api = { call: async (method: string) => (calls.push(method), first) };
    const pace = { tryTake: () => true };
    const parts = { api, lexer, pace, steady: mockedClock.steady } as never;
    const address = { channel: 'messenger_a:1', target: '[7,null,null]' };
    const shown = { address, question: 'q', replaces: null, made() {} } as unknown as Previewed;
    const preview = openPreview(parts, shown)!;
    for (const text of ['a', 'a b']) {
      preview.show(text);
      t.mock.timers.tick(growingTimes.everyMs);
      for (let turn = 0; turn < 20; turn++) await Promise.resolve();
    }
    assert.deepEqual(calls, Array(asked).fill('sendMessage'));
  });
}
