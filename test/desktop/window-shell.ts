/**
 * A minimal shell as its own program. It opens the window of the application, executes each line of
 * stdin on it, and prints the results to stdout. Its core is a page that runs the scripts it gets,
 * and returns their results.
 *
 * node window-shell.ts <folder> <kind, or any> [hidden]
 */
import { createServer as createHttpServer, type RequestListener, type Server } from 'node:http';
import { once } from 'node:events';
import { mkdirSync, rmSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { windowKinds, type FromWindow, type ToWindow } from '../../apps/desktop/desktop.ts';
import { openConnection, type ConnectionHandlers } from '../../apps/desktop/lines.ts';
import { openApplicationWindow } from '../../apps/desktop/window/window.ts';

/** A command on stdin. */
export type Order =
  | { readonly do: 'show'; readonly path: string }
  | { readonly do: 'trust' | 'hide' | 'end' | 'close_core' }
  | { readonly do: 'status'; readonly text: string }
  /** Runs in the page of the core: the text of a function without arguments. */
  | { readonly do: 'run'; readonly script: string };

/** A result on stdout. */
export type Told =
  | { readonly told: 'opened'; readonly kind: string; readonly why: string | null }
  | { readonly told: 'process'; readonly pid: number; readonly hasTray: boolean }
  | { readonly told: 'shown'; readonly why: string | null }
  | { readonly told: 'loaded'; readonly url: string }
  | { readonly told: 'unanswered'; readonly url: string }
  | { readonly told: 'closing' }
  | { readonly told: 'sign_in' }
  | { readonly told: 'hidden' }
  | { readonly told: 'ended' }
  | { readonly told: 'closed'; readonly why: string | null }
  | { readonly told: 'tray'; readonly chose: string }
  | { readonly told: 'said'; readonly line: string }
  /** A request to the shell: its path, or the whole address for a proxy. */
  | { readonly told: 'asked'; readonly url: string }
  /** The result of a script in the page, as JSON. */
  | { readonly told: 'page'; readonly value: string };

const [folder = '', wanted = 'any', hidden] = process.argv.slice(2);
const tell = (told: Told): void => void process.stdout.write(`${JSON.stringify(told)}\n`);

const page = `<!doctype html><meta charset="utf-8"><title>core</title><script>
void (async () => {
  const say = (value) => fetch('/said', { method: 'POST', body: JSON.stringify(value ?? null) });
  for (;;) {
    const script = await (await fetch('/next')).text();
    if (script !== '') await say(await (0, eval)('(' + script + ')')());
  }
})();</script><p>core`;

const scripts: string[] = [];
const polls: ((script: string) => void)[] = [];

const core = await listen((request, response) => {
  if (request.url === '/next') {
    // A page that was left polls no more, so only the last poll is alive.
    for (const left of polls.splice(0)) left('');
    const next = scripts.shift();
    if (next === undefined) polls.push((script) => void response.end(script));
    else response.end(next);
    return;
  }
  if (request.url === '/said') {
    let value = '';
    request.on('data', (part) => (value += String(part)));
    request.on('end', () => {
      tell({ told: 'page', value });
      response.end();
    });
    return;
  }
  response.setHeader('content-type', 'text/html').end(page);
});

const shell = await listen(({ url = '' }, response) => {
  tell({ told: 'asked', url });
  if (url.startsWith('/open/')) response.writeHead(303, { location: `${core.origin}/ui#code` });
  else response.setHeader('content-type', 'text/html').write('<title>shell</title><p>shell');
  response.end();
});
shell.server.on('connect', (request, socket) => {
  tell({ told: 'asked', url: String(request.url) });
  socket.on('error', () => {});
  socket.end('HTTP/1.1 403 Forbidden\r\n\r\n');
});

async function listen(answer: RequestListener): Promise<{ server: Server; origin: string }> {
  const server = createHttpServer(answer).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { server, origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

mkdirSync(folder, { recursive: true, mode: 0o700 });
const socket = join(folder, 'desktop.sock');
rmSync(socket, { force: true });

const opening = openApplicationWindow({
  env: process.env,
  places: { profile: join(folder, 'profile'), runtime: join(folder, 'runtime'), socket },
  origin: shell.origin,
  wanted: windowKinds.find((kind) => kind === wanted) ?? null,
  isHidden: hidden === 'hidden',
  events: {
    onLoaded: (url) => tell({ told: 'loaded', url }),
    onUnanswered: (url) => tell({ told: 'unanswered', url }),
    onClosing: () => tell({ told: 'closing' }),
    onClosed: (why) => tell({ told: 'closed', why }),
    onTray: (chose) => tell({ told: 'tray', chose }),
    signIn: async () => {
      tell({ told: 'sign_in' });
      return { token: 'a-token', page: `${shell.origin}/app` };
    },
  },
  log: (line) => tell({ told: 'said', line }),
});

const sockets = createServer((client) => {
  let heard: ConnectionHandlers<FromWindow> | null = null;
  const connection = openConnection<FromWindow, ToWindow>(client, {
    onMessage: (message) => {
      if (heard !== null) heard.onMessage(message);
      else if (message.kind === 'window') {
        heard = opening.connected(message, connection);
        tell({ told: 'process', pid: message.pid, hasTray: message.hasTray });
      }
    },
    onClose: () => heard?.onClose(),
  });
}).listen(socket);

const window = await opening.opened;
tell({ told: 'opened', kind: window.kind, why: window.kind === 'none' ? window.why : null });
// The server above would keep the process alive.
if (window.kind === 'none') process.exit(1);

for await (const line of createInterface({ input: process.stdin })) {
  const order = JSON.parse(line) as Order;
  switch (order.do) {
    case 'show':
      tell({ told: 'shown', why: await window.show(shell.origin + order.path) });
      break;
    case 'trust':
      window.trust([shell.origin, core.origin]);
      break;
    case 'hide':
      await window.hide();
      tell({ told: 'hidden' });
      break;
    case 'status':
      window.status(order.text);
      break;
    case 'run':
      if (polls.length === 0) scripts.push(order.script);
      polls.pop()?.(order.script);
      break;
    case 'close_core':
      core.server.close();
      core.server.closeAllConnections();
      break;
    case 'end':
      await window[Symbol.asyncDispose]();
      tell({ told: 'ended' });
      break;
    default:
      order satisfies never;
  }
}
// The end of stdin means that the test has ended.
await window[Symbol.asyncDispose]();
sockets.close();
// A window that does not end keeps handles of its library open, though the test is over.
process.exit(0);
