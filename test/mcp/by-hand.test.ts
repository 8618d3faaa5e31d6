/** The administrator's token alone starts no program. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import { revisionOf } from '../../src/config/inspect.ts';
import { commandsUnknown } from '../../src/config/file-only.ts';
import type { Config } from '../../src/config/config.ts';
import { startConfigured } from '../config/program.ts';
import { start } from '../config/trials-program.ts';
import { fakeServer } from '../fake/mcp/stage.ts';
import { until } from '../support/waiting.ts';

type Service = Awaited<ReturnType<typeof startConfigured>>;

const agentWith = (note: string, more: object = {}): object => {
  const command = [process.execPath, fakeServer, 'honest', note];
  return { tools: ['time', 'mcp.fake.echo'], mcp: [{ name: 'fake', command, ...more }] };
};

function withAgent({ first }: Service, agent: object): object {
  return { ...first, brains: [{ ...first.brains[0], agent }] };
}

const startsIn = async (note: string): Promise<number> => {
  if (!existsSync(note)) return 0;
  return (await readFile(note, 'utf8')).split('started').length - 1;
};

test('a program comes by hand, and from then on the API keeps it as it is', async () => {
  await using service = await startConfigured({}, { CANARY: 'a-canary-of-the-test' });
  const note = join(service.folder, 'note');
  const agent = agentWith(note);
  const told = await service.put(withAgent(service, agent));
  assert.deepEqual(
    [told.status, told.body.code, told.body.fields],
    [409, 'restart_required', ['brains[0].agent.mcp[0].command']],
  );
  assert.match(told.body.detail!, /a program that svc starts comes by hand only/);
  assert.equal(await startsIn(note), 0, 'nothing was started');

  const byHand = JSON.stringify(withAgent(service, agent));
  await writeFile(service.file, byHand);
  service.program.hangUp();
  await until('it is in use', async () => (await service.revision()) === revisionOf(byHand));
  await until('it is started', async () => (await startsIn(note)) === 1);

  const env = { TOKEN: 'CANARY' };
  const other = await service.put(withAgent(service, agentWith(note, { env })));
  assert.deepEqual([other.status, other.body.fields], [409, ['brains[0].agent.mcp[0].env']]);
  const slower = await service.put(withAgent(service, agentWith(note, { timeout_seconds: 9 })));
  assert.equal(slower.status, 200, 'what is no program may change');
  const without = await service.put(withAgent(service, { tools: ['time'] }));
  assert.equal(without.status, 200, JSON.stringify(without.body));
  const again = await service.put(withAgent(service, agent));
  assert.equal(again.status, 409, 'what went comes by hand again');
});

test('a server at a url may come over the API', async () => {
  await using service = await startConfigured();
  const mcp = [{ name: 'far', url: 'http://127.0.0.1:9/mcp' }];
  const told = await service.put(withAgent(service, { tools: ['mcp.far.echo'], mcp }));
  assert.equal(told.status, 200, JSON.stringify(told.body));
});

test('a change that is rolled back leaves the status of the servers in use', async () => {
  await using service = await startConfigured();
  const mcp = [{ name: 'far', url: 'http://127.0.0.1:9/mcp' }];
  const used = withAgent(service, { tools: ['mcp.far.echo'], mcp }) as typeof service.first;
  assert.equal((await service.put(used)).status, 200);
  const taken = createServer().listen(0, '127.0.0.1');
  await once(taken, 'listening');
  const next = structuredClone(used);
  const [channel] = next.channels as [{ webhook: Record<string, unknown> }];
  channel.webhook['bind'] = `127.0.0.1:${(taken.address() as AddressInfo).port}`;
  const told = await service.put(next);
  taken.close();
  assert.equal(told.body.code, 'rolled_back');
  const { body } = await service.ask('status');
  const [standing] = (body as unknown as { mcp: { state: string }[] }).mcp;
  assert.notEqual(standing!.state, 'ended');
});

test('a trial starts no program of a draft', async () => {
  await using started = await start();
  const note = join(started.folder, 'note');
  const draft = started.draft({ agent: agentWith(note) });
  const { status, body } = await started.tryIt(draft);
  assert.equal(status, 409, body);
  assert.match(body, /restart_required/);
  assert.equal(await startsIn(note), 0);
});

test('another environment, argument or program is another command', () => {
  const brains = (program: string, args: string[], env = {}): Pick<Config, 'brains'> => {
    const mcp = [{ name: 'a', reach: { kind: 'command', program, args, env }, timeoutMs: 1 }];
    return { brains: [{ agent: { mcp } }] } as never;
  };
  const used = brains('/bin/a', ['x'], { A: 'B' });
  assert.deepEqual(commandsUnknown(brains('/bin/a', ['x'], { A: 'B' }), used), []);
  const command = ['brains[0].agent.mcp[0].command'];
  assert.deepEqual(commandsUnknown(brains('/bin/b', ['x'], { A: 'B' }), used), command);
  assert.deepEqual(commandsUnknown(brains('/bin/a', ['y'], { A: 'B' }), used), command);
  const env = ['brains[0].agent.mcp[0].env'];
  assert.deepEqual(commandsUnknown(brains('/bin/a', ['x'], { A: 'C' }), used), env);
});
