/** A call that needs approval, from the question to the turn that follows, on both backends. */
import assert from 'node:assert/strict';
import type { ConversationId } from '../../src/domain/ids.ts';
import { hourMs, onEachBackend, pays, resultIn, type House } from './house.ts';
import { fakeTool } from '../fake/tools.ts';
import { echo, until } from '../messages/messenger-house.ts';

/** The code in an approver's message. */
const codeIn = (text: string): string => /\/approve (\w{10})/.exec(text)![1]!;

onEachBackend(
  'nothing runs before a yes; with it the call runs once, in a turn of its own',
  async ({ house }) => {
    const asked = await house.say('ada', 'pay seven');
    assert.match(
      asked.text,
      /^I need a yes for: `webhook_call \{"body":\{"euros":7\},"url":"https:.*\/pay"\}`\n/,
    );
    assert.match(asked.text, /It waits until 2026-11-28 12:00 UTC\.$/);
    assert.equal(house.tool.ran.length, 0);
    assert.equal(house.requests.length, 1, 'the turn ended with the question');

    const question = await house.reply('boss', 1);
    const { code, id } = await house.waiting();
    assert.ok(question.text.startsWith('helper needs a yes for: `webhook_call {"body"'));
    assert.match(question.text, /It was asked by `Name of ada` on Telegram\./);
    assert.deepEqual(question.choices, [
      { label: 'Approve', says: `/approve ${code}` },
      { label: 'Refuse', says: `/refuse ${code}` },
    ]);
    assert.deepEqual(asked.choices, question.choices);

    const yes = await house.say('boss', `/approve ${code.toLowerCase()}`);
    assert.equal(yes.text, 'Approved: webhook_call runs now, and what comes of it is told there.');
    const told = await house.reply('ada', 2);
    assert.equal(told.text, 'told: webhook_call of https://example.com/pay');
    assert.equal(house.tool.ran.length, 1);
    const settled = await house.ledger.approvals.find(id);
    assert.equal(settled?.decidedBy, 'messenger_a:boss');
    assert.equal(settled?.outcome, 'done');
    assert.ok(settled?.settledAt !== null);
    assert.deepEqual(house.meters.approvals.byVerdict, { approved: 1, refused: 0, expired: 0 });
    await until(() => house.meters.approvals.waiting === 0);

    const again = await house.say('boss', `/refuse ${code}`);
    assert.equal(again.text, 'That was decided before: it was approved.');
    assert.equal(house.tool.ran.length, 1);
  },
);

onEachBackend(
  'with a notice the approver’s chat holds no word of the call, and its code decides it',
  async ({ house }) => {
    await house.apply({ text: 'notice' });
    const asked = await house.say('ada', 'pay seven');
    assert.match(asked.text, /^I need a yes for: `webhook_call \{"body":\{"euros":7\}/);
    const notice = await house.reply('boss', 1);
    const { code, id } = await house.waiting();
    assert.match(notice.text, /^helper needs a yes\. [^]*page Approvals[^]*svc approvals show/);
    assert.match(notice.text, /It waits until 2026-11-28 12:00 UTC\.$/);
    assert.doesNotMatch(notice.text, new RegExp(`webhook_call|euros|example|ada|${code}`));
    assert.equal(notice.choices, undefined);
    const yes = await house.say('boss', `/approve ${code}`);
    assert.equal(yes.text, 'Approved: webhook_call runs now, and what comes of it is told there.');
    await house.reply('ada', 2);
    assert.equal((await house.ledger.approvals.find(id))?.outcome, 'done');
  },
);

onEachBackend(
  'who is no approver learns nothing and decides nothing, also who asked',
  async ({ house }) => {
    const asked = await house.say('ada', 'pay');
    const code = codeIn(asked.text);
    const nothing = 'There is nothing under this code that you may decide.';
    for (const [who, text] of [
      ['ada', `/approve ${code}`],
      ['eve', `/approve ${code}`],
      ['boss', '/approve 0123456789'],
      ['boss', `/approve ${(await house.waiting()).id}`],
    ] as const) {
      if (who === 'boss') await house.reply('boss', 1);
      assert.equal((await house.say(who, text)).text, nothing, `${who}: ${text}`);
    }
    assert.equal(
      (await house.say('boss', '/approve')).text,
      'Write /approve and the code that was told.',
    );
    assert.equal((await house.waiting()).state, 'waiting');
    assert.equal(house.tool.ran.length, 0);
  },
);

onEachBackend(
  'after ten wrong codes a person is not listened to for an hour',
  async ({ house }) => {
    await house.say('ada', 'pay');
    await house.reply('boss', 1);
    const { code } = await house.waiting();
    for (let n = 0; n < 10; n++) await house.say('boss', `/approve 012345678${n}`);
    assert.match((await house.say('boss', `/approve ${code}`)).text, /^There is nothing under/);
    assert.equal((await house.waiting()).state, 'waiting');
  },
);

onEachBackend('a no is told to the model, and nothing runs', async ({ house }) => {
  const code = codeIn((await house.say('ada', 'pay')).text);
  await house.reply('boss', 1);
  assert.equal(
    (await house.say('boss', `/refuse ${code}`)).text,
    'Refused: webhook_call is not run.',
  );
  const told = await house.reply('ada', 2);
  assert.match(told.text, /^told: The call was not run: who may decide said no\./);
  assert.equal(house.tool.ran.length, 0);
});

onEachBackend('after its time it is not run, and a yes is too late', async ({ house, clock }) => {
  const code = codeIn((await house.say('ada', 'pay')).text);
  await house.reply('boss', 1);
  clock.now += 24 * hourMs;
  const late = await house.say('boss', `/approve ${code}`);
  assert.match(late.text, /^It is too late/);
  assert.match((await house.reply('ada', 2)).text, /^told: .* nobody decided in time\./);
  assert.equal(house.tool.ran.length, 0);
});

onEachBackend('the keeper ends what nobody decides', async ({ house, clock }) => {
  await house.say('ada', 'pay');
  const { id, askedAt } = await house.waiting();
  house.look();
  await until(() => house.meters.approvals.oldestAt === askedAt);
  clock.now += 24 * hourMs;
  house.look();
  assert.match((await house.reply('ada', 2)).text, /^told: .* nobody decided in time\./);
  const settled = await house.ledger.approvals.find(id);
  assert.deepEqual([settled?.state, settled?.decidedBy], ['expired', null]);
  assert.equal(house.meters.approvals.byVerdict.expired, 1);
  assert.equal(house.meters.approvals.waitedMs.expired, 24 * hourMs);
  await until(() => house.meters.approvals.oldestAt === null);
});

onEachBackend(
  'the very same call is not asked twice, and another one is a new question',
  async ({ house }) => {
    await house.say('ada', 'pay');
    const again = await house.say('ada', 'pay again');
    assert.match(again.text, /^told: This very call waits for a yes already\./);
    await house.waiting();
    await house.apply({
      script: ({ lines }) =>
        resultIn(lines.at(-1)!.text) !== null ? 'over' : pays({ url: 'https://b' }),
    });
    const other = await house.say('ada', 'pay another');
    assert.match(other.text, /^I need a yes for: `webhook_call \{"url":"https:\/\/b"\}`/);
    assert.equal((await house.ledger.approvals.waiting()).length, 2);
  },
);

onEachBackend('at most four calls of one turn wait, each with its own code', async ({ house }) => {
  await house.apply({
    script: () => Array.from({ length: 6 }, (_, n) => pays({ url: `https://${n}` })[0]!),
  });
  const asked = await house.say('ada', 'pay');
  assert.match(asked.text, /^I need a yes for each of:\n1\. .*\n2\. .*\n3\. .*\n4\. .*\nWho/);
  assert.equal(asked.choices?.length, 8);
  const codes = (await house.ledger.approvals.waiting()).map(({ code }) => code);
  assert.equal(new Set(codes).size, 4);
});

for (const mode of ['deny', 'shadow'] as const) {
  onEachBackend(`today's ${mode} wins over yesterday's yes`, async ({ house }) => {
    await house.say('ada', 'pay');
    const { id } = await house.waiting();
    await house.apply({ mode });
    assert.equal((await house.host.decide(id, 'approved')).kind, 'decided');
    const told = await house.reply('ada', 2);
    assert.match(told.text, mode === 'deny' ? /There is no such tool here/ : /a rehearsal/);
    assert.equal(house.tool.ran.length, 0);
    assert.ok((await house.ledger.approvals.find(id))?.settledAt !== null);
  });
}

onEachBackend(
  'where the brain or its tool is gone, svc says so and settles it',
  async ({ house }) => {
    for (const [n, changed] of [
      { name: 'another' },
      { tools: [fakeTool('echo', 'text')] },
    ].entries()) {
      await house.apply({});
      await house.say('ada', `pay ${n}`);
      const { id } = await house.waiting();
      await house.apply(changed);
      await house.host.decide(id, 'approved');
      const told = await house.reply('ada', 2 * n + 2);
      assert.equal(
        told.text,
        'webhook_call was approved, but it is not available here any more. Nothing was run.',
      );
      assert.ok((await house.ledger.approvals.find(id))?.settledAt !== null);
    }
    assert.equal(house.tool.ran.length, 0);
  },
);

onEachBackend('the operator decides by its id, once', async ({ house }) => {
  await house.say('ada', 'pay');
  const { id } = await house.waiting();
  assert.equal((await house.host.decide('no-such-id', 'approved')).kind, 'not_found');
  const both = await Promise.all([
    house.host.decide(id, 'approved'),
    house.host.decide(id, 'refused'),
  ]);
  assert.deepEqual(both.map(({ kind }) => kind).toSorted(), ['decided', 'not_waiting']);
  await house.reply('ada', 2);
  assert.ok(house.tool.ran.length <= 1);
});

onEachBackend(
  'what is remembered: the question, and what followed in svc’s own words',
  async ({ house }) => {
    await house.say('ada', 'pay');
    await house.host.decide((await house.waiting()).id, 'approved');
    await house.reply('ada', 2);
    await house.say('ada', 'and now?');
    const { lines } = house.requests.at(-1)!;
    const said = lines.map(({ role, text }) => `${role}: ${text.split('\n')[0]!}`);
    const isKept = house.ledger.durability.durable;
    if (!isKept) return;
    assert.equal(said[0], 'user: pay');
    assert.match(said[1]!, /^assistant: I need a yes for/);
    assert.deepEqual(said.slice(2), [
      'user: (approved: webhook_call)',
      'assistant: told: webhook_call of https://example.com/pay',
      'user: and now?',
    ]);
  },
);

onEachBackend('a person who is not there any more may not decide', async ({ house }) => {
  const code = codeIn((await house.say('ada', 'pay')).text);
  await house.reply('boss', 1);
  await house.apply({ approvers: ['messenger_a:other'] });
  assert.match((await house.say('boss', `/approve ${code}`)).text, /^There is nothing under/);
});

onEachBackend(
  'decided, and dead before its message: the keeper has it follow',
  async ({ house }) => {
    await house.say('ada', 'pay');
    const { id } = await house.waiting();
    const decided = { verdict: 'approved', by: 'operator', at: 1 } as const;
    assert.equal(await house.ledger.approvals.decide(id, decided), 'decided');
    for (let n = 0; n < 5; n++) house.look();
    assert.match((await house.reply('ada', 2)).text, /^told: webhook_call of/);
    assert.equal(house.tool.ran.length, 1);
  },
);

onEachBackend(
  'while a conversation is held what follows waits; by hand it ends',
  async ({ house }) => {
    await house.say('ada', 'pay');
    const { id } = await house.waiting();
    const where = { channel: house.messenger.key, conversation: 'ada' as ConversationId };
    await house.ledger.takeovers.hold(where);
    await house.host.decide(id, 'approved');
    await messengerIsQuiet(house);
    assert.equal(house.tool.ran.length, 0);
    const answered = await house.host.answerAsOperator(where, { text: 'I did it', upTo: null });
    assert.equal(answered.kind, 'answered');
    assert.equal((await house.reply('ada', 2)).text, 'I did it');
    const settled = await house.ledger.approvals.find(id);
    assert.ok(settled?.settledAt !== null);
    assert.equal(settled?.outcome, null);
    assert.equal(house.tool.ran.length, 0);
  },
);

/** Sends a message of another conversation, and waits for its reply. */
async function messengerIsQuiet(house: House): Promise<void> {
  await house.say('somebody', 'hello');
}

onEachBackend(
  'the turn after a yes goes to the brain that asked, whatever the routes are by then',
  async ({ house }) => {
    await house.say('ada', 'pay seven');
    const { code } = await house.waiting();
    await house.apply({ beside: echo('other') });
    assert.equal((await house.say('ada', 'hello')).text, 'other: hello');
    await house.say('boss', `/approve ${code}`);
    const told = await house.reply('ada', 3);
    assert.equal(told.text, 'told: webhook_call of https://example.com/pay');
  },
);
