import type { MouseEvent, ReactNode } from 'react';
import { ask } from './api.ts';
import { useArrival } from './arrival.ts';
import { useToken } from './token.ts';

type Props = {
  readonly href: string;
  readonly className?: string;
  readonly children: ReactNode;
};

/** A link to another page of svc. A person in the application is signed in there too. */
export function PageLink({ href, className, children }: Props) {
  const follow = (event: MouseEvent): void => {
    const isPlain = !event.metaKey && !event.ctrlKey && !event.shiftKey && event.button === 0;
    if (!isPlain || !isHandedOver()) return;
    event.preventDefault();
    void goOverTo(href);
  };
  return (
    <a href={href} onClick={follow} className={className}>
      {children}
    </a>
  );
}

/** A window of the application gives the next page a token itself. */
function isHandedOver(): boolean {
  const { now } = useArrival.getState();
  const { token } = useToken.getState();
  const isHanded = now.kind === 'in' && now.how === 'handed';
  return isHanded && token !== null && globalThis.svcShell === undefined;
}

async function goOverTo(href: string): Promise<void> {
  const answer = await ask<{ readonly code: string }>('sign-in/next', {
    method: 'POST',
    body: {},
  });
  location.assign(answer.kind === 'ok' ? `${href}#${answer.value.code}` : href);
}
