/** Has a voice message written down by the speech server of its channel. */
import type { Message, Media } from '../../domain/message.ts';
import { failure, type Failure, type FailureKind } from '../../domain/failure.ts';
import { strictest } from '../../domain/sensitivity.ts';
import { later, type SteadyTime } from '../../lib/clock.ts';
import type { Stop } from '../../lib/stop.ts';
import type { Speech } from './speech/speech.ts';
import { failedToRead, type FileRead } from './file-result.ts';
import type { ActiveRoute } from '../deps.ts';
import { withTries } from './reading-retries.ts';
import { unreadSentences as say } from '../sentences.ts';

/** Of what a turn has left; the rest is the brain's, to answer what was said. */
const hearingShare = 0.5;

/** Until when what came with a message may be written down. */
export function hearingEndsAt(now: SteadyTime, deadlineAt: SteadyTime): SteadyTime {
  return later(now, Math.max(0, (deadlineAt - now) * hearingShare));
}

/** @param stop said at `endsAt` as well */
export async function hear(
  speech: Speech,
  { brain }: Pick<ActiveRoute, 'brain'>,
  { sensitivity }: Pick<Message, 'sensitivity'>,
  { type, reference: name }: Media,
  bytes: Uint8Array,
  { stop, endsAt }: { readonly stop: Stop; readonly endsAt: SteadyTime },
): Promise<FileRead> {
  const spoken = {
    bytes,
    type,
    name: /\.\w+$/.test(name) ? name : `${name}.ogg`,
    sensitivity: strictest(sensitivity, brain.sensitivity),
    deadlineAt: endsAt,
  };
  const heard = await withTries(stop, () => speech.transcribe(spoken, stop));
  if (heard.kind === 'heard') {
    return { kind: 'read', attachment: { kind: 'spoken', name, text: heard.text } };
  }
  const why = sentenceOf(heard.failure.kind);
  return failedToRead('speech', outOfTime(heard.failure), why);
}

/** Where nothing else was stopped, what was cancelled had no more time. */
export function outOfTime(why: Failure): Failure {
  return why.kind === 'cancelled' ? failure('timeout') : why;
}

function sentenceOf(kind: FailureKind): string {
  if (kind === 'empty_answer') return say.notUnderstood;
  return kind === 'timeout' || kind === 'cancelled' ? say.notInTime : say.notHeard;
}
