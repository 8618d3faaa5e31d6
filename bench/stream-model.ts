/**
 * A model in its own process that streams chat completions on OpenAI's wire. The first token always
 * comes after the same time, the others at a steady rate. It reports its port over IPC.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { firstTokenMs, tokens, tokensPerSecond } from './streams.ts';

const base = { id: 'chatcmpl-bench', object: 'chat.completion.chunk', created: 1, model: 'bench' };
const usage = { prompt_tokens: 20, completion_tokens: tokens, total_tokens: 20 + tokens };

const eventOf = (delta: object, end: string | null = null): string => {
  const choices = [{ index: 0, delta, finish_reason: end }];
  return `data: ${JSON.stringify({ ...base, choices })}\n\n`;
};
const first = eventOf({ role: 'assistant', content: '' }) + eventOf({ content: 'word ' });
const next = eventOf({ content: 'word ' });
const last = `${eventOf({}, 'stop')}data: ${JSON.stringify({ ...base, choices: [], usage })}\n\n`;

function answer(request: IncomingMessage, response: ServerResponse): void {
  request.resume();
  if (request.method === 'GET') {
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify({ object: 'list', data: [{ id: 'bench', object: 'model' }] }));
    return;
  }
  const begun = performance.now();
  let written = 0;
  const write = (): void => {
    if (response.destroyed) return;
    if (written === 0) response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(written === 0 ? first : next);
    if (++written === tokens) return void response.end(`${last}data: [DONE]\n\n`);
    const dueAt = begun + firstTokenMs + (written * 1_000) / tokensPerSecond;
    setTimeout(write, Math.max(0, dueAt - performance.now()));
  };
  setTimeout(write, firstTokenMs);
}

const server = createServer(answer);
server.keepAliveTimeout = 60_000;
server.listen({ port: 0, host: '127.0.0.1', backlog: 2048 }, () => {
  process.send?.({ port: (server.address() as AddressInfo).port });
});
process.on('disconnect', () => process.exit());
