import { useEffect } from 'react';
import { useApplication } from '../../kit/application.ts';
import { Button, ButtonLink } from '../../kit/button.tsx';
import { forgetGone, useReached } from '../../kit/reached.ts';
import { useNow } from '../../kit/use-now.ts';
import { useGone, useRevision } from '../../kit/watch.ts';
import { lasted, length, moment } from '../../kit/words.ts';
import { useDraft } from '../document/store.ts';
import { noticeOthers } from '../review/applying.ts';
import { Banner } from './banner.tsx';

/** A shorter interruption is not shown, since a restart of the listener has one too. */
const toldMs = 1_000;

/** Shows that the service does not answer, for how long, and that it answers again. */
export function Gone() {
  const { isGone } = useGone();
  const { goneSince, wasGone } = useReached();
  const page = useApplication((state) => state.page);
  // Even after a short interruption, another configuration may be in use.
  useEffect(() => {
    if (wasGone !== null) void noticeOthers();
  }, [wasGone]);
  // A restart can be too short to notice, and other people may apply a configuration.
  const { revision } = useRevision();
  useEffect(() => {
    const { base } = useDraft.getState();
    const isOther = revision !== null && base !== null && revision !== base.revision;
    if (isOther) void noticeOthers();
  }, [revision]);
  if (isGone && page !== null) {
    return (
      <Banner words="svc has ended, so nothing can be applied now. Your draft stays.">
        <ButtonLink small kind="main" href={page}>
          See why
        </ButtonLink>
      </Banner>
    );
  }
  if (isGone && goneSince !== null) return <Silent since={goneSince} />;
  const ms = wasGone === null ? 0 : wasGone.until - wasGone.since;
  return ms < toldMs ? null : <Back ms={ms} />;
}

function Silent({ since }: { readonly since: number }) {
  const now = useNow();
  return (
    <Banner
      words={
        <>
          svc does not answer since {moment(since, now)}
          {/* Hidden from screen readers, which would read each second. */}
          <span aria-hidden="true"> ({lasted(since, now)})</span>: it was stopped, or the way to it
          is cut. Your draft stays; nothing can be tried or applied until it answers.
        </>
      }
    />
  );
}

function Back({ ms }: { readonly ms: number }) {
  return (
    <Banner
      tone="good"
      words={
        <span role="status">
          svc answers again, after {length(Math.round(ms / 1_000) * 1_000)}. Your draft is as it
          was.
        </span>
      }
    >
      <Button small onClick={forgetGone}>
        Close
      </Button>
    </Banner>
  );
}
