/**
 * One question to a helper process of its own, within limits: asked → begun → (a prompt is open)
 * → answered. Where a limit or a stop ends it, the process is killed; nothing of it is left when
 * the answer is there.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import type { Readable } from 'node:stream';
import type { OwnProgram } from '../../lib/own-program.ts';
import { helperFault, parseAnswer, type Answer, type Question, type Sign } from './wire.ts';

export type HelperLimits = {
  /** Until the helper has begun; a busy machine starts it slowly. */
  readonly startMs: number;
  /** Until the keychain has answered. */
  readonly answerMs: number;
  /** The same where a person may have to unlock it; this, too, counts from the beginning. */
  readonly promptMs: number;
};

/** In all less than 15 s, and less than 90 s where a person can see a prompt. */
export const helperLimits: HelperLimits = { startMs: 9_000, answerMs: 5_000, promptMs: 80_000 };

export type Helping = {
  readonly program: OwnProgram;
  /** All of the helper's variables. */
  readonly env: Readonly<Record<string, string>>;
  readonly limits: HelperLimits;
  /** Is called when a prompt may be open from now on. */
  readonly prompting: () => void;
  readonly stop: AbortSignal | undefined;
};

/** Many of the longest values, with every character escaped. */
const answerCharactersMax = 8_388_608;
/** After its answer it may end by itself for so long; then it is killed. */
const endsMs = 2_000;

/** Never rejects. @returns null: the stop ended it */
export async function askHelper(question: Question, helping: Helping): Promise<Answer | null> {
  const { program, env, limits, stop } = helping;
  if (stop?.aborted === true) return null;
  const child = spawn(program.file, [...program.args], {
    env: { ...env },
    stdio: ['pipe', 'ignore', 'ignore', 'pipe'],
    windowsHide: true,
  });
  const { promise, resolve } = Promise.withResolvers<Answer | null>();
  const ended = endOf(child, () => resolve(helperFault('unavailable')));
  const giveUp = (answer: Answer | null): void => {
    resolve(answer);
    child.kill('SIGKILL');
  };
  const stopped = (): void => giveUp(null);
  stop?.addEventListener('abort', stopped, { once: true });
  let timer: NodeJS.Timeout | undefined;
  const limit = (ms: number): void => {
    clearTimeout(timer);
    timer = setTimeout(() => giveUp(helperFault('no_answer')), ms);
  };
  limit(limits.startMs);
  hear(child, (said) => {
    if (said === null) return giveUp(helperFault('unavailable'));
    if (said.kind === 'begun') return limit(limits.answerMs);
    if (said.kind !== 'prompting') return resolve(said);
    limit(limits.promptMs);
    helping.prompting();
  });
  // It stays open until there is an answer: its end tells the helper that nobody waits any more.
  child.stdin?.write(`${JSON.stringify(question)}\n`);
  const answer = await promise;
  limit(endsMs);
  child.stdin?.end();
  await ended;
  clearTimeout(timer);
  stop?.removeEventListener('abort', stopped);
  return answer;
}

/** @param said is given each line that came; null: a line that is none of the helper's */
function hear(child: ChildProcess, said: (line: Answer | Sign | null) => void): void {
  const lines = child.stdio[3] as Readable;
  // What is written to a helper that has gone fails, and its end says so.
  child.stdin?.on('error', () => {});
  lines.on('error', () => {});
  let text = '';
  lines.setEncoding('utf8').on('data', (part: string) => {
    text += part;
    if (text.length > answerCharactersMax) return said(null);
    const whole = text.split('\n');
    text = whole.pop() ?? '';
    for (const line of whole) said(parseAnswer(line));
  });
}

/** @param over is called when the process has ended, or could not be started */
function endOf(child: ChildProcess, over: () => void): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const end = (): void => {
    over();
    resolve();
  };
  child.once('close', end);
  // Of one that was not started there is no close to wait for.
  child.once('error', () => {
    if (child.pid === undefined) end();
  });
  return promise;
}
