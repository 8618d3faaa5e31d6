/** The surroundings of an application's service: a model, a receiver, and its configuration. */
import { startFakeOllama } from '../fake/ollama.ts';
import type { FakeModel } from '../fake/model-server.ts';
import { startReceiver, type Receiver } from '../fake/receiver.ts';
import { freePort, post, webhookConfig } from '../support/program.ts';

export type World = AsyncDisposable & {
  readonly model: FakeModel;
  readonly receiver: Receiver;
  readonly port: number;
  /** The origin of its pages. */
  readonly origin: string;
  /** The configuration; its webhook's secret is WEBHOOK_SECRET. */
  readonly document: ReturnType<typeof webhookConfig>;
  /** Sends a message, and waits for the answer. @returns its status code */
  say(text: string): Promise<number>;
};

/** The value of WEBHOOK_SECRET in the environment of a desktop. */
export { secret } from '../support/program.ts';

export async function openWorld(): Promise<World> {
  await using parts = new AsyncDisposableStack();
  const model = parts.use(await startFakeOllama({ answer: 'It opens at nine.' }));
  const receiver = parts.use(await startReceiver());
  const [port, adminPort] = [await freePort(), await freePort()];
  const where = { port, adminPort, modelUrl: model.url, receiverUrl: receiver.url };
  const own = parts.move();
  return {
    model,
    receiver,
    port,
    origin: `http://127.0.0.1:${adminPort}`,
    document: { ...webhookConfig(where), admin: { token_env: 'ADMIN_TOKEN' } },
    async say(text) {
      const message = { sender_id: 'ada', text };
      return (await post(`http://127.0.0.1:${port}/webhook`, message)).status;
    },
    [Symbol.asyncDispose]: () => own.disposeAsync(),
  };
}
