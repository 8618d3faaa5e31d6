/** A running service whose configuration changes over the admin API, and a client of that API. */
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { request, type IncomingMessage } from 'node:http';
import type { Applied, ConfigRow } from '../../src/config/config-control.ts';
import { startFakeOllama } from '../fake/ollama.ts';
import { startReceiver } from '../fake/receiver.ts';
import { serveHere } from '../support/in-process.ts';
import { freePort, post, scratch, webhookConfig, writeConfig } from '../support/program.ts';

export const adminToken = 'an-admin-token-of-the-tests';

export type Told = {
  readonly status: number;
  readonly etag: string | null;
  /** The fields of a success and of a problem in one. */
  readonly body: Partial<Extract<Applied, { kind: 'applied' }>> & {
    readonly code?: string;
    readonly detail?: string;
    readonly problems?: readonly { readonly code: string; readonly path: string }[];
    readonly fields?: readonly string[];
    readonly text?: string | null;
    readonly readable?: boolean;
    readonly why?: string | null;
    readonly rows?: readonly ConfigRow[];
    readonly models?: readonly { readonly model: string; readonly answers: number }[];
  };
};

export type Asking = {
  readonly method?: string;
  readonly body?: string;
  readonly ifMatch?: string;
  /** The revision of the edited file that it replaces. */
  readonly edited?: string;
  readonly host?: string;
};

/** One exchange with the admin API, as its operator. */
export async function askAdmin(port: number, path: string, asking: Asking = {}): Promise<Told> {
  const { method = 'GET', body, ifMatch, host = 'localhost' } = asking;
  const headers = {
    host,
    authorization: `Bearer ${adminToken}`,
    ...(ifMatch !== undefined && { 'if-match': `"${ifMatch}"` }),
    ...(body !== undefined && {
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(body),
    }),
  };
  const options = { host: '127.0.0.1', port, path: `/api/v1/${path}`, method, headers };
  const asked = request({ ...options, agent: false });
  asked.end(body);
  const [answer] = (await once(asked, 'response')) as [IncomingMessage];
  let text = '';
  for await (const part of answer.setEncoding('utf8')) text += String(part);
  const etag = /^"(.*)"$/.exec(answer.headers.etag ?? '')?.[1] ?? null;
  return { status: answer.statusCode ?? 0, etag, body: JSON.parse(text) as Told['body'] };
}

type Document = ReturnType<typeof webhookConfig>;

/** Its model answers "<name>: <last line>". @param settings of the document, beside the usual */
export async function startConfigured(settings: object = {}, env: Record<string, string> = {}) {
  await using parts = new AsyncDisposableStack();
  const folder = parts.use(await scratch());
  const receiver = parts.use(await startReceiver());
  const models = ['first', 'second'].map((name) => startFakeOllama({ answer: `of ${name}` }));
  const [model, other] = await Promise.all(models);
  parts.use(model!);
  parts.use(other!);
  const [port, adminPort] = [await freePort(), await freePort()];
  const where = { port, adminPort, modelUrl: model!.url, receiverUrl: receiver.url };
  const admin = { token_env: 'ADMIN_TOKEN' };
  const first = { ...webhookConfig(where), admin, ...settings } as Document;
  const file = await writeConfig(folder.path, first);
  const start = (more: Record<string, string> = {}) =>
    serveHere(file, port, { ADMIN_TOKEN: adminToken, ...env, ...more });
  let program = parts.use(await start());
  const own = parts.move();
  let replies = 0;
  const revision = async (): Promise<string> => (await askAdmin(adminPort, 'config')).etag!;
  const put = async (document: object | string, asking: Asking = {}): Promise<Told> => {
    const body = typeof document === 'string' ? document : JSON.stringify(document, null, 2);
    const ifMatch = asking.ifMatch ?? (await revision());
    const path = asking.edited === undefined ? 'config' : `config?edited=${asking.edited}`;
    return askAdmin(adminPort, path, { method: 'PUT', body, ...asking, ifMatch });
  };
  return {
    folder: folder.path,
    file,
    first,
    get program() {
      return program;
    },
    /** Restarts on the file as it is then. @param more variables, such as another token */
    async restart(more?: Record<string, string>): Promise<void> {
      await program[Symbol.asyncDispose]();
      program = own.use(await start(more));
    },
    receiver,
    model: model!,
    port,
    adminPort,
    /** The same with the other model. */
    withOther: (): Document => {
      const [brain] = first.brains;
      const [one] = brain!['models'] as object[];
      return { ...first, brains: [{ ...brain, models: [{ ...one, base_url: other!.url }] }] };
    },
    revision,
    put,
    onDisk: () => readFile(file, 'utf8'),
    ask: (path: string, asking?: Asking) => askAdmin(adminPort, path, asking),
    async say(text: string, at = port): Promise<string> {
      const answer = await post(`http://127.0.0.1:${at}/webhook`, { sender_id: 'ada', text });
      if (answer.status !== 200) throw new Error(JSON.stringify(answer));
      const received = await receiver.waitFor(++replies);
      return String(received[replies - 1]!.body['text']);
    },
    [Symbol.asyncDispose]: () => own.disposeAsync(),
  };
}
