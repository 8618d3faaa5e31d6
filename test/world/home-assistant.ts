/**
 * Home Assistant with the package of docs/recipes/home-assistant.md: its script asks svc, and its
 * webhook takes the replies.
 */
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { lastOf } from '../agents/stage.ts';
import { blocksOf, textOf } from '../documents/blocks.ts';
import type { FakeModel } from '../fake/model-server.ts';
import { startFakeOllama } from '../fake/ollama.ts';
import { freePort, secret } from '../support/program.ts';
import { until, within } from '../support/waiting.ts';
import type { Counterpart, Svc, World } from './world.ts';

const page = 'docs/recipes/home-assistant.md';
const webhookId = 'a-long-id-that-nobody-guesses-0123456789';

/** Texts that a template without care would break, and a text that looks like a number. */
const texts = ['Say "hello".\nThen: {"a": \'b\'} \\ <b>', 'Grüße 😀', '42'];

export const homeAssistant: Counterpart = {
  name: 'home-assistant',
  of: "PyPI's homeassistant",
  async run(world) {
    const bin = await world.python('homeAssistant');
    const port = await freePort();
    const url = `http://127.0.0.1:${port}`;
    const model = world.use(
      await startFakeOllama((_, before) => ({ answer: `Answer ${before + 1}: "it's" so.` })),
    );
    const receiverUrl = `${url}/api/webhook/${webhookId}`;
    const svc = await world.svc({ base_url: model.url }, { receiverUrl });
    const home = await startHome(world, bin, port, svc);
    for (const [index, text] of texts.entries()) await asks(world, home, model, text, index);
    await sameTime(world, home);
    await nobodyThere(world, url);
  },
};

/** A signed-in administrator of a running Home Assistant. */
type Home = {
  call(path: string, body: object): Promise<unknown>;
  /** What the page _Notifications_ shows: messages by their titles. */
  notifications(): Promise<readonly { readonly title: string; readonly message: string }[]>;
};

async function startHome(world: World, bin: string, port: number, svc: Svc): Promise<Home> {
  const folder = await world.folder();
  const [included, package_] = blocksOf(textOf(page)).filter(({ info }) => info[0] === 'yaml');
  // `default_config`, which people have, brings the webhook and much that asks other machines.
  const http = `webhook:\nhttp:\n  server_host: 127.0.0.1\n  server_port: ${port}\n`;
  await mkdir(join(folder, 'packages'));
  await writeFile(join(folder, 'configuration.yaml'), `${included!.text}${http}`);
  await writeFile(join(folder, 'packages', 'svc.yaml'), package_!.text);
  await writeFile(
    join(folder, 'secrets.yaml'),
    JSON.stringify({
      svc_url: svc.url,
      svc_authorization: `Bearer ${secret}`,
      svc_webhook_id: webhookId,
    }),
  );
  const run = world.start(join(bin, 'hass'), ['--config', folder, '--skip-pip']);
  const over = run.ended.then(({ code }) => {
    throw new Error(`Home Assistant ended with ${code}: ${run.err().slice(-500)}`);
  });
  over.catch(() => {});
  const url = `http://127.0.0.1:${port}`;
  const token = await Promise.race([signIn(url), over]);
  const home: Home = {
    async call(path, body) {
      const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
      const init = { method: 'POST', headers, body: JSON.stringify(body) };
      const response = await fetch(`${url}${path}`, init);
      const text = await response.text();
      if (!response.ok) throw new Error(`${path}: ${response.status} ${text}`);
      return JSON.parse(text);
    },
    notifications: () => notificationsOf(url, token),
  };
  await until('the automation waits for replies', async () => {
    return run.err().includes('Home Assistant initialized') || (await isLoaded(url, token));
  });
  return home;
}

/** Makes the first user, as the first page of a new Home Assistant does. */
async function signIn(url: string): Promise<string> {
  const client = `${url}/`;
  const user = { client_id: client, name: 'Ada', username: 'ada', language: 'en' };
  const made = await until('Home Assistant answers', async () => {
    const response = await fetch(`${url}/api/onboarding/users`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ ...user, password: 'a-password-of-the-world' }),
    }).catch(() => null);
    return response?.ok === true ? response : null;
  });
  const { auth_code: code } = (await made.json()) as { readonly auth_code: string };
  const grant = { grant_type: 'authorization_code', code, client_id: client };
  const tokens = await fetch(`${url}/auth/token`, {
    method: 'POST',
    body: new URLSearchParams(grant),
  });
  return ((await tokens.json()) as { readonly access_token: string }).access_token;
}

async function isLoaded(url: string, token: string): Promise<boolean> {
  const headers = { authorization: `Bearer ${token}` };
  const config = await fetch(`${url}/api/config`, { headers });
  return ((await config.json()) as { readonly state: string }).state === 'RUNNING';
}

async function notificationsOf(url: string, token: string): ReturnType<Home['notifications']> {
  const socket = new WebSocket(`${url.replace('http', 'ws')}/api/websocket`);
  const answer = Promise.withResolvers<{ title: string; message: string }[]>();
  socket.addEventListener('error', () => answer.reject(new Error('the web socket failed')));
  socket.addEventListener('message', ({ data }) => {
    const { type, result } = JSON.parse(String(data)) as { type: string; result?: never };
    if (type === 'auth_required')
      socket.send(JSON.stringify({ type: 'auth', access_token: token }));
    if (type === 'auth_ok') {
      socket.send(JSON.stringify({ id: 1, type: 'persistent_notification/get' }));
    }
    if (type === 'result') answer.resolve(result!);
  });
  try {
    return await within('the notifications', answer.promise);
  } finally {
    socket.close();
  }
}

/** The script of the page asks; its automation shows the answer. */
async function asks(world: World, home: Home, model: FakeModel, text: string, index: number) {
  const conversation = `room-${index}`;
  await home.call('/api/services/script/ask_svc', { conversation, text });
  const shown = await until('the answer is shown', async () => {
    return (await home.notifications()).find(({ title }) => title === conversation) ?? null;
  });
  world.equal(`${text}: the answer`, shown.message, `Answer ${index + 1}: "it's" so.`);
  const heard = lastOf(model.calls[index]!).content;
  world.check(`${text}: the model reads it unchanged`, heard.includes(text), heard);
}

/** Replies that come together are all shown. */
async function sameTime(world: World, home: Home): Promise<void> {
  const rooms = Array.from({ length: 8 }, (_, room) => `together-${room}`);
  await Promise.all(
    rooms.map((conversation) =>
      home.call('/api/services/script/ask_svc', { conversation, text: 'All at once.' }),
    ),
  );
  const shown = await until('all answers are shown', async () => {
    const titles = (await home.notifications()).map(({ title }) => title);
    return rooms.every((room) => titles.includes(room)) ? titles : null;
  });
  const unknown = shown.filter((title) => title === 'svc did not take a question');
  world.equal('questions that svc did not take', unknown, []);
}

/** The page warns of this 200: to svc it is a delivery. */
async function nobodyThere(world: World, url: string): Promise<void> {
  const body = { method: 'POST', body: '{}', headers: { 'content-type': 'application/json' } };
  const unknown = await fetch(`${url}/api/webhook/nobody-registered-this`, body);
  world.equal('a webhook that nobody registered', unknown.status, 200);
  const other = await fetch(`${url}/api/webhook/${webhookId}`, { ...body, method: 'PUT' });
  world.equal('a method that is not allowed', other.status, 405);
}
