/**
 * Secrets and private texts with recognisable values go through everything that the program does,
 * successes and failures. Then the proof searches all of its files, answers and requests for them.
 */
import assert from 'node:assert/strict';
import { canary, leaksIn, type Seen } from './canaries/leaks.ts';
import { Stage } from './canaries/stage.ts';
import type { Proof, Proved } from './proof.ts';

export const canaries: Proof = {
  name: 'canaries',
  title: 'Secrets and private texts stay where they belong',
  unit: 'messages',
  sizes: { change: 14, nightly: 2_000 },
  run: prove,
};

async function prove(count: number, seed: number, say: (line: string) => void): Promise<Proved> {
  let places = 0;
  let bytes = 0;
  for (const storage of [true, false]) {
    await using stage = await Stage.make(seed, { storage });
    const share = Math.ceil(count / 2);
    await talk(stage, share, storage);
    if (storage) {
      await restart(stage, share);
      await failStorage(stage);
    } else {
      await useCommands(stage);
    }
    const seen = stage.seen();
    const leaks = leaksIn(seen, stage.canaries);
    assert.deepEqual(leaks, [], 'a secret or a text stands where it does not belong');
    provePlantedAreSeen(stage, seen);
    proveAllWereUsed(stage);
    places += seen.length;
    bytes += seen.reduce((sum, { text }) => sum + text.length, 0);
    say(`${storage ? 'with' : 'without'} storage: ${seen.length} texts searched`);
  }
  return {
    kind: 'proved',
    figures: { 'texts searched': places, 'bytes searched': bytes, hits: 0 },
  };
}

/** Sends messages that are answered, refused, or failed over, and waits for the end of each. */
async function talk(stage: Stage, count: number, storage: boolean): Promise<void> {
  const program = stage.run(['serve', '--config', stage.file, '--log-level', 'debug']);
  await program.until(/"listening"/, 'err');
  // The receiver returns the text that it got.
  const body = stage.canaries.map(({ value }) => value).join(' ');
  stage.receiver.script.push({ status: 400, body }, { status: 410, body }, { status: 302, body });
  // The proof waits for the retries after these answers; without storage they take long.
  if (storage) stage.receiver.script.push({ status: 500, body }, { status: 429, body });
  for (let i = 0; i < count; i++) await speak(stage, i);
  await stage.receiver.waitFor(count);
  await beRefused(stage);
  await lookAround(stage);
  program.child.kill(storage ? 'SIGKILL' : 'SIGTERM');
  await program.ended;
}

/** After a kill: svc answers the accepted messages, and people look at them. */
async function restart(stage: Stage, count: number): Promise<void> {
  const program = stage.run(['serve', '--config', stage.file, '--log-level', 'debug']);
  await program.until(/"listening"/, 'err');
  const before = stage.receiver.received.length;
  await speak(stage, count);
  await stage.receiver.waitFor(before + 1);
  await useCommands(stage);
  program.child.kill('SIGTERM');
  await program.ended;
}

/** The storage fails during a turn: a fault, and the end of the process. */
async function failStorage(stage: Stage): Promise<void> {
  const program = stage.run(['serve', '--config', stage.file, '--log-level', 'debug']);
  await program.until(/"listening"/, 'err');
  stage.spoil();
  await speak(stage, 0).catch(() => {});
  const { code } = await program.ended;
  assert.equal(code, 1, 'it ends when its storage has failed');
}

function speak(stage: Stage, i: number): Promise<Response> {
  const sender = { sender_id: stage.text('sender id'), sender_name: stage.text('sender name') };
  const conversation = `${stage.text('conversation')} ${i % 5}`;
  return stage.ask(
    stage.webhook,
    post(stage.secrets['WEBHOOK_SECRET']!.value, {
      ...sender,
      conversation_id: conversation,
      text: `${stage.text('message text')} ${i}`,
      media_url: `https://media.example/${stage.text('media url')}`,
    }),
    ['conversation'],
  );
}

/** Every kind of refusal, each with a text that the answer must not repeat. */
async function beRefused(stage: Stage): Promise<void> {
  const good = stage.secrets['WEBHOOK_SECRET']!.value;
  const text = stage.text('message text');
  const sender_id = stage.text('sender id');
  const wrong = stage.text('wrong bearer');
  const bodies: readonly unknown[] = [
    `{"text": "${text}", `,
    { sender_id, text: { [text]: text } },
    { sender_id: [text], text },
    { sender_id },
    { text },
    { sender_id: 'x'.repeat(2_000) + sender_id, text },
    { sender_id, text: text + 'x'.repeat(1_100_000) },
  ];
  for (const body of bodies) await stage.ask(stage.webhook, post(good, body));
  const odd = post(good, { sender_id, text });
  await stage.ask(stage.webhook, post(wrong, { sender_id, text }));
  await stage.ask(stage.webhook, { ...odd, headers: { authorization: `Basic ${wrong}` } });
  const plain = { authorization: `Bearer ${good}`, 'content-type': `text/${text}` };
  await stage.ask(stage.webhook, { ...odd, headers: plain });
  await stage.ask(`${stage.webhook}/${text}?token=${stage.text('query')}`, odd);
  await stage.ask(`${stage.webhook}?token=${stage.text('query')}`, post(wrong, {}));
  await stage.ask(stage.webhook, { headers: plain });
}

/** Asks for every page of the admin server: without a bearer, with a wrong one, and as operator. */
async function lookAround(stage: Stage): Promise<void> {
  const spec = await stage.ask(`${stage.admin}/api/v1/openapi.json`, {});
  const { paths } = (await spec.json()) as { paths: Record<string, object> };
  const id = String(stage.receiver.received[0]!.body['in_reply_to']);
  const wanted = new Set([...Object.keys(paths), '/metrics', '/healthz', '/ui', '/builder']);
  const refused: Promise<Response>[] = [];
  for (const path of wanted) {
    const url = stage.admin + path.replace('{channel}', 'webhook').replaceAll(/\{\w*\}/g, id);
    const query = `?token=${stage.text('query')}`;
    const bearer = (value: string): RequestInit => ({
      headers: { authorization: `Bearer ${value}` },
    });
    if (path === '/api/v1/events') {
      // The last event before this request.
      for (const end of ['', query]) await stage.hear(url + end, /"body_too_large"[\s\S]*\n\n/);
      continue;
    }
    for (const end of ['', query]) await stage.ask(url + end, {});
    // Each refusal waits longer than the one before, so all are sent at once.
    refused.push(stage.ask(url, bearer(stage.text('wrong bearer'))));
    await stage.ask(url, bearer(stage.secrets['ADMIN']!.value), 'texts');
  }
  await Promise.all(refused);
}

/** Commands that a person runs beside the service; some of them show messages on purpose. */
async function useCommands(stage: Stage): Promise<void> {
  const config = ['--config', stage.file];
  const id = String(stage.receiver.received[0]!.body['in_reply_to']);
  const list = stage.run(['dead-letters', 'list', '--json', ...config]);
  await list.ended;
  const dead = /"id": *"([^"]+)"/.exec(list.out())?.[1] ?? id;
  const whom = ['webhook', `${stage.text('conversation')} 0`];
  const silent = [
    ['config', 'check', stage.file, '--preflight', '--json'],
    ['serve', '--config', `${stage.file}.missing`],
    ['doctor', ...config],
    ['status', ...config],
    ['trace', id, ...config],
    ['config', 'check', stage.file],
    ['config', 'check', stage.file, '--json'],
    ['config', 'check', stage.file, '--preflight'],
    ['config', 'schema'],
    ['doctor', '--json', ...config],
    ['dead-letters', 'list', ...config],
    ['dead-letters', 'replay', dead, ...config],
    ['backup', 'copy.db', ...config],
    ['version'],
    ['help'],
    ['serve', '--token', stage.text('query').slice(0, 4)],
  ];
  const telling = [
    ['trace', id, '--text', ...config],
    ['dead-letters', 'show', dead, ...config],
    ['conversations', 'list', ...config],
    ['conversations', 'show', ...whom, ...config],
    ['conversations', 'export', ...whom, ...config],
  ];
  await Promise.all(silent.map((args) => stage.run(args).ended));
  await Promise.all(telling.map((args) => stage.run(args, 'texts').ended));
}

/** Proves the search: it finds a canary planted in each place. */
function provePlantedAreSeen(stage: Stage, seen: readonly Seen[]): void {
  for (const { name, kind, value } of stage.canaries) {
    const shapes = [value, value.slice(0, 14), Buffer.from(`Bearer ${value}`).toString('base64')];
    for (const one of seen) {
      if (kind === 'text' && one.may === 'texts') continue;
      if (one.may !== 'texts' && one.may.includes(name)) continue;
      const text = one.text.slice(0, 200) + shapes[one.text.length % shapes.length] + '…';
      const [leak] = leaksIn([{ ...one, text }], [{ name, kind, value }]);
      assert.ok(leak, `${name} planted in ${one.place} is found`);
    }
  }
  const unknown = canary('secret', 'nobody', 1);
  assert.deepEqual(leaksIn(seen, [unknown]), [], 'what was never used is not found');
}

/** Proves that each secret was in use: it reached its own recipient. */
function proveAllWereUsed(stage: Stage): void {
  const bearer = (name: string): string => `Bearer ${stage.secrets[name]!.value}`;
  assert.ok(stage.receiver.received.every((one) => one.headers.authorization === bearer('OUT')));
  assert.ok(stage.hosted.calls.every((call) => call.headers.authorization === bearer('KEY')));
  assert.ok(stage.hosted.calls.some((call) => call.text.includes(stage.text('message text'))));
  const replies = stage.receiver.received.filter(
    ({ body }) => body['text'] === stage.text('reply text'),
  );
  assert.ok(replies.length > 0, 'the model was heard');
}

function post(bearer: string, body: unknown): RequestInit {
  return {
    method: 'POST',
    headers: { authorization: `Bearer ${bearer}`, 'content-type': 'application/json' },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  };
}
