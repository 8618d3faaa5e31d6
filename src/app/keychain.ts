/**
 * Names the operating system's keychain and the process that reads it. Only that process loads the
 * keychain libraries.
 */
import { faultOf } from '../secrets/keychain/faults.ts';
import {
  OsKeychain,
  type HelperLimits,
  type KeychainSurroundings,
} from '../secrets/keychain/os-keychain.ts';
import { helperFault, parseQuestion, type Answer, type Sign } from '../secrets/keychain/wire.ts';
import type { Keychain, KeychainFault } from '../secrets/secrets.ts';

/** How long to wait for the keychain. */
export type KeychainLimits = HelperLimits;

/** Reads nothing and prompts nobody yet. */
export function openKeychain(surroundings: KeychainSurroundings): Keychain {
  return new OsKeychain(surroundings);
}

/** Explains a state and its remedy, in sentences. */
export function explainKeychain(
  state: KeychainFault['state'],
): Pick<KeychainFault, 'message' | 'remedy'> {
  return faultOf({ state, reason: null });
}

/**
 * Answers a question that another process of svc asks. Never rejects.
 * @param line the question
 * @param writeLine receives each line without its end; the last line is the answer
 */
export async function answerKeychain(
  line: string,
  env: Readonly<Record<string, string | undefined>>,
  writeLine: (line: string) => void,
): Promise<void> {
  const send = (answer: Answer | Sign): void => writeLine(JSON.stringify(answer));
  const question = parseQuestion(line);
  if (question === null) return send(helperFault('unavailable'));
  try {
    const { answerQuestion } = await import('../secrets/keychain/helper.ts');
    send({ kind: 'begun' });
    send(await answerQuestion(question, env, () => send({ kind: 'prompting' })));
  } catch {
    // An error of a library may contain secret text, so svc passes none of it on.
    send(helperFault('unavailable'));
  }
}
