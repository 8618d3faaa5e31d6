/**
 * `svc internal keychain`: the helper process of the keychain. It reads one question, answers it
 * and ends. If nobody waits for the answer any more, it ends at once.
 */
import { fstatSync, writeSync } from 'node:fs';
import { answerKeychain } from '../../app/keychain.ts';
import { exitCode, type Io } from '../cli.ts';
import { readFirstLine } from '../frame/console.ts';

/**
 * The first descriptor after the three that every process has, so that nothing else writes to it.
 */
const answersFd = 3;
/** Enough for many names, or for one value with every character escaped. */
const questionCharactersMax = 1_048_576;

export async function runKeychainHelper({ stdin, stderr, env, stop }: Io): Promise<number> {
  if (!canAnswer()) {
    stderr.write('svc internal keychain: svc starts this by itself; see "svc help secrets".\n');
    return exitCode.usage;
  }
  const writeLine = (line: string): void => void writeSync(answersFd, `${line}\n`);
  const { line } = await readFirstLine(stdin, questionCharactersMax, stop);
  // Otherwise unfinished work of the keychain's library would keep the process alive.
  stdin.once('end', () => process.kill(process.pid, 'SIGKILL'));
  stdin.resume();
  await answerKeychain(line ?? '', env, writeLine);
  stdin.removeAllListeners('end');
  stdin.destroy();
  return exitCode.fine;
}

/** A process that a launcher started has the launcher's channel at this descriptor. */
function canAnswer(): boolean {
  if (process.channel !== undefined) return false;
  try {
    const facts = fstatSync(answersFd);
    return facts.isFIFO() || facts.isSocket();
  } catch {
    return false;
  }
}
