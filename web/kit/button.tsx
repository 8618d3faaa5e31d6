/** Buttons, and links that look like one. */
import type { ButtonHTMLAttributes, ReactNode } from 'react';

type Kind = 'plain' | 'main' | 'danger' | 'quiet';

const looks: Readonly<Record<Kind, string>> = {
  plain: 'border-edge bg-card text-ink hover:bg-raised',
  main: 'border-accent bg-accent text-on-accent hover:opacity-90',
  danger: 'border-bad bg-card text-bad hover:bg-bad-ground',
  quiet: 'border-transparent bg-transparent text-ink hover:bg-raised',
};

type Props = ButtonHTMLAttributes<HTMLButtonElement> & {
  readonly kind?: Kind;
  readonly small?: boolean;
};

function shapeOf(kind: Kind, small: boolean): string {
  const size = small ? 'min-h-7 px-2 py-0.5 text-sm' : 'min-h-9 px-3 py-1';
  const shape = 'inline-flex items-center justify-center gap-1.5 rounded-md border font-medium';
  return `${shape} ${size} ${looks[kind]}`;
}

/** `main`: the main action. `danger`: it deletes something. `quiet`: one of many in a list. */
export function Button({ kind = 'plain', small = false, className = '', ...rest }: Props) {
  const ground = kind === 'quiet' ? '' : 'disabled:border-line disabled:bg-raised';
  // Set explicitly, since tools that measure contrast do not see the browser's own colours.
  const forced = 'forced-colors:text-[ButtonText] forced-colors:disabled:text-[GrayText]';
  const off = `disabled:text-soft disabled:opacity-100 disabled:hover:bg-transparent ${ground}`;
  return (
    <button
      type="button"
      data-kind={kind}
      className={`${shapeOf(kind, small)} ${off} ${forced} ${className}`}
      {...rest}
    />
  );
}

type LinkProps = {
  readonly href: string;
  readonly kind?: Kind;
  readonly small?: boolean;
  readonly children: ReactNode;
};

/** A link to another page that looks like a button. */
export function ButtonLink({ href, kind = 'plain', small = false, children }: LinkProps) {
  return (
    <a href={href} rel="noreferrer" className={`${shapeOf(kind, small)} no-underline`}>
      {children}
    </a>
  );
}
