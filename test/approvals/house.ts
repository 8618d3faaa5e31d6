/** A runtime with a messenger, and an agent whose `webhook_call` needs approval. */
import { test } from 'node:test';
import { createAgent } from '../../src/brains/agent/agent.ts';
import type { Brain } from '../../src/brains/brain.ts';
import type { GrantConfig, SessionConfig } from '../../src/config/config.ts';
import type { Approval } from '../../src/domain/approval.ts';
import { createIdSource, type ConversationId, type ModelName } from '../../src/domain/ids.ts';
import type { Outcome, ToolCall } from '../../src/domain/outcome.ts';
import type { Reply } from '../../src/domain/reply.ts';
import { createEvents } from '../../src/telemetry/events.ts';
import { steadyNow, systemClock } from '../../src/lib/clock.ts';
import { createDeadlines } from '../../src/lib/deadlines.ts';
import { createLog } from '../../src/lib/log.ts';
import type { Model, ModelRequest } from '../../src/brains/models/model.ts';
import { createPriority } from '../../src/brains/policies/priority.ts';
import { keepApprovals } from '../../src/app/approval-upkeep.ts';
import { Runtime } from '../../src/app/runtime.ts';
import { RunningConfig } from '../../src/app/running-config.ts';
import { createAlone } from '../../src/cluster/alone.ts';
import type { Coordination } from '../../src/cluster/cluster.ts';
import type { Ledger } from '../../src/ledger/ledger.ts';
import { createToolbox } from '../../src/brains/tools/governance.ts';
import { brainsByName, routed } from '../fake/channel.ts';
import { FakeMessenger } from '../fake/messenger.ts';
import { fakeTool, type FakeTool } from '../fake/tools.ts';
import { openMemory, openStorage, until, type Clock } from '../messages/messenger-house.ts';
import { scratch } from '../support/program.ts';

const log = createLog({ stream: process.stderr, level: 'error', format: 'text' });

/** The model's answer to a request. */
type Script = (request: ModelRequest) => string | readonly ToolCall[];

export type House = AsyncDisposable & {
  readonly host: Runtime;
  readonly ledger: Ledger;
  readonly messenger: FakeMessenger;
  readonly tool: FakeTool;
  readonly requests: ModelRequest[];
  /** Codes of warnings. */
  readonly warned: readonly string[];
  readonly meters: ReturnType<typeof createEvents>['meters'];
  /** Sends the text, and resolves with the next reply in that conversation. */
  say(sender: string, text: string): Promise<Reply>;
  /** Resolves with the n-th reply in that conversation, from 1. */
  reply(conversation: string, n: number): Promise<Reply>;
  /** The only waiting approval. */
  waiting(): Promise<Approval>;
  /** Runs the janitor now. */
  look(): void;
  /** Replaces the running configuration. */
  apply(settings: Settings): Promise<void>;
};

export type Settings = {
  readonly name?: string;
  readonly mode?: GrantConfig['mode'];
  readonly approvers?: readonly string[];
  readonly tools?: readonly FakeTool[];
  /** A person's private conversation; null: none. Absent: the conversation of their id. */
  readonly direct?: ((user: string) => string | null) | undefined;
  readonly script?: Script;
  /** The form of the messages to approvers. */
  readonly text?: 'full' | 'notice';
  readonly session?: SessionConfig;
  /** How its channel cuts a text. */
  readonly split?: (text: string) => readonly string[];
};

export const hourMs = 3_600_000;
export const payment = { url: 'https://example.com/pay', body: { euros: 7 } };

let ids = 0;
export function pays(given: unknown = payment): readonly ToolCall[] {
  return [{ id: `id-${ids++}`, name: 'webhook_call', arguments: given }];
}

/** The result of a call in a line of the model's context; null: the line has none. */
export const resultIn = (text: string): string | null =>
  /^\[data .*\n(.*)$/m.exec(text)?.[1] ?? null;

/** Wants to pay when a person says so, and reports the result. */
export const payer: Script = ({ lines }) => {
  const last = lines.at(-1)!;
  const result = resultIn(last.text);
  if (result !== null) return `told: ${result}`;
  return last.text.startsWith('pay') ? pays() : `heard: ${last.text}`;
};

function modelOf(script: Script, requests: ModelRequest[]): Model {
  return {
    name: 'local_runtime/m' as ModelName,
    provider: 'local_runtime',
    modelId: 'm',
    locality: 'local',
    mayForward: false,
    async ask(request): Promise<Outcome> {
      requests.push(request);
      const said = script(request);
      const [text, calls] = typeof said === 'string' ? [said, []] : ['', said];
      return { kind: 'answer', text, calls, usage: null, tries: [], linesDropped: 0 };
    },
    sees: async () => false,
    check: async () => ({ kind: 'reached', hasModel: true, runs: 'here', others: [] }),
  };
}

/** @param cluster of the processes on that ledger */
export async function openApprovalHouse(
  ledger: Ledger,
  clock: Clock,
  settings: Settings = {},
  cluster: Coordination = createAlone(),
): Promise<House> {
  const now = (): number => clock.now;
  const idSource = createIdSource(now, (bytes) => void crypto.getRandomValues(bytes));
  const warned: string[] = [];
  const events = createEvents({ log, now, steady: steadyNow });
  Object.assign(events, { warned: ({ code }: { code: string }) => warned.push(code) });
  const flow = { ledger, events, ids: idSource, now, steady: steadyNow, random: Math.random };
  const host = new Runtime(flow, { cluster });
  const messenger = new FakeMessenger();
  const requests: ModelRequest[] = [];
  const tool = fakeTool('webhook_call', 'url', { effect: 'outside', reachesOut: true });
  let applied = 0;
  const brainOf = (one: Settings): Brain => {
    const { name = 'helper', mode = 'ask', approvers = ['messenger_a:boss'], tools = [tool] } = one;
    const onFault = (error: unknown): void => events.faulted({ where: 'test', error });
    const grants = [{ tool: 'webhook_call', mode, channels: null }] as const;
    return createAgent({
      name,
      sensitivity: 'public',
      dispatch: 'sequential',
      budget: null,
      historyBounds: { turns: 40, characters: 16_000 },
      deadlineMs: 60_000,
      members: [{ model: modelOf(one.script ?? payer, requests), rank: 0, retriesMax: 0 }],
      policy: createPriority(),
      ...systemClock,
      deadlines: createDeadlines(steadyNow),
      retryDelayMs: () => null,
      onFault,
      toolbox: createToolbox({ tools, grants, now, steady: steadyNow, onFault }),
      stepsMax: 5,
      systemPrompt: null,
      operatorPrompt: null,
      skills: null,
      notes: null,
      mark: () => 'MARK',
      asking: { approvers, waitMs: 24 * hourMs, text: one.text ?? 'full' },
    });
  };
  const runningConfigOf = (one: Settings): RunningConfig => {
    const { direct = (user: string) => user } = one;
    const channel = Object.assign(messenger.bot('77:token', `settings ${++applied}`), {
      ...(one.split && { split: one.split }),
      async direct(user: string) {
        const target = direct(user);
        if (target === null) return null;
        const conversation = target as ConversationId;
        return { conversation, address: { channel: messenger.key, target } };
      },
    });
    const brain = brainOf(one);
    const { session = null } = one;
    const channels = [routed('messenger_a', channel, brain, { session })];
    return new RunningConfig(`plan ${applied}`, channels, brainsByName(brain), []);
  };
  const apply = async (one: Settings): Promise<void> => {
    const problem = await host.use(runningConfigOf(one));
    if (problem !== null) throw new Error(problem.message);
  };
  await apply(settings);
  const end = keepApprovals({ ...flow, cluster, runtime: host });
  const repliesIn = (where: string): readonly Reply[] =>
    messenger.delivered.filter(({ conversation }) => (conversation as string) === where);
  const reply = async (where: string, n: number): Promise<Reply> => {
    await until(() => repliesIn(where).length >= n);
    return repliesIn(where)[n - 1]!;
  };
  return {
    host,
    ledger,
    messenger,
    tool,
    requests,
    warned,
    meters: events.meters,
    reply,
    apply,
    async say(sender, text) {
      const before = repliesIn(sender).length;
      await messenger.say(sender, text);
      return reply(sender, before + 1);
    },
    async waiting() {
      const all = await ledger.approvals.waiting();
      if (all.length !== 1) throw new Error(`${all.length} wait`);
      return all[0]!;
    },
    look: () => host.approvals.wake(),
    async [Symbol.asyncDispose]() {
      end();
      await host.drain(0);
    },
  };
}

export type Opened = { readonly house: House; readonly clock: Clock };

export function onEachBackend(
  name: string,
  play: (opened: Opened) => Promise<void>,
  settings: Settings = {},
): void {
  const backends: Readonly<Record<string, (folder: string, clock: Clock) => Promise<Ledger>>> = {
    memory: async (_folder, clock) => openMemory(clock),
    SQLite: openStorage,
  };
  for (const [backend, open] of Object.entries(backends)) {
    test(`${backend}: ${name}`, async () => {
      await using folder = await scratch();
      const clock = { now: Date.UTC(2026, 10, 27, 12) };
      await using house = await openApprovalHouse(await open(folder.path, clock), clock, settings);
      await play({ house, clock });
    });
  }
}
