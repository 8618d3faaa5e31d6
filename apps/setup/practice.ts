/** The practice model of the demo, once somebody asks for it, for as long as this object lives. */
import type { Server } from 'node:http';
import { createPracticeModel } from '../../src/app/practice-model.ts';
import { closeServer, listenNear } from '../../src/lib/loopback-port.ts';

const wishedPort = 8092;

export class PracticeModel implements AsyncDisposable {
  #opened: Promise<{ readonly server: Server; readonly url: string }> | null = null;

  /** Where it answers, as Ollama would. */
  async url(): Promise<string> {
    this.#opened ??= open();
    return (await this.#opened).url;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#opened !== null) await closeServer((await this.#opened).server);
  }
}

async function open(): Promise<{ readonly server: Server; readonly url: string }> {
  const server = createPracticeModel();
  const port = await listenNear(server, wishedPort);
  return { server, url: `http://127.0.0.1:${port}` };
}
