/**
 * The far side, in a network namespace of its own: it plays the Internet and its name server, and
 * has every address. A program of the near side starts it, and controls it by messages.
 */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { startNameServer, type NameServer } from '../../fake/name-server.ts';
import { far, ifSix, type Asked, type Told } from './network.ts';

/** The addresses of a name: for the first query, the second, and so on. */
const names = new Map<string, readonly (readonly string[])[]>();
const heard: string[] = [];
const [capture, file] = process.argv.slice(2) as [string, string];
const tell = (told: Told): void => void process.send!(told);

process.on('disconnect', () => process.exit());
process.on('message', (asked: Asked) => {
  act(asked).catch((error: unknown) => tell({ kind: 'failed', why: String(error) }));
});
tell({ kind: 'up' });

let nameServer: NameServer | null = null;
let watching: ReturnType<typeof spawn> | null = null;

async function act(asked: Asked): Promise<void> {
  switch (asked.kind) {
    case 'begin':
      await begin();
      return tell({ kind: 'done' });
    case 'name':
      names.set(asked.name, asked.addresses);
      return tell({ kind: 'done' });
    case 'listen':
      await listen(asked.port);
      return tell({ kind: 'done' });
    case 'end': {
      watching!.kill('SIGTERM');
      const [last] = (await watching!.stdout!.toArray()) as [Buffer];
      const dropped = Number.parseInt(String(last), 10);
      return tell({ kind: 'ended', names: [...nameServer!.asked], heard, dropped });
    }
    default:
      asked satisfies never;
  }
}

async function begin(): Promise<void> {
  const ip = (args: string): void => void execFileSync('ip', args.split(' '));
  ip('link set lo up');
  ip(`addr add ${far.four}/24 dev far`);
  ifSix(() => ip(`-6 addr add ${far.six}/64 dev far nodad`));
  const child = spawn(capture, ['far', file], { stdio: ['ignore', 'pipe', 'inherit'] });
  watching = child;
  await once(child.stdout, 'data');
  ip('link set far up');
  ip('route add local 0.0.0.0/0 dev lo');
  ifSix(() => ip('-6 route add local ::/0 dev lo'));
  const answer = (name: string, times: number): readonly string[] => {
    const addresses = names.get(name) ?? [];
    return addresses[Math.min(times, addresses.length - 1)] ?? [];
  };
  nameServer = await startNameServer(answer, { host: far.four, port: 53 });
  await listen(80);
}

const listening = new Set<number>();

/** Accepts connections to every address at that port. Two runtimes may come to one port in turn. */
async function listen(port: number): Promise<void> {
  if (listening.has(port)) return;
  listening.add(port);
  const server = createServer((request, response) => void serve(request, response));
  server.listen(port, '::');
  await once(server, 'listening');
}

/** A vendor that answers in the protocol of each request. */
async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
  let text = '';
  for await (const part of request.setEncoding('utf8')) text += part as string;
  heard.push(`${request.socket.localAddress} ${request.method} ${request.url} ${text}`);
  const message = { role: 'assistant', content: 'from afar' };
  const { model = '' } = text === '' ? {} : (JSON.parse(text) as { model?: string });
  const choices = [{ index: 0, message, finish_reason: 'stop' }];
  response.setHeader('content-type', 'application/json');
  response.end(JSON.stringify({ model, message, choices, done: true, models: [], data: [] }));
}
