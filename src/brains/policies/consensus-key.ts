/**
 * The consensus key of an answer: two answers agree when their keys are equal. Equality is the only
 * comparison, so agreeing is an equivalence; closeness of meaning is not measured.
 *
 * What the key forgets is how an answer is dressed: case, the look of quotes, dashes and spaces,
 * emphasis, a fence, an "answer:" before it, punctuation after it, trailing zeros of a
 * fraction, the layout of a JSON value. What it keeps is all that may be meant: "-5" is not "5",
 * "50%" is not "50", "C#" is not "C".
 *
 * Linear in the length of the text, and idempotent: the key of a key is that key. A text that is
 * longer than any answer on which models could agree is its own key: to undress it would hold up
 * everybody else.
 */
import { withoutThinkBlock } from '../../domain/think-block.ts';
import { MarkupStripper } from './markup-stripper.ts';
import { canonicalAnswer } from './canonical-answer.ts';
import { normalized } from './normalized-text.ts';

export const undressedCharactersMax = 20_000;

export function consensusKey(text: string): string {
  return text.length > undressedCharactersMax ? text : undress(text);
}

/** The key of a text of any length. */
export function undress(text: string): string {
  const bare = withoutFence(withoutThinkBlock(text).trim());
  const json = canonicalAnswer(bare);
  if (json !== null) return json;
  // One spelling may show a think block that was not to be seen.
  const plain = withoutThinkBlock(normalized(bare)).trim();
  const stripper = new MarkupStripper(plain);
  const undressed = stripper.peel('marks');
  const inner = canonicalAnswer(undressed);
  if (inner !== null) return inner;
  const core = stripper.peel('marks and lists');
  return canonicalAnswer(core) ?? (core === '' ? plain : core);
}

/** The inside of the one code fence that wraps the whole text, or the text itself. */
function withoutFence(text: string): string {
  if (!text.startsWith('```') || !text.endsWith('```')) return text;
  const start = text.indexOf('\n') + 1;
  const end = text.length - 3;
  if (start === 0 || start > end || text.indexOf('```', 3) !== end) return text;
  return text.slice(start, end).trim();
}
