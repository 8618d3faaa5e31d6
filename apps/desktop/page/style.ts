/** How the shell's pages look: the colours of the other pages, by what the system prefers. */
import { createHash } from 'node:crypto';

/** Contrast of text on its ground is at least 4.5 : 1. */
export const style = `
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

/** How the content security policy names it. Format: CSP Level 3, section 2.3.1. */
export const styleHash = `'sha256-${createHash('sha256').update(style).digest('base64')}'`;
