/** Conversations that one instance takes over, answers and gives back, while another works them. */
import assert from 'node:assert/strict';
import { byHand } from '../../../../test/contract/ledger/takeovers.ts';
import {
  accept,
  answer,
  deliver,
  effects,
  exchange,
  hook,
  noneIn,
  noneOut,
  said,
  turns,
  until,
} from '../../../../test/contract/ledger/kit.ts';
import { postgresTest } from '../../../../test/fake/postgres.ts';
import {
  comesIn,
  comesOut,
  TestStores,
  type TestStore,
} from '../../../../test/fake/postgres/stores.ts';
import { runs } from '../../../../test/support/runs.ts';
import type { ConversationId } from '../../../domain/ids.ts';
import type { ConversationKey } from '../../../domain/story.ts';

const ann: ConversationKey = { channel: hook, conversation: 'ann' as ConversationId };

async function hold({ ledger }: TestStore): Promise<void> {
  assert.equal(typeof (await ledger.takeovers.hold(ann)), 'object');
}

const kindOf = async ({ ledger }: TestStore, upTo: string | null, text: string): Promise<string> =>
  (await ledger.takeovers.answer(ann, upTo, byHand(text))).kind;

postgresTest('what another instance works is held, answered and given back here', async () => {
  await using all = await TestStores.open();
  const [one, other] = await all.beginTwo();
  await exchange(one, 'ann', 'zero', 'to zero');
  await deliver(one, await comesOut(one));
  const [first] = await accept(one, said('ann', 'one'), said('ann', 'two'));
  const claim = await comesIn(one);
  await hold(other);
  assert.equal(claim.stop.signal.aborted, true);
  assert.equal(await one.ledger.complete(claim, effects(claim, ['late'])), false);
  await noneIn(one);
  const waiting = (await other.ledger.takeovers.waiting(ann)).map(({ text }) => text);
  assert.deepEqual(waiting, ['one', 'two']);
  assert.equal(await kindOf(other, first!.id, 'by hand'), 'answered');
  const reply = await comesOut(one);
  assert.equal(reply.reply.text, 'by hand', 'who has the lane sends it, while it is held');
  await deliver(one, reply);
  await noneIn(one);
  assert.equal(one.ledger.gauges().held, 1);
  assert.equal(await other.ledger.takeovers.giveBack(ann), 'done');
  const two = await comesIn(one);
  assert.deepEqual(
    [two.message.text, ...two.memory.turns.map((turn) => turn.reply)],
    ['two', 'to zero', 'by hand'],
  );
  await answer(one, two);
  assert.equal(await kindOf(other, first!.id, 'again'), 'not_held');
});

postgresTest(
  'who begins later knows what is held, and a queue that is free is answered',
  async () => {
    await using all = await TestStores.open();
    const one = await all.begin();
    await exchange(one, 'ann', 'zero');
    await all.owned('ann', null);
    await hold(one);
    const other = await all.begin();
    assert.equal(other.ledger.gauges().held, 1);
    const [receipt] = await accept(other, said('ann', 'one'));
    await noneIn(other);
    assert.equal(await kindOf(one, receipt!.id, 'by hand'), 'answered');
    const reply = await comesOut(other);
    assert.equal(reply.reply.text, 'by hand');
    await deliver(other, reply);
    assert.equal(await kindOf(other, receipt!.id, 'again'), 'answered_already');
  },
);

postgresTest(
  'an instance that dies leaves what is held to the next, and blames nothing',
  async () => {
    await using all = await TestStores.open();
    const [one, other] = await all.beginTwo();
    await hold(one);
    const [receipt] = await accept(one, said('ann', 'one'));
    await all.bury(one);
    await all.owned('ann', other.id);
    await noneIn(other);
    const { rows } = await all.client.query('SELECT attempts FROM svc.inbox');
    assert.deepEqual(rows, [{ attempts: 0 }]);
    assert.equal(await kindOf(other, receipt!.id, 'by hand'), 'answered');
    assert.equal((await comesOut(other)).reply.text, 'by hand');
  },
);

postgresTest(
  'an answer that comes after that of a model is told so, and goes out to nobody',
  async () => {
    await using all = await TestStores.open();
    const one = await all.begin();
    await hold(one);
    const [receipt] = await accept(one, said('ann', 'one'));
    // Ends a turn like an instance of a release that has no takeover.
    const client = await all.another();
    await client.query('BEGIN');
    await client.query('DELETE FROM svc.inbox WHERE id = $1', [receipt!.id]);
    const answering = kindOf(one, receipt!.id, 'by hand');
    await until('it comes to the message', async () => (await all.waiting()) > 0);
    await client.query('COMMIT');
    assert.equal(await answering, 'answered_already');
    await noneOut(one);
    assert.deepEqual((await all.client.query('SELECT id FROM svc.outbox')).rows, []);
  },
);

postgresTest('one message has one answer, wherever it is worked and answered', async () => {
  await using all = await TestStores.open();
  const stores = await all.beginTwo();
  const [one, other] = stores;
  const answers = new Map<string, number>();
  const count = (id: string): void => void answers.set(id, (answers.get(id) ?? 0) + 1);
  const over = new AbortController();
  const work = async ({ ledger }: TestStore): Promise<void> => {
    while (!over.signal.aborted) {
      for (const claim of await ledger.claim('in', hook, 5)) {
        await ledger.complete(claim, effects(claim, ['by the model']));
      }
      for (const claim of await ledger.claim('out', hook, 50)) {
        if (await ledger.delivered(claim)) count(claim.reply.inReplyTo);
      }
      await turns(10);
    }
  };
  const working = Promise.all(stores.map(work));
  const due: string[] = [];
  for (let round = 0; round < runs(34); round++) {
    const [taker, worker] = round % 2 === 0 ? [one, other] : [other, one];
    const [receipt] = await accept(worker, said('ann', `message ${round}`));
    due.push(receipt!.id);
    await hold(taker);
    const result = await taker.ledger.takeovers.answer(ann, receipt!.id, byHand('by hand'));
    assert.ok(['answered', 'answered_already'].includes(result.kind), result.kind);
    if (result.kind === 'answered') result.messages.slice(0, -1).forEach(count);
    assert.equal(await taker.ledger.takeovers.giveBack(ann), 'done');
  }
  await until('all are answered', () => due.every((id) => answers.has(id)));
  over.abort();
  await working;
  await noneOut(one);
  await noneOut(other);
  assert.deepEqual(
    due.filter((id) => answers.get(id) !== 1),
    [],
  );
});
