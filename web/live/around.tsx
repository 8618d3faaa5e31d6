import { useEffect } from 'react';
import { useApplication, wayOn } from '../kit/application.ts';
import { useArrival } from '../kit/arrival.ts';
import { ComeBack } from '../kit/come-back.tsx';
import { Notice } from '../kit/notice.tsx';
import { useGone } from '../kit/watch.ts';

/** What is to be told above every view: that the page is signed out, or that svc has ended. */
export function Around() {
  const { isGone } = useGone();
  const { now } = useArrival();
  const { isThere, page } = useApplication();
  if (isGone && page !== null) return <LeadThere page={page} />;
  if (now.kind !== 'out' || now.why === null) return null;
  return (
    <Notice tone="wait">
      <div className="flex flex-col gap-3">
        <p>{now.why}</p>
        {isThere ? <ComeBack /> : null}
      </div>
    </Notice>
  );
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
