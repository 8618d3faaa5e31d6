/**
 * A cheap model in its own process that speaks the Ollama wire. It answers after a delay, or never
 * when the message says so. Its answer contains the times of the question and of the answer. It
 * reports its port over IPC and accepts `{ delayMs }`.
 *
 * A request that offers tools is an agent's: it gets several calls of `echo` at once, then an
 * answer. `{ gaps: true }` returns the time from each call to the next request.
 */
import type { Socket } from 'node:net';
import { digits, hash, listen, markDigits, nowUs, readDigits, timeDigits } from './sockets.ts';

const padding = ' and this is the rest of a short answer, as long as people like them'.repeat(2);
const before =
  '{"model":"bench","created_at":"2026-01-01T00:00:00Z","message":{"role":"assistant",';
const after = '},"done":true,"done_reason":"stop","prompt_eval_count":50,"eval_count":40}';
const opening = `${before}"content":"#`;
const closing = `${padding}"${after}`;
const length = opening.length + markDigits + 2 * (timeDigits + 1) + closing.length;
const head = 'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ';
const tags = '{"models":[{"name":"bench:latest","model":"bench:latest"}]}';

const agentCalls = 4;
const tools = Buffer.from('"tools":');
const result = Buffer.from('"role":"tool"');
const calledAtUs = new Map<number, number>();
let gapsUs: number[] = [];

let delayMs = 0;
const hung = new Set<Socket>();

function answer(socket: Socket, number: number, askedUs: number): void {
  const times = `${digits(askedUs, timeDigits)} ${digits(nowUs(), timeDigits)}`;
  const text = `${opening}${digits(number, markDigits)} ${times}${closing}`;
  socket.write(`${head}${length}\r\n\r\n${text}`, 'latin1');
}

/** @returns whether it answered with a call */
function callTool(socket: Socket, bytes: Buffer, mark: number, askedUs: number): boolean {
  const number = readDigits(bytes, mark + 1, markDigits);
  const calledUs = calledAtUs.get(number);
  if (calledUs !== undefined) gapsUs.push(askedUs - calledUs);
  let calls = 0;
  for (let at = mark; (at = bytes.indexOf(result, at + 1)) >= 0;) calls++;
  if (calls >= agentCalls) {
    calledAtUs.delete(number);
    return false;
  }
  const given = `{"text":"words of call ${calls}"}`;
  const call = `"content":"","tool_calls":[{"function":{"name":"echo","arguments":${given}}}]`;
  const text = `${before}${call}${after}`;
  socket.write(`${head}${text.length}\r\n\r\n${text}`, 'latin1');
  calledAtUs.set(number, nowUs());
  return true;
}

const port = await listen((socket, bytes, _start, body, end) => {
  const askedUs = nowUs();
  // The mark is in the last line, the newest of the conversation.
  const mark = body === end ? -1 : bytes.lastIndexOf(hash, end - 1);
  if (mark < body) {
    socket.write(`${head}${tags.length}\r\n\r\n${tags}`);
    return;
  }
  const isAgent = bytes.indexOf(tools, mark) >= 0;
  if (isAgent && callTool(socket, bytes, mark, askedUs)) return;
  const number = readDigits(bytes, mark + 1, markDigits);
  if (bytes[mark + 1 + markDigits] === 104) hung.add(socket);
  else if (delayMs === 0) answer(socket, number, askedUs);
  else setTimeout(answer, delayMs, socket, number, askedUs);
});

process.on('message', (order: { delayMs?: number; letGo?: boolean; gaps?: boolean }) => {
  if (order.gaps === true) {
    process.send?.({ gapsUs });
    gapsUs = [];
  }
  if (order.delayMs !== undefined) delayMs = order.delayMs;
  if (order.letGo === true) for (const socket of hung) socket.destroy();
});
process.on('disconnect', () => process.exit());
process.send?.({ port });
