/** A service to test against: the smallest config that answers, the program on it, a sender. */
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runSvc, type Run } from './run-svc.ts';

export const secret = 'a-webhook-secret-of-the-tests';

export type Program = AsyncDisposable & {
  readonly child: ChildProcess;
  readonly log: () => string;
  /** Resolves with the exit code, or the signal's name. */
  readonly ended: Promise<number | string>;
  /** Resolves once a line of the log holds the text. */
  saw(text: string): Promise<void>;
};

/** Starts `svc <args>`; leaving the scope ends it. */
export function startProgram(args: readonly string[], env: Record<string, string> = {}): Program {
  return programOf(runSvc(args, { env: { HOME: tmpdir(), ...env } }));
}

export function programOf(run: Run): Program {
  const { child } = run;
  const ended = run.ended.then(({ code, signal }) => code ?? signal!);
  return {
    child,
    log: () => run.out() + run.err(),
    ended,
    saw: async (text) => void (await run.until(new RegExp(RegExp.escape(text)), 'err')),
    async [Symbol.asyncDispose]() {
      if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL');
      await ended;
    },
  };
}

/** A folder that is removed at the end of the scope. */
export async function scratch(): Promise<AsyncDisposable & { readonly path: string }> {
  const path = await mkdtemp(join(tmpdir(), 'svc-test-'));
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) };
}

/**
 * Below the ports that the system gives to outgoing connections and to listeners on port 0. The
 * system could give one of those away.
 */
const ports = { from: 10_200, blocks: 110, inBlock: 200 };
let portsTaken = 0;
let block: Promise<number> | null = null;

/**
 * A port of this process's own block on which nobody listens just now. It is given again only after
 * all others of the block: a stopped program finds its port free at its next start.
 */
export async function freePort(): Promise<number> {
  // Fetch refuses 10,080: https://fetch.spec.whatwg.org/#port-blocking
  block ??= takeBlock();
  const first = await block;
  for (;;) {
    const port = first + 1 + (portsTaken++ % (ports.inBlock - 1));
    const server = createServer().listen(port, '127.0.0.1');
    if (!(await isListening(server))) continue;
    server.close();
    await once(server, 'close');
    return port;
  }
}

/**
 * Test files run at once, each in a process of its own. Each takes a block of ports by listening on
 * its first port for as long as it lives. So no other file takes, or even tries, a port between its
 * choice and the start of its program.
 */
async function takeBlock(): Promise<number> {
  for (let tried = 0; tried < ports.blocks; tried++) {
    const first = ports.from + ((process.pid + tried) % ports.blocks) * ports.inBlock;
    const guard = createServer((socket) => socket.destroy()).listen(first, '127.0.0.1');
    if (!(await isListening(guard))) continue;
    guard.unref();
    return first;
  }
  throw new Error('every block of ports is taken by another process of tests');
}

/** False: the system refuses that port. */
function isListening(server: Server): Promise<boolean> {
  return new Promise((resolve) => {
    server.once('listening', () => resolve(true));
    server.once('error', () => resolve(false));
  });
}

type Document = Record<string, unknown>;

/** The smallest config that answers: a webhook, one local model, a receiver. */
export function webhookConfig(where: {
  readonly port: number;
  readonly adminPort: number;
  readonly modelUrl: string;
  readonly receiverUrl: string;
}): { channels: Document[]; brains: Document[]; routes: Document[] } & Document {
  return {
    channels: [
      {
        type: 'webhook',
        token_env: 'WEBHOOK_SECRET',
        webhook: { bind: `127.0.0.1:${where.port}`, outbound_url: where.receiverUrl },
      },
    ],
    brains: [
      {
        name: 'echo',
        sensitivity: 'private',
        policy: { kind: 'priority' },
        models: [
          {
            provider: 'local_runtime',
            model_id: 'llama3.2',
            locality: 'local',
            base_url: where.modelUrl,
          },
        ],
      },
    ],
    routes: [{ channel: 'webhook', brain: 'echo' }],
    observability: { addr: `127.0.0.1:${where.adminPort}` },
  };
}

/** The same with a public brain, whose calls wait for no other call to the model. */
export function publicly(where: Parameters<typeof webhookConfig>[0]) {
  const config = webhookConfig(where);
  config.brains[0]!['sensitivity'] = 'public';
  return config;
}

export async function writeConfig(folder: string, document: Document): Promise<string> {
  const file = join(folder, 'svc.json');
  await writeFile(file, JSON.stringify(document, null, 2));
  return file;
}

/** `svc serve` on that config, once it listens. */
export async function serve(
  file: string,
  port: number,
  env: Record<string, string> = {},
): Promise<Program & { readonly url: string }> {
  const program = startProgram(['serve', '--config', file], { WEBHOOK_SECRET: secret, ...env });
  await program.saw('"listening"');
  return { ...program, url: `http://127.0.0.1:${port}/webhook` };
}

/** POSTs one message. @returns the status and the parsed body */
export async function post(
  url: string,
  body: unknown,
  headers: Record<string, string> = {},
): Promise<{ readonly status: number; readonly body: Record<string, unknown> }> {
  const response = await fetch(url, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${secret}`,
      'content-type': 'application/json',
      ...headers,
    },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });
  const text = await response.text();
  return { status: response.status, body: text === '' ? {} : JSON.parse(text) };
}
