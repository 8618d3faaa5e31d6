/**
 * HTTP clients and servers of Python and Go: each sends messages to the webhook and receives the
 * replies. Four people send at once, and each waits for every 200.
 */
import { join } from 'node:path';
import { lastOf } from '../agents/stage.ts';
import { startFakeOllama } from '../fake/ollama.ts';
import { freePort, secret } from '../support/program.ts';
import { NotTried, type Counterpart, type World } from './world.ts';

const people = 4;
const messagesEach = 6;
/** Every person's text; some libraries escape it, others send UTF-8. */
const textOf = (at: number): string => `Grüße 你好 🎉 ${at}`;

type Said = {
  readonly statuses: readonly number[];
  readonly wrongSecret: number;
  readonly brokenJson: number;
  /** The sender and the text of each reply, in order of arrival. */
  readonly replies: readonly (readonly [string, string])[];
};

export const clients: Counterpart = {
  name: 'clients',
  of: 'http.client, requests, httpx, aiohttp and net/http',
  async run(world) {
    const python = join(await world.python('clients'), 'python');
    const script = join(import.meta.dirname, 'client.py');
    for (const library of ['http.client', 'requests', 'httpx', 'aiohttp']) {
      await talk(world, library, python, [script, library]);
    }
    const go = await world.need('go', ['version']).catch((error: unknown) => {
      if (error instanceof NotTried) return null;
      throw error;
    });
    if (go === null) throw new NotTried('net/http: there is no go in PATH; the others passed');
    const client = join(await world.folder(), 'client');
    await world.need('go', ['build', '-o', client, join(import.meta.dirname, 'client.go')]);
    await talk(world, 'net/http', client, []);
  },
};

async function talk(world: World, name: string, program: string, args: readonly string[]) {
  const model = world.use(await startFakeOllama((call) => ({ answer: lastOf(call).content })));
  const port = await freePort();
  const receiverUrl = `http://127.0.0.1:${port}/replies`;
  const svc = await world.svc({ base_url: model.url }, { receiverUrl });
  const counts = [String(people), String(messagesEach)];
  const ran = await world.outcome(program, [...args, svc.url, secret, String(port), ...counts]);
  world.equal(`${name}: it ends well`, ran.code, 0);
  if (ran.code !== 0) return world.check(`${name}: what it says`, false, ran.err.slice(-500));
  const said = JSON.parse(ran.out) as Said;
  const all = people * messagesEach;
  world.equal(
    `${name}: all 200`,
    said.statuses,
    Array.from({ length: all }, () => 200),
  );
  world.equal(`${name}: a wrong secret`, said.wrongSecret, 401);
  world.equal(`${name}: broken JSON`, said.brokenJson, 400);
  const expected = Array.from({ length: messagesEach }, (_, at) => textOf(at));
  for (let person = 0; person < people; person++) {
    const theirs = said.replies.filter(([who]) => who === `person-${person}`);
    world.equal(
      `${name}: replies to person-${person}`,
      theirs.map(([, text]) => text),
      expected,
    );
  }
}
