import { channelName } from '../../channels/registry.ts';
import type { Story, StoryText } from '../../domain/story.ts';
import { endingOf, remediesOf } from '../../domain/ending.ts';
import { formatModelName } from '../../domain/model-words.ts';
import { timelineOf, unexplainedIn, type Row } from '../../domain/timeline.ts';
import { modeWords, outcomeWords } from '../../domain/tool-words.ts';
import { describeSpentIn } from '../../domain/trace.ts';
import { plainLine, plainText } from '../../lib/plain-text.ts';
import { length, localTime } from './table.ts';

/**
 * The story of a message as a person reads it at a terminal.
 * @param text what was said; null: it is not to be shown
 * @param now milliseconds since 1970
 */
export function storyPage(story: Story, text: StoryText | null, now: number): string {
  const rows = timelineOf(story, now, localTime);
  const lost = length(unexplainedIn(rows));
  const ends = [story.settledAt ?? 0, ...story.replies.map(({ settledAt }) => settledAt ?? 0)];
  const lastAt = Math.max(story.acceptedAt, ...ends);
  const spent = story.trace === null ? null : describeSpentIn(story.trace.steps);
  const brain = story.trace === null ? '' : `, brain ${plainLine(story.trace.brain)}`;
  return [
    `message ${story.id}: ${plainLine(endingOf(story, now, localTime).words)}\n`,
    `${plainLine(channelName(story.channel))}${brain}, accepted ${localTime(story.acceptedAt)}\n`,
    ...remediesOf(story).map((sentence) => `${plainLine(sentence)}\n`),
    ...(story.diedUnder > 0 ? [`svc ended ${story.diedUnder} × while it was next\n`] : []),
    '\n',
    rowsOf(rows),
    '\n',
    `${length(lastAt - story.acceptedAt)} in all, ${lost} not accounted for\n`,
    ...(spent === null ? [] : [`${spent}\n`]),
    ...(story.trace === null && story.state !== 'waiting'
      ? ['What happened between its acceptance and its end was not kept.\n']
      : []),
    ...(text === null ? [] : ['\n', textPage(text)]),
  ].join('');
}

function rowsOf(rows: readonly Row[]): string {
  const at = (row: Row): string => String(row.atMs);
  const lasted = (row: Row): string => (row.forMs === null ? '' : String(row.forMs));
  const atWidth = Math.max(5, ...rows.map((row) => at(row).length));
  const forWidth = Math.max(6, ...rows.map((row) => lasted(row).length));
  const lines = rows.map((row) => {
    const what = `${row.deep ? '  ' : ''}${plainLine(row.what)}`;
    return `${at(row).padStart(atWidth)}  ${lasted(row).padStart(forWidth)}  ${what}\n`;
  });
  return `${'at ms'.padStart(atWidth)}  ${'for ms'.padStart(forWidth)}  what\n${lines.join('')}`;
}

function textPage({ sender, conversation, text, media, replies, ...behind }: StoryText): string {
  const name = sender.name === null ? '' : ` (${plainLine(sender.name)})`;
  const attached = media === null ? [] : [`[attachment: ${media.type ?? ''} ${media.reference}]`];
  return [
    `conversation ${plainLine(conversation)}\n\n`,
    `${plainLine(sender.id)}${name}:\n`,
    indented([...(text === '' ? [] : [text]), ...attached].join('\n')),
    ...replies.map((reply) => `\nreply ${reply.id}:\n${indented(reply.text)}`),
    behindPage(behind),
  ].join('');
}

/** What stood behind the reply: other answers, and what tools were asked and gave. */
function behindPage({ unsent, tools }: Pick<StoryText, 'unsent' | 'tools'>): string {
  return [
    ...unsent.map(({ model, text }) => {
      const name = plainLine(formatModelName(model));
      return `\n${name} answered, which was not sent:\n${indented(text)}`;
    }),
    ...tools.map(({ tool, mode, outcome, arguments: given, told }) => {
      const what = `tool ${plainLine(tool)}, ${modeWords[mode]}: ${outcomeWords[outcome]}`;
      const found = told === null ? '' : `its model was told:\n${indented(told)}`;
      return `\n${what}\n${indented(given ?? '(not kept)')}${found}`;
    }),
  ].join('');
}

/** Text that somebody wrote, moved to the right so that none of it passes for a line of ours. */
export function indented(text: string): string {
  return plainText(text)
    .split('\n')
    .map((line) => `  ${line}\n`)
    .join('');
}
