/**
 * The switch that shows what was said in the list of messages. It is off when the page loads, and
 * after a sign-in. The audit has one row for all lines that are read with one `view`.
 */
import { create } from 'zustand';
import type { MessageLine } from '../../../src/domain/story.ts';
import { useToken } from '../../kit/token.ts';
import { createByMessage } from '../links/by-message.ts';

/** Not `randomUUID`, which a browser lacks on a page without TLS. */
const newView = (): string => crypto.getRandomValues(new Uint32Array(4)).join('-');

let view = newView();
const lines = createByMessage<MessageLine>(() => `messages/lines?view=${view}&`);

export const useLines = create<{ readonly isOn: boolean }>(() => ({ isOn: false }));

useToken.subscribe(() => {
  view = newView();
  useLines.setState({ isOn: false });
});

export function switchLines(): void {
  lines.forget();
  useLines.setState(({ isOn }) => ({ isOn: !isOn }));
}

export const { useRow: useLine, useRefused: useLinesRefused } = lines;
