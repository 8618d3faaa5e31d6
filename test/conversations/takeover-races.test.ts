/** Takeovers and releases race with a conversation's turns: a thousand times by night. */
import { test } from 'node:test';
import { raceByHand } from '../contract/ledger/takeovers.ts';
import { memoryBackend, openSound, sqliteBackend } from '../contract/ledger/backends.ts';
import { runs } from '../support/runs.ts';

for (const [name, backend] of [
  ['memory', memoryBackend],
  ['SQLite', sqliteBackend],
] as const) {
  test(`one answer to each message, and none is lost: ${name}`, async () => {
    await using it = await openSound(backend)({});
    await raceByHand(it, runs(34));
  });
}
