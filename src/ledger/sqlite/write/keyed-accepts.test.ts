/**
 * Keys that an older svc stored, when a key was the sender's word alone, in a database of that
 * time.
 */
import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test, type TestContext } from 'node:test';
import { resendKeyOf } from '../../../channels/webhook/inbound.ts';
import { parseInbound } from '../../../channels/webhook/wire.ts';
import type { Inbound } from '../../../domain/message.ts';
import { systemClock } from '../../../lib/clock.ts';
import { accept, hook, ids, takeIn, textsIn } from '../../../../test/contract/ledger/kit.ts';
import { writeHere } from '../../../../test/fake/writer-here.ts';
import { defaultMapping } from '../../../../test/fake/webhook.ts';
import { migrationFiles } from '../files/migrations.ts';
import { openSqliteLedger } from '../sqlite.ts';

const dayMs = 86_400_000;
const upgradedAt = Date.now();

/** The rows of that older svc: two messages with keys, one of them forgotten since. */
const expiresAt = upgradedAt + dayMs;
const rows = `
  INSERT INTO dedupe VALUES ('webhook', 'order-1001', '01m82hfk49d64bzjbk60gx', ${expiresAt});
  INSERT INTO dedupe VALUES ('webhook', 'order-1002', '01m82hfk6cfvfs8pn4b4n3', ${expiresAt});
  INSERT INTO inbox
    (seq, id, channel, conversation, accepted_at, body, state, settled_at, brain, outcome)
    VALUES (1, '01m82hfk49d64bzjbk60gx', 'webhook', 'bob', ${upgradedAt - 6 * dayMs},
    '{"sender":{"id":"bob","name":null},"text":"mine","media":null,"target":"\\"bob\\""}',
    1, ${upgradedAt - 6 * dayMs}, 'echo', 'reply')`;

async function openFormer(t: TestContext) {
  const folder = await mkdtemp(join(tmpdir(), 'svc-former-'));
  const path = join(folder, 'svc.db');
  const db = new DatabaseSync(path);
  for (const name of migrationFiles().slice(0, 4)) {
    db.exec(await readFile(new URL(`../files/migrations/${name}`, import.meta.url), 'utf8'));
  }
  db.exec(`PRAGMA application_id = 0x73766331; PRAGMA user_version = 4; ${rows}`);
  db.close();
  const clock = { now: upgradedAt };
  const open = async () => {
    const times = { ...systemClock, now: () => clock.now };
    const options = { path, ...times, ids, retentionDays: 30, startWriter: writeHere };
    const ledger = await openSqliteLedger(options);
    if ('kind' in ledger) throw new Error(ledger.message);
    return ledger;
  };
  const it = {
    ledger: await open(),
    clock,
    async reopen() {
      await it.ledger[Symbol.asyncDispose]();
      it.ledger = await open();
    },
    [Symbol.asyncDispose]: async () => {},
  };
  t.after(async () => {
    await it.ledger[Symbol.asyncDispose]();
    await rm(folder, { recursive: true });
  });
  return it;
}

/** A message in the webhook's form. */
function sent(id: string, sender: string, text: string, conversation = sender): Inbound {
  const wire = parseInbound(
    JSON.stringify({ sender_id: sender, text, conversation_id: conversation }),
    defaultMapping,
  );
  if (wire.kind === 'problem') throw new Error(wire.detail);
  const { kind: _, target, ...facts } = wire;
  const address = { channel: hook, target };
  return { channel: hook, ...facts, address, ...resendKeyOf(wire, id) };
}

test('a resend of before is known, and holds up nobody else', async (t) => {
  const it = await openFormer(t);
  const came = async (...said: Parameters<typeof sent>): Promise<string> => {
    const [receipt] = await accept(it, sent(...said));
    if (receipt!.keyReused) return 'reused';
    return receipt!.duplicate ? receipt!.id : 'new';
  };
  assert.equal(await came('order-1001', 'bob', 'mine'), '01m82hfk49d64bzjbk60gx');
  assert.equal(await came('order-1001', 'bob', 'something else'), 'reused');
  assert.equal(await came('order-1001', 'ann', 'and mine'), 'new');
  assert.notEqual(await came('order-1001', 'ann', 'and mine'), 'new');
  assert.equal(await came('order-1001', 'ann', 'something else'), 'reused');
  assert.equal(await came('order-1001', 'ann', 'beside him', 'bob'), 'new');
  assert.equal(await came('order-1001', 'bob', 'elsewhere', 'ann'), 'new');
  await it.reopen();
  assert.equal(await came('order-1001', 'bob', 'mine'), '01m82hfk49d64bzjbk60gx');
  assert.deepEqual(textsIn(await takeIn(it, 10)), ['and mine', 'beside him']);
});

test('a key of before whose message is gone is known until it expires', async (t) => {
  const it = await openFormer(t);
  const resend = sent('order-1002', 'zoe', 'forgotten');
  const [known] = await accept(it, resend);
  assert.deepEqual([known!.id, known!.duplicate], ['01m82hfk6cfvfs8pn4b4n3', true]);
  it.clock.now += dayMs;
  const [after] = await accept(it, resend);
  assert.deepEqual([after!.duplicate, after!.keyReused], [false, false]);
  const [again] = await accept(it, resend);
  assert.deepEqual([again!.id, again!.duplicate], [after!.id, true]);
  it.clock.now += 7 * dayMs;
  const later = sent('order-1002', 'zoe', 'something else');
  for (const duplicate of [false, true]) {
    const [receipt] = await accept(it, later);
    assert.deepEqual([receipt!.duplicate, receipt!.keyReused], [duplicate, false]);
  }
});

test('a key that looks like what svc makes of one is no key of before', async (t) => {
  const it = await openFormer(t);
  const bobs = sent('order-7', 'bob', 'mine');
  await accept(it, bobs);
  const [anns] = await accept(it, sent(bobs.dedupeKey!, 'ann', 'and mine'));
  assert.equal(anns!.duplicate, false);
});
