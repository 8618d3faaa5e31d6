import { count, moment } from '../../kit/words.ts';
import type { Minute } from './pace.ts';

const height = 24;

/** A bar for each minute; an unknown minute has none. */
export function Sparkline({ minutes }: { readonly minutes: readonly Minute[] }) {
  const known = minutes.flatMap(({ messages }) => messages ?? []);
  const most = Math.max(0, ...known);
  const since = minutes.find(({ messages }) => messages !== null);
  const label =
    since === undefined
      ? 'Messages a minute: not known yet'
      : `Messages a minute since ${moment(since.at)}: ${count(most)} at most`;
  return (
    <svg
      role="img"
      aria-label={label}
      viewBox={`0 0 ${Math.max(1, minutes.length)} ${height}`}
      preserveAspectRatio="none"
      className="h-8 w-full text-accent forced-colors:text-[CanvasText]"
    >
      {minutes.map(({ at, messages }, index) => {
        if (messages === null) return null;
        const tall = messages === 0 ? 0.5 : Math.max(2, (messages / most) * height);
        return (
          <rect
            key={at}
            x={index + 0.1}
            y={height - tall}
            width={0.8}
            height={tall}
            fill="currentColor"
          />
        );
      })}
    </svg>
  );
}
