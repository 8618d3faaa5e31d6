/** The administrator's token alone gives an agent no folder that lies elsewhere. */
import assert from 'node:assert/strict';
import { mkdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { revisionOf } from '../../src/config/inspect.ts';
import { asks, inTurn } from './stage.ts';
import { startConfigured } from '../config/program.ts';
import { localModel, resultOf, start } from '../config/trials-program.ts';
import { scratch } from '../support/program.ts';
import { until } from '../support/waiting.ts';

type Service = Awaited<ReturnType<typeof startConfigured>>;

const reading = (root: string): object => ({ tools: ['read_file'], read_file: { root } });
const skilled = (folder: string): object => ({ tools: ['echo'], skills_dir: folder });

function withAgent({ first }: Service, agent: object): object {
  return { ...first, brains: [{ ...first.brains[0], agent }] };
}

const root = 'brains[0].agent.read_file.root';
const skills = 'brains[0].agent.skills_dir';

test('a folder outside of that of the configuration is not taken over the API', async () => {
  await using service = await startConfigured();
  await using elsewhere = await scratch();
  await mkdir(join(service.folder, 'files'));
  await symlink(elsewhere.path, join(service.folder, 'link'));
  for (const [agent, field] of [
    [reading('/etc'), root],
    [reading('/'), root],
    [reading('..'), root],
    [reading('files/../../none'), root],
    [reading('link'), root],
    [reading('link/none'), root],
    [reading(`${service.folder}-beside`), root],
    [skilled(elsewhere.path), skills],
    [skilled('link'), skills],
  ] as const) {
    const told = await service.put(withAgent(service, agent));
    assert.equal(told.status, 409, JSON.stringify([agent, told]));
    assert.equal(told.body.code, 'restart_required');
    assert.deepEqual(told.body.fields, [field]);
    assert.match(told.body.detail!, /by hand .* SIGHUP/s);
  }
  assert.equal(await service.onDisk(), JSON.stringify(service.first, null, 2));
  for (const inside of ['files', './files/../files', 'files/later', '..name']) {
    const told = await service.put(withAgent(service, reading(inside)));
    assert.equal(told.status, 200, JSON.stringify([inside, told]));
  }
});

test('by hand it is taken, and from then on the API keeps it or narrows it', async () => {
  await using service = await startConfigured();
  await using elsewhere = await scratch();
  await mkdir(join(elsewhere.path, 'below'));
  const byHand = JSON.stringify(withAgent(service, reading(elsewhere.path)));
  await writeFile(service.file, byHand);
  const taken = await service.put(byHand);
  assert.equal(taken.status, 200, JSON.stringify(taken));
  for (const kept of [elsewhere.path, join(elsewhere.path, 'below')]) {
    assert.equal((await service.put(withAgent(service, reading(kept)))).status, 200);
  }
  const other = await service.put(withAgent(service, skilled(elsewhere.path)));
  assert.deepEqual([other.status, other.body.fields], [409, [skills]]);
  const wider = await service.put(withAgent(service, reading(elsewhere.path)));
  assert.deepEqual([wider.status, wider.body.fields], [409, [root]]);

  await writeFile(service.file, byHand);
  service.program.hangUp();
  await until('it is in use', async () => (await service.revision()) === revisionOf(byHand));
});

test('a trial of a draft reads no folder elsewhere either', async () => {
  await using started = await start();
  await using elsewhere = await scratch();
  await writeFile(join(elsewhere.path, 'canary.txt'), 'what nobody may see');
  await mkdir(join(started.folder, 'files'));
  await writeFile(join(started.folder, 'files', 'note.txt'), 'what the agent may see');
  const models = [localModel(started)];
  for (const agent of [reading(elsewhere.path), reading('..'), skilled(elsewhere.path)]) {
    const told = await started.tryIt(started.draft({ models, agent }));
    assert.equal(told.status, 409, told.body);
    assert.equal((JSON.parse(told.body) as { code: string }).code, 'restart_required');
  }
  assert.equal(started.local.calls.length, 0, 'nothing is asked');
  await started.local.script(inTurn(asks('read_file', { path: 'note.txt' }), { answer: 'Done.' }));
  const draft = started.draft({ models, agent: reading('files') });
  assert.equal(resultOf(await started.tryIt(draft)).tools[0]!.result, 'what the agent may see');
});
