/** What is shown to who is not let in: nothing of this machine. */
import type { Traded } from '../../../src/admin/http/sign-in.ts';
import { pageOf, paragraph, section } from './frame.ts';

type Why = Extract<Traded, { readonly kind: 'refused' }>['why'];

const again = 'Start svc as you did before: that opens a window anew.';

const links: Readonly<Record<Why, readonly [title: string, text: string]>> = {
  unknown: ['This link leads nowhere', 'svc does not know it, or has been started again since.'],
  late: ['This link is too old', 'It is good for one minute.'],
  used_twice: [
    'This link was used before',
    'It is good for one use. Somebody else may have it, so whoever was signed in by it is signed ' +
      'out.',
  ],
};

export function linkRefused(why: Why): string {
  const [title, text] = links[why];
  return refusalPage(title, text);
}

export function refusalPage(title: string, text: string): string {
  const body = section('What to do', paragraph(text), paragraph(again));
  return pageOf({ title, body, room: null });
}
