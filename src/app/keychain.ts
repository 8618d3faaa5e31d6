/**
 * The keychain of the operating system, and the process that asks it: their names in code. The
 * libraries are loaded by that process alone.
 */
import { faultOf } from '../secrets/keychain/faults.ts';
import {
  OsKeychain,
  type HelperLimits,
  type KeychainSurroundings,
} from '../secrets/keychain/os-keychain.ts';
import { helperFault, parseQuestion, type Answer, type Sign } from '../secrets/keychain/wire.ts';
import type { Keychain, KeychainFault } from '../secrets/secrets.ts';

/** How long it is waited for. */
export type KeychainLimits = HelperLimits;

/** Asks nothing and reads nothing yet. */
export function openKeychain(surroundings: KeychainSurroundings): Keychain {
  return new OsKeychain(surroundings);
}

/** What a state means, and what to do: sentences. */
export function explainKeychain(
  state: KeychainFault['state'],
): Pick<KeychainFault, 'message' | 'remedy'> {
  return faultOf({ state, reason: null });
}

/**
 * Answers the question of another process of svc. Never rejects.
 * @param line the question
 * @param say is given lines without their ends; the last is the answer
 */
export async function answerKeychain(
  line: string,
  env: Readonly<Record<string, string | undefined>>,
  say: (line: string) => void,
): Promise<void> {
  const tell = (answer: Answer | Sign): void => say(JSON.stringify(answer));
  const question = parseQuestion(line);
  if (question === null) return tell(helperFault('unavailable'));
  try {
    const { answerQuestion } = await import('../secrets/keychain/helper.ts');
    tell({ kind: 'begun' });
    tell(await answerQuestion(question, env, () => tell({ kind: 'prompting' })));
  } catch {
    // Whatever a library throws may hold its words, which go nowhere.
    tell(helperFault('unavailable'));
  }
}
