import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Turn } from '../../brains/brain.ts';
import type { Picture } from '../../domain/attachment.ts';
import type { TurnRow } from '../../domain/conversation.ts';
import type { Sensitivity } from '../../domain/sensitivity.ts';
import type { KeptPicture } from '../../ledger/ledger.ts';
import { mayHavePictures, withEarlierPictures } from './attachment-turn.ts';

const row = (at: number, text: string, sensitivity: Sensitivity = 'public'): TurnRow => {
  return { at, text, reply: null, sensitivity };
};
const kept = (at: number, sensitivity: Sensitivity = 'public', byte = at): KeptPicture => {
  return { at, sensitivity, picture: picture(byte) };
};
const picture = (byte: number): Picture => ({ type: 'image/png', bytes: Uint8Array.of(byte) });
const mark = '[picture: photo]';

/** The bytes shown with each turn, by its time, and the requests to the ledger. */
async function shown(
  history: readonly TurnRow[],
  found: readonly KeptPicture[],
  more: { budget?: object; own?: number } = {},
) {
  const asked: [number, number][] = [];
  const picturesSince = async (_: unknown, since: number, n: number) => {
    asked.push([since, n]);
    return found;
  };
  const attachments = Array.from({ length: more.own ?? 0 }, () => {
    return { kind: 'picture', name: 'photo', picture: picture(0) };
  });
  const turn: Turn = withEarlierPictures(
    { ledger: { attachments: { picturesSince } } } as never,
    { brain: { budget: more.budget ?? null } } as never,
    {} as never,
    { history, attachments } as never,
  );
  assert.deepEqual(asked, [], 'before somebody sees');
  const bytes = [...((await turn.pictured?.()) ?? [])].map(([{ at }, all]) => [
    at,
    ...all.map((one) => one.bytes[0]),
  ]);
  return { asked, bytes };
}

test('pictures stand with their turns, in their order', async () => {
  const history = [row(1, 'hello'), row(2, `two\n${mark}`), row(3, mark)];
  const { asked, bytes } = await shown(history, [
    kept(3, 'public', 9),
    kept(2),
    kept(2, 'public', 1),
  ]);
  assert.deepEqual(asked, [[2, 4]]);
  assert.deepEqual(bytes, [
    [2, 1, 2],
    [3, 9],
  ]);
});

test('with those of the message there are four', async () => {
  assert.deepEqual((await shown([row(1, mark)], [], { own: 3 })).asked, [[1, 1]]);
  assert.deepEqual((await shown([row(1, mark)], [], { own: 4 })).asked, []);
});

test('nothing is asked of the ledger where no picture came, or where each costs', async () => {
  assert.equal(mayHavePictures([row(1, 'hello')]), false);
  assert.deepEqual((await shown([row(1, 'hello')], [])).asked, []);
  assert.deepEqual((await shown([row(1, mark)], [kept(1)], { budget: {} })).asked, []);
});

test('a picture of no turn in view, or more private than its turn, is not shown', async () => {
  const history = [row(2, mark), row(3, mark, 'private')];
  const found = [kept(4), kept(3, 'private'), kept(2, 'private'), kept(1)];
  assert.deepEqual((await shown(history, found)).bytes, [[3, 3]]);
});
