/** The frame of the shell's pages, and the parts that the pages are made of. */
import { createHash } from 'node:crypto';

// The style of the shell's pages: the colours of svc's other pages, light or dark as the system
// prefers.

/** The contrast of text on its background is at least 4.5 : 1. */
const style = `
:root {
  color-scheme: light dark;
  --paper: #f5f6f8; --card: #ffffff; --raised: #eceff4; --ink: #1b1f27; --soft: #566070;
  --line: #d5dae3; --edge: #7b8698; --accent: #1d4fc4; --on-accent: #ffffff;
  --good: #14703a; --bad: #b3202c; --good-ground: #e3f4e9; --bad-ground: #fde8e8;
}
@media (prefers-color-scheme: dark) {
  :root {
    --paper: #12151b; --card: #1a1f28; --raised: #232a36; --ink: #e8ebf1; --soft: #a3adbd;
    --line: #2d3442; --edge: #7c879b; --accent: #8fb4ff; --on-accent: #10151f;
    --good: #5fd08d; --bad: #ff8a8a; --good-ground: #16301f; --bad-ground: #3a1c20;
  }
}
* { box-sizing: border-box; }
html { background: var(--paper); color: var(--ink); line-height: 1.5;
  font-family: system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif; }
body { max-width: 46rem; margin: 0 auto; padding: 1rem; overflow-wrap: anywhere; }
h1, h2 { font-weight: 600; line-height: 1.25; }
h1 { font-size: 1.5rem; margin: 0 0 0.75rem; }
h2 { font-size: 1.125rem; margin: 0 0 0.5rem; }
p, ul, dl { margin: 0 0 0.75rem; }
a { color: var(--accent); text-underline-offset: 0.15em; }
nav ul { display: flex; flex-wrap: wrap; gap: 0.25rem 1.25rem; list-style: none; padding: 0; }
nav a[aria-current] { color: var(--ink); font-weight: 600; text-decoration: none; }
section { background: var(--card); border: 1px solid var(--line); border-radius: 0.5rem;
  padding: 1rem; margin: 0 0 1rem; }
.told { border-radius: 0.5rem; padding: 0.75rem 1rem; }
.told.good { background: var(--good-ground); color: var(--good); }
.told.bad { background: var(--bad-ground); color: var(--bad); }
.soft { color: var(--soft); }
.row { display: flex; flex-wrap: wrap; gap: 0.75rem; align-items: center;
  margin: 0 0 0.75rem; }
form { margin: 0 0 0.75rem; }
.row form, section > form:last-child, section > .row:last-child, section > p:last-child,
section > ul:last-child { margin-bottom: 0; }
button, .button { font: inherit; border: 1px solid var(--edge); border-radius: 0.375rem;
  background: var(--card); color: var(--ink); padding: 0.4rem 0.9rem; cursor: pointer;
  display: inline-block; text-decoration: none; min-height: 2.5rem; }
.main { background: var(--accent); border-color: var(--accent); color: var(--on-accent);
  font-weight: 600; }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
label { display: block; margin: 0 0 0.5rem; }
label.field { font-weight: 600; }
input[type='password'], textarea { display: block; width: 100%; margin: 0.25rem 0 0.75rem;
  padding: 0.5rem; border: 1px solid var(--edge); border-radius: 0.375rem;
  background: var(--paper); color: var(--ink); font: inherit; }
textarea, pre, code { font-family: ui-monospace, 'Cascadia Mono', Menlo, Consolas, monospace;
  font-size: 0.9em; }
textarea { min-height: 24rem; font-weight: 400; resize: vertical; white-space: pre; }
pre { background: var(--raised); border-radius: 0.375rem; padding: 0.75rem; margin: 0 0 0.75rem;
  max-height: 26rem; overflow: auto; white-space: pre-wrap;
  /* Without a script: so the newest lines, which are the last, are in sight. */
  display: flex; flex-direction: column-reverse; }
dt { color: var(--soft); }
dd { margin: 0 0 0.5rem; }
fieldset { border: 0; margin: 0 0 0.75rem; padding: 0; }
legend { font-weight: 600; margin: 0 0 0.5rem; padding: 0; }
`;

/** The name of the style in the content security policy. Format: CSP Level 3, section 2.3.1. */
export const styleHash = `'sha256-${createHash('sha256').update(style).digest('base64')}'`;

/** The result of an action, for the next page. */
export type Notice = { readonly is: 'good' | 'bad'; readonly text: string };

/** The pages in the navigation: the end of each address, and its name. */
const rooms = [
  ['./', 'This application'],
  ['log', 'Log'],
  ['configuration', 'Configuration'],
  ['settings', 'Settings'],
] as const;
export type Room = (typeof rooms)[number][0];

export type PageParts = {
  readonly title: string;
  readonly body: Markup | readonly Markup[];
  /** The page's entry in the navigation; null: the page has no navigation. */
  readonly room: Room | null;
  /**
   * The address that the page loads at once, and that answers when something changed; null: the
   * page stays.
   */
  readonly next?: string | null;
  readonly notice?: Notice | null;
};

/**
 * A page that waits requests `next` at once, and the browser shows it until the answer comes. So
 * nothing is reloaded without a change, and the focus stays. (Playwright does not inspect a page
 * that is about to be left, so tests read the server's answer.) Format: HTML, the refresh pragma.
 */
export function pageOf({ title, body, room, next = null, notice = null }: PageParts): string {
  const refresh =
    next === null ? null : html`<meta http-equiv="refresh" content="0; url=${next}" />`;
  const page = html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        ${refresh}
        <title>${title === 'svc' ? title : `${title} · svc`}</title>
        <link rel="icon" href="data:," />
        ${styleElement}
      </head>
      <body>
        ${room === null ? null : navigation(room)}
        <main>
          <h1>${title}</h1>
          ${notice === null ? null : told(notice)} ${body}
        </main>
      </body>
    </html> `;
  return page.html;
}

/** It must be byte for byte the style that the policy names by its hash. */
const styleElement: Markup = { html: `<style>${style}</style>` };

function navigation(here: Room): Markup {
  const links = rooms.map(([address, name]) =>
    address === here
      ? html`<li><a href="${address}" aria-current="page">${name}</a></li>`
      : html`<li><a href="${address}">${name}</a></li>`,
  );
  return html`<nav aria-label="This application">
    <ul>
      ${links}
    </ul>
  </nav>`;
}

export function told({ is, text }: Notice): Markup {
  return html`<p class="told ${is}" role="${is === 'bad' ? 'alert' : 'status'}">${text}</p>`;
}

export function section(title: string, ...content: readonly Markup[]): Markup {
  return html`<section>
    <h2>${title}</h2>
    ${content}
  </section>`;
}

export function paragraph(text: string): Markup {
  return html`<p>${text}</p>`;
}

/** A button in a form of its own. The form sends `data` as hidden fields. */
export function press(
  action: string,
  name: string,
  { isMain = false, data = {} }: { isMain?: boolean; data?: Readonly<Record<string, string>> } = {},
): Markup {
  const hidden = Object.entries(data).map(
    ([key, value]) => html`<input type="hidden" name="${key}" value="${value}" />`,
  );
  const look = isMain ? html` class="main"` : null;
  const button = html`<button${look}>${name}</button>`;
  return html`<form method="post" action="${action}">${hidden}${button}</form>`;
}

export function link(address: string, name: string, isMain = false): Markup {
  return html`<a class="button${isMain ? ' main' : ''}" href="${address}">${name}</a>`;
}

export function row(...content: readonly Markup[]): Markup {
  return html`<div class="row">${content}</div>`;
}

/** Lines of a program, which may be long. The box can be focused and scrolled by keyboard. */
export function linesOf(lines: readonly string[], name: string): Markup {
  return html`<pre tabindex="0" role="region" aria-label="${name}">${lines.join('\n')}</pre>`;
}

/**
 * The time in this machine's time zone, which is the person's. A page without a script cannot
 * convert it.
 */
export function timeOf(at: number): string {
  return new Date(at).toLocaleString('en-GB', { dateStyle: 'medium', timeStyle: 'short' });
}

// HTML from untrusted texts: the template escapes each inserted value, unless it is markup itself.

export type Markup = { readonly html: string };
type Part = string | number | Markup | null | readonly Part[];

/** Inserted texts show each invisible character by its number, so that none misleads. */
export function html(strings: TemplateStringsArray, ...parts: readonly Part[]): Markup {
  const inside = parts.map(write);
  return { html: strings.map((text, at) => text + (inside[at] ?? '')).join('') };
}

/** A text unchanged except for escapes, for a field that sends it back. */
export function verbatim(text: string): Markup {
  return { html: escape(text) };
}

function write(part: Part): string {
  if (part === null) return '';
  if (typeof part === 'number') return String(part);
  if (typeof part === 'string') return escape(part.replace(invisible, byNumber));
  return 'html' in part ? part.html : part.map(write).join('');
}

const invisible = /[[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]--[\t\n\r]]/gv;

const byNumber = (char: string): string =>
  `\\u{${char.codePointAt(0)!.toString(16).padStart(4, '0')}}`;

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

function escape(text: string): string {
  return text.toWellFormed().replace(/[&<>"']/g, (char) => entities[char]!);
}
