/** The operator learns of unreadable files from the log, the metrics and the trace. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TraceStep } from '../../src/domain/trace.ts';
import { metricOf } from '../chaos/outside.ts';
import { startFakeDiscord } from '../fake/discord.ts';
import { startFakeOllama } from '../fake/ollama.ts';
import { startFakeSpeech } from '../fake/speech.ts';
import { startServe } from '../support/in-process.ts';
import { freePort, scratch, writeConfig } from '../support/program.ts';
import { openTelegram } from '../telegram/program.ts';

const storage = { storage: { path: 'svc.db' } };

/** The metrics page, and the files in the story of the only message. */
async function told(adminPort: number): Promise<{ page: string; files: readonly TraceStep[] }> {
  const api = `http://127.0.0.1:${adminPort}`;
  const page = await (await fetch(`${api}/metrics`)).text();
  const list = (await (await fetch(`${api}/api/v1/messages`)).json()) as { rows: { id: string }[] };
  const story = await (await fetch(`${api}/api/v1/messages/${list.rows[0]!.id}`)).json();
  const { trace } = story as { trace: { steps: readonly TraceStep[] } };
  return { page, files: trace.steps.filter(({ kind }) => kind === 'file') };
}

test('a wrong address of the speech server is told the operator', async () => {
  await using speech = await startFakeSpeech('Buy milk.');
  const base_url = speech.url.replace('/v1', '');
  const channel = { speech: { base_url, model: 'small' } };
  await using it = await openTelegram(() => ({ answer: 'so?' }), { channel, more: storage });
  await using program = it.start();
  const file_id = it.telegram.storeFile('voice/secret_place.oga', Buffer.from('OggS'));
  const voice = { file_id, file_unique_id: 'v', duration: 1, mime_type: 'audio/ogg', file_size: 4 };
  it.telegram.post(it.ann, { voice });
  const [reply] = await it.telegram.waitForSent(1);
  assert.match(reply!.text, /^I cannot listen to voice messages just now/);
  await program.saw('attachment_unread');
  const line = program
    .log()
    .split('\n')
    .find((one) => one.includes('attachment_unread'))!;
  assert.match(
    line,
    /warn.*takes POST …\/audio\/transcriptions\. Write speech\.base_url with .*\/v1/i,
  );
  assert.ok(!line.includes(file_id) && !line.includes('secret_place'), line);
  assert.ok(!line.includes(it.telegram.token.split(':')[1]!));
  const { page, files } = await told(it.adminPort);
  const labels = 'channel="messenger_a",part="speech",reason="not_found"';
  assert.equal(metricOf(page, 'svc_attachments_unread_total', labels), 1);
  const [step, ...more] = files;
  assert.deepEqual(more, []);
  assert.ok(step?.kind === 'file');
  assert.deepEqual([step.part, step.result], ['speech', 'not_found']);
});

test('a message on Discord whose files the bot may not read is told both', async () => {
  await using scene = await scratch();
  await using model = await startFakeOllama(() => ({ answer: 'so?' }));
  await using discord = await startFakeDiscord();
  const adminPort = await freePort();
  const local = { provider: 'local_runtime', model_id: 'llama3', locality: 'local' };
  const file = await writeConfig(scene.path, {
    channels: [
      { type: 'discord', mode: 'gateway', token_env: 'DISCORD_TOKEN', base_url: discord.url },
    ],
    brains: [
      {
        name: 'eyes',
        sensitivity: 'public',
        policy: { kind: 'priority' },
        models: [{ ...local, base_url: model.url }],
      },
    ],
    routes: [{ channel: 'discord', brain: 'eyes' }],
    observability: { addr: `127.0.0.1:${adminPort}` },
    ...storage,
  });
  await using program = startServe(file, { DISCORD_TOKEN: discord.token });
  await program.saw('messenger_b is up');
  const attachments = [discord.storeFile('notes.txt', 'text/plain', Buffer.from('buy milk'))];
  discord.fail('GET /channels/:id/messages/:id', { kind: 'status', status: 403 }, 9);
  discord.say(discord.direct(discord.user('Ada')), '', { fields: { attachments } });
  const [reply] = await discord.waitForSent(1);
  assert.match(reply!.content, /^I cannot get files here\. Please write it/);
  await program.saw('attachment_unread');
  assert.match(program.log(), /a file was not fetched: .*Read Message History/);
  const { page, files } = await told(adminPort);
  const labels = 'channel="messenger_b",part="download",reason="unauthorized"';
  assert.equal(metricOf(page, 'svc_attachments_unread_total', labels), 1);
  assert.ok(files[0]?.kind === 'file' && files[0].part === 'download');
});
