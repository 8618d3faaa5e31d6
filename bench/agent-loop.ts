/** Measures the agent loop alone: an instant model in the same process, and the tool `echo`. */
import { FakeBudgetGuard } from '../test/fake/budget-guard.ts';
import { later, steadyNow, systemClock } from '../src/lib/clock.ts';
import { createAgent } from '../src/brains/agent/agent.ts';
import { DryRunContext } from '../src/brains/dry-run-context.ts';
import type { ModelName } from '../src/domain/ids.ts';
import type { Message } from '../src/domain/message.ts';
import type { Outcome } from '../src/domain/outcome.ts';
import { createDeadlines } from '../src/lib/deadlines.ts';
import { Stopper } from '../src/lib/stop.ts';
import type { Model, ModelRequest } from '../src/brains/models/model.ts';
import { createPriority } from '../src/brains/policies/priority.ts';
import { createEcho } from '../src/brains/tools/echo.ts';
import { createToolbox } from '../src/brains/tools/governance.ts';

const callsPerTurn = 4;

/** Asks for the tool, and records the time from there to the next question. */
class InstantModel implements Model {
  readonly name = 'bench/instant' as ModelName;
  readonly provider = 'local_runtime';
  readonly modelId = 'instant';
  readonly locality = 'local';
  readonly mayForward = false;
  readonly gapsMs: number[] = [];
  #calledAt = 0;

  sees(): Promise<boolean> {
    return Promise.resolve(false);
  }

  ask({ lines }: ModelRequest): Promise<Outcome> {
    if (this.#calledAt > 0) this.gapsMs.push(performance.now() - this.#calledAt);
    const results = lines.filter(({ role }) => role === 'result').length;
    const given = { text: `words of call ${results}` };
    const more = results < callsPerTurn;
    const calls = more ? [{ id: `call-${results}`, name: 'echo', arguments: given }] : [];
    this.#calledAt = more ? performance.now() : 0;
    const text = more ? '' : 'done';
    return Promise.resolve({
      kind: 'answer',
      text,
      calls,
      usage: null,
      tries: [],
      linesDropped: 0,
    });
  }

  check(): ReturnType<Model['check']> {
    return Promise.resolve({ kind: 'reached', hasModel: true, runs: 'here', others: [] });
  }
}

/** @returns milliseconds from each call to the next question, after warming up */
export async function loopGapsMs(turns: number): Promise<readonly number[]> {
  const model = new InstantModel();
  const onFault = (error: unknown): never => {
    throw error;
  };
  const agent = createAgent({
    name: 'bench',
    sensitivity: 'public',
    dispatch: 'fanout',
    budget: null,
    historyBounds: { turns: 40, characters: 16_000 },
    deadlineMs: 600_000,
    members: [{ model, rank: 0, retriesMax: 0 }],
    policy: createPriority(),
    ...systemClock,
    deadlines: createDeadlines(),
    retryDelayMs: () => null,
    onFault,
    toolbox: createToolbox({ tools: [createEcho()], grants: [], ...systemClock, onFault }),
    stepsMax: 50,
    systemPrompt: null,
    operatorPrompt: 'You help in a library.',
    skills: null,
    notes: null,
    asking: null,
    mark: () => crypto.randomUUID().slice(0, 13),
  });
  const message = { id: 'm', channel: 'webhook', text: 'hi', media: null } as unknown as Message;
  for (let turn = 0; turn < turns * 2; turn++) {
    if (turn === turns) model.gapsMs.length = 0;
    const turnContext = new DryRunContext(
      new Stopper(),
      later(steadyNow(), 600_000),
      new FakeBudgetGuard(),
    );
    await agent.think({ message, text: 'hi', history: [] }, turnContext);
  }
  return model.gapsMs;
}
