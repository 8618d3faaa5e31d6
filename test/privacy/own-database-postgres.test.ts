/** An agent that may reach this machine cannot reach the database of svc by its host alone. */
import assert from 'node:assert/strict';
import { readAddress } from '../../src/ledger/postgres/server/address.ts';
import { asks, lastOf, stage, wires } from '../agents/stage.ts';
import { newDatabase, postgresTest } from '../fake/postgres.ts';

postgresTest('an agent does not reach the database', async () => {
  const url = await newDatabase();
  const at = readAddress(url);
  assert.ok(at.kind !== 'problems');
  const { port } = at.hosts[0]!;
  const agent = {
    tools: ['webhook_call'],
    webhook_call: { allow_hosts: ['127.0.0.1', 'localhost'] },
  };
  const script: Parameters<typeof stage>[2] = (call) => {
    const { role, content } = lastOf(call);
    return role === 'user' ? asks('webhook_call', { url: content, body: 1 }) : { answer: content };
  };
  const more = {
    brain: { sensitivity: 'private' },
    storage: { url_env: 'DATABASE_URL' },
    env: { DATABASE_URL: url },
  };
  await using scene = await stage(wires[0]!, agent, script, more);
  for (const host of ['127.0.0.1', 'localhost', '127.1']) {
    const told = await scene.say(`http://${host}:${port}/`);
    assert.match(told, /svc itself, its database/, host);
  }
});
