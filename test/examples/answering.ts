/** A svc that answers, for the recipes that stand before it and behind it. */
import { startFakeOllama } from '../fake/ollama.ts';
import { startReceiver, type Receiver } from '../fake/receiver.ts';
import { serveHere } from '../support/in-process.ts';
import { freePort, publicly, scratch, writeConfig } from '../support/program.ts';

export type Answering = AsyncDisposable & {
  /** The address for messages. */
  readonly url: string;
  readonly receiver: Receiver;
};

/** @param webhook fields of its webhook; @param env its variables beside the webhook's secret */
export async function startAnswering(
  webhook: object = {},
  env: Record<string, string> = {},
): Promise<Answering> {
  await using stack = new AsyncDisposableStack();
  const scene = stack.use(await scratch());
  const model = stack.use(await startFakeOllama({ answer: 'Hello from the model.' }));
  const receiver = stack.use(await startReceiver());
  const [port, adminPort] = [await freePort(), await freePort()];
  const where = { port, adminPort, modelUrl: model.url, receiverUrl: receiver.url };
  const config = publicly(where);
  Object.assign(config.channels[0]!['webhook'] as object, webhook);
  const { url } = stack.use(await serveHere(await writeConfig(scene.path, config), port, env));
  const owned = stack.move();
  return { url, receiver, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}
