/** The running program with an agent whose model makes the call of a message. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { asks, lastOf, stage, wires } from './stage.ts';
import type { Step } from '../fake/model-server.ts';

export type AgentProgram = AsyncDisposable & {
  /** Sends a message in whose turn the model makes this call; resolves with the tool's result. */
  call(tool: string, args: unknown): Promise<string>;
  /** All requests, answers, output, logs and stored data until now, by their place. */
  everything(): Promise<Readonly<Record<string, string>>>;
};

/** @param agent the block of the brain */
export async function startAgentProgram(agent: object): Promise<AgentProgram> {
  const calls: Step[] = [];
  const scene = await stage(wires[0]!, agent, (call) => {
    const { role, content } = lastOf(call);
    // Notes may follow the message.
    if (role === 'user') return calls[Number.parseInt(content)]!;
    const [, , told] = /^\[data (\S+)\] result of \w+\n([^]*)\n\[end \1\]$/.exec(content)!;
    return { answer: told! };
  });
  return {
    call: (tool, args) => scene.say(String(calls.push(asks(tool, args)) - 1)),
    async everything() {
      const found: Record<string, string> = {
        metrics: await scene.metrics(),
        requests: scene.model.calls.map(({ text }) => text).join('\n'),
        replies: scene.receiver.received.map(({ text }) => text).join('\n'),
        log: scene.log(),
      };
      for (const name of readdirSync(scene.folder)) {
        if (name !== 'svc.json') found[name] = readFileSync(join(scene.folder, name), 'utf8');
      }
      return found;
    },
    [Symbol.asyncDispose]: () => scene[Symbol.asyncDispose](),
  };
}
