/**
 * Runs a page's script in its own network, which has only loopback. A fake Ollama and the test's
 * PostgreSQL listen at the addresses that the documents name.
 * Arguments: the script, the file for its output, the socket of the server or ''.
 */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { openSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { startFakeOllama } from '../fake/ollama.ts';
import type { ModelCall, Step } from '../fake/model-server.ts';

const [script = '', output = '', socket = ''] = process.argv.slice(2);
execFileSync('ip', ['link', 'set', 'lo', 'up']);
await using _ollama = await startFakeOllama(answer, { port: 11_434, context: { most: 131_072 } });
if (socket !== '') leadTo(socket, 5_432);

const file = openSync(output, 'w');
const shell = spawn('bash', [script], { stdio: ['ignore', file, file] });
const [code] = await once(shell, 'exit');
process.exitCode = (code as number | null) ?? 1;
// This process is the first one here, so programs that the page left running end with it.
process.exit();

type Asked = {
  readonly tools?: readonly { readonly function: { readonly name: string } }[];
  readonly messages?: readonly { readonly role: string; readonly content: string }[];
};

/** Reads a named file with the tool, and reports its content; otherwise only greets. */
function answer({ body }: ModelCall): Step {
  const { tools = [], messages = [] } = body as Asked;
  const last = messages.at(-1);
  if (last?.role === 'tool') return { answer: `It says: ${last.content}` };
  const named = /[\w-]+\.(?:md|txt)/.exec(last?.content ?? '')?.[0];
  const reader = tools.find((tool) => /read_(?:text_)?file$/.test(tool.function.name));
  if (reader === undefined || named === undefined)
    return { answer: 'Hello! How can I help you today?' };
  return { answer: '', calls: [{ name: reader.function.name, arguments: { path: named } }] };
}

function leadTo(path: string, port: number): void {
  const server = createServer((near) => {
    const far = connect(path);
    for (const one of [near, far]) one.on('error', () => void [near, far].map((s) => s.destroy()));
    near.pipe(far).pipe(near);
  });
  server.listen(port, '127.0.0.1').unref();
}
