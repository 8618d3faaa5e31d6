import { useEffect } from 'react';
import { useApplication, wayOn } from '../kit/application.ts';
import { Notice } from '../kit/notice.tsx';
import { SignedOut } from '../kit/signed-out.tsx';
import { useToken } from '../kit/token.ts';
import { useGone } from '../kit/watch.ts';

/** What is to be told above every view: that the page is signed out, or that svc has ended. */
export function Around() {
  const { isGone } = useGone();
  const page = useApplication((state) => state.page);
  const hasLapsed = useToken((state) => state.hasLapsed);
  if (isGone && page !== null) return <LeadThere page={page} />;
  return <SignedOut stays={hasLapsed ? 'What you have begun here stays.' : null} />;
}

/** The application's own page says what happened, and leads back once svc runs again. */
function LeadThere({ page }: { readonly page: string }) {
  useEffect(() => location.replace(wayOn(page)), [page]);
  return (
    <Notice tone="bad">
      <p>
        svc has ended. <a href={page}>The page of this application</a> says why, and what to do.
      </p>
    </Notice>
  );
}
