/**
 * Makes docs/images/chat.png again: `svc chat --explain` at a pseudo-terminal, with a model of a
 * fake Ollama, drawn by Chromium as a window.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { chromium } from 'playwright-core';
import { asks, inTurn } from '../test/agents/stage.ts';
import type { Script, Step } from '../test/fake/model-server.ts';
import { startFakeOllama } from '../test/fake/ollama.ts';
import { scratch, webhookConfig, writeConfig } from '../test/support/program.ts';
import { openRealTerminal } from '../test/support/terminal.ts';

const columns = 84;
const calendar = `Thursday 16:30 Mia: swimming, with her goggles; Ben picks her up at 17:30
Saturday 10:00 the market, then lunch at Grandma's
`;
const [first, second] = ['When is Mia swimming this week?', 'And who picks her up?'];

const screen = await talk();
const executablePath = process.env['SVC_CHROMIUM'] ?? '/usr/bin/chromium';
const browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] });
await using _browser = { [Symbol.asyncDispose]: () => browser.close() };
const page = await browser.newPage({
  viewport: { width: 800, height: 600 },
  deviceScaleFactor: 2,
});
await page.setContent(windowWith('svc chat --explain', screen));
const path = join(import.meta.dirname, '../docs/images/chat.png');
await page.locator('main').screenshot({ path, omitBackground: true });
console.log('docs/images/chat.png');

/** @returns the rows of the terminal after two questions */
async function talk(): Promise<readonly Row[]> {
  await using folder = await scratch();
  const think = (step: Step, delayMs: number): Step => ({ ...step, delayMs });
  const script: Script = inTurn(
    think(asks('read_file', { path: 'calendar.txt' }), 410),
    think({ answer: 'On Thursday at half past four. Do not forget her goggles!' }, 620),
    think({ answer: 'Ben does, at half past five.' }, 380),
  );
  await using model = await startFakeOllama(script);
  const where = { port: 1, adminPort: 2, modelUrl: model.url, receiverUrl: 'http://127.0.0.1:9/' };
  mkdirSync(join(folder.path, 'family'));
  writeFileSync(join(folder.path, 'family', 'calendar.txt'), calendar);
  const config = webhookConfig(where);
  const [brain] = config.brains;
  const cloud = {
    provider: 'hosted_runtime',
    model_id: 'gpt-6-luna',
    locality: 'cloud',
    api_key_env: 'OPENAI_API_KEY',
  };
  Object.assign(brain!, {
    name: 'family',
    models: [...(brain!['models'] as object[]), cloud],
    agent: {
      tools: ['read_file'],
      governance: [{ tool: 'read_file', mode: 'allow' }],
      read_file: { root: 'family' },
    },
  });
  config.routes[0]!['brain'] = 'family';
  await writeConfig(folder.path, config);
  const env = { NO_COLOR: '', OPENAI_API_KEY: 'a-key-of-the-pictures' };
  await using terminal = openRealTerminal(['chat', '--explain'], {
    cwd: folder.path,
    columns,
    env,
  });
  await terminal.sees(/> /);
  terminal.type(`${first}\r`);
  await terminal.sees(/ms in all[^>]*> /);
  terminal.type(`${second}\r`);
  await terminal.sees(/ms in all[^>]*> /);
  return rowsOf(terminal.seen());
}

type Row = readonly { readonly text: string; readonly dim: boolean }[];

/** The rows on the screen after the program's output, with the few sequences that it uses. */
function rowsOf(output: string): readonly Row[] {
  const rows: { text: string; dim: boolean }[][] = [[]];
  let dim = false;
  let [at, column] = [0, 0];
  const row = () => (rows[at] ??= []);
  // oxlint-disable-next-line no-control-regex -- a terminal is driven by these
  const tokens = output.matchAll(/\u001B\[([\d;?]*)([A-Za-z])|[^]/gu);
  for (const [token, numbers = '', letter] of tokens) {
    const number = Number(numbers === '' ? 0 : numbers);
    if (letter === 'm') dim = number === 2;
    else if (letter === 'G') column = Math.max(0, number - 1);
    else if (letter === 'K') row().splice(number === 2 ? 0 : column);
    else if (letter === 'J') {
      row().splice(column);
      rows.splice(at + 1);
    } else if (letter === 'h' || letter === 'l') continue;
    else if (letter !== undefined) throw new Error(`the window has no ${JSON.stringify(token)}`);
    else if (token === '\r') column = 0;
    else if (token === '\n') at++;
    else {
      if (column === columns) [at, column] = [at + 1, 0];
      while (row().length < column) row().push({ text: ' ', dim: false });
      row()[column++] = { text: token, dim };
    }
  }
  return rows;
}

function windowWith(title: string, rows: readonly Row[]): string {
  const escaped = (text: string): string => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
  const lines = rows.map((cells) =>
    cells.map(({ text, dim }) => (dim ? `<i>${escaped(text)}</i>` : escaped(text))).join(''),
  );
  return `<!doctype html><style>
    body { margin: 0; background: transparent }
    main { width: 800px; overflow: hidden; border-radius: 10px; background: #14181f }
    main { color: #eef1f6 }
    header { position: relative; padding: 11px; background: #232a35; color: #b9c2d0 }
    header { text-align: center; font: 14px system-ui, sans-serif }
    header::before { content: ''; position: absolute; left: 16px; top: 14px; width: 12px }
    header::before { height: 12px; border-radius: 50%; background: #566174 }
    header::before { box-shadow: 20px 0 #566174, 40px 0 #566174 }
    pre { margin: 0; padding: 20px; font: 15px/1.5 'DejaVu Sans Mono', monospace }
    i { font-style: normal; color: #9aa5b6 }
  </style><main><header>${title}</header><pre>${lines.join('\n').trimEnd()}</pre></main>`;
}
