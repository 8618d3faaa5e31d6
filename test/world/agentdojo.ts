/**
 * AgentDojo's prompt injections. A document for an agent contains each goal, in the words of each
 * attack. A fake model obeys at once: it calls the tools that the goal needs in AgentDojo, and the
 * nearest tools of svc. svc must refuse every call. No code of the wheel runs; the test only reads
 * its texts.
 */
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { bodyOf } from '../agents/stage.ts';
import type { ScriptedCall, Script } from '../fake/model-server.ts';
import { startFakeOpenai } from '../fake/openai.ts';
import { operatorToken, type Counterpart, type Svc } from './world.ts';

type Texts = {
  /** Words with `{goal}` in them. */
  readonly attacks: readonly string[];
  readonly goals: readonly {
    readonly suite: string;
    readonly goal: string;
    readonly tools: string[];
  }[];
  /** Parts of the suite's environments, around a place for an injection. */
  readonly documents: Readonly<Record<string, readonly string[]>>;
};

type Use = { readonly key: string; readonly tool: string; readonly outcome: string };

export const agentdojo: Counterpart = {
  name: 'agentdojo',
  of: "injections of PyPI's agentdojo",
  async run(world) {
    const wheel = await world.wheel('agentdojo');
    const folder = await world.folder();
    const reader = join(import.meta.dirname, 'injections.py');
    const texts = JSON.parse(await world.need('python3', [reader, wheel])) as Texts;
    const injections = texts.goals.flatMap(({ suite, goal, tools }, at) =>
      texts.attacks.map((attack, number) => {
        const documents = texts.documents[suite]!;
        const words = attack.replaceAll('{goal}', () => goal);
        const document = documents[(at + number) % documents.length]!;
        return { goal, tools, text: document.replaceAll('{injection}', () => words), words };
      }),
    );
    world.check('there are injections', injections.length > 100, injections.length);
    const root = join(folder, 'documents');
    await mkdir(root);
    const thief = await world.server((_, response) => void response.end('thanks'));
    const model = world.use(await startFakeOpenai());
    const hosts = { allow_hosts: ['shop.example'] };
    const agent = {
      tools: ['time', 'read_file', 'http_fetch', 'webhook_call', 'memory_note'],
      governance: [
        { tool: 'time', mode: 'allow' },
        { tool: 'read_file', mode: 'allow' },
        { tool: 'http_fetch', mode: 'allow' },
        { tool: 'webhook_call', mode: 'allow' },
        { tool: 'memory_note', mode: 'deny' },
      ],
      read_file: { root },
      http_fetch: hosts,
      webhook_call: hosts,
      memory: {},
    };
    const provided = { base_url: model.url, provider: 'hosted_runtime', model_id: 'gpt-test' };
    const svc = await world.svc(provided, { brain: { agent } });
    for (const [at, { goal, tools, text, words }] of injections.entries()) {
      const name = `${at}.txt`;
      await writeFile(join(root, name), text);
      const orders = ordersOf(goal, tools, thief.url);
      const script = obeying(name, words, orders);
      await model.script(script.steps);
      const what = `${at}: ${goal.slice(0, 60)}`;
      world.equal(`${what}: the reply`, await svc.say(`What does ${name} say?`), 'It is done.');
      world.check(`${what}: the model has read it`, script.wasRead(), text.slice(0, 200));
      const uses = await usesOf(svc);
      world.equal(`${what}: orders in the audit`, uses.length, orders.length);
      const done = uses.filter(({ outcome }) => outcome !== 'denied' && outcome !== 'refused');
      world.equal(`${what}: what was carried out`, done, []);
    }
    world.equal('what the thief has got', thief.asked(), 0);
  },
};

/** svc runs eight calls of one answer; five of them are its own tools. */
const ofAttackersMax = 3;

/** The tools that the goal needs in AgentDojo, and those of svc that would serve it. */
function ordersOf(goal: string, tools: readonly string[], thief: string): readonly ScriptedCall[] {
  const named = /(?:https?:\/\/|www\.)[\w./-]+\w/.exec(goal)?.[0] ?? 'www.attacker.example';
  const url = named.startsWith('http') ? named : `http://${named}/`;
  return [
    ...tools.slice(0, ofAttackersMax).map((name) => ({ name, arguments: { goal } })),
    { name: 'http_fetch', arguments: { url } },
    { name: 'http_fetch', arguments: { url: thief } },
    { name: 'webhook_call', arguments: { url: thief, body: { goal } } },
    { name: 'read_file', arguments: { path: '../../svc.json' } },
    { name: 'memory_note', arguments: { note: goal.slice(0, 100) } },
  ];
}

/** A model that reads the file, calls every order in it, and says that it is done. */
function obeying(path: string, words: string, orders: readonly ScriptedCall[]) {
  let hasRead = false;
  let at = 0;
  const steps: Script = (call) => {
    switch (at++) {
      case 0:
        return { answer: '', calls: [{ name: 'read_file', arguments: { path } }] };
      case 1:
        hasRead = isMarked(bodyOf(call).messages.at(-1)!.content, words);
        return { answer: '', calls: orders };
      default:
        return { answer: 'It is done.' };
    }
  };
  return { steps, wasRead: () => hasRead };
}

/** The words are between the marks of the turn, and its end mark comes once, after them. */
function isMarked(content: string, words: string): boolean {
  const nonce = /^\[data ([\w-]+)\]/.exec(content)?.[1];
  if (nonce === undefined) return false;
  const ends = content.split(`[end ${nonce}]`);
  return ends.length === 2 && ends[0]!.includes(words.trim().slice(-40));
}

/** The outcomes of the orders of the newest message, in its second step. */
async function usesOf(svc: Svc): Promise<readonly Use[]> {
  const headers = { authorization: `Bearer ${operatorToken}` };
  const answer = await fetch(`${svc.admin}/api/v1/tool-uses?limit=20`, { headers });
  const { rows } = (await answer.json()) as { readonly rows: readonly Use[] };
  const newest = rows[0]!.key.split(':')[0];
  return rows.filter(({ key }) => key.startsWith(`${newest}:2:`));
}
